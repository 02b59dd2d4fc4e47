"""One block on a screen of its own: drawn as in the transcript, but opened, whole, and as long as it goes on, live."""

import time
from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message

from widgets.screens.parts import KeyHint, KeyHints, RuleTitle
from widgets.screens.picker import SheetScreen
from widgets.transcript.blocks import Block, CardBlock, CardState, CustomBlock, ReplyBlock, ReplyState
from widgets.transcript.drawing import Expansion
from widgets.transcript.item import Item
from widgets.transcript.searchbar import SearchBar
from widgets.transcript.view import Transcript

REFRESH = 0.5
"""Seconds between two looks at a block that goes on."""
SHARE = 20
"""A look that cost t is followed by the next after at least this many t."""


class WholeBlock(Transcript):
    """A transcript of one block. There is nothing to walk between, so the keys move by rows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "rows(1)", "Down", show=False, id="tui.select.down"),
        Binding("k,up", "rows(-1)", "Up", show=False, id="tui.select.up"),
        Binding("pageup,b", "page(-1)", "Page up", show=False, id="tui.select.pageUp"),
        Binding("pagedown,space", "page(1)", "Page down", show=False, id="tui.select.pageDown"),
        Binding("home,g", "go_home", "Top", show=False, id="tui.select.first"),
        Binding("end,G", "go_end", "Bottom", show=False, id="tui.select.last"),
        Binding("q,enter", "leave", "Close", show=False, id="tui.select.confirm"),
        Binding("escape", "leave", "Close", show=False, id="tui.select.cancel"),
        Binding("ctrl+c", "copy_or_leave", "Copy", show=False),
    ]

    def __init__(self, block: Block) -> None:
        super().__init__()
        self.column.expansion = Expansion(tools=True, thinking=True, is_whole=True)
        self.replace_all([block])
        self.set_following(is_going_on(block))

    @property
    def focused_item(self) -> Item:
        return self.column.items[0]

    def on_focus(self) -> None:
        """No block is marked: there is only one."""

    def action_rows(self, rows: int) -> None:
        self.scroll_by(rows)

    def action_leave(self) -> None:
        if self.search_state.is_on:
            self.end_search()
        elif self.text_selection is not None:
            self.screen.clear_selection()
        else:
            self.screen.dismiss(None)

    def action_copy_or_leave(self) -> None:
        """What is selected is copied, as on the page."""
        if text := self.selected_text():
            self._copy(text, "selection")
            self.screen.clear_selection()
        else:
            self.action_leave()

    def _full_screen(self, item: Item) -> None:
        """It is."""


class BlockScreen(SheetScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+f,slash,f3", "search", "Search", show=False, id="tui.altScreen.search"),
    ]

    def __init__(self, title: str, current: Callable[[], Block | None]) -> None:
        super().__init__(classes="full-height")
        self._heading = title
        self._current = current
        """What is to be shown, as it is now; None when it is gone."""
        shown = current()
        assert shown is not None
        self._shown = shown
        self.transcript = WholeBlock(shown)
        self.search_bar = SearchBar(self.transcript, id="search")

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield RuleTitle(self._heading, "", id="title")
            yield self.transcript
            yield self.search_bar
            yield KeyHints(
                (
                    KeyHint("up/down", "scroll", 6, "tui.select.up/tui.select.down"),
                    KeyHint("slash", "search", 5),
                    KeyHint("y", "copy", 5, "transcript.copy-block"),
                    KeyHint("c", "copy code", 3, "transcript.copy-code"),
                    KeyHint("r", "copy Markdown", 2, "transcript.copy-raw"),
                    KeyHint("h/l", "wide tables", 1, "transcript.scroll-left/transcript.scroll-right"),
                    KeyHint("escape", "close", 9),
                ),
                id="keys",
            )

    def on_mount(self) -> None:
        self.transcript.focus()
        if is_going_on(self._shown):
            self.set_timer(REFRESH, self._look_again)

    def _look_again(self) -> None:
        began = time.thread_time()
        block = self._current()
        if block is None:
            return
        self.transcript.add(block)
        if is_going_on(block):
            cost = time.thread_time() - began
            self.set_timer(max(REFRESH, SHARE * cost), self._look_again)

    def action_search(self) -> None:
        self.search_bar.open()

    @on(Transcript.SearchChanged)
    def _search_changed(self, message: Transcript.SearchChanged) -> None:
        message.stop()
        self.search_bar.show(message)

    @on(SearchBar.Left)
    def _search_left(self, message: SearchBar.Left) -> None:
        message.stop()
        self.transcript.focus()

    @on(Transcript.FocusModeChanged)
    def _focus_changed(self, message: Message) -> None:
        message.stop()

    @on(Transcript.RetryRequested)
    @on(Transcript.BranchRequested)
    @on(Transcript.SymbolChosen)
    def _go_on_behind(self) -> None:
        """What was asked for happens on the page, which hears of it too."""
        self.dismiss(None)


def is_going_on(block: Block) -> bool:
    match block:
        case ReplyBlock():
            return block.state is ReplyState.STREAMING
        case CardBlock() | CustomBlock():
            return block.state in (CardState.PENDING, CardState.RUNNING)
        case _:
            return False
