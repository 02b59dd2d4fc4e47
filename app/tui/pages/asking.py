"""Small questions: one of a list, a line of text. What opens a screen is handed in; None, when there was no answer."""

from collections.abc import Sequence
from typing import Any

from app.tui.handed import AskPerson
from widgets.lists.rows import ListRow
from widgets.screens.dialogs import InputScreen, QuestionScreen
from widgets.screens.models import LevelScreen
from widgets.screens.picker import Picked, PickerScreen


async def pick(ask: AskPerson, title: str, rows: Sequence[ListRow], **options: Any) -> Picked | None:
    return await ask(PickerScreen(title, rows, **options))


async def pick_or_keep(ask: AskPerson, title: str, rows: Sequence[ListRow], *, current: str) -> Picked | None:
    """One for this session, or also for those to come."""
    return await ask(LevelScreen(title, rows, current=current, choose="use now"))


async def select(ask: AskPerson, title: str, options: Sequence[str]) -> str | None:
    """By its number, or by arrows and Enter."""
    rows = [ListRow(id=str(number), title=text) for number, text in enumerate(options)]
    chosen: ListRow | None = await ask(QuestionScreen(title, answers=rows))
    return options[int(chosen.id)] if chosen is not None else None


async def ask_text(
    ask: AskPerson,
    title: str,
    text: str = "",
    *,
    placeholder: str = "",
    prefill: str = "",
    is_secret: bool = False,
) -> str | None:
    """A secret is never drawn."""
    screen = InputScreen(title, text, placeholder=placeholder, prefill=prefill, is_secret=is_secret)
    return await ask(screen)
