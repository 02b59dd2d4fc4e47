"""Shows one transcript block on a separate screen: in full, and updated while it changes."""

import time
from collections.abc import Callable, Sequence
from typing import ClassVar, assert_never

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message

from tools.tool_result_values import Card
from widgets.key_table import KeyTable, KeyTableRow
from widgets.screens.screen_parts import KeyHint, KeyHints, RuleTitle
from widgets.textual_internals import ClosableModalScreen
from widgets.transcript.block_expansion import BlockExpansion
from widgets.transcript.block_item import BlockItem
from widgets.transcript.leaves.code_leaf import CodeLeaf
from widgets.transcript.searching.search_bar import SearchBar
from widgets.transcript.transcript_blocks import (
    AppNoteBlock,
    Block,
    CardState,
    CustomBlock,
    ReplyBlock,
    ReplyState,
    ToolCallBlock,
    TurnEndBlock,
    UserPromptBlock,
)
from widgets.transcript.transcript_keyboard import TranscriptKeyboard
from widgets.transcript.view import Transcript

BLOCK_REFRESH_SECONDS = 0.5
"""Seconds between two updates of a block that still changes."""
MIN_REFRESH_PAUSE_FACTOR = 20
"""After an update that took t seconds, the next one waits at least this factor times t."""


class BlockScreenKeyboard(TranscriptKeyboard):
    """The transcript's keys on a screen with a single block: they scroll by rows, and Escape closes the screen."""

    @property
    def item(self) -> BlockItem:
        return self.column.items[0]

    def show_whole(self, item: BlockItem) -> None:
        """Does nothing, because the block is already shown in full."""

    def leave(self) -> None:
        if self.finder.is_on:
            self.finder.end_search()
        elif self.widget.text_selection is not None:
            self.widget.screen.clear_selection()
        else:
            self.widget.screen.dismiss(None)

    def copy_or_close(self) -> None:
        """Copies the selection; without one, closes the screen."""
        if text := self.selected_text():
            self.copy(text, "selection")
            self.widget.screen.clear_selection()
        else:
            self.leave()


KEYS: KeyTable[BlockScreenKeyboard] = KeyTable(
    KeyTableRow("tui.select.down", "j,down", "Down", lambda keyboard: keyboard.viewport.scroll_by(1)),
    KeyTableRow("tui.select.up", "k,up", "Up", lambda keyboard: keyboard.viewport.scroll_by(-1)),
    KeyTableRow("tui.select.pageUp", "pageup,b", "Scroll a page up", lambda keyboard: keyboard.page(-1)),
    KeyTableRow(
        "tui.select.pageDown", "pagedown,space", "Scroll a page down", lambda keyboard: keyboard.page(1)
    ),
    KeyTableRow("tui.select.first", "home,g", "Top", TranscriptKeyboard.go_home),
    KeyTableRow("tui.select.last", "end,G", "Bottom", TranscriptKeyboard.go_end),
    KeyTableRow("tui.select.confirm", "q,enter", "Close", BlockScreenKeyboard.leave),
    KeyTableRow("tui.select.cancel", "escape", "Close", BlockScreenKeyboard.leave),
    KeyTableRow("copy-or-leave", "ctrl+c", "Copy", BlockScreenKeyboard.copy_or_close, is_remappable=False),
)


class SingleBlockTranscript(Transcript):
    """A transcript widget that shows a single block in full."""

    BINDINGS: ClassVar[list[BindingType]] = KEYS.bindings

    def __init__(self, block: Block, *, keyboard: type[BlockScreenKeyboard] = BlockScreenKeyboard) -> None:
        super().__init__(keyboard=keyboard)
        self.column.expansion = BlockExpansion(tools=True, thinking=True, is_whole=True)
        self.replace_all([block])
        self.viewport.set_following(is_block_in_progress(block) and not _waits_for_approval(block))

    def action_do(self, id: str) -> object:
        assert isinstance(self.keyboard, BlockScreenKeyboard)
        return KEYS.run_key_action(id, self.keyboard) if id in KEYS else super().action_do(id)


def show_single_block(shown: SingleBlockTranscript, block: Block) -> None:
    """Replaces the content of a block view by one block, shown from its beginning."""
    shown.replace_all([block])
    shown.viewport.set_following(False)
    shown.keyboard.go_home()


class SearchableTranscriptScreen(ClosableModalScreen[None]):
    """A screen over the page with a transcript and its search line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+f,slash,f3", "search", "Search", show=False, id="tui.altScreen.search"),
    ]

    def __init__(self, transcript: SingleBlockTranscript) -> None:
        super().__init__(classes="full-height")
        self.transcript = transcript
        self.search_bar = SearchBar(transcript, id="search")

    def action_search(self) -> None:
        self.search_bar.open_or_step()

    @on(Transcript.SearchChanged)
    def _search_changed(self, message: Transcript.SearchChanged) -> None:
        message.stop()
        self.search_bar.show_search_state(message)

    @on(SearchBar.Left)
    def _search_left(self, message: SearchBar.Left) -> None:
        message.stop()
        self.transcript.focus()


class BlockScreen(SearchableTranscriptScreen):
    """A screen that shows one block of the transcript in full, and updates it while it changes."""

    def __init__(self, title: str, current: Callable[[], Block | None]) -> None:
        self._heading = title
        self._current = current
        """Returns the block as it is now; None if it no longer exists."""
        shown = current()
        assert shown is not None
        self._shown = shown
        super().__init__(SingleBlockTranscript(shown))

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield RuleTitle(self._heading, "", id="title")
            yield self.transcript
            yield self.search_bar
            yield KeyHints(self._hints(), id="keys")

    def extra_key_hints(self) -> list[KeyHint]:
        """Returns the key hints that a subclass adds before the usual ones; none here."""
        return []

    def _hints(self) -> list[KeyHint]:
        first = self.extra_key_hints()
        taken = {hint.key for hint in first}
        return [*first, *(hint for hint in _hints(self.transcript) if hint.key not in taken)]

    def on_resize(self) -> None:
        self.call_after_refresh(self._update_hints)

    def _update_hints(self) -> None:
        """Shows the key hints again after the block was laid out or replaced."""
        if self.is_attached:
            self.query_one("#keys", KeyHints).show(self._hints())

    def on_mount(self) -> None:
        self.transcript.focus()
        if is_block_in_progress(self._shown):
            self.set_timer(BLOCK_REFRESH_SECONDS, self._refresh_block)

    def _refresh_block(self) -> None:
        began = time.thread_time()
        block = self._current()
        if block is None:
            return
        self.transcript.add(block)
        self._update_hints()
        if is_block_in_progress(block):
            cost = time.thread_time() - began
            self.set_timer(max(BLOCK_REFRESH_SECONDS, MIN_REFRESH_PAUSE_FACTOR * cost), self._refresh_block)

    @on(Transcript.FocusModeChanged)
    def _focus_changed(self, message: Message) -> None:
        message.stop()

    @on(Transcript.RetryRequested)
    @on(Transcript.BranchRequested)
    @on(Transcript.SymbolChosen)
    def _close_for_request(self) -> None:
        """Closes the screen of a block when the user requested something that the page handles."""
        self.dismiss(None)


class BlockApprovalScreen(BlockScreen):
    """A screen that shows a whole tool call that waits for approval, and lets the user answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,alt+a", "answer(True)", "Allow", show=False, priority=True),
        Binding("n,alt+x", "answer(False)", "Deny", show=False, priority=True),
    ]

    def __init__(
        self, title: str, card: Card, answer: Callable[[bool], bool], *, labels: Sequence[str]
    ) -> None:
        """Creates the screen for a call's card. `answer` gets True or False and returns False while the question does
        not accept keys; `labels`: the words for yes and no; an empty yes is not offered."""
        block = ToolCallBlock(id="card", card=card, state=CardState.ASKED)
        self._answer = answer
        self._labels = labels
        super().__init__(title, lambda: block)

    def extra_key_hints(self) -> list[KeyHint]:
        yes, no = self._labels
        return [*([KeyHint("y", yes, 8)] if yes else []), KeyHint("n", no, 8)]

    def action_answer(self, allows: bool) -> None:
        if self._answer(allows):
            self.dismiss(None)


def _hints(shown: SingleBlockTranscript) -> list[KeyHint]:
    """Returns the key hints for a block on a separate screen: those of keys that apply to its content."""
    item = shown.column.items[0]
    leaves = item.leaves or ()
    return [
        KeyHint("up/down", "scroll", 6, "tui.select.up/tui.select.down"),
        KeyHint("slash", "search", 5, "tui.altScreen.search"),
        KeyHint("y", "copy", 5, "transcript.copy-block"),
        *(
            [KeyHint("c", "copy code", 3, "transcript.copy-code")]
            if any(isinstance(leaf, CodeLeaf) for leaf in leaves)
            else []
        ),
        *(
            [KeyHint("r", "copy Markdown", 2, "transcript.copy-raw")]
            if isinstance(item.block, ReplyBlock)
            else []
        ),
        *(
            [KeyHint("h/l", "wide tables", 1, "transcript.scroll-left/transcript.scroll-right")]
            if any(leaf.natural_width() > leaf.width for leaf in leaves)
            else []
        ),
        KeyHint("escape", "close", 9, "tui.select.cancel"),
    ]


def _waits_for_approval(block: Block) -> bool:
    """Returns whether a block is a call that waits for approval, which is shown from its beginning."""
    return isinstance(block, ToolCallBlock) and block.state is CardState.ASKED


def is_block_in_progress(block: Block) -> bool:
    match block:
        case ReplyBlock():
            return block.state is ReplyState.STREAMING
        case ToolCallBlock() | CustomBlock():
            return block.state in (
                CardState.PENDING,
                CardState.ASKED,
                CardState.RUNNING,
            )
        case UserPromptBlock() | AppNoteBlock() | TurnEndBlock():
            return False
        case _:
            assert_never(block)
