"""The list widget: scrolls rows, moves a cursor, highlights matches. It draws rows with Textual's line API, so that
thousands open at once.

Filtering is in `filtering`, the input line in `editor.line_input`; screens combine them."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Protocol, get_args

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from widgets import textual_internals as textual_inside
from widgets.lists.list_rows import PILL_TONES, ListRow, RowTone
from widgets.lists.row_filter import MatchedListRow, find_matched_positions
from widgets.readable_styles import make_style_readable, selected_row_style
from widgets.row_builder import RIGHT_MARGIN_CELLS, RowBuilder, cells, clean_single_line

ALL_ROW_TONES: tuple[str, ...] = get_args(RowTone)
_LIST_ROW_STYLE_NAMES = (
    *ALL_ROW_TONES,
    "match",
    "prefix",
    "heading",
    "mark",
    *(f"pill-{tone}" for tone in PILL_TONES),
)
_MAX_CACHED_LIST_ROWS = 500
_BOLD_STYLE = Style(bold=True)
MIN_CUT_WORD_CELLS = 4
"""The minimum number of cells for a cut word; with less space it is omitted."""
MIN_TERMINAL_ROWS_FOR_COLUMN_HEADS = 16
"""Rows of a terminal from which lists show the heads of their columns."""
MAX_LIST_ROW_CELLS = 118
"""The width at which right-aligned text ends on wider pages, unless a row needs more."""


class ListRowSequence(Protocol):
    """The protocol of the rows that a list shows: a sequence, or an object that creates each row when it becomes
    visible."""

    def __len__(self) -> int: ...
    def __getitem__(self, at: int, /) -> MatchedListRow: ...
    def __iter__(self) -> Iterator[MatchedListRow]: ...


class RowList(ScrollView, can_focus=False):
    """A widget with a scrolling list of rows, of which a cursor marks one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False, id="tui.select.up"),
        Binding("down", "move(1)", "Down", show=False, id="tui.select.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="tui.select.pageUp"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="tui.select.pageDown"),
        Binding("home", "edge(False)", "First", show=False, id="tui.select.first"),
        Binding("end", "edge(True)", "Last", show=False, id="tui.select.last"),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"list--{name}" for name in (*_LIST_ROW_STYLE_NAMES, "cursor")}
    DEFAULT_CSS = "RowList { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }"

    class Moved(Message):
        """Message: the list's cursor moved to another row; `row` is None if there is none."""

        def __init__(self, row: ListRow | None) -> None:
            super().__init__()
            self.row = row

    class Chosen(Message):
        """Message: a row of the list was clicked."""

        def __init__(self, row: ListRow) -> None:
            super().__init__()
            self.row = row

    def __init__(
        self,
        rows: Sequence[ListRow] = (),
        *,
        empty: str = "the list is empty",
        title_cells: int = 0,
        scatters: bool = True,
        heads: ListRow | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        textual_inside.paint_without_frame(self)
        self.title_cells = title_cells
        """The maximum width of titles up to which the text after them is aligned in a column."""
        self.matches_scattered_letters = scatters
        """Whether the letters of a searched word may be apart."""
        self.column_heads = heads
        """The heads of the columns, in a row that does not scroll."""
        self.visible_rows: ListRowSequence = [MatchedListRow(row) for row in rows]
        self.empty_text = empty
        self.filter_text = ""
        self._current_index = -1
        self._styles: dict[tuple[str, bool], Style] = {}
        self._drawn_strips: dict[tuple[int, bool], tuple[MatchedListRow, int, Strip]] = {}
        """Cached rows by position and whether the cursor is there: the row, the width and the strip."""
        self.has_marks = False
        self._announced_id: str | None = None
        self._current_index = self._first_selectable()

    # -- calls ---------------------------------------------------------------------------------------------

    def show_rows(
        self, shown: ListRowSequence, *, query: str = "", keep: str = "", is_chosen: bool = True
    ) -> None:
        """Replaces the rows of the list. The cursor goes to the row with the id `keep`, else to the first that can be
        chosen; with `is_chosen` false to no row until the user moves it."""
        self.visible_rows = shown
        self.filter_text = query
        self.has_marks = any(item.row.is_checked for item in shown)
        self._current_index = (
            next((at for at, item in enumerate(shown) if item.row.id == keep), -1) if keep else -1
        )
        if self._current_index < 0:
            self._current_index = self._first_selectable()
        if not is_chosen:
            self._current_index = -1
            self.scroll_to(y=0, animate=False, immediate=True)
        self._resize_to_rows()
        self._scroll_to_current()

    def show_lazy_rows(self, shown: ListRowSequence, at: int, *, query: str = "") -> None:
        """Replaces the rows of the list by some that are created when they become visible; none of them is checked or a
        heading. The cursor goes to the index `at`."""
        self.visible_rows = shown
        self.filter_text = query
        self.has_marks = False
        self._current_index = min(max(0, at), len(shown) - 1)
        self._resize_to_rows()
        self._scroll_to_current()

    @property
    def current(self) -> ListRow | None:
        return (
            self.visible_rows[self._current_index].row
            if 0 <= self._current_index < len(self.visible_rows)
            else None
        )

    @property
    def index(self) -> int:
        return self._current_index

    def move_to(self, at: int) -> None:
        """Moves the list's cursor to the row with this index, or to the nearest one that is no heading."""
        if not self.visible_rows:
            return
        at = min(max(0, at), len(self.visible_rows) - 1)
        step = 1 if at >= self._current_index else -1
        for direction in (step, -step):
            place = at
            while 0 <= place < len(self.visible_rows):
                if not self.visible_rows[place].row.is_heading:
                    self._set_index(place)
                    return
                place += direction

    # -- drawing -------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        self.has_marks = any(item.row.is_checked for item in self.visible_rows)
        _ = (
            self.vertical_scrollbar
        )  # created now, because most lists need it and creating it later causes another layout
        self._resize_to_rows()
        self.call_after_refresh(self._scroll_to_current)

    def on_resize(self) -> None:
        if self.column_heads is not None:  # they take a row only where there is room
            self._resize_to_rows()
        self._scroll_to_current()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles = {}
        self._drawn_strips = {}

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        return textual_inside.vertical_scrollbar(self, textual_inside.FastScrollBar)

    def render_line(self, y: int) -> Strip:
        width = self._row_width
        if y < self.column_head_height and self.column_heads is not None:
            return self._extend_row(
                self._draw_row(MatchedListRow(self.column_heads), width, is_current=False)
            )
        at = self._row_at(y)
        if not 0 <= at < len(self.visible_rows):
            line = RowBuilder(width, self._style("text", False))
            if at == 0 and not self.visible_rows:
                line.add("  " + self.empty_text, self._style("muted", False))
            return self._extend_row(line)
        item, key = self.visible_rows[at], (at, at == self._current_index)
        kept = self._drawn_strips.get(key)
        if kept is not None and kept[0] is item and kept[1] == width:
            return kept[2]
        strip = self._extend_row(self._draw_row(item, width, is_current=key[1]))
        if len(self._drawn_strips) >= _MAX_CACHED_LIST_ROWS:
            self._drawn_strips.clear()
        self._drawn_strips[key] = (item, width, strip)
        return strip

    @property
    def column_head_height(self) -> int:
        """The number of screen rows that the heads of the list's columns take: 1, or 0 without heads or in a low
        terminal."""
        return (
            1
            if self.column_heads is not None
            and self.visible_rows
            and self.app.size.height >= MIN_TERMINAL_ROWS_FOR_COLUMN_HEADS
            else 0
        )

    def _row_at(self, y: int) -> int:
        """Returns the index of the list row that is shown in a line of the widget."""
        return y - self.column_head_height + self.scroll_offset.y

    @property
    def _row_width(self) -> int:
        """The width of list rows in cells, without the margin for the scroll bar."""
        return max(1, self.size.width - RIGHT_MARGIN_CELLS)

    def _extend_row(self, line: RowBuilder) -> Strip:
        """Completes a drawn list row to the widget's full width, over the margin of the scroll bar."""
        line.width = self.size.width
        return line.strip()

    def _draw_row(self, item: MatchedListRow, width: int, *, is_current: bool) -> RowBuilder:
        row = item.row
        if row.is_heading:
            line = RowBuilder(width, self._style("text", False)).pad(2)
            line.add(clean_single_line(row.title), self._style("heading", False))
            edge = min(width, MAX_LIST_ROW_CELLS)
            if (right := clean_single_line(row.right)) and cells(right) < edge - line.used:
                line.fill_to_column(edge - cells(right)).add(right, self._style("dim", False))
            return line
        base = self._style("text", is_current)
        line = RowBuilder(width, base)
        line.add("› " if is_current else "  ", self._style("mark", is_current))
        if self.has_marks:
            line.add("✓ " if row.is_checked else "  ", self._style("success", is_current))
        line.add(row.prefix, self._style("prefix", is_current))
        line.add(row.lead_word, self._style(row.lead_tone, is_current) + _BOLD_STYLE)
        right = clean_single_line(row.right)
        if cells(right) + 1 > line.remaining_cells // 2:
            right = ""
        edge = min(width, MAX_LIST_ROW_CELLS)
        if width > MAX_LIST_ROW_CELLS:
            edge = min(
                width,
                max(
                    edge,
                    line.used
                    + _count_needed_cells(row, self.title_cells, width)
                    + cells(right)
                    + bool(right),
                ),
            )
        inner = RowBuilder(edge - line.used - cells(right) - 2 if right else line.remaining_cells, base)
        self._draw_text(inner, item, is_current=is_current)
        line.append_row(inner)
        if right:
            line.fill_to_column(edge - cells(right))
            start = 0
            for size, tone in row.right_tones:
                line.add(right[start : start + size], self._style(tone, is_current))
                start += size
            line.add(right[start:], self._style(row.right_tone, is_current))
        return line.fill_to_column(width)

    def _draw_text(self, line: RowBuilder, item: MatchedListRow, *, is_current: bool) -> None:
        row = item.row
        title, detail = clean_single_line(row.title), clean_single_line(row.detail)
        places = item.matched or (
            find_matched_positions(row, self.filter_text, scatters=self.matches_scattered_letters)
            if self.filter_text and row is not self.column_heads
            else ()
        )
        if title != row.title or detail != row.detail:
            places = ()
        match = self._style("match", is_current)
        tone = "dim" if row.is_disabled else row.tone
        badges = _count_badge_cells(row)
        piece = RowBuilder(
            line.remaining_cells - min(badges, line.remaining_cells // 2), line.base
        )  # a long title leaves room for the badges
        words = title.rstrip()  # trailing blanks only align columns and may be cut
        piece.add_highlighted(
            words, (at for at in places if at < len(title)), self._style(tone, is_current), match
        )
        piece.pad(len(title) - len(words))
        line.append_row(piece)
        if self.title_cells and (row.badges or detail):
            line.fill_to_column(min(self.title_cells, _max_title_cells(self._row_width, bool(detail))))
        for badge in row.badges:
            if line.remaining_cells - badge.gap < min(
                MIN_CUT_WORD_CELLS, cells(clean_single_line(badge.text))
            ):
                return
            line.pad(badge.gap).add_with_diffstat(
                clean_single_line(badge.text),
                self._style(f"pill-{badge.tone}" if badge.is_pill else badge.tone, is_current),
                self._style("success", is_current),
                self._style("error", is_current),
            )
        if detail and line.remaining_cells - 2 >= min(MIN_CUT_WORD_CELLS, cells(detail)):
            start = len(title) + 1
            ours = [at - start for at in places if start <= at < start + len(detail)]
            line.add("  ").add_highlighted(detail, ours, self._style("muted", is_current), match)

    def _style(self, name: str, is_current: bool) -> Style:
        found = self._styles.get((name, is_current))
        if found is None:
            found = self.get_component_rich_style(f"list--{name}")
            found = (
                selected_row_style(found, self.get_component_rich_style("list--cursor"))
                if is_current and not name.startswith("pill-")
                else make_style_readable(found)
            )
            self._styles[(name, is_current)] = found
        return found

    def _resize_to_rows(self) -> None:
        self._drawn_strips.clear()
        self.virtual_size = Size(
            1, len(self.visible_rows) + self.column_head_height
        )  # it never scrolls sideways
        self.refresh()

    # -- moving --------------------------------------------------------------------------------------------

    def action_move(self, delta: int) -> None:
        if not self.visible_rows:
            return
        at = self._current_index + delta
        while 0 <= at < len(self.visible_rows) and self.visible_rows[at].row.is_heading:
            at += delta
        if not 0 <= at < len(self.visible_rows):  # wraps around at the end
            at = 0 if delta > 0 else len(self.visible_rows) - 1
        self.move_to(at)

    def action_page(self, direction: int) -> None:
        self.move_to(self._current_index + direction * max(1, self.size.height - self.column_head_height - 1))

    def action_edge(self, is_end: bool) -> None:
        self.move_to(len(self.visible_rows) - 1 if is_end else 0)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        at = self._row_at(event.y)
        if (
            event.y >= self.column_head_height
            and 0 <= at < len(self.visible_rows)
            and not self.visible_rows[at].row.is_heading
        ):
            is_same = at == self._current_index
            self._set_index(at)
            if is_same:
                self.post_message(self.Chosen(self.visible_rows[at].row))

    def _set_index(self, at: int) -> None:
        self._current_index = at
        self._scroll_to_current()
        self.refresh()

    def _scroll_to_current(self) -> None:
        height = self.size.height - self.column_head_height
        if self._current_index >= 0 and height > 0:
            top = self.scroll_offset.y
            at = self._current_index
            while at > 0 and self.visible_rows[at - 1].row.is_heading:
                at -= 1
            if at < top:
                self.scroll_to(y=at, animate=False, immediate=True)
            elif self._current_index >= top + height:
                self.scroll_to(y=self._current_index - height + 1, animate=False, immediate=True)
        row = self.current
        if (row.id if row else None) != self._announced_id:
            self._announced_id = row.id if row else None
            self.post_message(self.Moved(row))

    def _first_selectable(self) -> int:
        checked = [
            at for at, item in enumerate(self.visible_rows) if item.row.is_checked and not self.filter_text
        ]
        if checked:
            return checked[0]
        return next((at for at, item in enumerate(self.visible_rows) if not item.row.is_heading), -1)


def find_truncated_row_texts(rows: RowList, row: ListRow, width: int) -> list[str]:
    """Returns the texts of a list row (title, detail or badges, right text) that are cut at this width; none if all of
    it fits."""
    right = clean_single_line(row.right)
    room = width - 2 - 2 * rows.has_marks - cells(row.before)
    has_right = cells(right) + 1 <= room // 2
    inner = room - (cells(right) + 2 if right and has_right else 0)
    out = [] if has_right or not right else [right]
    if _count_needed_cells(row, rows.title_cells, width) > inner:
        title = clean_single_line(row.title)
        rest = clean_single_line(row.detail) or " · ".join(
            clean_single_line(badge.text).strip() for badge in row.badges
        )
        has_title = cells(title) <= inner - min(_count_badge_cells(row), inner // 2)
        out[:0] = filter(None, ("" if has_title else title, rest))
    return out


def _count_needed_cells(row: ListRow, title_cells: int, width: int) -> int:
    """Returns the width in cells of a list row's title, badges and detail if nothing is cut."""
    title, detail = cells(clean_single_line(row.title)), cells(clean_single_line(row.detail))
    if title_cells and (row.badges or detail):
        title = max(title, min(title_cells, _max_title_cells(width, bool(detail))))
    return title + _count_badge_cells(row) + (detail + 2 if detail else 0)


def _count_badge_cells(row: ListRow) -> int:
    return sum(cells(clean_single_line(badge.text)) + badge.gap for badge in row.badges)


def _max_title_cells(width: int, has_detail: bool) -> int:
    """Returns the maximum width of a list's titles in cells, so that the text after them has room."""
    return width * 2 // 5 if has_detail else width // 2
