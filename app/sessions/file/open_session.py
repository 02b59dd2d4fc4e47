"""Opens an existing session file: locks it, reads it, then repairs what a crash left. Only `session_log` uses
this module."""

import errno
import os
from itertools import chain
from pathlib import Path

import msgspec

from app.sessions.entry_tree import SessionTree
from app.sessions.errors import SessionNotFound, SessionUnreadable, SessionWriteError, system_error_text
from app.sessions.file.quarantine import copy_to_quarantine
from app.sessions.file.session_file import SessionFile, SyncPolicy
from app.sessions.file.session_reader import SessionFileContents, read_session, require_regular_file
from app.sessions.session_ids import new_session_id, session_sidecar_path
from app.sessions.session_stats import SessionCounts
from app.values.codec import encode_line_in_pieces
from app.values.entries import SESSION_FORMAT_VERSION, Entry, SessionHeader
from tools.files.atomic_replacement import flush_folder_to_disk

_PERMISSION_ERROR_NUMBERS = {errno.EACCES, errno.EPERM, errno.EROFS}


class OpenedSessionFile(msgspec.Struct, kw_only=True):
    """The result of opening a session file, from which `SessionLog` is built."""

    path: Path
    header: SessionHeader
    tree: SessionTree
    stats: SessionCounts
    file: SessionFile | None
    """The session file, open for writing; None: it is open read-only."""
    problems: list[str]
    needs_line_feed: bool
    """Whether the last line is complete except for its line feed."""


def open_session(path: Path, *, read_only: bool, sync: SyncPolicy, cwd: Path) -> OpenedSessionFile:
    size = require_regular_file(path)
    path = Path(os.path.realpath(path))
    problems: list[str] = []
    file = None if read_only else _open_for_writing(path, sync, problems)
    try:
        if size == 0 and file is not None:
            return _start_empty_file(path, file, cwd, problems)
        tree, stats = SessionTree(), SessionCounts()

        def each(entries: list[Entry]) -> None:
            tree.append_read_entries(entries)
            stats.add_all(entries)

        reading = read_session(path, allow_newer=read_only, each=each)
        tree.find_parents_of_orphans(reading.links)
        if file is not None and reading.version < SESSION_FORMAT_VERSION:
            file = _migrate_file(path, file, reading, sync, problems)
        elif file is not None:
            _repair_tail(path, file, reading, problems)
        _report_problems(path, reading, problems, may_write=file is not None)
    except BaseException:
        if file is not None:
            file.close()
        raise
    return OpenedSessionFile(
        path=path,
        header=reading.header,
        tree=tree,
        stats=stats,
        file=file,
        problems=problems,
        needs_line_feed=not reading.ends_with_line_feed and reading.version == SESSION_FORMAT_VERSION,
    )


def _open_for_writing(path: Path, sync: SyncPolicy, problems: list[str]) -> SessionFile | None:
    try:
        file = SessionFile.open(path, sync)
        while (
            not file.is_same_file_at_path()
        ):  # another process migrated or moved it between opening and locking
            file.close()
            file = SessionFile.open(path, sync)
        return file
    except FileNotFoundError:
        raise SessionNotFound(path, "was moved or deleted just now", "See the list with --resume.") from None
    except OSError as problem:
        if problem.errno not in _PERMISSION_ERROR_NUMBERS:
            raise SessionUnreadable(path, f"cannot be opened: {system_error_text(problem)}") from None
        problems.append(
            f"{path} cannot be written ({system_error_text(problem)}); it is open read-only. Fork it to continue in "
            "a copy."
        )
        return None


def _start_empty_file(path: Path, file: SessionFile, cwd: Path, problems: list[str]) -> OpenedSessionFile:
    """Writes a new header into an empty session file, as pi does, and reports it."""
    header = SessionHeader(id=new_session_id(), cwd=str(cwd))
    file.append(encode_line_in_pieces(header))
    problems.append(f"{path} was empty; a new session starts in it.")
    return OpenedSessionFile(
        path=path,
        header=header,
        tree=SessionTree(),
        stats=SessionCounts(),
        file=file,
        problems=problems,
        needs_line_feed=False,
    )


def _repair_tail(path: Path, file: SessionFile, reading: SessionFileContents, problems: list[str]) -> None:
    """Moves a last line that a crash or a full disk cut short from the session file to the quarantine."""
    torn = reading.has_torn_line
    if torn is None:
        return
    if torn.data.strip(b"\0"):
        try:
            copy_to_quarantine(path, [torn], leaves_file=True)
        except OSError as problem:
            problems.append(
                f"The last line of {path} is incomplete and could not be moved to another file: "
                f"{system_error_text(problem)}."
            )
            return  # the line stays, and a line feed separates the next entry from it
    file.truncate_to(torn.offset)
    reading.ends_with_line_feed = True
    reading.has_torn_line = None
    problems.append(
        f"The last line of {path.name} was incomplete ({len(torn.data)} bytes, moved to "
        f"{session_sidecar_path(path, 'quarantine').name}); everything before it is loaded."
    )


def _report_problems(
    path: Path, reading: SessionFileContents, problems: list[str], *, may_write: bool
) -> None:
    if reading.has_torn_line is not None and not may_write:
        problems.append(f"The last line of {path.name} is incomplete; everything before it is loaded.")
    if reading.has_mark:
        problems.append(f"{path.name} begins with a byte order mark; pi does not open such files.")
    if not reading.bad_lines:
        return
    count = len(reading.bad_lines)
    what = f"{count} line{'s' if count > 1 else ''} of {path.name} cannot be read"
    if not may_write:
        problems.append(f"{what}; all other lines are loaded.")
        return
    try:
        if copy_to_quarantine(path, reading.bad_lines):
            problems.append(
                f"{what}; copied to {session_sidecar_path(path, 'quarantine').name}. All other lines are loaded."
            )
    except OSError as problem:
        problems.append(
            f"{what} and could not be copied: {system_error_text(problem)}. All other lines are loaded."
        )


def _migrate_file(
    path: Path, file: SessionFile, reading: SessionFileContents, sync: SyncPolicy, problems: list[str]
) -> SessionFile:
    """Replaces a session file of an old format version by its migrated form in one step; the old file stays
    under another name."""
    kept = session_sidecar_path(path, f"v{reading.version}")
    draft = session_sidecar_path(path, "migrating")
    lines = chain.from_iterable(map(encode_line_in_pieces, (reading.header, *reading.entries)))
    draft.unlink(missing_ok=True)
    try:
        anew = SessionFile.create(draft, lines, sync)
        anew.path = path
        try:
            _back_up_old_version(path, kept)
            draft.replace(path)
            flush_folder_to_disk(path.parent)
        except BaseException:
            anew.close()
            draft.unlink(missing_ok=True)
            raise
    except OSError as problem:
        raise SessionWriteError(
            path,
            f"has format version {reading.version} and cannot be converted to version "
            f"{SESSION_FORMAT_VERSION}: {system_error_text(problem)}",
            "Open it read-only, or copy it elsewhere.",
        ) from None
    file.close()
    problems.append(
        f"{path.name} was converted from version {reading.version} to version {SESSION_FORMAT_VERSION}; "
        f"the original is kept as {kept.name}."
    )
    return anew


def _back_up_old_version(path: Path, kept: Path) -> None:
    if kept.exists():
        return
    try:
        os.link(path, kept)
    except OSError:
        kept.write_bytes(path.read_bytes())
