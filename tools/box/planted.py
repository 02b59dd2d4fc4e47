"""What a box cannot protect is looked at before and after: what is not there yet, all where mounts are missing."""

import os
from collections.abc import Iterable

Seen = dict[str, tuple[int, ...]]


def look(paths: Iterable[str]) -> Seen:
    """What there is of them, and of folders what is in them."""
    found: Seen = {}
    for path in paths:
        _note(found, path)
        try:
            names = sorted(os.listdir(path))[:200]  # noqa: PTH208  (texts are wanted)
        except OSError:
            continue
        for name in names:
            if not name.endswith(".sample"):
                _note(found, f"{path}/{name}")
    return found


def changed(before: Seen, after: Seen) -> tuple[str, ...]:
    """Made, changed or removed; a folder only if nothing in it says so."""
    found = [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
    return tuple(path for path in found if not any(other.startswith(path + "/") for other in found))


def _note(found: Seen, path: str) -> None:
    try:
        seen = os.lstat(path)
    except OSError:
        return
    found[path] = (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_mode)
