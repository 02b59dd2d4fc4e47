"""Shows a transcript block in full, and the symbols of a file map."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar

import msgspec
from textual.binding import BindingType

from app.tui.page_protocols import AskOnScreen, CopyText, WriteToEditor
from tools.files.paths import display_path
from tools.tool_result_values import MapBlock, MapSymbol
from widgets.lists.list_rows import ListRow
from widgets.screens.block import BlockScreen
from widgets.screens.picker import PickerAction, PickerScreen, picker_bindings
from widgets.transcript.view import Transcript


class FileMapSymbolsScreen(PickerScreen):
    """A picker of the symbols in a file map; a key copies a symbol's path and lines."""

    ACTIONS = (
        PickerAction(
            id="app.symbols.copy",
            keys="ctrl+y",
            label="copy location",
            help="Copy file and line of the symbol",
            importance=7,
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)
    IS_ALIGNED = False

    def __init__(self, title: str, block: MapBlock) -> None:
        rows = [_symbol_row(index, symbol) for index, symbol in enumerate(block.symbols)]
        super().__init__(
            title, rows, order="given", choose="open", empty="no matching symbol", is_full_height=True
        )


def _symbol_row(index: int, symbol: MapSymbol) -> ListRow:
    return ListRow(
        id=str(index),
        title=" ".join(symbol.label.split()),
        prefix="  " * min(symbol.depth, 12),
        right=f"{symbol.first_line}-{symbol.last_line}",
    )


class TranscriptBlockPage(msgspec.Struct, frozen=True):
    """The actions on a block of the transcript: opening it in full, and listing the symbols of its file map."""

    transcript: Transcript
    ask: AskOnScreen
    write_to_editor: WriteToEditor
    copy: CopyText
    cwd: Path
    show_widget: Callable[[str], Awaitable[bool]]
    """Shows an extension's widget for the block; returns False if there is none."""

    async def open(self, block_id: str) -> None:
        """Shows a whole block of the transcript on a separate screen, or the widget that an extension has for it."""
        if self.transcript.find_block(block_id) is None or await self.show_widget(block_id):
            return
        await self.ask(BlockScreen("In full", lambda: self.transcript.find_block(block_id)))

    async def choose_symbol(self, block: MapBlock) -> None:
        path = display_path(block.path, self.cwd)
        picked = await self.ask(FileMapSymbolsScreen(path, block))
        if picked is None:
            return
        symbol = block.symbols[int(picked.row.id)]
        if picked.action == "choose":
            self.write_read_lines_prompt(block.path, symbol.first_line, symbol.last_line)
        else:
            self.copy(f"{path}:{symbol.first_line}-{symbol.last_line}", "the symbol's location")

    def write_read_lines_prompt(self, path: str, first: int, last: int) -> None:
        """Writes a prompt that asks for certain lines of a file into the editor."""
        self.write_to_editor(f"read {display_path(path, self.cwd)}:{first}-{last}", focus=True)
