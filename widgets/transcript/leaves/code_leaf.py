"""Draws fenced code and other highlighted text: coloured when first painted, large texts in windows."""

import re
from bisect import bisect_right

from widgets.transcript.leaves.highlight import LexerCheckpoint, highlight, resume_highlighting
from widgets.transcript.leaves.layout_leaf import LayoutLeaf, StyledPiece, StyleRun

CODE_CONTINUATION_MARK = "↳ "
"""Marks a wrapped row that continues the line above; copying gives the original line."""
HIGHLIGHT_WINDOW_LINES = 100
MIN_CHARS_FOR_HIGHLIGHT_WINDOWS = 12_000
"""The size from which a closed block is coloured window by window."""


class CodeLeaf(LayoutLeaf):
    """A unit of layout with highlighted code, which may still be growing."""

    __slots__ = ("_checkpoint", "_coloured", "_final", "_windows", "is_open", "language")

    def __init__(
        self,
        plain: str,
        language: str,
        *,
        first: str = "",
        rest: str = "",
        blank: int = 0,
        key: str = "code",
        fill: str = "code",
        is_open: bool = False,
    ) -> None:
        super().__init__(plain, key=key, fill=fill, first=first, rest=rest, blank=blank)
        self.language = language
        self.is_open = is_open
        self._coloured = -1
        """The length of the text that `runs` covers."""
        self._final: list[StyleRun] = []
        self._checkpoint = LexerCheckpoint(0)
        self._windows: WindowedSyntaxColours | None = None

    def extend(self, text: str) -> None:
        """Appends received text to the code. Painted rows above the last two lines are kept."""
        at = len(self.plain)
        settled = min(self._checkpoint.position, at)
        strips = self.strips
        self.replace_text_end(at, text, self.runs)
        rows = self._rows
        kept = range(len(rows))
        self.strips = {row: strips[row] for row in strips if row in kept and rows[row][1] < settled}
        self._coloured = -1

    def close(self) -> None:
        """Called when the code fence is complete, so that the whole code is highlighted once more."""
        if self._checkpoint.position:
            self.strips = {}
        self.is_open = False
        self._coloured = -1
        self._final = []
        self._checkpoint = LexerCheckpoint(0)

    def style_runs_for(self, start: int, end: int) -> list[StyleRun]:
        del end
        if not self.is_open and len(self.plain) > MIN_CHARS_FOR_HIGHLIGHT_WINDOWS:
            if self._windows is None or self._windows.plain is not self.plain:
                self._windows = WindowedSyntaxColours(self.plain, self.language)
            return self._windows.style_runs_around(start)
        if self._coloured != len(self.plain):
            self._colour_code()
        return self.runs

    def pieces(self, row: int) -> list[StyledPiece]:
        out = super().pieces(row)
        start = self._rows[row][0]
        if start and self.plain[start - 1] != "\n" and out[0].start < 0 and len(out[0].text) > 1:
            out[0] = StyledPiece(out[0].text[:-2] + CODE_CONTINUATION_MARK, out[0].key)
        return out

    def _colour_code(self) -> None:
        self._coloured = len(self.plain)
        if not self.is_open:
            self.runs = highlight(self.plain, self.language)
            return
        live, final, self._checkpoint = resume_highlighting(self.plain, self.language, self._checkpoint)
        self.runs = self._final + live
        self._final = self._final + live[:final] if final else self._final


class WindowedSyntaxColours:
    """Syntax colours of a large, complete text, computed for windows of some lines when one of these is painted."""

    def __init__(self, plain: str, language: str) -> None:
        self.plain = plain
        self._language = language
        line_ends = [match.end() for match in re.finditer("\n", plain)]
        self._starts = [0, *line_ends[HIGHLIGHT_WINDOW_LINES - 1 :: HIGHLIGHT_WINDOW_LINES], len(plain)]
        self._runs: dict[int, list[StyleRun]] = {}

    def style_runs_around(self, start: int) -> list[StyleRun]:
        """Returns the syntax colours of the window of lines that contains a position."""
        index = min(len(self._starts) - 1, bisect_right(self._starts, start)) - 1
        if index not in self._runs:
            first, last = self._starts[index : index + 2]
            self._runs[index] = highlight(self.plain[first:last], self._language, first)
        return self._runs[index]
