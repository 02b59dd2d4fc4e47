"""Screens for reading: one text, or two side by side that scroll together."""

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen

from widgets.row_builder import cells
from widgets.screens.preview_pane import Preview, PreviewParagraph, PreviewText
from widgets.screens.screen_parts import KeyHint, KeyHints, RuleTitle, key_list_text
from widgets.textual_internals import ClosableModalScreen

MAX_TEXT_PAGE_CHARS = 2_000_000
"""The maximum number of characters, which can be laid out without a noticeable delay."""


_TEXT_PAGE_KEY_HINTS = (
    KeyHint("up/down", "scroll", 5, "tui.select.up/tui.select.down"),
    KeyHint("escape", "close", 9, "tui.select.cancel"),
)


_TEXT_PANE_EDGE_CELLS = 4
"""Cells beside the text of a page."""


class PageScreen(ClosableModalScreen[None]):
    """A screen that shows texts for reading, as high as the longest of them needs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_text(-1)", "Up", show=False, id="tui.select.up"),
        Binding("down,j", "scroll_text(1)", "Down", show=False, id="tui.select.down"),
        Binding("pageup,b", "scroll_text(-10)", "Page up", show=False, id="tui.select.pageUp"),
        Binding("pagedown,space", "scroll_text(10)", "Page down", show=False, id="tui.select.pageDown"),
        Binding("home,g", "edge(False)", "Top", show=False, id="tui.select.first"),
        Binding("end,G", "edge(True)", "Bottom", show=False, id="tui.select.last"),
        Binding("q,enter", "cancel", "Close", show=False, id="tui.select.confirm"),
    ]

    def __init__(self, title: str, *pages: PreviewText, note: str = "") -> None:
        super().__init__(classes="beside")
        self._heading = title
        self._note = note
        self.pages = pages

    @property
    def _rows_of_short_pages(self) -> int | None:
        """The rows of the longest page; None if the screen should be full."""
        width, height = self.app.size
        room = max(1, width // len(self.pages) - _TEXT_PANE_EDGE_CELLS)
        most = height * 3 // 5
        rows = max(
            2 * bool(page.title)
            + sum(
                -(-max(1, cells(line)) // room)
                for part in page.parts
                for line in part.text.split("\n")[: most + 1]
            )
            for page in self.pages
        )
        return rows if rows <= most else None

    def compose(self) -> ComposeResult:
        self.set_class(self._rows_of_short_pages is None, "full-height")
        with Vertical(id="sheet"):
            yield RuleTitle(self._heading, self._note, id="title")
            with Horizontal(id="body"):
                for number, _ in enumerate(self.pages):
                    yield Preview(longest=MAX_TEXT_PAGE_CHARS, id=f"page-{number}")
            yield KeyHints(_TEXT_PAGE_KEY_HINTS, id="keys")

    def on_mount(self) -> None:
        for pane, page in zip(self.query(Preview), self.pages, strict=True):
            pane.show(page)
        self.on_resize()

    def on_resize(self) -> None:
        rows = self._rows_of_short_pages
        self.set_class(rows is None, "full-height")
        self.query_one("#body").styles.height = rows

    def action_scroll_text(self, delta: int) -> None:
        for pane in self.query(Preview):
            pane.scroll_relative(y=delta, animate=False)

    def action_edge(self, is_end: bool) -> None:
        for pane in self.query(Preview):
            (pane.scroll_end if is_end else pane.scroll_home)(animate=False)


ALL_KEYS_HINT = KeyHint("f1", "all keys", 10, "tui.select.keys")


def show_all_keys(screen: Screen[Any]) -> None:
    """Opens a screen that lists all keys of the given screen, including those without space in its hint line."""
    hints = screen.query_one(KeyHints).current_hints()
    screen.app.push_screen(
        PageScreen("Keys here", PreviewText(parts=(PreviewParagraph(text=key_list_text(hints)),)))
    )
