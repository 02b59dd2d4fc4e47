"""A pane of text, such as the preview beside a list. Foreign text is wrapped and drawn literally; messages are drawn as
Markdown."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

import msgspec
from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from widgets import textual_internals as textual_inside
from widgets.lists.list_rows import RowTone
from widgets.readable_styles import make_style_readable
from widgets.row_builder import RIGHT_MARGIN_CELLS, RowBuilder, cells, clean_single_line
from widgets.transcript.leaves.safe_text import clean, expand_tabs, wrap_line_into_ranges

MAX_PREVIEW_CHARS = 20_000
MIN_PREVIEW_WRAP_CELLS = 16
"""Minimum cells after an indent for continuation rows; with less, they begin at the edge."""


class PreviewParagraph(msgspec.Struct, frozen=True, kw_only=True):
    """A paragraph of a preview, with its colour and how it is wrapped."""

    text: str
    tone: RowTone = "text"
    is_heading: bool = False
    is_markdown: bool = False
    """Whether the text is a message, whose Markdown is drawn."""
    hanging_indent: int = 0
    """The width of a label in cells; continuation rows are indented by it."""


class PreviewText(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a preview pane: a title and paragraphs."""

    title: str = ""
    parts: tuple[PreviewParagraph, ...] = ()


def make_preview_text(title: str, *texts: str) -> PreviewText:
    return PreviewText(title=title, parts=tuple(PreviewParagraph(text=text) for text in texts))


def labelled_fact_paragraphs(
    pairs: Iterable[tuple[str, str]], *, tone: RowTone = "muted"
) -> list[PreviewParagraph]:
    """Returns a preview's paragraphs for labelled facts: labels and texts in two aligned columns; labels without a text
    are left out."""
    told = [(label, text) for label, text in pairs if text]
    hang = max((cells(label) for label, _ in told), default=0) + 2
    return [
        PreviewParagraph(text=f"{label:<{hang}}{text}", tone=tone, hanging_indent=hang)
        for label, text in told
    ]


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
        self._rows: list[_StyledPreviewRow] = []
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
        self._rows = rows = _wrap_text(self.shown, width, self._longest)
        textual_inside.resize_scrollable_content(
            self, Size(width, len(rows))
        )  # the text changes with each key
        self.refresh()

    def render_line(self, y: int) -> Strip:
        line = RowBuilder(max(1, self.size.width - RIGHT_MARGIN_CELLS), self._style("")).pad(2)
        at = y + self.scroll_offset.y
        if at < len(self._rows):
            for text, key in self._rows[at]:
                line.add(text, self._style(key))
        line.width = self.size.width  # includes the scroll bar's column
        return line.strip()

    def _style(self, key: str) -> Style:
        found = self._styles.get(key)
        if found is None:
            name, _, flags = key.partition("+")
            found = (
                make_style_readable(self.get_component_rich_style(f"preview--{name}"))
                if name
                else self.rich_style
            )
            if flags:
                found += Style(
                    bold="b" in flags or None,
                    italic="i" in flags or None,
                    strike="s" in flags or None,
                    underline="l" in flags or None,
                )
            self._styles[key] = found
        return found


def count_preview_rows(text: PreviewText, width: int) -> int:
    """Returns the number of rows that a preview's text needs in a pane of this width."""
    return len(_wrap_text(text, _text_width(width), MAX_PREVIEW_CHARS))


def _text_width(width: int) -> int:
    return max(8, width - 2 - RIGHT_MARGIN_CELLS)


_StyledPreviewRow = tuple[tuple[str, str], ...]
"""The pieces of a row: text and style."""
_PREVIEW_STYLE_BY_MARKDOWN_KEY = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "heading"),
    **dict.fromkeys(("rule", "quote", "quote-mark", "html", "dim", "marker"), "muted"),
    "code-inline": "accent",
    "link": "accent",
    "table-header": "text+b",
}


def _wrap_text(text: PreviewText, width: int, longest: int) -> list[_StyledPreviewRow]:
    """Wraps a preview's title and paragraphs to rows of styled pieces; a paragraph is cut after `longest` characters,
    and a row says how many are left out."""
    rows: list[_StyledPreviewRow] = []
    if text.title:
        rows += [((clean_single_line(text.title), "title"),), ()]
    for part in text.parts:
        key = "heading" if part.is_heading else part.tone
        if part.is_heading and rows and any(piece for piece, _ in rows[-1]):
            rows.append(())
        shown = clean(part.text[:longest])
        if part.is_markdown:
            rows.extend(_markdown_rows(shown, width))
        else:
            rows.extend(
                ((row.rstrip(), key),)
                for line in shown.split("\n")
                for row in _wrap_line(line, width, part.hanging_indent)
            )
        if (left_out := len(part.text) - longest) > 0:
            rows.append(((f"… {left_out:,} more characters", "muted"),))
    return rows


def _markdown_rows(text: str, width: int) -> Iterator[_StyledPreviewRow]:
    from widgets.transcript.markdown.markdown_leaves import parse_markdown  # noqa: PLC0415  (with the first preview)

    for leaf in parse_markdown(text):
        yield from [()] * leaf.blank
        for row in range(len(leaf.layout(width))):
            yield tuple((piece.text, _style_key(piece.key)) for piece in leaf.pieces(row))


def _style_key(key: str) -> str:
    """Converts a style of drawn Markdown (`painting.style_lookup`) to one of the preview pane."""
    name, _, flags = key.rpartition("\0")[2].partition("|")[0].partition("+")
    own, _, own_flags = _PREVIEW_STYLE_BY_MARKDOWN_KEY.get(name, "text").partition("+")
    return f"{own}+{flags}{own_flags}" if flags or own_flags else own


def _wrap_line(line: str, width: int, hang: int) -> list[str]:
    """Wraps a line of a preview; continuation rows keep the line's indent."""
    indent = hang or len(line) - len(line.lstrip(" "))
    if width - indent < MIN_PREVIEW_WRAP_CELLS:
        indent = 0
    rest = line[indent:]
    rows = [expand_tabs(rest[start:end], 0) for start, end in wrap_line_into_ranges(rest, width - indent)]
    return [line[:indent] + rows[0], *(" " * indent + row for row in rows[1:])]
