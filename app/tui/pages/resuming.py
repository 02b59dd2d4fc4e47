"""Going on with another session file. Where it cannot simply be opened, the person says what to do."""

import asyncio
from pathlib import Path

from app.engine.places import Places
from app.engine.session import Session
from app.sessions.errors import SessionLocked, SessionTooNew
from app.sessions.log import SessionLog
from app.tui.handed import AskPerson, TellPerson
from app.tui.status.bars import short_path
from app.values.unable import Unable
from widgets.lists.rows import ListRow
from widgets.screens.dialogs import QuestionScreen
from widgets.transcript.blocks import NoteKind

_READ = ListRow(id="read", title="Open it read-only", detail="look, search, copy, export")
_FORK = ListRow(id="fork", title="Fork it here", detail="go on in a copy; the file stays as it is")
_HERE = ListRow(id="here", title="Continue here", detail="in the same file, with this folder's files")
_CANCEL = ListRow(id="cancel", title="Cancel")


class Resuming:
    """Opens session files in one session."""

    def __init__(
        self, session: Session, places: Places, ask: AskPerson, say: TellPerson, *, home: Path
    ) -> None:
        self._session = session
        self._places = places
        self._ask_screen = ask
        self._say = say
        self._home = home

    async def begin(self, locked: SessionLocked | None) -> bool:
        """Asks about the session that bayou was started with; False: the person does not want it so.

        `locked`: another process writes it.
        """
        session = self._session
        if locked is not None:
            answer = await self._ask_locked(locked)
        elif (log := session.log).is_on_disk and log.is_cwd_gone:
            answer = await self._ask_gone(log)
        else:
            return True
        if answer == "fork" and (path := session.state.file) is not None:
            try:
                await session.open(await self._copy(path), "fork")
            except Unable as problem:
                self._say(str(problem), NoteKind.ERROR)
        return answer is not None

    async def open(self, path: Path) -> None:
        """Goes on with a file, and stays where one is when it cannot be had or the person cancels."""
        session = self._session
        log = await self._log_of(path)
        if log is not None:
            await session.abort()
            await session.open(log, "resume")

    async def _log_of(self, path: Path) -> SessionLog | None:
        places = self._places
        try:
            log = await asyncio.to_thread(places.open, path)
        except SessionLocked as locked:
            answer = await self._ask_locked(locked)
            if answer == "fork":
                return await self._copy(path)
            return await asyncio.to_thread(places.open, path, read_only=True) if answer else None
        except SessionTooNew:
            return await asyncio.to_thread(places.open_newer, path)
        if not log.is_cwd_gone:
            return log
        answer = await self._ask_gone(log)
        if answer == "here":
            return log
        log.close()
        return await self._copy(path) if answer == "fork" else None

    async def _copy(self, path: Path) -> SessionLog:
        return await asyncio.to_thread(self._places.copy, path)

    async def _ask_locked(self, locked: SessionLocked) -> str | None:
        who = f"Process {locked.holder}" if locked.holder else "Another process"
        text = f"{who} is writing it. Two at once would mix their lines."
        if locked.path is not None:
            text += f"\n\n{self._short(locked.path)}"
        return await self._ask("This session is open elsewhere", text, _READ, _FORK)

    async def _ask_gone(self, log: SessionLog) -> str | None:
        text = (
            f"It was about {self._short(Path(log.cwd))}, which does not exist any more. "
            f"This is {self._short(self._session.cwd)}."
        )
        if log.path is not None:
            text += f"\n\n{self._short(log.path)}"
        return await self._ask("The folder of this session is gone", text, _HERE, _FORK)

    def _short(self, path: Path) -> str:
        return short_path(path, self._home)

    async def _ask(self, title: str, text: str, *answers: ListRow) -> str | None:
        chosen: ListRow | None = await self._ask_screen(QuestionScreen(title, text, (*answers, _CANCEL)))
        return None if chosen is None or chosen.id == "cancel" else chosen.id
