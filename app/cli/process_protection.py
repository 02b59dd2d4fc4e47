"""Protects this process from other programs of the same user: its environment and memory, and a key among its
arguments."""

import ctypes
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

_PR_SET_DUMPABLE = 4
_API_KEY_FLAG = "--api-key"
_ARGUMENTS_START, _ARGUMENTS_END = 45, 46
"""Fields of `/proc/PID/stat`, counted behind the process's name."""


def forbid_process_inspection() -> None:
    """Keeps commands from reading bayou's environment (`/proc/PID/environ`) and memory, which hold keys.

    Linux denies this to all but the superuser for a process without core dumps."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def hide_api_key_argument(words: Sequence[str]) -> None:
    """Overwrites the value of `--api-key` in the memory that the list of processes shows."""
    keys = [word.partition("=")[2] for word in words if word.startswith(f"{_API_KEY_FLAG}=")]
    keys += [word for flag, word in pairwise(words) if flag == _API_KEY_FLAG]
    if sys.platform == "linux":
        for key in filter(None, keys):
            _overwrite_argument(key.encode("utf-8", "surrogateescape"))


def _overwrite_argument(key: bytes) -> None:
    try:
        stat = Path("/proc/self/stat").read_bytes()
        line = Path("/proc/self/cmdline").read_bytes()
    except OSError:
        return  # without /proc there is no list of processes either
    fields = stat[stat.rfind(b")") + 2 :].split()
    start, end = int(fields[_ARGUMENTS_START]), int(fields[_ARGUMENTS_END])
    at = line.find(key)
    while at >= 0 and start and len(line) <= end - start:
        ctypes.memset(start + at, ord("*"), len(key))
        at = line.find(key, at + len(key))
