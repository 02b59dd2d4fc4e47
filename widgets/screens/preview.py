"""A pane of plain text beside a list. Foreign text is wrapped and drawn literally, never as markup."""

from collections.abc import Iterable
from typing import ClassVar

import msgspec
from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from widgets import textual_internals as textual_inside
from widgets.line import RowBuilder, cells, plain_line
from widgets.lists.rows import Tone
from widgets.readable_styles import readable
from widgets.transcript.leaves.safe_text import clean, expand_tabs, wrap

MAX_PREVIEW_CHARS = 20_000
MIN_WRAP_CELLS = 16
"""Minimum cells after an indent for continuation rows; with less, they begin at the edge."""


class PreviewPart(msgspec.Struct, frozen=True, kw_only=True):
    """A paragraph of a preview, with its style."""

    text: str
    tone: Tone = "text"
    is_heading: bool = False
    hang: int = 0
    """The width of a label in cells; continuation rows are indented by it."""


class PreviewText(msgspec.Struct, frozen=True, kw_only=True):
    """A title and paragraphs for a preview."""

    title: str = ""
    parts: tuple[PreviewPart, ...] = ()


def preview_of(title: str, *texts: str) -> PreviewText:
    return PreviewText(title=title, parts=tuple(PreviewPart(text=text) for text in texts))


def facts(pairs: Iterable[tuple[str, str]], *, tone: Tone = "muted") -> list[PreviewPart]:
    """Returns labels and texts in two aligned columns; labels without a text are left out."""
    told = [(label, text) for label, text in pairs if text]
    hang = max((cells(label) for label, _ in told), default=0) + 2
    return [PreviewPart(text=f"{label:<{hang}}{text}", tone=tone, hang=hang) for label, text in told]


class Preview(ScrollView, can_focus=False):
    """A scrolling pane that shows a preview text."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "preview--title",
        "preview--heading",
        *(f"preview--{tone}" for tone in ("text", "muted", "dim", "accent", "success", "warning", "error")),
    }
    DEFAULT_CSS = "Preview { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }"

    def __init__(self, *, longest: int = MAX_PREVIEW_CHARS, id: str | None = None) -> None:
        super().__init__(id=id)
        textual_inside.paint_without_frame(self)
        self.shown = PreviewText()
        self._longest = longest
        """The maximum number of characters of each part."""
        self._rows: list[tuple[str, str]] = []
        self._styles: dict[str, Style] = {}

    def show(self, text: PreviewText) -> None:
        if text != self.shown:
            self.shown = text
            self._lay_out()
            self.scroll_to(y=0, animate=False, immediate=True)

    @property
    def row_count(self) -> int:
        return len(self._rows)

    def on_mount(self) -> None:
        _ = self.vertical_scrollbar  # created now, because creating it later causes another layout

    def on_resize(self) -> None:
        self._lay_out()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles = {}

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        return textual_inside.vertical_scrollbar(self, textual_inside.FastScrollBar)

    def _lay_out(self) -> None:
        width = _text_width(self.size.width)
        self._rows = rows = _wrapped(self.shown, width, self._longest)
        textual_inside.resize_content(self, Size(width, len(rows)))  # the text changes with each key
        self.refresh()

    def render_line(self, y: int) -> Strip:
        line = RowBuilder(max(1, self.size.width - 1), self._style("")).pad(2)
        at = y + self.scroll_offset.y
        if at < len(self._rows):
            text, key = self._rows[at]
            line.add(text.rstrip(), self._style(key))
        line.width = self.size.width  # includes the scroll bar's column
        return line.strip()

    def _style(self, key: str) -> Style:
        found = self._styles.get(key)
        if found is None:
            found = readable(self.get_component_rich_style(f"preview--{key}")) if key else self.rich_style
            self._styles[key] = found
        return found


def row_count(text: PreviewText, width: int) -> int:
    """Returns the number of rows that the text needs in a pane of this width."""
    return len(_wrapped(text, _text_width(width), MAX_PREVIEW_CHARS))


def _text_width(width: int) -> int:
    return max(8, width - 3)


def _wrapped(text: PreviewText, width: int, longest: int) -> list[tuple[str, str]]:
    """Returns the wrapped rows of the text, each with its style."""
    rows: list[tuple[str, str]] = []
    if text.title:
        rows += [(plain_line(text.title), "title"), ("", "text")]
    for part in text.parts:
        key = "heading" if part.is_heading else part.tone
        if part.is_heading and rows and rows[-1][0]:
            rows.append(("", "text"))
        for line in clean(part.text[:longest]).split("\n"):
            rows.extend((row, key) for row in _rows_of(line, width, part.hang))
        if (left_out := len(part.text) - longest) > 0:
            rows.append((f"… {left_out:,} more characters", "muted"))
    return rows


def _rows_of(line: str, width: int, hang: int) -> list[str]:
    """Wraps a line; continuation rows keep its indent."""
    indent = hang or len(line) - len(line.lstrip(" "))
    if width - indent < MIN_WRAP_CELLS:
        indent = 0
    rest = line[indent:]
    rows = [expand_tabs(rest[start:end], 0) for start, end in wrap(rest, width - indent)]
    return [line[:indent] + rows[0], *(" " * indent + row for row in rows[1:])]
