"""Opens another session file. If it cannot simply be opened, the user chooses what to do."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from app.engine.session import Session
from app.engine.tree.session_paths import SessionPaths
from app.sessions.errors import SessionLocked, SessionTooNew
from app.sessions.folders import header_of
from app.sessions.session_library import is_same_folder
from app.sessions.session_log import SessionLog
from app.tui.features.ending_jobs import EndingWork
from app.tui.page_protocols import AskPerson, ShowMessage
from app.tui.status.header_and_footer import short_path
from app.values.user_errors import UserError
from tools.files.presence import is_dir
from widgets.lists.rows import ListRow
from widgets.screens.dialogs import QuestionScreen
from widgets.transcript.blocks import NoteKind

_READ = ListRow(id="read", title="Open it read-only", detail="look, search, copy, export")
_COPIED = ListRow(id="here", title="Go on here", detail="with this folder's files")
_FORK = ListRow(id="fork", title="Fork it here", detail="go on in a copy; the file stays as it is")
_IN_ITS_FOLDER = ListRow(
    id="there", title="Continue there", detail="with the tools, settings and prompt of that folder"
)
_IN_THIS_FOLDER = ListRow(id="here", title="Go on here", detail="in the same file, with this folder's files")
_CANCEL = ListRow(id="cancel", title="Cancel")


class SessionOpener(msgspec.Struct, frozen=True):
    """Opens session files in the current session, asking the user where needed."""

    session: Session
    places: SessionPaths
    ask: AskPerson
    say: ShowMessage
    enter: Callable[[Path], Awaitable[None]]
    """Changes the working folder."""
    home: Path

    async def begin(self, locked: SessionLocked | None, left: Path | None) -> bool:
        """Asks about the session that bayou was started with; returns False if the user declines.

        `locked`: another process writes the session. `left`: the user's folder, if the session belongs to another one.
        """
        session = self.session
        if locked is not None:
            answer = await self._ask_locked(locked)
        elif left is not None:
            answer = await self._ask_where(session.log, left)
            if answer in ("here", "fork"):
                await self.enter(left)
        elif (log := session.log).is_on_disk and log.is_cwd_gone:
            answer = await self._ask_gone(log)
        else:
            return True
        if answer == "fork" and (path := session.state.file) is not None:
            try:
                await session.branches.open(await self._copy(path), "fork")
            except UserError as problem:
                self.say(str(problem), NoteKind.ERROR)
        return answer is not None

    async def open(self, path: Path) -> None:
        """Opens the file; if it is unavailable or the user cancels, the current session stays."""
        session = self.session
        if not await EndingWork(session, self.ask).may_leave():
            return
        found = await self._log_of(path)
        if found is not None:
            log, stays = found
            await session.abort()
            await session.branches.open(log, "resume", stays=stays)

    async def bring_in(self, path: Path) -> bool:
        """Continues with a copy of a session file, on request in the folder that the session belongs
        to."""
        about = await asyncio.to_thread(self._other_folder, path)
        if about is not None:
            text = f"It belongs to {self._short(about)}. This is {self._short(self.session.cwd)}."
            answer = await self._ask("This session belongs to another folder", text, _IN_ITS_FOLDER, _COPIED)
            if answer is None:
                return False
            about = about if answer == "there" else None
        copied = await asyncio.to_thread(self.places.copy, path, about=about)
        await self.session.abort()
        await self.session.branches.open(copied, "resume")
        return True

    def _other_folder(self, path: Path) -> Path | None:
        """Returns the folder that a session file belongs to, if it exists and is not the current one."""
        header = header_of(path)
        if header is None or is_same_folder(header.cwd, self.session.cwd):
            return None
        folder = Path(header.cwd)
        return folder if folder.is_absolute() and is_dir(folder) else None

    async def _log_of(self, path: Path) -> tuple[SessionLog, bool] | None:
        """Opens the log; returns it and whether the session continues in this folder. None if the
        user cancels."""
        places = self.places
        try:
            log = await asyncio.to_thread(places.open, path)
        except SessionLocked as locked:
            answer = await self._ask_locked(locked)
            if answer == "fork":
                return await self._copy(path), True
            return (await asyncio.to_thread(places.open, path, read_only=True), True) if answer else None
        except SessionTooNew:
            return await asyncio.to_thread(places.open_newer, path), True
        if log.is_cwd_gone:
            answer = await self._ask_gone(log)
        elif places.is_elsewhere(log):
            answer = await self._ask_where(log, self.session.cwd)
        else:
            return log, True
        if answer in ("here", "there"):
            return log, answer == "here"
        log.close()
        return (await self._copy(path), True) if answer == "fork" else None

    async def _copy(self, path: Path) -> SessionLog:
        return await asyncio.to_thread(self.places.copy, path)

    async def _ask_locked(self, locked: SessionLocked) -> str | None:
        who = f"Process {locked.holder}" if locked.holder else "Another process"
        text = f"{who} is writing it. Two at once would mix their lines."
        if locked.path is not None:
            text += f"\n\n{self._short(locked.path)}"
        return await self._ask("This session is open elsewhere", text, _READ, _FORK)

    async def _ask_where(self, log: SessionLog, here: Path) -> str | None:
        text = f"It belongs to {self._short(log.cwd)}. This is {self._short(here)}."
        return await self._ask(
            "This session belongs to another folder", text, _IN_ITS_FOLDER, _IN_THIS_FOLDER, _FORK
        )

    async def _ask_gone(self, log: SessionLog) -> str | None:
        text = (
            f"It was about {self._short(log.cwd)}, which {log.cwd_problem}. "
            f"This is {self._short(self.session.cwd)}."
        )
        if log.path is not None:
            text += f"\n\n{self._short(log.path)}"
        return await self._ask("The folder of this session is gone", text, _IN_THIS_FOLDER, _FORK)

    def _short(self, path: Path) -> str:
        return short_path(path, self.home)

    async def _ask(self, title: str, text: str, *answers: ListRow) -> str | None:
        chosen: ListRow | None = await self.ask(QuestionScreen(title, text, (*answers, _CANCEL)))
        return None if chosen is None or chosen.id == "cancel" else chosen.id
