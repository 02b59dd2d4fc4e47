"""Deletes the oldest stored command outputs when those of all sessions together exceed a limit.

Messages in sessions are not affected; only their `artifact://` links to a full output stop working."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from app.sessions.file.session_lock import try_lock_session_file
from app.sessions.session_log import SessionLog

MAX_STORED_OUTPUT_BYTES: Final = 2_000_000_000


class _StoredOutputs(msgspec.Struct, frozen=True, kw_only=True):
    """The stored command outputs of one session."""

    folder: Path
    size: int
    newest: float


def command_output_folders_of(log: SessionLog) -> tuple[Path | None, Path | None]:
    """Returns the folders with the command outputs of a session and of the session that it was forked from."""
    above = log.header.parent_session
    return (
        log.path.with_suffix(".artifacts") if log.path is not None else None,
        Path(above).with_suffix(".artifacts") if above and Path(above).is_absolute() else None,
    )


def delete_old_command_outputs(roots: Iterable[Path], limit: int = MAX_STORED_OUTPUT_BYTES) -> int:
    """Deletes the oldest command outputs of sessions that are not open until the total is below the limit;
    returns the bytes freed."""
    found = sorted(
        (
            outputs
            for root in roots
            for pattern in ("*.artifacts", "*/*.artifacts")
            for folder in root.glob(pattern)
            if (outputs := _folder_size(folder)) is not None
        ),
        key=lambda outputs: outputs.newest,
    )
    used = sum(outputs.size for outputs in {outputs.folder: outputs for outputs in found}.values())
    dropped = 0
    for outputs in found:
        if used - dropped <= limit:
            break
        if outputs.folder.is_dir() and not _is_session_open(outputs.folder.with_suffix(".jsonl")):
            shutil.rmtree(outputs.folder, ignore_errors=True)
            dropped += outputs.size
    return dropped


def _folder_size(folder: Path) -> _StoredOutputs | None:
    try:
        files = [entry.stat(follow_symlinks=False) for entry in os.scandir(folder)]
        newest = max((file.st_mtime for file in files), default=folder.stat().st_mtime)
    except OSError:
        return None  # removed meanwhile, or not readable
    return _StoredOutputs(folder=folder, size=sum(file.st_size for file in files), newest=newest)


def _is_session_open(session: Path) -> bool:
    """Whether a bayou process has the session open."""
    try:
        descriptor = os.open(session, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not try_lock_session_file(descriptor)
    finally:
        os.close(descriptor)
