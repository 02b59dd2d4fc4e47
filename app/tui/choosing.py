"""The pickers of the full-screen face: what each shows, and what a choice does. Rows are made in `pickers`."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from app.engine.commands.places import EntryParams
from app.engine.commands.places import fork as fork_session
from app.tui import pickers
from app.tui.settings_page import keep_setting
from widgets.lists.rows import ListRow
from widgets.screens.catalogue import ThemeScreen
from widgets.screens.models import LevelScreen
from widgets.screens.picker import Picked, PickerScreen

if TYPE_CHECKING:
    from app.tui.app import BayouApp


class Choosing:
    """Opens pickers over one application."""

    def __init__(self, app: "BayouApp") -> None:
        self._app = app

    async def ask(self, screen: Any) -> Any:
        """Shows a screen and waits for its answer."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def take(result: Any) -> None:
            if not answer.done():
                answer.set_result(result)

        await self._app.push_screen(screen, take)
        try:
            return await answer
        finally:
            if self._app.screen_stack[-1:] == [screen]:  # whoever asked waits no longer
                self._app.pop_screen()

    async def pick(
        self,
        title: str,
        rows: Sequence[ListRow],
        **options: Any,
    ) -> Picked | None:
        return await self.ask(PickerScreen(title, rows, **options))

    async def pick_or_keep(self, title: str, rows: Sequence[ListRow], *, current: str) -> Picked | None:
        return await self.ask(LevelScreen(title, rows, current=current, choose="use in this session"))

    async def select(self, title: str, options: Sequence[str]) -> str | None:
        rows = [ListRow(id=str(number), title=text) for number, text in enumerate(options)]
        picked = await self.pick(title, rows)
        return options[int(picked.row.id)] if picked is not None else None

    async def cycle_model(self, step: int) -> None:
        self._tell_if_alone(await self._app.session.cycle_model(step))

    async def cycle_level(self) -> None:
        self._tell_if_alone(await self._app.session.cycle_thinking())

    def _tell_if_alone(self, changed: object) -> None:
        if changed is None:
            self._app.presenter.note("There is nothing else to choose from.")

    async def new_session(self) -> None:
        session = self._app.session
        await session.abort()
        await session.open(session.places.new(), "new")

    async def prompt_to_fork(self) -> None:
        rows = pickers.prompt_rows(self._app.session.log)
        if not rows:
            self._app.presenter.note("There is no prompt to fork from yet.")
            return
        picked = await self.pick("Fork from", rows, order="given")
        if picked is not None:
            data = await fork_session(self._app.session, EntryParams(entry_id=picked.row.id))
            self._app.editor.set_text(data.get("text") or "")

    async def theme(self) -> None:
        """Each theme is seen while the cursor is on it."""
        app = self._app
        names = [name for name in app.assembled.themes.names]
        rows = [ListRow(id=name, title=name, is_checked=name == app.theme) for name in names]
        picked: Picked | None = await self.ask(ThemeScreen(rows, app.theme, app.looks.use))
        if picked is not None and picked.action == "app.themes.save":
            keep_setting(app, "theme", picked.row.id)
