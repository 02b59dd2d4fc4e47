"""Moves deleted sessions with their sidecars to `.trash` below the root, where they stay until the folder
is deleted."""

import os
import shutil
import time
from pathlib import Path

import msgspec

from app.sessions.errors import SessionError, SessionLocked, SessionWriteError, system_error_text
from app.sessions.file.session_file import SessionFile, sync_timing_at_turn_end
from app.sessions.session_ids import SESSION_SIDECAR_KINDS, session_sidecar_path
from app.values.codec import decode, encode_json
from app.values.wire import new_id
from tools.files.path_existence import exists, is_dir

SESSION_TRASH_FOLDER_NAME = ".trash"
_TRASH_RECORD_FILE_NAME = "deleted.json"


class TrashedSession(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a session in the trash, from which it can be restored."""

    original: str
    folder: str
    """The path of the session's folder inside the trash."""
    deleted: int
    """The time of deletion in Unix milliseconds."""

    @property
    def name(self) -> str:
        return Path(self.original).name


def move_session_to_trash(path: Path, root: Path) -> TrashedSession:
    """Moves a session and its sidecars to the trash. Raises `SessionLocked` while a process writes it."""
    path = Path(os.path.realpath(path))
    _require_not_open(path)
    now = time.time_ns() // 1_000_000
    folder = root / SESSION_TRASH_FOLDER_NAME / f"{now}-{new_id()}"
    trashed = TrashedSession(original=str(path), folder=str(folder), deleted=now)
    try:
        folder.mkdir(parents=True)
        (folder / _TRASH_RECORD_FILE_NAME).write_bytes(encode_json(msgspec.to_builtins(trashed)))
        for kind in SESSION_SIDECAR_KINDS:
            if exists(session_sidecar_path(path, kind)):
                shutil.move(session_sidecar_path(path, kind), folder / session_sidecar_path(path, kind).name)
        shutil.move(path, folder / path.name)
    except OSError as problem:
        _restore_files(folder, path)
        raise SessionWriteError(
            path, f"cannot be deleted: {system_error_text(problem)}", "Nothing was changed."
        ) from None
    return trashed


def _require_not_open(path: Path) -> None:
    try:
        SessionFile.open(path, sync_timing_at_turn_end).close()
    except SessionLocked:
        raise
    except OSError as problem:
        raise SessionWriteError(
            path, f"cannot be deleted: {system_error_text(problem)}", "Check its permissions."
        ) from None


def _restore_files(folder: Path, path: Path) -> None:
    """Moves all files of a session in the trash back beside `path`."""
    if not is_dir(folder):
        return
    for found in folder.iterdir():
        if found.name != _TRASH_RECORD_FILE_NAME:
            shutil.move(found, path.parent / found.name)
    shutil.rmtree(folder, ignore_errors=True)


def undo_session_delete(trashed: TrashedSession) -> Path:
    """Restores a deleted session to its original path. Raises `SessionError` when it is gone or the path is taken."""
    path, folder = Path(trashed.original), Path(trashed.folder)
    if not exists(folder / path.name):
        raise SessionError(path, "is not in the trash any more", "Restore it from another copy.")
    if exists(path):
        raise SessionError(path, "another file has its name now", f"The deleted one is in {folder}.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _restore_files(folder, path)
    except OSError as problem:
        raise SessionWriteError(
            path, f"cannot be restored: {system_error_text(problem)}", f"It is in {folder}."
        ) from None
    return path


def trashed_sessions(root: Path) -> list[TrashedSession]:
    """Returns the records of the sessions in the trash, newest first."""
    found: list[TrashedSession] = []
    for note in (root / SESSION_TRASH_FOLDER_NAME).glob(f"*/{_TRASH_RECORD_FILE_NAME}"):
        try:
            found.append(decode(note.read_bytes(), TrashedSession))
        except (OSError, msgspec.DecodeError):
            continue
    return sorted(found, key=lambda one: one.deleted, reverse=True)
