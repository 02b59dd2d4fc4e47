"""All processes that a command started, however they detached themselves, and how to end them.

A command carries a mark in its environment that its descendants inherit; process group, session and parenthood
find those that cleared theirs. Where there is no `/proc`, `ps` tells what it can.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

MARK_VARIABLE = "BAYOU_COMMAND"
_PROC = Path("/proc")
_ROUNDS = 20
_SETTLE_SECONDS = 0.01


class _Process(msgspec.Struct, frozen=True):
    pid: int
    parent: int
    group: int
    session: int


def members(root: int, mark: str) -> set[int]:
    """Process ids of `root` and everything that came from it, zombies aside."""
    processes = list(_from_proc() if _PROC.is_dir() else _from_ps())
    found = {p.pid for p in processes if root in (p.pid, p.group, p.session)}
    if mark and _PROC.is_dir():
        needle = f"{MARK_VARIABLE}={mark}".encode()
        found |= {p.pid for p in processes if p.pid not in found and _environment_has(p.pid, needle)}
    grown = True
    while grown:
        children = {p.pid for p in processes if p.parent in found} - found
        found |= children
        grown = bool(children)
    return found - {os.getpid()}


def send(root: int, mark: str, number: signal.Signals) -> bool:
    """Sends a signal to all of them. False if there was none left."""
    found = members(root, mark)
    for pid in found:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue
    return bool(found)


def kill(root: int, mark: str) -> None:
    """Kills until a look finds nobody: what forks meanwhile is found in the next round."""
    for _ in range(_ROUNDS):
        if not send(root, mark, signal.SIGKILL):
            return
        time.sleep(_SETTLE_SECONDS)


def end(root: int, mark: str, patience: float) -> None:
    """Asks first, so that servers can clean up, and kills what is still there after `patience` seconds."""
    deadline = time.monotonic() + patience
    if not send(root, mark, signal.SIGTERM):
        return
    send(root, mark, signal.SIGCONT)
    while time.monotonic() < deadline:
        time.sleep(_SETTLE_SECONDS)
        if not members(root, mark):
            return
    kill(root, mark)


def _from_proc() -> Iterator[_Process]:
    for name in os.listdir(_PROC):  # noqa: PTH208  (twice as fast, and there may be thousands)
        if not name.isdigit():
            continue
        try:
            stat = (_PROC / name / "stat").read_bytes()
        except OSError:
            continue
        # The name, in parentheses, may hold anything; the fields follow the last one.
        fields = stat[stat.rfind(b")") + 2 :].split()
        if len(fields) > 3 and fields[0] not in (b"Z", b"X"):
            yield _Process(int(name), int(fields[1]), int(fields[2]), int(fields[3]))


def _from_ps() -> Iterator[_Process]:
    listed = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,pgid=,stat="], capture_output=True, text=True, check=False
    ).stdout
    for line in listed.splitlines():
        fields = line.split()
        if len(fields) == 4 and not fields[3].startswith("Z"):
            yield _Process(int(fields[0]), int(fields[1]), int(fields[2]), 0)


def _environment_has(pid: int, needle: bytes) -> bool:
    try:
        return needle in (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
