"""Runs a program as an ordinary user, also when root runs the tests.

`python tests/box/ordinary.py PROGRAM…`: run by root it becomes another user first, in mounts of its own in which that
user can enter the folders that Python and this checkout lie in.
"""

import ctypes
import os
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
USER: Final = 54_321
_NEW_MOUNTS, _BIND, _RECURSIVE, _PRIVATE = 0x20000, 4096, 16384, 1 << 18
_DROP_BOUND = 24


def run_ordinary(
    argv: Sequence[str], *, home: Path, env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """`home` becomes that user's, with all that is in it."""
    return subprocess.run(
        ordinary(argv, home=home),
        cwd=ROOT,
        env={**os.environ, "HOME": str(home), "PYTHONPATH": str(ROOT), **(env or {})},
        capture_output=True,
        text=True,
        timeout=300,
    )


def ordinary(argv: Sequence[str], *, home: Path) -> list[str]:
    if os.geteuid():
        return list(argv)
    for path in (home, *home.rglob("*")):
        os.chown(path, USER, USER, follow_symlinks=False)
    return [sys.executable, str(Path(__file__).resolve()), *argv]


def forbids_user_namespaces() -> str:
    """Why an ordinary user can make none on this system, as `unshare` of util-linux says; empty where one can."""
    words = ["unshare", "-Urm", "true"]
    argv = words if os.geteuid() else [sys.executable, str(Path(__file__).resolve()), *words]
    tried = subprocess.run(argv, capture_output=True, text=True)
    return tried.stderr.strip()[-200:] if tried.returncode else ""


def _show(folders: Sequence[Path]) -> None:
    """Where a folder on the way to one of these is private, an empty one is put that holds nothing else."""
    system = ctypes.CDLL(None, use_errno=True)

    def checked(result: int) -> int:
        if result:
            raise OSError(ctypes.get_errno(), "mounting")
        return result

    checked(system.unshare(_NEW_MOUNTS))
    checked(system.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None))
    for folder in folders:
        closed = next(
            (above for above in [*reversed(folder.parents)] if not above.stat().st_mode & stat.S_IXOTH), None
        )
        if closed is None:
            continue
        kept = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        checked(system.mount(b"tmpfs", os.fsencode(closed), b"tmpfs", 0, b"mode=755"))
        folder.mkdir(parents=True)
        checked(system.mount(b"/proc/self/fd/%d" % kept, os.fsencode(folder), None, _BIND | _RECURSIVE, None))
        os.close(kept)


def main() -> None:
    places = dict.fromkeys(Path(place).resolve() for place in (sys.base_prefix, sys.prefix, ROOT))
    _show([place for place in places])
    for number in range(64):
        ctypes.CDLL(None).prctl(_DROP_BOUND, number, 0, 0, 0)
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
