"""Taking out of the store what no session needs: one that is open or was used lately keeps everything of its own."""

import os
import time
from pathlib import Path

import msgspec

from app.undo.blobs import BlobStore, name_in
from app.undo.needed import FOLDER, is_open, names_in

GRACE_SECONDS = 3600
"""What was put or asked for since then stays, whoever needs it: its line may be on the way."""
MARK = "collected"
INDEXES = "indexes"
"""The folder of copies of git's index, one for each command that runs."""
_DAY = 86_400


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    removed: int = 0
    freed: int = 0
    """Bytes."""
    kept: int = 0
    """Bytes that are left."""
    given_up: tuple[str, ...] = ()
    """Sessions whose files cannot be put back any more because the store was full."""


def is_due(store: BlobStore, now: float | None = None) -> bool:
    try:
        last = (store.folder / MARK).stat().st_mtime
    except OSError:
        return store.folder.is_dir()
    return (time.time() if now is None else now) - last > _DAY


def collect(store: BlobStore, *, days: int, max_bytes: int, now: float | None = None) -> Collected:
    """Blocks, for as long as it takes to look at every blob."""
    now = time.time() if now is None else now
    _mark(store.folder)
    _drop_left_behind(store.folder / INDEXES, now - _DAY)
    lists = _lists(store.folder)
    lists = _without_old(lists, now - days * _DAY)
    blobs = [(entry, found) for entry in store.blobs() if (found := _stat(entry)) is not None]
    total = sum(found.st_size for _, found in blobs)
    sizes: dict[str, int] = {}
    for entry, found in blobs:
        name = name_in(entry.name)
        if name is not None:
            sizes[name] = sizes.get(name, 0) + found.st_size
    needed = [(path, frozenset(names_in(path))) for _, path in lists]
    given_up: list[str] = []
    while needed:
        union = frozenset[str]().union(*(names for _, names in needed))
        if sum(sizes.get(name, 0) for name in union) <= max_bytes:
            break
        oldest = next((path for path, _ in needed if not is_open(path)), None)
        if oldest is None:
            break
        needed = [one for one in needed if one[0] != oldest]
        given_up.append(oldest.name)
        oldest.unlink(missing_ok=True)
    keep = frozenset[str]().union(*(names for _, names in needed))
    removed = freed = 0
    for entry, found in blobs:
        if name_in(entry.name) in keep or found.st_mtime > now - GRACE_SECONDS:
            continue
        if _unlink_if_old(entry.path, now):
            removed, freed = removed + 1, freed + found.st_size
    return Collected(removed=removed, freed=freed, kept=total - freed, given_up=tuple(given_up))


def _lists(store: Path) -> list[tuple[float, Path]]:
    """Oldest first."""
    found: list[tuple[float, Path]] = []
    try:
        with os.scandir(store / FOLDER) as entries:
            for entry in entries:
                found.append((entry.stat().st_mtime, Path(entry.path)))
    except OSError:
        return sorted(found)
    return sorted(found)


def _without_old(lists: list[tuple[float, Path]], oldest: float) -> list[tuple[float, Path]]:
    kept: list[tuple[float, Path]] = []
    for when, path in lists:
        if when < oldest and not is_open(path):
            path.unlink(missing_ok=True)
        else:
            kept.append((when, path))
    return kept


def _stat(entry: "os.DirEntry[str]") -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None


def _unlink_if_old(path: str, now: float) -> bool:
    """Somebody may have asked for it since it was listed."""
    try:
        if Path(path).stat().st_mtime > now - GRACE_SECONDS:
            return False
        Path(path).unlink()
    except OSError:
        return False
    return True


def _drop_left_behind(folder: Path, oldest: float) -> None:
    """Copies of git's index that a bayou which was ended could not take away. Their own time is that of the index."""
    try:
        with os.scandir(folder) as entries:
            old = [entry.path for entry in entries if entry.stat(follow_symlinks=False).st_ctime < oldest]
    except OSError:
        return
    for path in old:
        Path(path).unlink(missing_ok=True)


def _mark(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / MARK).touch(mode=0o600)
        os.utime(folder / MARK)
    except OSError:
        return
