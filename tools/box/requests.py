"""Permissions that a call can request when its sandbox refused something: one place or one host. Pure."""

from typing import Final, Literal

import msgspec

from tools.patterns import late

RequestVerb = Literal["write", "read", "use", "reach"]
REQUEST_FORMS: Final = '"write ~/notes", "read ~/x", "use /run/a.sock" or "reach example.org:443"'
_VERB_PHRASES: Final[dict[RequestVerb, str]] = {
    "write": "writing",
    "read": "reading",
    "use": "using",
    "reach": "reaching",
}
_HOST: Final = late(r"[A-Za-z0-9_][A-Za-z0-9_.-]*:[0-9]{1,5}")


class BoxRequest(msgspec.Struct, frozen=True):
    verb: RequestVerb
    place: str
    """A path as written, or `host:port`."""

    @property
    def text(self) -> str:
        """Returns the requested sandbox permission as a tool call writes it."""
        return f"{self.verb} {self.place}"

    @property
    def words(self) -> str:
        """Returns the requested sandbox permission in words for the user."""
        return f"allow {_VERB_PHRASES[self.verb]} {self.place}"


def parse_request(text: str) -> BoxRequest | None:
    """Parses a requested sandbox permission; None if it has none of the forms."""
    word, _, place = text.strip().partition(" ")
    place = place.strip()
    verb: RequestVerb | None = next((one for one in _VERB_PHRASES if one == word), None)
    if verb is None or not place or "\n" in place or "\0" in place:
        return None
    if verb != "reach":
        return BoxRequest(verb, place)
    place = place if ":" in place else f"{place}:443"
    return BoxRequest(verb, place.casefold()) if _HOST.fullmatch(place) else None
