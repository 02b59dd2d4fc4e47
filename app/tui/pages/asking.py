"""Asking the person: a screen over the page, and its answer. None, when there was none."""

import asyncio
from collections.abc import Sequence
from typing import Any

from textual.app import App

from widgets.lists.rows import ListRow
from widgets.screens.dialogs import InputScreen
from widgets.screens.models import LevelScreen
from widgets.screens.picker import Picked, PickerScreen


async def ask(app: App[Any], screen: Any) -> Any:
    """Shows a screen and waits for its answer."""
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def take(result: Any) -> None:
        if not answer.done():
            answer.set_result(result)

    mounted = asyncio.ensure_future(app.push_screen(screen, take))
    try:
        await asyncio.shield(mounted)
        return await answer
    finally:
        await mounted  # a screen cannot be taken away while it is being built
        if app.screen_stack[-1:] == [screen]:  # whoever asked waits no longer
            app.pop_screen()


async def pick(app: App[Any], title: str, rows: Sequence[ListRow], **options: Any) -> Picked | None:
    return await ask(app, PickerScreen(title, rows, **options))


async def pick_or_keep(app: App[Any], title: str, rows: Sequence[ListRow], *, current: str) -> Picked | None:
    """One for this session, or also for those to come."""
    return await ask(app, LevelScreen(title, rows, current=current, choose="use in this session"))


async def select(app: App[Any], title: str, options: Sequence[str]) -> str | None:
    rows = [ListRow(id=str(number), title=text) for number, text in enumerate(options)]
    picked = await pick(app, title, rows)
    return options[int(picked.row.id)] if picked is not None else None


async def ask_text(
    app: App[Any],
    title: str,
    text: str = "",
    *,
    placeholder: str = "",
    prefill: str = "",
    is_secret: bool = False,
) -> str | None:
    """A secret is never drawn."""
    screen = InputScreen(title, text, placeholder=placeholder, prefill=prefill, is_secret=is_secret)
    return await ask(app, screen)
