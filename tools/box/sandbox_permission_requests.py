"""Permissions that a call can request when its sandbox refused something: one place or one host. Pure."""

from typing import Final, Literal

import msgspec

from tools.lazy_patterns import lazy_regex

SandboxRequestVerb = Literal["write", "read", "use", "reach"]
SANDBOX_REQUEST_EXAMPLES: Final = '"write ~/notes", "read ~/x", "use /run/a.sock" or "reach example.org:443"'
_PHRASE_BY_REQUEST_VERB: Final[dict[SandboxRequestVerb, str]] = {
    "write": "writing",
    "read": "reading",
    "use": "using",
    "reach": "reaching",
}
_HOST_AND_PORT_PATTERN: Final = lazy_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]*:[0-9]{1,5}")


class SandboxPermissionRequest(msgspec.Struct, frozen=True):
    verb: SandboxRequestVerb
    place: str
    """A path as written, or `host:port`."""

    @property
    def text(self) -> str:
        """Returns the requested sandbox permission as a tool call writes it."""
        return f"{self.verb} {self.place}"

    @property
    def words(self) -> str:
        """Returns the requested sandbox permission in words for the user."""
        return f"allow {_PHRASE_BY_REQUEST_VERB[self.verb]} {self.place}"


def parse_sandbox_permission_request(text: str) -> SandboxPermissionRequest | None:
    """Parses a requested sandbox permission; None if it has none of the forms."""
    word, _, place = text.strip().partition(" ")
    place = place.strip()
    verb: SandboxRequestVerb | None = next((one for one in _PHRASE_BY_REQUEST_VERB if one == word), None)
    if verb is None or not place or "\n" in place or "\0" in place:
        return None
    if verb != "reach":
        return SandboxPermissionRequest(verb, place)
    place = place if ":" in place else f"{place}:443"
    return (
        SandboxPermissionRequest(verb, place.casefold()) if _HOST_AND_PORT_PATTERN.fullmatch(place) else None
    )
