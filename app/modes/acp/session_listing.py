"""The stored sessions, for the client: listed in pages, found by id, and deleted."""

import asyncio
import base64
import binascii
from datetime import UTC, datetime
from pathlib import Path

from app.assembly.command_line_options import CommandLineOptions
from app.assembly.session_opening import read_settings
from app.modes.acp.request_errors import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    make_invalid_params_error,
    make_request_error,
)
from app.modes.acp.request_params import ListSessionsParams
from app.modes.acp.request_results import ListedSession, ListSessionsResult
from app.resources.paths import BayouPaths
from app.sessions.errors import SessionNotFound
from app.sessions.session_folders import read_session_header_or_none
from app.sessions.session_library import find_session, is_same_working_folder, list_sessions
from app.sessions.session_trash import move_session_to_trash

SESSION_PAGE_SIZE = 50
_MAX_SESSION_TITLE_CHARS = 200


async def list_session_page(
    options: CommandLineOptions, paths: BayouPaths, request: ListSessionsParams
) -> ListSessionsResult:
    """Returns one page of the stored sessions, newest first, including those of the terminal."""
    folder = Path(request.cwd) if request.cwd is not None else None
    if folder is not None and not folder.is_absolute():
        raise make_invalid_params_error(f"cwd is not an absolute path: {request.cwd}")
    begin = _decode_cursor(request.cursor)
    found = await asyncio.to_thread(list_sessions, folder_of_all_sessions(options, paths))
    wanted = [one for one in found if folder is None or is_same_working_folder(one.cwd, folder)]
    page = wanted[begin : begin + SESSION_PAGE_SIZE]
    return ListSessionsResult(
        sessions=[
            ListedSession(
                session_id=one.id,
                cwd=one.cwd,
                title=" ".join(one.title.split())[:_MAX_SESSION_TITLE_CHARS],
                updated_at=datetime.fromtimestamp(one.modified / 1000, UTC).isoformat(),
            )
            for one in page
        ],
        next_cursor=_encode_cursor(begin + SESSION_PAGE_SIZE)
        if len(wanted) > begin + SESSION_PAGE_SIZE
        else None,
    )


def find_session_file_in_folder(
    options: CommandLineOptions, paths: BayouPaths, session_id: str, cwd: Path
) -> Path:
    """Returns the file of a session that belongs to this folder. Raises an `AcpRequestError`."""
    file = find_acp_session_file(options, paths, session_id)
    header = read_session_header_or_none(file)
    if header is not None:
        require_session_folder(session_id, header.cwd, cwd)
    return file


def require_session_folder(session_id: str, own: str, cwd: Path) -> None:
    """Raises an `AcpRequestError` if a session does not belong to the folder that the client names."""
    if not is_same_working_folder(own, cwd):
        raise make_request_error(
            INVALID_PARAMS,
            f"the session {session_id} belongs to the folder {own}, not to {cwd}",
            f"Open it in {own}, or continue with a copy in {cwd}: session/fork.",
        )


def find_acp_session_file(options: CommandLineOptions, paths: BayouPaths, session_id: str) -> Path:
    """Returns the file of the session with exactly this id. Raises an `AcpRequestError`."""
    if not session_id or not session_id.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise _unknown_session_error(session_id)
    try:
        file = find_session(session_id, folder_of_all_sessions(options, paths), paths.cwd)
    except SessionNotFound:
        raise _unknown_session_error(session_id) from None
    header = read_session_header_or_none(file)
    if header is None or header.id != session_id:
        raise _unknown_session_error(session_id)
    return file


async def delete_client_session(options: CommandLineOptions, paths: BayouPaths, session_id: str) -> None:
    """Moves a session to the trash. Raises an `AcpRequestError`, or `SessionError` while another program writes it."""
    file = await asyncio.to_thread(find_acp_session_file, options, paths, session_id)
    await asyncio.to_thread(move_session_to_trash, file, folder_of_all_sessions(options, paths))


def folder_of_all_sessions(options: CommandLineOptions, paths: BayouPaths) -> Path:
    """Returns the folder of all sessions."""
    named = options.session_dir or read_settings(options, paths)[0].settings.sessions.session_dir
    return Path(named).expanduser() if named else paths.sessions_dir


def _unknown_session_error(session_id: str) -> Exception:
    return make_request_error(
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
        raise make_invalid_params_error(
            "the cursor is not valid; use nextCursor of the last response"
        ) from None
