"""A block of the transcript in full, and the symbols of a map to go on from."""

from app.tui.extensions.overlay import show_widget_of
from app.tui.pages.asking import ask
from app.tui.stage import Stage
from tools.files.paths import display
from tools.results import MapBlock
from widgets.screens.block import BlockScreen
from widgets.screens.symbols import SymbolsScreen


async def show_block(app: Stage, block_id: str) -> None:
    """The whole of it; for an extension's own widget, that."""
    if app.transcript.block(block_id) is None or await show_widget_of(app, block_id):
        return
    await ask(app, BlockScreen("In full", lambda: app.transcript.block(block_id)))


async def choose_symbol(app: Stage, block: MapBlock) -> None:
    picked = await ask(app, SymbolsScreen(display(block.path, app.session.cwd), block))
    if picked is None:
        return
    symbol = block.symbols[int(picked.row.id)]
    if picked.action == "choose":
        ask_for_lines(app, block.path, symbol.first_line, symbol.last_line)
    else:
        place = f"{display(block.path, app.session.cwd)}:{symbol.first_line}-{symbol.last_line}"
        app.copy(place, "the place of the symbol")


def ask_for_lines(app: Stage, path: str, first: int, last: int) -> None:
    """The request for these lines, ready to be sent or changed."""
    app.editor.set_text(f"read {display(path, app.session.cwd)}:{first}-{last}")
    app.editor.focus()
