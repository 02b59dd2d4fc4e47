"""The stored sessions, for the client: listed in pages, found by id, and deleted."""

import asyncio
import base64
import binascii
from datetime import UTC, datetime
from pathlib import Path

from app.assembly.options import Options
from app.assembly.session_opening import read_settings
from app.modes.acp.faults import INVALID_PARAMS, RESOURCE_NOT_FOUND, fault, invalid
from app.modes.acp.requests import ListSessions
from app.modes.acp.responses import ListedSession, SessionPage
from app.resources.paths import Paths
from app.sessions.errors import SessionNotFound
from app.sessions.folders import header_of
from app.sessions.session_library import find, is_same_folder, list_sessions
from app.sessions.trash import delete_session

PAGE = 50
_LONGEST_TITLE = 200


async def listed(options: Options, paths: Paths, request: ListSessions) -> SessionPage:
    """Returns one page, newest first; those of the terminal are among them."""
    folder = Path(request.cwd) if request.cwd is not None else None
    if folder is not None and not folder.is_absolute():
        raise invalid(f"cwd is not an absolute path: {request.cwd}")
    begin = _place(request.cursor)
    found = await asyncio.to_thread(list_sessions, root_of(options, paths))
    wanted = [one for one in found if folder is None or is_same_folder(one.cwd, folder)]
    page = wanted[begin : begin + PAGE]
    return SessionPage(
        sessions=[
            ListedSession(
                session_id=one.id,
                cwd=one.cwd,
                title=" ".join(one.title.split())[:_LONGEST_TITLE],
                updated_at=datetime.fromtimestamp(one.modified / 1000, UTC).isoformat(),
            )
            for one in page
        ],
        next_cursor=_cursor(begin + PAGE) if len(wanted) > begin + PAGE else None,
    )


def file_in(options: Options, paths: Paths, session_id: str, cwd: Path) -> Path:
    """Returns the file of a session that belongs to this folder. Raises a `RequestError`."""
    file = file_of(options, paths, session_id)
    header = header_of(file)
    if header is not None:
        require_folder(session_id, header.cwd, cwd)
    return file


def require_folder(session_id: str, own: str, cwd: Path) -> None:
    """Raises a `RequestError` if a session does not belong to the folder that the client names."""
    if not is_same_folder(own, cwd):
        raise fault(
            INVALID_PARAMS,
            f"the session {session_id} belongs to the folder {own}, not to {cwd}",
            f"Open it in {own}, or continue with a copy in {cwd}: session/fork.",
        )


def file_of(options: Options, paths: Paths, session_id: str) -> Path:
    """Returns the file of the session with exactly this id. Raises a `RequestError`."""
    if not session_id or not session_id.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise _unknown(session_id)
    try:
        file = find(session_id, root_of(options, paths), paths.cwd)
    except SessionNotFound:
        raise _unknown(session_id) from None
    header = header_of(file)
    if header is None or header.id != session_id:
        raise _unknown(session_id)
    return file


async def delete(options: Options, paths: Paths, session_id: str) -> None:
    """Moves a session to the trash. Raises a `RequestError`, or `SessionError` while another program writes it."""
    file = await asyncio.to_thread(file_of, options, paths, session_id)
    await asyncio.to_thread(delete_session, file, root_of(options, paths))


def root_of(options: Options, paths: Paths) -> Path:
    """Returns the folder of all sessions."""
    named = options.session_dir or read_settings(options, paths)[0].settings.sessions.session_dir
    return Path(named).expanduser() if named else paths.sessions_dir


def _unknown(session_id: str) -> Exception:
    return fault(RESOURCE_NOT_FOUND, f"there is no session {session_id}", "See the list: session/list.")


def _cursor(place: int) -> str:
    return base64.b64encode(str(place).encode()).decode()


def _place(cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        return max(0, int(base64.b64decode(cursor, validate=True)))
    except (binascii.Error, ValueError):
        raise invalid("the cursor is none that bayou gave") from None
