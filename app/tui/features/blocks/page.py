"""Shows a transcript block in full, and the symbols of a file map."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar

import msgspec
from textual.binding import BindingType

from app.tui.page_protocols import AskPerson, Copy, Write
from tools.files.paths import display_path
from tools.results import MapBlock, MapSymbol
from widgets.lists.rows import ListRow
from widgets.screens.block import BlockScreen
from widgets.screens.picker import PickerAction, PickerScreen, bindings_of
from widgets.transcript.view import Transcript


class SymbolsScreen(PickerScreen):
    """Lists the symbols of a file map; a key copies a symbol's place."""

    ACTIONS = (PickerAction(id="app.symbols.copy", keys="ctrl+y", label="copy its place", importance=7),)
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)
    IS_ALIGNED = False

    def __init__(self, title: str, block: MapBlock) -> None:
        rows = [_row(index, symbol) for index, symbol in enumerate(block.symbols)]
        super().__init__(
            title, rows, order="given", choose="read it", empty="no matching symbol", is_full_height=True
        )


def _row(index: int, symbol: MapSymbol) -> ListRow:
    return ListRow(
        id=str(index),
        title=" ".join(symbol.label.split()),
        prefix="  " * min(symbol.depth, 12),
        right=f"{symbol.first_line}-{symbol.last_line}",
    )


class BlockPage(msgspec.Struct, frozen=True):
    """Actions on the blocks of the transcript."""

    transcript: Transcript
    ask: AskPerson
    write: Write
    copy: Copy
    cwd: Path
    show_widget: Callable[[str], Awaitable[bool]]
    """Shows an extension's widget for the block; returns False if there is none."""

    async def open(self, block_id: str) -> None:
        """Shows the whole block, or the extension's widget for it."""
        if self.transcript.block(block_id) is None or await self.show_widget(block_id):
            return
        await self.ask(BlockScreen("In full", lambda: self.transcript.block(block_id)))

    async def choose_symbol(self, block: MapBlock) -> None:
        path = display_path(block.path, self.cwd)
        picked = await self.ask(SymbolsScreen(path, block))
        if picked is None:
            return
        symbol = block.symbols[int(picked.row.id)]
        if picked.action == "choose":
            self.ask_for_lines(block.path, symbol.first_line, symbol.last_line)
        else:
            self.copy(f"{path}:{symbol.first_line}-{symbol.last_line}", "the symbol's location")

    def ask_for_lines(self, path: str, first: int, last: int) -> None:
        """Writes a request for these lines into the editor."""
        self.write(f"read {display_path(path, self.cwd)}:{first}-{last}", focus=True)
