"""Detects whether files of the workspace have changed since a moment, by the agent or anything else. A snapshot
identifies the contents of all files that git does not ignore, or without git of all files outside folders
with generated files. Its digest can be stored and compared later; a snapshot in memory also names the changed
files. An unchanged file is not read again. Everything here blocks."""

import hashlib
import os
import stat as stat_module
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from app.undo.content_store import UndoStoreSettings
from app.undo.disk_files import FileSignature, file_signature_at, file_signature_of_stat, find_folders
from app.undo.folder_scanners import GENERATED_FOLDERS, MAX_SCANNED_FILES
from app.undo.folder_scans import RECENT_FILE_CHANGE_SECONDS
from tools.files.atomic_replacement import is_temporary_replacement_name
from tools.git.git_command import make_read_only_git_command
from tools.git.git_repository import GitRepository, find_repository

_GIT_LIST_FILES_COMMAND = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
_GIT_LIST_IGNORED_COMMAND = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
_GIT_TIMEOUT = 30.0
_MAX_HASHED_FILE_BYTES = 8 << 20
"""The maximum size in bytes of a file whose content is hashed; larger files are identified by size and modification
time."""
_MAX_HASHED_TOTAL_BYTES = 256 << 20
_READ_BLOCK_BYTES = 1 << 20


class WorkspaceSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a workspace at one moment, with a digest of their contents."""

    files: Mapping[str, str]
    """The identity of each file's content, by the file's absolute path."""
    digest: str
    signatures: Mapping[str, FileSignature | None]
    """The signatures (inode, size, times, mode) of the files and of all folders."""
    folders: tuple[Path, ...]
    """The folder of the session, and those that were added to it."""
    are_signatures_reliable: bool
    """Whether equal signatures mean that nothing changed: all folders are known, and no file may have changed again
    within the resolution of its time stamp."""


class _WorkspaceListing(msgspec.Struct, frozen=True, kw_only=True):
    """The absolute paths of the files and folders of a workspace."""

    files: Collection[str]
    folders: Collection[str] | None
    """The absolute paths of the folders; None: there are too many to list."""


class WorkspaceSnapshots:
    """Makes and compares the snapshots of one workspace. Used by one thread at a time."""

    def __init__(
        self,
        folder: Path,
        place: UndoStoreSettings,
        *,
        added: Callable[[], Sequence[Path]] = tuple,
        session: Path | None = None,
    ) -> None:
        """Creates it without a snapshot. `added` returns the folders that the session works in besides its own.
        `session` is the session file, which is excluded together with the files beside it and bayou's own folder.
        """
        self._folder = Path(os.path.realpath(folder))
        self._added_folders = added
        self._undo_config = place
        own = (os.path.realpath(session),) if session is not None else ()
        self._excluded_folders = (f"{os.path.realpath(place.store.parent)}/", *own)
        self._known_digests: dict[str, tuple[FileSignature, str]] = {}

    def take_snapshot(self, named: Iterable[str] = ()) -> WorkspaceSnapshot | None:
        """Returns a snapshot of the present files; None: one of the folders is not watched. `named`: files that
        count though git ignores them."""
        watched = self._folders()
        listing = self._list_files(watched)
        if listing is None:
            return None
        files: dict[str, str] = {}
        signatures: dict[str, FileSignature | None] = {}
        known, total, is_young, now = dict[str, tuple[FileSignature, str]](), 0, False, time.time()
        for place in sorted({*listing.files, *named}):
            if place.startswith(self._excluded_folders) or is_temporary_replacement_name(
                os.path.basename(place)  # noqa: PTH119  (a name of any bytes)
            ):
                continue
            try:
                stat = os.lstat(place)
            except OSError:
                signatures[place] = None
                continue
            if stat_module.S_ISDIR(stat.st_mode):
                continue
            signature = signatures[place] = file_signature_of_stat(stat)
            was_changed_now = now - stat.st_ctime < RECENT_FILE_CHANGE_SECONDS
            is_young = is_young or was_changed_now
            total += stat.st_size
            before = self._known_digests.get(place)
            if before is not None and before[0] == signature and not was_changed_now:
                identity = before[1]
            else:
                identity = _file_identity(place, stat, is_read=total <= _MAX_HASHED_TOTAL_BYTES)
            files[place] = identity
            if not was_changed_now:
                known[place] = signature, identity
        self._known_digests = known
        for folder in listing.folders or ():
            signatures[folder] = file_signature_at(folder)
            is_young = is_young or _is_recent(signatures[folder], now)
        return WorkspaceSnapshot(
            files=files,
            digest=_files_digest(files, self._folder),
            signatures=signatures,
            folders=watched,
            are_signatures_reliable=not is_young and listing.folders is not None,
        )

    def is_unchanged_since(self, mark: WorkspaceSnapshot) -> bool:
        """Returns whether certainly no file has changed since the snapshot; costs one `lstat` per file. False means
        that one may have."""
        return (
            mark.are_signatures_reliable
            and mark.folders == self._folders()
            and all(file_signature_at(place) == signature for place, signature in mark.signatures.items())
        )

    def _folders(self) -> tuple[Path, ...]:
        return (self._folder, *(Path(os.path.realpath(folder)) for folder in self._added_folders()))

    def display_path(self, place: str) -> str:
        """Returns a path in the form that is shown to people."""
        inside = f"{self._folder}/"
        return place[len(inside) :] if place.startswith(inside) else place

    def changed_paths_between(self, before: WorkspaceSnapshot, after: WorkspaceSnapshot) -> tuple[str, ...]:
        """Returns the paths of files that differ between two snapshots."""
        names = {**before.files, **after.files}
        return tuple(
            self.display_path(place)
            for place in sorted(names)
            if before.files.get(place) != after.files.get(place)
        )

    def _list_files(self, watched: Sequence[Path]) -> _WorkspaceListing | None:
        """Lists the files of all folders; None: one of them cannot be watched."""
        files: set[str] = set()
        folders: set[str] | None = set()
        tops: set[str] = set()
        for folder in watched:
            repository = find_repository(folder)
            if repository is not None and not repository.is_bare and self._may_run_git(repository):
                top = os.path.realpath(repository.work_tree)
                if top in tops:
                    continue
                tops.add(top)
                listing = self._list_repository(repository, folder)
            elif str(folder) == "/" or folder == Path(os.path.realpath(self._undo_config.home)):
                return None
            else:
                listing = _walk_files(str(folder))
            if listing is None:
                return None
            files.update(listing.files)
            folders = None if folders is None or listing.folders is None else folders.union(listing.folders)
        return _WorkspaceListing(files=files, folders=folders)

    def _may_run_git(self, repository: GitRepository) -> bool:
        return not repository.risky_settings(self._undo_config.home) or self._undo_config.may_ask_git()

    def _list_repository(self, repository: GitRepository, folder: Path) -> _WorkspaceListing | None:
        top = os.path.realpath(repository.work_tree)
        names, ignored = (
            self._run_git_list(repository, top, *_GIT_LIST_FILES_COMMAND),
            self._run_git_list(repository, top, *_GIT_LIST_IGNORED_COMMAND),
        )
        if names is None or ignored is None:
            return _walk_files(str(folder))
        found = find_folders(
            top, frozenset(place for place in ignored if not place.startswith(f"{top}/.git/"))
        )
        files: list[str] = []
        folders = set(found.folders) if found is not None else None
        for place in names:
            if not os.path.isdir(place) or os.path.islink(place):  # noqa: PTH112, PTH114  (names of any bytes)
                files.append(place)
            elif (inner := _walk_files(place)) is not None:  # a repository inside this one
                files += inner.files
                if folders is not None:
                    folders.update(inner.folders or ())
            else:
                folders = None
        return _WorkspaceListing(files=files, folders=folders)

    def _run_git_list(self, repository: GitRepository, top: str, *words: str) -> list[str] | None:
        """Returns the paths that a git command lists; None: git failed."""
        command = make_read_only_git_command(
            Path(top),
            *words,
            repository=repository.configuration(self._undo_config.home),
            home=self._undo_config.home,
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


def _walk_files(top: str) -> _WorkspaceListing | None:
    """Lists all files of a folder outside folders with generated files; None: there are too many."""
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
        if len(files) > MAX_SCANNED_FILES or len(folders) > MAX_SCANNED_FILES:
            return None
    return _WorkspaceListing(files=files, folders=folders)


def _is_recent(signature: FileSignature | None, now: float) -> bool:
    return signature is not None and now - signature[3] / 1e9 < RECENT_FILE_CHANGE_SECONDS


def _file_identity(place: str, stat: os.stat_result, *, is_read: bool) -> str:
    """Returns a text that stays equal while a file's content, kind and executable bit do."""
    kind = f"{stat_module.S_IFMT(stat.st_mode):o}{'x' if stat.st_mode & 0o111 else ''}"
    by_time = f"{kind}:{stat.st_size}:{stat.st_mtime_ns}"
    try:
        if stat_module.S_ISLNK(stat.st_mode):
            return f"{kind}:{os.readlink(place)}"  # noqa: PTH115  (any bytes)
        if not stat_module.S_ISREG(stat.st_mode) or stat.st_size > _MAX_HASHED_FILE_BYTES or not is_read:
            return by_time
        content = hashlib.sha256()
        with os.fdopen(os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
            while block := file.read(_READ_BLOCK_BYTES):
                content.update(block)
    except OSError:
        return by_time
    return f"{kind}:{content.hexdigest()}"


def _files_digest(files: Mapping[str, str], folder: Path) -> str:
    whole = hashlib.sha256()
    for place in sorted(files):
        name = os.path.relpath(place, folder)
        whole.update(f"{name}\0{files[place]}\0".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()[:32]
