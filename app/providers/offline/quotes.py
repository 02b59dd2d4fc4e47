"""Quoted parts of a request are taken as they are: put aside before the words are looked at, and put back."""

import re

_QUOTED = re.compile(
    r"```[^\n`]*\n(?P<fence>.*?)\n?```"
    r"|`(?P<tick>[^`\n]+)`"
    r'|"(?P<double>[^"\n]*)"'
    r"|“(?P<curly>[^”\n]*)”"
    r"|(?<![\w'])'(?P<single>[^'\n]*)'(?!\w)",
    re.DOTALL,
)
_MARK = re.compile("\ue000(\\d+)\ue001")


class Quotes:
    """The quoted parts of one request."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._whole: list[str] = []

    def put_aside(self, text: str) -> str:
        """`text` with a mark in the place of each quoted part."""
        plain = text.replace("\ue000", "").replace("\ue001", "")
        return _QUOTED.sub(self._mark, plain)

    def put_back(self, text: str) -> str:
        """`text` with what was quoted, without its quotation marks."""
        return _MARK.sub(lambda mark: self._parts[int(mark[1])], text)

    def put_back_quoted(self, text: str) -> str:
        """`text` as it was, quotation marks included."""
        return _MARK.sub(lambda mark: self._whole[int(mark[1])], text)

    def as_meant(self, text: str) -> str:
        """A text that is quoted as a whole loses its quotation marks; those inside one belong to it."""
        return self.put_back(text) if is_quoted(text) else self.put_back_quoted(text)

    def _mark(self, match: "re.Match[str]") -> str:
        self._parts.append(next(part for part in match.groups() if part is not None))
        self._whole.append(match[0])
        return f"\ue000{len(self._parts) - 1}\ue001"


def is_quoted(text: str) -> bool:
    """Whether a piece of marked text is one quoted part and nothing else."""
    return _MARK.fullmatch(text.strip()) is not None


def starts_quoted(text: str) -> bool:
    return _MARK.match(text.strip()) is not None
