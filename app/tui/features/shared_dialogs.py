"""Dialogs that pages share: choose from a list, enter a line of text, read a card. They return None if cancelled."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from app.tui.page_protocols import AskOnScreen, HandleRequest
from tools.tool_result_values import Card
from widgets.lists.list_rows import ListRow
from widgets.screens.block import BlockScreen
from widgets.screens.dialogs import ConfirmScreen, QuestionScreen, TextInputDialog
from widgets.screens.picker import PickerResult, PickerScreen
from widgets.transcript.transcript_blocks import CardState, ToolCallBlock

OPEN_LIST_REFRESH_SECONDS = 0.5
"""Seconds between two refreshes of an open list."""


async def pick_list_row(
    ask: AskOnScreen, title: str, rows: Sequence[ListRow], **options: Any
) -> PickerResult | None:
    return await ask(PickerScreen(title, rows, **options))


async def select_option(ask: AskOnScreen, title: str, options: Sequence[str]) -> str | None:
    """Shows a dialog in which the user chooses an option by number, or with arrows and Enter; returns the option. A
    second line of the title has the heads of the options' columns."""
    title, _, heads = title.partition("\n")
    if heads and len(options) < 10:
        heads = f"  {heads}"  # as the options, which have numbers
    rows = [ListRow(id=str(number), title=text) for number, text in enumerate(options)]
    chosen: ListRow | None = await ask(QuestionScreen(title, heads, answers=rows))
    return options[int(chosen.id)] if chosen is not None else None


async def ask_text(
    ask: AskOnScreen,
    title: str,
    text: str = "",
    *,
    placeholder: str = "",
    prefill: str = "",
    is_secret: bool = False,
) -> str | None:
    """Asks the user for one line of text; a secret is shown as dots."""
    screen = TextInputDialog(title, text, placeholder=placeholder, prefill=prefill, is_secret=is_secret)
    return await ask(screen)


async def confirm(ask: AskOnScreen, title: str, text: str = "") -> bool:
    """Asks yes or no; Enter and Escape mean no."""
    return bool(await ask(ConfirmScreen(title, text, is_dangerous=True)))


async def ask_with_refreshed_picker(
    ask: AskOnScreen, screen: PickerScreen, look: Callable[[], None], on_request: HandleRequest
) -> PickerResult | None:
    """Shows a picker, calls `look` regularly to refresh it while it is open, and returns the user's choice."""

    async def follow() -> None:
        while True:
            await asyncio.sleep(OPEN_LIST_REFRESH_SECONDS)
            if screen.is_there:
                look()

    following = asyncio.ensure_future(follow())
    try:
        return await ask(screen, on_request=on_request)
    finally:
        following.cancel()


async def show_card(ask: AskOnScreen, title: str, card: Card, *, is_asked: bool = False) -> None:
    """Shows a card in full on a separate screen. `is_asked`: its call waits for approval, and nothing has run yet."""
    block = ToolCallBlock(id="card", card=card, state=CardState.ASKED if is_asked else CardState.DONE)
    await ask(BlockScreen(title, lambda: block))
