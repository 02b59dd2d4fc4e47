"""A scrollbar that marks the positions of prompts and search hits."""

from collections.abc import Iterable, Set

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar

from widgets.transcript.block_stack import BlockStack
from widgets.transcript.painting.style_lookup import CurrentStyles
from widgets.transcript.searching.text_search import TextSearch
from widgets.transcript.transcript_blocks import UserPromptBlock


class MarkedScrollBar(ScrollBar):
    """A scroll bar that shows marks, such as the positions of search hits, over its rows."""

    def __init__(self, *, thickness: int) -> None:
        super().__init__(vertical=True, name="vertical", thickness=thickness)
        self._marks: dict[int, tuple[str, Style]] = {}

    def set_marks(self, layers: Iterable[tuple[str, Style, Set[int]]]) -> None:
        """Shows marks on the scroll bar: sign, style and rows of each layer; later layers cover earlier ones."""
        marks = {row: (sign, style) for sign, style, rows in layers for row in rows}
        if marks != self._marks:
            self._marks = marks
            self.refresh()

    def render(self) -> "_MarkedBarRenderer":
        return _MarkedBarRenderer(super().render(), self._marks)


class _MarkedBarRenderer:
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


class ScrollBarUpdater:
    """Updates the marks and the thumb of the transcript's scroll bar, as rarely as possible, since any change repaints
    all of it."""

    def __init__(
        self, widget: ScrollView, column: BlockStack, search: TextSearch, look: CurrentStyles
    ) -> None:
        self._widget = widget
        self._column = column
        self._search = search
        self._look = look
        self._shown_marks: tuple[object, ...] = ()
        self._prompts: list[int] = []
        self._prompts_of = -1

    def forget_shown(self) -> None:
        """Makes the next update of the scroll bar compute its marks again."""
        self._shown_marks = ()

    def update_if_moved(self) -> None:
        """Updates the scroll bar only when its thumb moves by an eighth of a cell."""
        widget = self._widget
        y, total, height = widget.scroll_offset.y, widget.virtual_size.height, widget.size.height
        if not height or not widget.is_attached:
            return
        thumb = max(1.0, height * height / max(1, total))
        place = (height - thumb) * y / max(1, total - height)
        told = (int(place * 8), int(thumb * 8), height, total > height, self._search.query)
        if told != self._shown_marks:
            self._shown_marks = told
            bar = widget.vertical_scrollbar
            bar.window_virtual_size = total
            bar.window_size = height
            bar.position = y
            if isinstance(bar, MarkedScrollBar):
                self._update_marks(bar, height)

    def _update_marks(self, bar: MarkedScrollBar, height: int) -> None:
        column = self._column
        if column.heights.total <= height:  # everything is visible, so nothing is marked
            bar.set_marks(())
            return
        total, tops = max(1, column.heights.total), column.heights.tops()
        prompts = {min(height - 1, tops[index] * height // total) for index in self._prompt_positions()}
        search = self._search
        found = (
            [index for index, item in enumerate(column.items) if search.hits_in(item)] if search.is_on else ()
        )
        hits = {min(height - 1, tops[index] * height // total) for index in found}
        look = self._look.current
        bar.set_marks(
            (("▐", look.foreground("accent"), prompts), ("◆", look.foreground("current-match"), hits))
        )

    def _prompt_positions(self) -> list[int]:
        """Returns the indexes of the blocks that are prompts, computed again only when blocks were added or removed."""
        if self._prompts_of != self._column.changes:
            self._prompts_of = self._column.changes
            items = self._column.items
            self._prompts = [
                index for index, item in enumerate(items) if isinstance(item.block, UserPromptBlock)
            ]
        return self._prompts
