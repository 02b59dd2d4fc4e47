"""The ledger beside a session (`X.jsonl.files`): what is about to happen to files, written before it happens.

It is what a crash leaves: a line of a change or of a restore that no later line calls told has no entry yet. Whole
lines only; what a write that broke off left is passed over when it is read. A line that cannot be read costs
only itself.
"""

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from app.undo.images import Change, RestoredData
from tools.files.replacing import write_all


class LedgerLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    kind: Literal["change", "command", "restore", "told"]
    id: str
    """Of the call, or of the restore."""
    tool: str = ""
    change: Change | None = None
    """`before` is as it was; `after` is what was about to be written."""
    restore: RestoredData | None = None
    """What it is going to do."""
    open: int = 0
    """Told: how many others are not."""


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(LedgerLine)
_RECORDED_LINE = b'"kind":"told"'


class OpenOperations(msgspec.Struct, frozen=True, kw_only=True):
    """What an earlier process began and did not tell."""

    lines: tuple[LedgerLine, ...] = ()
    bad: tuple[tuple[int, bytes], ...] = ()
    """Lines that cannot be read, with where they begin."""


class Ledger:
    """Written by one session; without a path nothing is written."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._open: set[str] = set()
        self._lock = threading.Lock()

    def begin(self, line: LedgerLine) -> None:
        """Raises `OSError` with the file as it was."""
        with self._lock:
            self._append(_ENCODER.encode(line))
            self._open.add(line.id)

    def told(self, key: str) -> None:
        """What this was, and what was within it, is in the session now. Raises `OSError`."""
        with self._lock:
            for one in [one for one in self._open if one == key or one.startswith(f"{key}/")]:
                self._open.discard(one)
                self._append(_ENCODER.encode(LedgerLine(kind="told", id=one, open=len(self._open))))

    def left_open(self) -> OpenOperations:
        """What was begun before this process and never told. Cheap when there is nothing."""
        if self.path is None:
            return OpenOperations()
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - 512))
                if _is_closed(file.read()):
                    return OpenOperations()
                file.seek(0)
                data = file.read()
        except OSError:
            return OpenOperations()
        return _open_operations(data)

    def adopt(self, lines: Sequence[LedgerLine]) -> None:
        """They will be told by this process."""
        self._open.update(line.id for line in lines)

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


def _is_closed(tail: bytes) -> bool:
    if not tail:
        return True
    line = tail.rstrip(b"\n").rsplit(b"\n", 1)[-1]
    if not tail.endswith(b"\n") or _RECORDED_LINE not in line:
        return False
    try:
        last = _DECODER.decode(line)
    except (ValueError, RecursionError):
        return False
    return last.kind == "told" and last.open == 0


def _open_operations(data: bytes) -> OpenOperations:
    """The lines that no later one calls told, and those that cannot be read, but for one that broke off at the end."""
    found: dict[str, list[LedgerLine]] = {}
    bad: list[tuple[int, bytes]] = []
    offset = 0
    for text in data.splitlines(keepends=True):
        try:
            line = _DECODER.decode(text)
        except (ValueError, RecursionError):
            if text.strip() and text.endswith(b"\n"):
                bad.append((offset, text))
        else:
            if line.kind == "told":
                found.pop(line.id, None)
            else:
                found.setdefault(line.id, []).append(line)
        offset += len(text)
    return OpenOperations(lines=tuple(line for lines in found.values() for line in lines), bad=tuple(bad))
