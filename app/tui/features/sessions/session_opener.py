"""Opens another session file in the running application. If it cannot simply be opened, the user chooses what to do."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from app.engine.session import Session
from app.engine.tree.session_paths import SessionPaths
from app.sessions.errors import SessionLocked, SessionTooNew
from app.sessions.session_folders import read_session_header_or_none
from app.sessions.session_library import is_same_working_folder
from app.sessions.session_log import SessionLog
from app.tui.features.leave_confirmation import LeaveSessionConfirmation
from app.tui.page_protocols import AskOnScreen, ShowMessage
from app.tui.status.header_and_footer import short_path
from app.values.user_errors import UserError
from tools.files.path_existence import is_dir
from widgets.lists.list_rows import ListRow
from widgets.screens.dialogs import QuestionScreen
from widgets.transcript.transcript_blocks import AppNoteKind

_OPEN_READ_ONLY_ROW = ListRow(id="read", title="Open read-only", detail="read, search, copy, export")
_CONTINUE_IN_THIS_FOLDER_ROW = ListRow(id="here", title="Continue here", detail="with this folder's files")
_CONTINUE_IN_COPY_ROW = ListRow(
    id="fork", title="Continue in a copy", detail="in this folder; the original does not change"
)
_CONTINUE_IN_SESSION_FOLDER_ROW = ListRow(
    id="there", title="Continue there", detail="with the tools, settings and prompt of that folder"
)
_CONTINUE_WITHOUT_FOLDER_ROW = ListRow(
    id="here", title="Continue here", detail="in the same session file, with this folder's files"
)
_CANCEL_OPENING_ROW = ListRow(id="cancel", title="Cancel")


class SessionOpener(msgspec.Struct, frozen=True):
    """Opens session files in the current session, asking the user where needed."""

    session: Session
    places: SessionPaths
    ask: AskOnScreen
    show_message: ShowMessage
    enter_folder: Callable[[Path], Awaitable[None]]
    """Changes the working folder."""
    home: Path

    async def ask_about_started_session(self, locked: SessionLocked | None, left: Path | None) -> bool:
        """Asks how to go on if the session that bayou was started with is locked, belongs to another folder, or its
        folder is gone; returns False if the user declines. `locked`: another process writes the session. `left`: the
        user's folder, if the session belongs to another one."""
        session = self.session
        if locked is not None:
            answer = await self._ask_about_lock(locked)
        elif left is not None:
            answer = await self._ask_about_folder(session.log, left)
            if answer in ("here", "fork"):
                await self.enter_folder(left)
        elif (log := session.log).is_on_disk and log.is_cwd_gone:
            answer = await self._ask_about_missing_folder(log)
        else:
            return True
        if answer == "fork" and (path := session.state.file) is not None:
            try:
                await session.branches.open_session(await self._copy_session(path), "fork")
            except UserError as problem:
                self.show_message(str(problem), AppNoteKind.ERROR)
        return answer is not None

    async def open(self, path: Path) -> None:
        """Opens a session file; if it is unavailable or the user cancels, the current session stays."""
        session = self.session
        if not await LeaveSessionConfirmation(session, self.ask).confirm_session_switch():
            return
        found = await self._open_log(path)
        if found is not None:
            log, stays = found
            await session.abort()
            await session.branches.open_session(log, "resume", stays=stays)

    async def continue_copy(self, path: Path) -> bool:
        """Copies a session file and continues with the copy; asks in which folder if it belongs to another one. Returns
        False if the user cancels."""
        about = await asyncio.to_thread(self._other_folder, path)
        if about is not None:
            here = self._shorten_path(self.session.cwd)
            text = f"The session belongs to {self._shorten_path(about)}. You are in {here}."
            answer = await self._ask_choice(
                "This session belongs to another folder",
                text,
                _CONTINUE_IN_SESSION_FOLDER_ROW,
                _CONTINUE_IN_THIS_FOLDER_ROW,
            )
            if answer is None:
                return False
            about = about if answer == "there" else None
        copied = await asyncio.to_thread(self.places.copy_session, path, about=about)
        await self.session.abort()
        await self.session.branches.open_session(copied, "resume")
        return True

    def _other_folder(self, path: Path) -> Path | None:
        """Returns the folder that a session file belongs to, if it exists and is not the current one."""
        header = read_session_header_or_none(path)
        if header is None or is_same_working_folder(header.cwd, self.session.cwd):
            return None
        folder = Path(header.cwd)
        return folder if folder.is_absolute() and is_dir(folder) else None

    async def _open_log(self, path: Path) -> tuple[SessionLog, bool] | None:
        """Opens a session file, asking the user if it is locked or belongs elsewhere; returns it and whether the
        session continues in this folder. None if the user cancels."""
        places = self.places
        try:
            log = await asyncio.to_thread(places.open_file, path)
        except SessionLocked as locked:
            answer = await self._ask_about_lock(locked)
            if answer == "fork":
                return await self._copy_session(path), True
            return (await asyncio.to_thread(places.open_file, path, read_only=True), True) if answer else None
        except SessionTooNew:
            return await asyncio.to_thread(places.open_newer_format, path), True
        if log.is_cwd_gone:
            answer = await self._ask_about_missing_folder(log)
        elif places.is_of_other_folder(log):
            answer = await self._ask_about_folder(log, self.session.cwd)
        else:
            return log, True
        if answer in ("here", "there"):
            return log, answer == "here"
        log.close()
        return (await self._copy_session(path), True) if answer == "fork" else None

    async def _copy_session(self, path: Path) -> SessionLog:
        return await asyncio.to_thread(self.places.copy_session, path)

    async def _ask_about_lock(self, locked: SessionLocked) -> str | None:
        who = f"Process {locked.holder}" if locked.holder else "Another process"
        text = f"{who} has this session open. Two writers would corrupt its file."
        if locked.path is not None:
            text += f"\n\n{self._shorten_path(locked.path)}"
        return await self._ask_choice(
            "This session is open elsewhere", text, _OPEN_READ_ONLY_ROW, _CONTINUE_IN_COPY_ROW
        )

    async def _ask_about_folder(self, log: SessionLog, here: Path) -> str | None:
        text = f"The session belongs to {self._shorten_path(log.cwd)}. You are in {self._shorten_path(here)}."
        return await self._ask_choice(
            "This session belongs to another folder",
            text,
            _CONTINUE_IN_SESSION_FOLDER_ROW,
            _CONTINUE_WITHOUT_FOLDER_ROW,
            _CONTINUE_IN_COPY_ROW,
        )

    async def _ask_about_missing_folder(self, log: SessionLog) -> str | None:
        text = (
            f"The session belongs to {self._shorten_path(log.cwd)}, which {log.cwd_problem}. "
            f"You are in {self._shorten_path(self.session.cwd)}."
        )
        if log.path is not None:
            text += f"\n\n{self._shorten_path(log.path)}"
        return await self._ask_choice(
            "The folder of this session does not exist",
            text,
            _CONTINUE_WITHOUT_FOLDER_ROW,
            _CONTINUE_IN_COPY_ROW,
        )

    def _shorten_path(self, path: Path) -> str:
        return short_path(path, self.home)

    async def _ask_choice(self, title: str, text: str, *answers: ListRow) -> str | None:
        chosen: ListRow | None = await self.ask(QuestionScreen(title, text, (*answers, _CANCEL_OPENING_ROW)))
        return None if chosen is None or chosen.id == "cancel" else chosen.id
