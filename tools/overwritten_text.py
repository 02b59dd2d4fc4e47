"""Renders text that overwrites itself, such as progress bars, to its final state.

Lines have no width here, since the width of the terminal is unknown; sequences that clear the whole screen are
ignored so that no text is lost."""

from typing import Final

from tools.lazy_patterns import lazy_regex

_OVERWRITING_SEQUENCE_PATTERN: Final = lazy_regex(r"[\r\x08]|(?:\x1b\[|\x9b)\d*[ABCDEFGJKPX]|\x1bM")
_VERTICAL_CURSOR_MOVE_PATTERN: Final = lazy_regex(r"(?:\x1b\[|\x9b)\d*[ABEFJ]|\x1bM")
_CURSOR_CONTROL_PATTERN: Final = lazy_regex(
    r"\n|\r|\x08|(?:\x1b\[|\x9b)(?P<count>\d*)(?P<what>[ABCDEFGJKPX])|(?P<back>\x1bM)"
)
_MAX_CURSOR_MOVE: Final = 10_000
"""Maximum number of columns or lines that one cursor movement covers."""


def render_overwritten_line(line: str) -> str:
    """Renders one line that overwrites itself, such as a progress bar, to its final state; movements to other lines are
    ignored."""
    return (
        _VirtualScreen(is_one_line=True).render(line) if _OVERWRITING_SEQUENCE_PATTERN.search(line) else line
    )


def render_overwritten_text(text: str) -> str:
    """Renders text that moves the cursor to other lines: the result may have fewer lines than the text has line
    feeds."""
    if _VERTICAL_CURSOR_MOVE_PATTERN.search(text):
        return _VirtualScreen(is_one_line=False).render(text)
    return "\n".join(render_overwritten_line(line) for line in text.split("\n"))


class _VirtualScreen:
    """A screen in memory: rows of characters, and the position of the next character."""

    def __init__(self, *, is_one_line: bool) -> None:
        self._is_one_line = is_one_line
        self._rows: list[list[str]] = [[]]
        self._redrawn: set[int] = set()
        """The numbers of rows in which characters were overwritten or erased; blanks at their end are dropped."""
        self._row = self._column = 0

    def render(self, text: str) -> str:
        position = 0
        for step in _CURSOR_CONTROL_PATTERN.finditer(text):
            self._write_text(text[position : step.start()])
            position = step.end()
            self._apply_control(step[0][0], step["what"] or ("A" if step["back"] else ""), step["count"])
        self._write_text(text[position:])
        return "\n".join(
            "".join(row).rstrip(" ") if number in self._redrawn else "".join(row)
            for number, row in enumerate(self._rows)
        )

    def _write_text(self, text: str) -> None:
        if not text:
            return
        row = self._rows[self._row]
        if self._column > len(row):
            row.extend(" " * (self._column - len(row)))
        if self._column < len(row):
            self._redrawn.add(self._row)
        row[self._column : self._column + len(text)] = text
        self._column += len(text)

    def _apply_control(self, sign: str, what: str, given: str | None) -> None:
        count = min(int(given or 0), _MAX_CURSOR_MOVE)
        steps = max(1, count)
        match sign, what:
            case "\n", _:
                self._move_to(self._row + 1, 0)
            case "\r", _:
                self._column = 0
            case "\x08", _:
                self._column = max(0, self._column - 1)
            case _, "C":
                self._column += steps
            case _, "D":
                self._column = max(0, self._column - steps)
            case _, "G":
                self._column = steps - 1
            case _, "K" | "P" | "X":
                self._erase(what, count)
            case _, "J" if not self._is_one_line and not count:
                self._erase("K", 0)
                del self._rows[self._row + 1 :]
            case _, "A" | "F" if not self._is_one_line:
                self._move_to(max(0, self._row - steps), 0 if what == "F" else self._column)
            case _, "B" | "E" if not self._is_one_line:
                self._move_to(self._row + steps, 0 if what == "E" else self._column)
            case _:
                pass

    def _move_to(self, row: int, column: int) -> None:
        while row >= len(self._rows):
            self._rows.append([])
        self._row, self._column = row, column

    def _erase(self, what: str, count: int) -> None:
        row, at = self._rows[self._row], self._column
        self._redrawn.add(self._row)
        if what == "P":
            del row[at : at + max(1, count)]
        elif what == "X":
            row[at : at + max(1, count)] = " " * len(row[at : at + max(1, count)])
        elif count == 0:
            del row[at:]
        elif count == 1:
            row[: at + 1] = " " * min(len(row), at + 1)
        else:
            row.clear()
