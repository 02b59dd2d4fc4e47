"""The pickers of the full-screen face: what each shows, and what a choice does. Rows are made in `pickers`."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.engine.commands.base import CommandError
from app.engine.commands.places import EntryParams
from app.engine.commands.places import fork as fork_session
from app.sessions.library import list_sessions, rename_session, threads
from app.sessions.trash import delete_session
from app.tui import pickers
from app.tui.actions import command_names, key_actions
from app.values.messages import now_ms
from app.values.models import thinking_level
from widgets.lists.rows import ListRow
from widgets.screens.picker import Picked, PickerAction, PickerScreen

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
            if screen is self._app.screen:  # whoever asked waits no longer
                self._app.pop_screen()

    async def pick(
        self,
        title: str,
        rows: Sequence[ListRow],
        actions: Sequence[PickerAction] = (),
        **options: Any,
    ) -> Picked | None:
        return await self.ask(PickerScreen(title, rows, actions, **options))

    async def select(self, title: str, options: Sequence[str]) -> str | None:
        rows = [ListRow(id=str(number), title=text) for number, text in enumerate(options)]
        picked = await self.pick(title, rows)
        return options[int(picked.row.id)] if picked is not None else None

    async def model(self, query: str = "") -> None:
        session = self._app.session
        rows = pickers.model_rows(session.choice)
        current = session.choice.model.key if session.choice.model else ""
        picked = await self.pick("Model", rows, query=query, current=current)
        if picked is None:
            return
        provider, _, model_id = picked.row.id.partition("/")
        await session.set_model(session.choice.find(provider, model_id))

    async def level(self) -> None:
        choice = self._app.session.choice
        picked = await self.pick("Thinking", pickers.level_rows(choice), current=choice.thinking)
        level = thinking_level(picked.row.id) if picked is not None else None
        if level is not None:
            await self._app.session.set_thinking(level)

    async def cycle_model(self, step: int) -> None:
        self._tell_if_alone(await self._app.session.cycle_model(step))

    async def cycle_level(self) -> None:
        self._tell_if_alone(await self._app.session.cycle_thinking())

    def _tell_if_alone(self, changed: object) -> None:
        if changed is None:
            self._app.presenter.note("There is nothing else to choose from.")

    async def session(self) -> None:
        """Another session of this folder or, below, of others."""
        places = self._app.session.places
        found = await asyncio.to_thread(list_sessions, places.root, places.cwd)
        rows = pickers.session_rows(threads(found), now_ms())
        actions = (
            PickerAction(id="delete", keys="ctrl+d", label="delete"),
            PickerAction(id="rename", keys="ctrl+r", label="name it as typed"),
        )
        picked = await self.pick(
            "Sessions", rows, actions, order="given", is_full_height=True, empty="no sessions yet"
        )
        if picked is None:
            return
        path = Path(picked.row.id)
        if picked.action == "delete":
            await asyncio.to_thread(delete_session, path, places.root)
            self._app.presenter.note(f"Moved to the trash: {picked.row.title}")
        elif picked.action == "rename":
            await asyncio.to_thread(rename_session, path, picked.query)
        else:
            await self._app.session.abort()
            await self._app.session.open(places.open(path), "resume")

    async def prompt_to_fork(self) -> None:
        picked = await self.pick("Fork from", pickers.prompt_rows(self._app.session.log), order="given")
        if picked is not None:
            data = await fork_session(self._app.session, EntryParams(entry_id=picked.row.id))
            self._app.editor.set_text(data.get("text") or "")

    async def theme(self) -> None:
        names = self._app.assembled.themes.names
        picked = await self.pick("Theme", pickers.theme_rows(names, self._app.theme), current=self._app.theme)
        if picked is not None and (problem := self._app.use_theme(picked.row.id)) is not None:
            raise CommandError(problem)

    async def action(self) -> None:
        """The palette: every command and key action by name."""
        rows = [
            ListRow(id=f"/{name}", title=f"/{name}", detail=text) for name, text in command_names(self._app)
        ]
        rows += [ListRow(id=action, title=text, right=key) for key, action, text in key_actions(self._app)]
        picked = await self.pick("Actions", rows)
        if picked is None:
            return
        if picked.row.id.startswith("/"):
            self._app.editor.set_text(f"{picked.row.id} ")
        else:
            await self._app.run_action(picked.row.id)
