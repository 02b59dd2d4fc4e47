"""Detects whether files of the workspace have changed since a moment, whoever changed them.

A mark identifies the contents of all files that git does not ignore, or without git of all files outside folders
with generated files. Its digest can be stored and compared later; a mark in memory also names the changed files.
An unchanged file is not read again. Everything here blocks."""

import hashlib
import os
import stat as stat_module
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import msgspec

from app.undo.content_store import UndoConfig
from app.undo.disk_files import FileSignature, find_folders, signature_at, signature_of
from app.undo.folder_scanners import GENERATED_FOLDERS, MAX_FILES
from app.undo.folder_scans import RECENT_CHANGE_SECONDS
from tools.files.replacing import is_temporary_name
from tools.git.command import git_command
from tools.git.repository import Repository, find_repository

_LIST_COMMAND = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
_IGNORED_COMMAND = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
_GIT_TIMEOUT = 30.0
_MAX_FILE_BYTES = 8 << 20
"""Larger files are identified by size and modification time."""
_MAX_ALL_BYTES = 256 << 20
_BLOCK_BYTES = 1 << 20


class WorkspaceMark(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a workspace at one moment."""

    files: Mapping[str, str]
    """The identity of each file's content, by absolute path."""
    digest: str
    signatures: Mapping[str, FileSignature | None]
    """Signatures of the files and of all folders."""
    is_certain: bool
    """Whether equal signatures mean that nothing changed: all folders are known, and no file may have changed again
    within the resolution of its time stamp."""


class _Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The absolute paths of a workspace."""

    files: Collection[str]
    folders: Collection[str] | None
    """None: there are too many to list."""


class WorkspaceMarks:
    """Makes and compares the marks of one workspace. Used by one thread at a time."""

    def __init__(self, folder: Path, place: UndoConfig, *, session: Path | None = None) -> None:
        """`session`: the session file, which is left out with the files beside it, as bayou's own folder is."""
        self._folder = Path(os.path.realpath(folder))
        self._place = place
        own = (os.path.realpath(session),) if session is not None else ()
        self._outside = (f"{os.path.realpath(place.store.parent)}/", *own)
        self._known: dict[str, tuple[FileSignature, str]] = {}

    def take(self, named: Iterable[str] = ()) -> WorkspaceMark | None:
        """Returns the present mark; None: this folder is not watched. `named`: files that count though they are
        ignored."""
        listing = self._listed()
        if listing is None:
            return None
        files: dict[str, str] = {}
        signatures: dict[str, FileSignature | None] = {}
        known, total, is_young, now = dict[str, tuple[FileSignature, str]](), 0, False, time.time()
        for place in sorted({*listing.files, *named}):
            if place.startswith(self._outside) or is_temporary_name(os.path.basename(place)):  # noqa: PTH119  (a name of any bytes)
                continue
            try:
                stat = os.lstat(place)
            except OSError:
                signatures[place] = None
                continue
            if stat_module.S_ISDIR(stat.st_mode):
                continue
            signature = signatures[place] = signature_of(stat)
            was_changed_now = now - stat.st_ctime < RECENT_CHANGE_SECONDS
            is_young = is_young or was_changed_now
            total += stat.st_size
            before = self._known.get(place)
            if before is not None and before[0] == signature and not was_changed_now:
                identity = before[1]
            else:
                identity = _identity(place, stat, is_read=total <= _MAX_ALL_BYTES)
            files[place] = identity
            if not was_changed_now:
                known[place] = signature, identity
        self._known = known
        for folder in listing.folders or ():
            signatures[folder] = signature_at(folder)
            is_young = is_young or _is_young(signatures[folder], now)
        return WorkspaceMark(
            files=files,
            digest=_digest(files, self._folder),
            signatures=signatures,
            is_certain=not is_young and listing.folders is not None,
        )

    def is_untouched(self, mark: WorkspaceMark) -> bool:
        """Whether surely nothing has changed since the mark; costs one `lstat` per file. False: it may have."""
        return mark.is_certain and all(
            signature_at(place) == signature for place, signature in mark.signatures.items()
        )

    def shown(self, place: str) -> str:
        """Returns a path as people read it."""
        inside = f"{self._folder}/"
        return place[len(inside) :] if place.startswith(inside) else place

    def differences(self, before: WorkspaceMark, after: WorkspaceMark) -> tuple[str, ...]:
        """Returns the paths of files that differ between two marks."""
        names = {**before.files, **after.files}
        return tuple(
            self.shown(place) for place in sorted(names) if before.files.get(place) != after.files.get(place)
        )

    def _listed(self) -> _Listing | None:
        repository = find_repository(self._folder)
        if repository is not None and not repository.is_bare and self._may_ask(repository):
            return self._listed_by_git(repository)
        if str(self._folder) == "/" or self._folder == Path(os.path.realpath(self._place.home)):
            return None
        return _walk(str(self._folder))

    def _may_ask(self, repository: Repository) -> bool:
        return not repository.risky_settings(self._place.home) or self._place.may_ask_git()

    def _listed_by_git(self, repository: Repository) -> _Listing | None:
        top = os.path.realpath(repository.top)
        names, ignored = (
            self._ask(repository, top, *_LIST_COMMAND),
            self._ask(repository, top, *_IGNORED_COMMAND),
        )
        if names is None or ignored is None:
            return _walk(str(self._folder))
        found = find_folders(
            top, frozenset(place for place in ignored if not place.startswith(f"{top}/.git/"))
        )
        files: list[str] = []
        folders = set(found.all) if found is not None else None
        for place in names:
            if not os.path.isdir(place) or os.path.islink(place):  # noqa: PTH112, PTH114  (names of any bytes)
                files.append(place)
            elif (inner := _walk(place)) is not None:  # a repository inside this one
                files += inner.files
                if folders is not None:
                    folders.update(inner.folders or ())
            else:
                folders = None
        return _Listing(files=files, folders=folders)

    def _ask(self, repository: Repository, top: str, *words: str) -> list[str] | None:
        """Returns the paths that git lists; None: it failed."""
        command = git_command(
            Path(top),
            *words,
            repository=repository.configuration(self._place.home),
            home=self._place.home,
        )
        if command is None:
            return None
        try:
            code, told = command.run(_GIT_TIMEOUT)
        except (OSError, TimeoutError):
            return None
        return (
            None if code else [f"{top}/{os.fsdecode(name)}".rstrip("/") for name in told.split(b"\0") if name]
        )


def _walk(top: str) -> _Listing | None:
    """Lists all files outside folders with generated files; None: there are too many."""
    files: list[str] = []
    folders: list[str] = []
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        folders.append(folder)
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        files.append(entry.path)
                    elif entry.name not in GENERATED_FOLDERS:
                        waiting.append(entry.path)
        except OSError:
            continue
        if len(files) > MAX_FILES or len(folders) > MAX_FILES:
            return None
    return _Listing(files=files, folders=folders)


def _is_young(signature: FileSignature | None, now: float) -> bool:
    return signature is not None and now - signature[3] / 1e9 < RECENT_CHANGE_SECONDS


def _identity(place: str, stat: os.stat_result, *, is_read: bool) -> str:
    """Returns a text that is equal as long as content, kind and executable bit are."""
    kind = f"{stat_module.S_IFMT(stat.st_mode):o}{'x' if stat.st_mode & 0o111 else ''}"
    by_time = f"{kind}:{stat.st_size}:{stat.st_mtime_ns}"
    try:
        if stat_module.S_ISLNK(stat.st_mode):
            return f"{kind}:{os.readlink(place)}"  # noqa: PTH115  (any bytes)
        if not stat_module.S_ISREG(stat.st_mode) or stat.st_size > _MAX_FILE_BYTES or not is_read:
            return by_time
        content = hashlib.sha256()
        with os.fdopen(os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
            while block := file.read(_BLOCK_BYTES):
                content.update(block)
    except OSError:
        return by_time
    return f"{kind}:{content.hexdigest()}"


def _digest(files: Mapping[str, str], folder: Path) -> str:
    whole = hashlib.sha256()
    for place in sorted(files):
        name = os.path.relpath(place, folder)
        whole.update(f"{name}\0{files[place]}\0".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()[:32]
