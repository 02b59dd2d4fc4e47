"""The stored sessions, for the client: listed in pages, found by id, and deleted."""

import asyncio
import base64
import binascii
from datetime import UTC, datetime
from pathlib import Path

from app.assembly.options import Options
from app.assembly.session_opening import read_settings
from app.modes.acp.request_errors import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    invalid_params_error,
    request_error,
)
from app.modes.acp.requests import ListSessions
from app.modes.acp.responses import ListedSession, SessionPage
from app.resources.paths import Paths
from app.sessions.errors import SessionNotFound
from app.sessions.folders import read_header_if_session
from app.sessions.session_library import find_session, is_same_folder, list_sessions
from app.sessions.trash import delete_session

PAGE_SIZE = 50
_MAX_TITLE_CHARS = 200


async def session_page(options: Options, paths: Paths, request: ListSessions) -> SessionPage:
    """Returns one page of the stored sessions, newest first, including those of the terminal."""
    folder = Path(request.cwd) if request.cwd is not None else None
    if folder is not None and not folder.is_absolute():
        raise invalid_params_error(f"cwd is not an absolute path: {request.cwd}")
    begin = _decode_cursor(request.cursor)
    found = await asyncio.to_thread(list_sessions, sessions_root(options, paths))
    wanted = [one for one in found if folder is None or is_same_folder(one.cwd, folder)]
    page = wanted[begin : begin + PAGE_SIZE]
    return SessionPage(
        sessions=[
            ListedSession(
                session_id=one.id,
                cwd=one.cwd,
                title=" ".join(one.title.split())[:_MAX_TITLE_CHARS],
                updated_at=datetime.fromtimestamp(one.modified / 1000, UTC).isoformat(),
            )
            for one in page
        ],
        next_cursor=_encode_cursor(begin + PAGE_SIZE) if len(wanted) > begin + PAGE_SIZE else None,
    )


def session_file_in_folder(options: Options, paths: Paths, session_id: str, cwd: Path) -> Path:
    """Returns the file of a session that belongs to this folder. Raises a `RequestError`."""
    file = session_file(options, paths, session_id)
    header = read_header_if_session(file)
    if header is not None:
        require_folder(session_id, header.cwd, cwd)
    return file


def require_folder(session_id: str, own: str, cwd: Path) -> None:
    """Raises a `RequestError` if a session does not belong to the folder that the client names."""
    if not is_same_folder(own, cwd):
        raise request_error(
            INVALID_PARAMS,
            f"the session {session_id} belongs to the folder {own}, not to {cwd}",
            f"Open it in {own}, or continue with a copy in {cwd}: session/fork.",
        )


def session_file(options: Options, paths: Paths, session_id: str) -> Path:
    """Returns the file of the session with exactly this id. Raises a `RequestError`."""
    if not session_id or not session_id.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise _unknown_session_error(session_id)
    try:
        file = find_session(session_id, sessions_root(options, paths), paths.cwd)
    except SessionNotFound:
        raise _unknown_session_error(session_id) from None
    header = read_header_if_session(file)
    if header is None or header.id != session_id:
        raise _unknown_session_error(session_id)
    return file


async def delete_client_session(options: Options, paths: Paths, session_id: str) -> None:
    """Moves a session to the trash. Raises a `RequestError`, or `SessionError` while another program writes it."""
    file = await asyncio.to_thread(session_file, options, paths, session_id)
    await asyncio.to_thread(delete_session, file, sessions_root(options, paths))


def sessions_root(options: Options, paths: Paths) -> Path:
    """Returns the folder of all sessions."""
    named = options.session_dir or read_settings(options, paths)[0].settings.sessions.session_dir
    return Path(named).expanduser() if named else paths.sessions_dir


def _unknown_session_error(session_id: str) -> Exception:
    return request_error(
        RESOURCE_NOT_FOUND, f"there is no session {session_id}", "See the list: session/list."
    )


def _encode_cursor(place: int) -> str:
    return base64.b64encode(str(place).encode()).decode()


def _decode_cursor(cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        return max(0, int(base64.b64decode(cursor, validate=True)))
    except (binascii.Error, ValueError):
        raise invalid_params_error("the cursor is not valid; use nextCursor of the last response") from None
