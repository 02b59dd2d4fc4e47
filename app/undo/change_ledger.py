"""The ledger beside a session (`X.jsonl.files`): records each file change before it happens, so that a
crash can be resolved.

A change, command or restore without a later `told` line has no session entry yet. Only whole lines
count: a partial last line is ignored, and an unreadable line affects only itself."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from app.undo.change_records import FileRestoreData, RecordedFileChange
from app.values.codec import encode_json
from tools.files.atomic_replacement import write_all


class UndoLedgerLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One line of the undo ledger: an operation that begins, or the note that it is recorded in the session."""

    kind: Literal["change", "command", "restore", "told"]
    id: str
    """The id of the tool call or of the restore."""
    tool: str = ""
    change: RecordedFileChange | None = None
    """The file change that begins: `before` is the state found, `after` the state that is about to be written."""
    restore: FileRestoreData | None = None
    """The file changes that a restore is about to make."""
    open: int = 0
    """The number of operations that are still open, in a `told` line."""


_UNDO_LEDGER_LINE_DECODER = msgspec.json.Decoder(UndoLedgerLine)
_RECORDED_LEDGER_LINE_MARKER = b'"kind":"told"'


class UnfinishedFileOperations(msgspec.Struct, frozen=True, kw_only=True):
    """Operations on files that an earlier process began and that the session does not record."""

    lines: tuple[UndoLedgerLine, ...] = ()
    unreadable_lines: tuple[tuple[int, bytes], ...] = ()
    """The unreadable lines of the ledger with their offsets."""


class FileChangeLedger:
    """Writes the undo ledger of one session; without a path nothing is written."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._open_ids: set[str] = set()
        self._lock = threading.Lock()

    def append_operation_begin(self, line: UndoLedgerLine) -> None:
        """Appends a ledger line for a file operation that begins. Raises `OSError` with the ledger unchanged."""
        with self._lock:
            self._append(encode_json(line))
            self._open_ids.add(line.id)

    def mark_recorded(self, key: str) -> None:
        """Notes in the ledger that the session records this operation and the calls within it. Raises `OSError`."""
        with self._lock:
            for one in [one for one in self._open_ids if one == key or one.startswith(f"{key}/")]:
                self._open_ids.discard(one)
                self._append(encode_json(UndoLedgerLine(kind="told", id=one, open=len(self._open_ids))))

    def unfinished_operations(self) -> UnfinishedFileOperations:
        """Returns the file operations that earlier processes began and did not record. Reads only the end of the
        ledger when there are none."""
        if self.path is None:
            return UnfinishedFileOperations()
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - 512))
                if _ends_with_recorded(file.read()):
                    return UnfinishedFileOperations()
                file.seek(0)
                data = file.read()
        except OSError:
            return UnfinishedFileOperations()
        return _open_operations(data)

    def adopt_unfinished_operations(self, lines: Sequence[UndoLedgerLine]) -> None:
        """Takes over open operations of earlier processes, so that this process can mark them as recorded."""
        self._open_ids.update(line.id for line in lines)

    def _append(self, line: bytes) -> None:
        if self.path is None:
            return
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        try:
            handle = os.open(self.path, flags, 0o600)
        except FileNotFoundError:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, flags, 0o600)
        try:
            size = os.fstat(handle).st_size
            feed = b"\n" if size and os.pread(handle, 1, size - 1) != b"\n" else b""
            data = feed + line + b"\n"
            try:
                write_all(handle, data)
            except OSError:
                os.ftruncate(handle, size)
                raise
        finally:
            os.close(handle)


def _ends_with_recorded(tail: bytes) -> bool:
    if not tail:
        return True
    line = tail.rstrip(b"\n").rsplit(b"\n", 1)[-1]
    if not tail.endswith(b"\n") or _RECORDED_LEDGER_LINE_MARKER not in line:
        return False
    try:
        last = _UNDO_LEDGER_LINE_DECODER.decode(line)
    except (ValueError, RecursionError):
        return False
    return last.kind == "told" and last.open == 0


def _open_operations(data: bytes) -> UnfinishedFileOperations:
    """Returns the ledger lines without a later `told` line, and the unreadable lines except a partial last one."""
    found: dict[str, list[UndoLedgerLine]] = {}
    bad: list[tuple[int, bytes]] = []
    offset = 0
    for text in data.splitlines(keepends=True):
        try:
            line = _UNDO_LEDGER_LINE_DECODER.decode(text)
        except (ValueError, RecursionError):
            if text.strip() and text.endswith(b"\n"):
                bad.append((offset, text))
        else:
            if line.kind == "told":
                found.pop(line.id, None)
            else:
                found.setdefault(line.id, []).append(line)
        offset += len(text)
    return UnfinishedFileOperations(
        lines=tuple(line for lines in found.values() for line in lines), unreadable_lines=tuple(bad)
    )
