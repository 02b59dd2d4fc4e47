"""Finds files below a workspace that have further hard links elsewhere: writing them in place changes those too.
Follows files that are moved.

Package managers create them (uv, pnpm, bun): a package is one set of files in a cache, with names in each
project. A mount applies to a path, so the other names of a file are searched for before a command. Unchanged
folders are not read again; of an installed package only its own folder is checked again."""

import os
import shutil
import stat
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from tools.box.sandbox_policy import innermost_containing
from tools.protected.autorun_files import VCS_FOLDERS

MAX_ENTRIES_SEARCHED_FOR_HARD_LINKS: Final = 100_000
MAX_HARD_LINKED_FILES_PER_FOLDER: Final = 64
"""The maximum number of hard-linked files in a folder that are protected one by one; with more, the whole folder is
protected."""
MAX_FOLLOWED_HARD_LINKED_FILES: Final = 200
"""The maximum number of hard-linked files whose moves are followed."""
_MAX_HARD_LINK_CANDIDATES_PER_PLACE: Final = 1_000
"""The maximum number of entries of one place that are searched for files with several hard links."""
_MAX_UNLINKED_VCS_FILE_BYTES: Final = 1 << 30
_UNCHANGING_VCS_FOLDERS: Final = frozenset({"objects", "pristine", "data"})
"""Folders of version control with content that never changes, or that only its own program appends to."""
_O_PATH: Final = getattr(os, "O_PATH", os.O_RDONLY)
_INSTALLED_PACKAGE_FOLDERS: Final = frozenset({"node_modules", ".pnpm", "site-packages", "dist-packages"})
_DeviceAndInode = tuple[int, int]


class HardLinkedFile(msgspec.Struct, frozen=True):
    path: str
    inode: _DeviceAndInode
    """The device and inode number of the file."""
    link_count: int


class HardLinkSearchResult(msgspec.Struct, frozen=True):
    files: tuple[HardLinkedFile, ...] = ()
    """All files with more than one name."""
    linked_elsewhere: tuple[str, ...] = ()
    """Files, and folders with many files, that have names outside the workspace."""
    vcs_folders: tuple[str, ...] = ()
    """The folders of version control, which are not searched here."""


class _Folder(msgspec.Struct, frozen=True):
    stamp: tuple[int, int, int]
    entries: int
    folders: tuple[str, ...]
    """Subfolders of the folder that are scanned next."""
    found: tuple[HardLinkedFile, ...]
    vcs_folders: tuple[str, ...]


class HardLinkFinder:
    """Finds hard links in the workspaces of one session."""

    def __init__(self) -> None:
        self._folders: dict[str, _Folder] = {}
        self._cached_links: dict[str, tuple[tuple[_Folder, ...], HardLinkSearchResult]] = {}

    def find_in(self, roots: Iterable[str]) -> HardLinkSearchResult:
        """Finds the files in several folders that have further names (hard links) elsewhere."""
        found = [self.find(root) for root in roots]
        return HardLinkSearchResult(
            files=tuple(file for one in found for file in one.files),
            linked_elsewhere=tuple(dict.fromkeys(path for one in found for path in one.linked_elsewhere)),
            vcs_folders=tuple(dict.fromkeys(path for one in found for path in one.vcs_folders)),
        )

    def find(self, workspace: str) -> HardLinkSearchResult:
        """Finds the files below a folder that have further names (hard links) elsewhere, breadth first, up to
        `MAX_ENTRIES_SEARCHED_FOR_HARD_LINKS` entries."""
        if workspace == "/":
            return HardLinkSearchResult()
        waiting, seen, read = deque([workspace]), 0, list[_Folder]()
        while waiting and seen < MAX_ENTRIES_SEARCHED_FOR_HARD_LINKS:
            folder = self._scan_folder(waiting.popleft())
            if folder is not None:
                seen += folder.entries
                waiting.extend(folder.folders)
                if folder.found or folder.vcs_folders:
                    read.append(folder)
        folders, known = self._cached_links.get(workspace, ((), HardLinkSearchResult()))
        if len(folders) != len(read) or any(
            one is not other for one, other in zip(folders, read, strict=True)
        ):
            files = tuple(file for folder in read for file in folder.found)
            vcs_folders = tuple(path for folder in read for path in folder.vcs_folders)
            known = HardLinkSearchResult(files, _links_outside(files, workspace), vcs_folders)
            self._cached_links[workspace] = (tuple(read), known)
        still = tuple(path for path in known.linked_elsewhere if _is_linked(path))
        return (
            known
            if still == known.linked_elsewhere
            else HardLinkSearchResult(known.files, still, known.vcs_folders)
        )

    def _scan_folder(self, path: str) -> _Folder | None:
        try:
            status = os.lstat(path)
            stamp = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
            known = self._folders.get(path)
            if known is None or known.stamp != stamp:
                known = self._folders[path] = _read_folder(path, stamp)
        except OSError:
            self._folders.pop(path, None)
            return None
        return known


class VcsHardLinkBreaker:
    """Gives the files of version control that have names elsewhere (a project copied with `cp -al`) their own copies,
    so that a command writes no other copy of the project. git replaces most of its files and notices nothing. Content
    that never changes stays shared."""

    def __init__(self) -> None:
        self._searched: dict[str, tuple[tuple[int, int], tuple[str, ...]]] = {}
        """The subfolders of folders without linked files, each with the stamp of that state."""

    def break_hard_links(self, folders: Iterable[str], kept: Sequence[str]) -> bool:
        """Separates the files in these folders, except those at `kept` places; returns whether there were any."""
        # Searched each time: `HEAD` and the index may get names elsewhere, which changes no folder here.
        tops = frozenset(folders)
        waiting, seen, is_changed = deque(tops), 0, False
        while waiting and seen < MAX_ENTRIES_SEARCHED_FOR_HARD_LINKS:
            folder = waiting.popleft()
            try:
                status = os.lstat(folder)
                stamp = (status.st_mtime_ns, status.st_ctime_ns)
                known = self._searched.get(folder)
                if known is None or known[0] != stamp:
                    linked, below = _vcs_entries(folder)
                    for path in linked:
                        if innermost_containing(path, kept) is None:
                            is_changed = _separate_file(path) or is_changed
                    if linked or folder in tops:
                        self._searched.pop(folder, None)
                    else:
                        self._searched[folder] = (stamp, below)
                else:
                    below = known[1]
            except OSError:
                continue  # It has disappeared, or may not be read.
            seen += 1
            waiting.extend(below)
        return is_changed


def _vcs_entries(folder: str) -> tuple[list[str], tuple[str, ...]]:
    """Returns the linked files and the subfolders of a folder of version control."""
    linked, below = list[str](), list[str]()
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if (
                    entry.name not in _UNCHANGING_VCS_FOLDERS
                    or "/refs/" in entry.path
                    or "/logs/" in entry.path
                ):
                    below.append(entry.path)
            elif entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_nlink > 1:
                linked.append(entry.path)
    return linked, tuple(below)


def _separate_file(path: str) -> bool:
    """Replaces a file by a copy, by the file that git locks it with; one that is locked or changes meanwhile stays."""
    lock = f"{path}.lock"
    source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(source, "rb") as reading:
        before = os.fstat(source)
        if not stat.S_ISREG(before.st_mode) or before.st_size > _MAX_UNLINKED_VCS_FILE_BYTES:
            return False
        try:
            target = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError:
            return False
        try:
            with os.fdopen(target, "wb") as writing:
                shutil.copyfileobj(reading, writing)
                os.fchmod(target, stat.S_IMODE(before.st_mode))
            os.utime(lock, ns=(before.st_atime_ns, before.st_mtime_ns))
            now = os.lstat(path)
            if (now.st_ino, now.st_size, now.st_mtime_ns) != (
                before.st_ino,
                before.st_size,
                before.st_mtime_ns,
            ):
                return False
            os.rename(lock, path)  # noqa: PTH104  (texts)
        finally:
            with suppress(OSError):
                os.unlink(lock)  # noqa: PTH108  (a text)
    return True


class MovedFileTracker:
    """Finds the new names of protected files that a command renamed or linked elsewhere, where a move cannot be
    prevented."""

    def __init__(self) -> None:
        self._descriptors: dict[str, int] = {}
        """A descriptor of each file: while it is held, no other file gets the same inode."""

    def track_files(self, paths: Iterable[str]) -> None:
        for path in paths:
            if path in self._descriptors or len(self._descriptors) >= MAX_FOLLOWED_HARD_LINKED_FILES:
                continue
            try:
                self._descriptors[path] = os.open(path, _O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
            except OSError:
                continue

    def names_after_move(self, root: str) -> tuple[str, ...]:
        """Returns the present names of the held files that have left their place; those by links only below `root`."""
        found: list[str] = []
        lost: set[_DeviceAndInode] = set()
        for path, descriptor in tuple(self._descriptors.items()):
            status = os.fstat(descriptor)
            inode = (status.st_dev, status.st_ino)
            if not status.st_nlink or _inode_of(path) == inode:
                continue
            place = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115  (a text)
            if _inode_of(place) == inode:
                found.append(place)
            if status.st_nlink > 1 or not found or found[-1] != place:
                lost.add(inode)
        return tuple(dict.fromkeys((*found, *(find_names_of_inodes(root, lost) if lost else ()))))

    def close(self) -> None:
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors.clear()


def _inode_of(path: str) -> _DeviceAndInode | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def find_names_of_inodes(root: str, inodes: set[_DeviceAndInode]) -> Iterable[str]:
    """Yields the present names below a folder of these files, given by inode."""
    numbers = {number for _, number in inodes}
    waiting, seen = deque([root]), 0
    while waiting and seen < MAX_ENTRIES_SEARCHED_FOR_HARD_LINKS:
        try:
            with os.scandir(waiting.popleft()) as entries:
                for entry in entries:
                    seen += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.inode() in numbers and _inode_of(entry.path) in inodes:
                        yield entry.path
        except OSError:
            continue


def _read_folder(path: str, stamp: tuple[int, int, int]) -> _Folder:
    is_package = os.path.basename(os.path.dirname(path)) in _INSTALLED_PACKAGE_FOLDERS  # noqa: PTH119, PTH120  (a text)
    found: list[HardLinkedFile] = []
    vcs_folders: list[str] = []
    waiting, folders, entries = deque([path]), list[str](), 0
    while waiting and entries < MAX_ENTRIES_SEARCHED_FOR_HARD_LINKS:
        folder = waiting.popleft()
        count, below = _read_entries(folder, found)
        entries += count
        for name in below:
            is_looked_at_anew = not is_package or name in _INSTALLED_PACKAGE_FOLDERS
            kind = vcs_folders if name in VCS_FOLDERS else folders if is_looked_at_anew else waiting
            kind.append(f"{folder}/{name}")
    return _Folder(stamp, entries, tuple(folders), tuple(found), tuple(vcs_folders))


def _read_entries(folder: str, found: list[HardLinkedFile]) -> tuple[int, list[str]]:
    """Returns how many entries a folder has, and its subfolders."""
    count, below = 0, list[str]()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                count += 1
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    if status.st_nlink > 1:
                        inode = (status.st_dev, status.st_ino)
                        found.append(HardLinkedFile(entry.path, inode, status.st_nlink))
    except OSError:
        pass  # The folder has disappeared, or may not be read.
    return count, below


def other_hard_links_of(linked: Iterable[HardLinkedFile], places: Iterable[str]) -> tuple[str, ...]:
    """Returns the further names (hard links) of the files at these places, or in them."""
    linked = tuple(linked)
    if not linked:
        return ()
    places = tuple(places)
    inodes = {inode for place in places for inode in _inodes_in(place)}
    return tuple(
        one.path for one in linked if one.inode in inodes and innermost_containing(one.path, places) is None
    )


def _links_outside(linked: tuple[HardLinkedFile, ...], workspace: str) -> tuple[str, ...]:
    here = Counter(one.inode for one in linked)
    places: dict[str, list[str]] = {}
    for one in linked:
        if here[one.inode] < one.link_count:
            places.setdefault(one.path.rpartition("/")[0], []).append(one.path)
    deepest_first = sorted(_with_parents(places, workspace), key=lambda folder: -folder.count("/"))
    for folder in deepest_first:
        held = places.get(folder, [])
        if folder != workspace:
            above = places.setdefault(folder.rpartition("/")[0], [])
            above += [folder] if len(held) > MAX_HARD_LINKED_FILES_PER_FOLDER else held
    return tuple(places.get(workspace, ()))


def _with_parents(folders: Iterable[str], workspace: str) -> set[str]:
    found = {workspace}
    for folder in folders:
        while folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found


def _is_linked(path: str) -> bool:
    """Returns whether a path still has further hard links; True for a folder, False if the path is missing.
    Removing such a link elsewhere changes nothing in this folder."""
    try:
        return os.lstat(path).st_nlink > 1
    except OSError:
        return False


def _inodes_in(place: str) -> Iterable[_DeviceAndInode]:
    """Yields the inodes of files with several hard links at or below a path, breadth first."""
    waiting, seen = deque([place]), 0
    while waiting and seen < _MAX_HARD_LINK_CANDIDATES_PER_PLACE:
        path = waiting.popleft()
        seen += 1
        try:
            status = os.lstat(path)
            if stat.S_ISDIR(status.st_mode):
                with os.scandir(path) as entries:
                    waiting.extend(entry.path for entry in entries)
            elif stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
                yield status.st_dev, status.st_ino
        except OSError:
            continue
