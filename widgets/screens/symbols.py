"""The symbols of a file's map: narrowed by typing, one of them asked for or its place copied."""

from typing import ClassVar

from textual.binding import BindingType

from tools.results import MapBlock, MapSymbol
from widgets.lists.rows import ListRow
from widgets.screens.picker import PickerAction, PickerScreen, bindings_of


class SymbolsScreen(PickerScreen):
    ACTIONS = (PickerAction(id="app.symbols.copy", keys="ctrl+y", label="copy its place", importance=7),)
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)
    IS_ALIGNED = False

    def __init__(self, title: str, block: MapBlock) -> None:
        rows = [_row(index, symbol) for index, symbol in enumerate(block.symbols)]
        super().__init__(
            title, rows, order="given", choose="read it", empty="no symbol has that", is_full_height=True
        )


def _row(index: int, symbol: MapSymbol) -> ListRow:
    return ListRow(
        id=str(index),
        title=" ".join(symbol.label.split()),
        prefix="  " * min(symbol.depth, 12),
        right=f"{symbol.first_line}-{symbol.last_line}",
    )
