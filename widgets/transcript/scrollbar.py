"""A scrollbar that shows where the prompts and the search hits are."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style
from textual.scrollbar import ScrollBar


class MarkedScrollBar(ScrollBar):
    """Marks are places between 0 and 1."""

    def __init__(self, *, thickness: int) -> None:
        super().__init__(vertical=True, name="vertical", thickness=thickness)
        self._marks: dict[int, tuple[str, Style]] = {}
        self._wanted: tuple[object, ...] = ()

    def mark(self, layers: Iterable[tuple[str, Style, tuple[float, ...]]], height: int) -> None:
        """Show these marks: sign, style and places; a later layer stands over an earlier one."""
        marks = {}
        for sign, style, places in layers:
            for place in places:
                marks[min(height - 1, int(place * height))] = (sign, style)
        if marks != self._marks:
            self._marks = marks
            self.refresh()

    def render(self) -> "_Marked":
        return _Marked(super().render(), self._marks)


class _Marked:
    def __init__(self, inner: object, marks: dict[int, tuple[str, Style]]) -> None:
        self._inner = inner
        self._marks = marks

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self._inner, options, pad=False, new_lines=False)  # type: ignore[arg-type]
        for index, line in enumerate(lines):
            mark = self._marks.get(index)
            if mark and line:
                sign, style = mark
                base = line[0].style or Style()
                yield Segment(sign, base + style)
                rest = "".join(segment.text for segment in line)[1:]
                yield Segment(rest, base)
            else:
                yield from line
            yield Segment.line()
