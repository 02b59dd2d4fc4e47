"""What a terminal sends, sorted: keys for the parser, whole pastes, and answers that come too late to be of use.

A paste is handed on here and not by Textual's parser, which takes its time over a long one, and could press keys, Enter
among them, with what it does not understand. Bytes become text in `terminal_input`.
"""

from collections.abc import Iterator

from textual.events import Paste

from tools.patterns import late

PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"
_ANSWER = late("\x1b\\]\\d+;[^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b\\[\\?[\\d;]*c")
"""Of what a terminal tells when it is asked: its colours and its attributes."""
_UNFINISHED = late("\x1b(?:\\[20{0,2}|\\[\\?[\\d;]*|\\]\\d[^\x07\x1b]*\x1b?)\\Z")
"""The beginning of a paste or an answer, of which the rest is still under way."""
_LONGEST_ANSWER = 200


class Incoming:
    """Takes a terminal's input in whatever pieces it comes; what they make does not depend on where it was cut."""

    def __init__(self) -> None:
        self._held = ""
        self._paste: list[str] | None = None

    def take(self, text: str) -> Iterator[str | Paste]:
        """Text with keys in it, and pastes, in their order."""
        text, self._held = self._held + text, ""
        while text:
            if self._paste is None:
                before, begins, text = text.partition(PASTE_BEGINS)
                if begins:
                    self._paste = []
                else:
                    before = self._without_unfinished(before)
                if keys := _ANSWER.sub("", before):
                    yield keys
            else:
                inside, ends, text = text.partition(PASTE_ENDS)
                if not ends:
                    self._hold_end_of_paste(inside)
                    return
                pasted, self._paste = "".join((*self._paste, inside)), None
                yield Paste(pasted.replace("\0", ""))

    def _without_unfinished(self, text: str) -> str:
        found = _UNFINISHED.search(text)
        if found is None or len(found.group()) > _LONGEST_ANSWER:
            return text
        self._held = found.group()
        return text[: found.start()]

    def _hold_end_of_paste(self, inside: str) -> None:
        """Its last characters may be the beginning of the mark that ends it."""
        assert self._paste is not None
        cut = max(0, len(inside) - len(PASTE_ENDS) + 1)
        self._paste.append(inside[:cut])
        self._held = inside[cut:]
