"""Splits terminal input into keys for the parser, whole pastes, and replies to queries.

Pastes bypass Textual's parser, which is slow on long ones and could interpret pasted text as keys, including Enter.
`terminal_input` decodes bytes to text."""

import time
from collections.abc import Callable, Iterator

from textual.constants import ESCAPE_DELAY
from textual.events import Paste

from tools.lazy_patterns import lazy_regex

PASTE_BEGIN_SEQUENCE, PASTE_END_SEQUENCE = "\x1b[200~", "\x1b[201~"
_TERMINAL_REPLY_PATTERN = lazy_regex(
    "\x1b\\]\\d+;[^\x07\x1b]*(?:\x07|\x1b\\\\)"  # a colour, the size of a cell
    "|\x1b\\[\\?\\d*u|\x1b\\[\\?[\\d;]*c|\x1b\\[6;\\d+;\\d+t"  # keyboard protocol, attributes, the size of a cell
    "|\x1b_G[^\x07\x1b]*\x1b\\\\|\x1bP>\\|[^\x07\x1b]*\x1b\\\\"  # images, its name
)
_UNFINISHED_TERMINAL_REPLY_PATTERN = lazy_regex(
    "\x1b(?:"
    "\\[(?:20{0,2}|6(?:;\\d*){0,2}|\\?[\\d;]*)?|\\](?:\\d+(?:;[^\x07\x1b]*\x1b?)?)?"
    "|_(?:G(?:[\\w=,]*|[\\w=,]*;(?:OK?\x1b?|E[ -~]*\x1b?)?))?|P(?:>(?:\\|[ -~]*\x1b?)?)?"
    ")?\\Z"
)
"""Matches the incomplete start of a paste or reply, or a lone Escape, at the end of the input."""
_TERMINAL_REPLY_START_PATTERN = lazy_regex("\x1b(?:_G[a-zA-Z]=|P>\\||\\]\\d+;)")
"""Input that starts like this cannot be a key press."""
_MAX_TERMINAL_REPLY_CHARS = 200
_INCOMPLETE_TERMINAL_REPLY_TIMEOUT = 1.0
"""Seconds after which an incomplete reply is no longer expected to end."""


class TerminalReply(str):
    """A terminal's reply to a query about itself."""

    __slots__ = ()


class TerminalInputSplitter:
    """Splits terminal input, which arrives in pieces of any size, into keys, whole pastes, and replies to queries.

    A possible start of a reply is held back as long as an Escape is. A reply that never ends types nothing, and keys
    pressed after it count."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._held_text = ""
        self._dropped_reply_start = ""
        """The part of the held input that certainly belongs to a reply."""
        self._hold_deadline = 0.0
        self._paste_pieces: list[str] | None = None

    @property
    def held_input_timeout(self) -> float | None:
        """The seconds until input that is held back is released; None if nothing is held or a paste is incomplete."""
        if not self._held_text or self._paste_pieces is not None:
            return None
        return max(0.0, self._hold_deadline - self._clock())

    def feed(self, text: str) -> Iterator[str | Paste | TerminalReply]:
        """Splits more terminal input; yields in order text with keys, pastes, and replies to queries."""
        text, begun = self._held_text + text, self._dropped_reply_start
        self._held_text = self._dropped_reply_start = ""
        while text:
            if self._paste_pieces is None:
                before, begins, text = text.partition(PASTE_BEGIN_SEQUENCE)
                if begins:
                    self._paste_pieces = []
                else:
                    before = self._hold_unfinished_reply(before, begun)
                if not self._held_text or before:
                    yield from _split_replies(before, begun)
                    begun = ""
            else:
                inside, ends, text = text.partition(PASTE_END_SEQUENCE)
                if not ends:
                    self._hold_end_of_paste(inside)
                    return
                pasted, self._paste_pieces = "".join((*self._paste_pieces, inside)), None
                yield Paste(pasted.replace("\0", ""))

    def release_held_input(self) -> str:
        """Returns the keys in the input that was held back as a possible reply, once its time is over; empty before."""
        if self.held_input_timeout != 0.0:
            return ""
        held, fragment = self._held_text, self._dropped_reply_start
        self._held_text = self._dropped_reply_start = ""
        return held.removeprefix(fragment)

    def _hold_unfinished_reply(self, text: str, begun: str) -> str:
        found = _UNFINISHED_TERMINAL_REPLY_PATTERN.search(text)
        if found is None or len(found.group()) > _MAX_TERMINAL_REPLY_CHARS:
            return text
        self._held_text = found.group()
        if begun and not found.start():
            self._dropped_reply_start = begun
        else:
            is_sure = _TERMINAL_REPLY_START_PATTERN.match(self._held_text) is not None
            self._dropped_reply_start = self._held_text if is_sure else ""
            is_sequence = self._held_text.startswith("\x1b[")  # read at once, so hardly Alt and a bracket
            self._hold_deadline = self._clock() + (
                _INCOMPLETE_TERMINAL_REPLY_TIMEOUT if is_sure or is_sequence else ESCAPE_DELAY
            )
        return text[: found.start()]

    def _hold_end_of_paste(self, inside: str) -> None:
        """Stores a part of a paste, but holds back its last characters, which may be the start of the end mark."""
        assert self._paste_pieces is not None
        cut = max(0, len(inside) - len(PASTE_END_SEQUENCE) + 1)
        self._paste_pieces.append(inside[:cut])
        self._held_text = inside[cut:]


def _split_replies(text: str, begun: str) -> Iterator[str | TerminalReply]:
    """Yields the keys and the terminal's replies in a text. `begun`: the dropped start of a reply; if the reply never
    ended, it is removed from the keys."""
    at = 0
    for found in _TERMINAL_REPLY_PATTERN.finditer(text):
        if keys := text[at : found.start()].removeprefix(begun):
            yield keys
        yield TerminalReply(found.group())
        at, begun = found.end(), ""
    if keys := text[at:].removeprefix(begun):
        yield keys
