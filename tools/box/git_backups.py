"""Copies the parts of a git folder that a command could destroy irrecoverably: loose objects, references, the
index.

Mounts protect packs (`git_places`). Git itself has to write the rest, so it is copied before a command and
restored after a command that lost it. What git itself removed stays removed: objects that it packed or pruned,
branches that it deleted."""

import hashlib
import os
import re
import shutil
import stat
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Final

import msgspec

from tools.git.git_config import read_git_configuration
from tools.lazy_patterns import lazy_regex

_GIT_OBJECT_FOLDER_NAMES: Final = tuple(f"{number:02x}" for number in range(256))
_LOOSE_OBJECT_NAME_PATTERN: Final = lazy_regex(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")
_GIT_CACHE_FILE_NAME_PATTERN: Final = lazy_regex(
    r"objects/(?:info/commit-graph|info/commit-graphs/.+|pack/multi-pack-index|pack/multi-pack-index\.d/.+|"
    r"pack/.+\.(?:bitmap|rev))"
)
"""Matches the names of git's cache files (such as the commit graph), which git rebuilds if they are missing but not
if they are corrupt."""
_GIT_CACHE_CHAIN_CONTENT_PATTERN: Final = lazy_regex(rb"(?:[0-9a-f]{40}(?:[0-9a-f]{24})?\n)*")
"""Matches the content of a cache file of git that lists the parts of a split cache; every other cache ends with its
own hash."""
_BACKED_UP_GIT_FILES: Final = ("HEAD", "index", "packed-refs", "objects/info/alternates")
_BACKED_UP_GIT_FOLDERS: Final = ("refs", "logs")
_REQUIRED_GIT_FOLDERS: Final = ("refs", "refs/heads", "objects")
_GIT_REFERENCE_CONTENT_PATTERN: Final = lazy_regex(rb"ref: refs/\S+\s*|[0-9a-f]{40}(?:[0-9a-f]{24})?\s*")
"""Matches the valid content of git's `HEAD` or of a reference."""
_REFLOG_LINE_PATTERN: Final = lazy_regex(rb"[0-9a-f]{40}(?:[0-9a-f]{24})? [0-9a-f]{40}(?:[0-9a-f]{24})? ")
_REFLOG_TIME_PATTERN: Final = lazy_regex(rb"> (\d{1,15}) [+-]\d{4}(?:\t|$)", re.MULTILINE)
_GIT_FILE_SIGNATURES: Final = {
    "index": (b"DIRC",),
    "packed-refs": (b"#", *(b"%x" % number for number in range(16))),
}
_MAX_BACKED_UP_REPOSITORIES: Final = 20
_MAX_BACKED_UP_GIT_FILES: Final = 5_000
_MAX_BACKED_UP_GIT_FILE_BYTES: Final = 16 << 20
_MAX_BACKED_UP_OBJECT_BYTES: Final = 32 << 20
_MAX_GIT_BACKUP_BYTES: Final = 1 << 30
"""The maximum size in bytes of all copies of a session; further data is not copied."""
_MAX_GIT_OBJECTS_CHECKED_FOR_CHANGES: Final = 1_000
"""Number of newest objects whose size and time are compared after each command; older ones are only checked for
existence."""
_GIT_PRUNE_AGE_SECONDS: Final = 14 * 86_400
"""Default age in seconds at which git deletes unreachable objects."""
_GIT_REFLOG_EXPIRY_SECONDS: Final = 90 * 86_400
"""Default age in seconds at which git deletes reflog entries."""
_FOLDER_MTIME_RESOLUTION_NS: Final = 50_000_000
"""The time in nanoseconds within which a folder can change again without getting a new modification time."""
_GIT_PROCESS_TIMEOUT: Final = 60.0
_NEW_FILE_OPEN_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_ONLY_OPEN_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

GitFileStamp = tuple[int, int, int]


class RestoredGitFiles(msgspec.Struct, frozen=True):
    """The lost parts of one repository that were restored."""

    folder: str
    objects: int = 0
    files: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Broken caches that were removed, because git rebuilds them."""


class GitBackups:
    """Keeps copies of the destructible git files of one session, in an unnamed file that disappears with the
    session."""

    def __init__(self, private_folder: Callable[[str], Path]) -> None:
        self._private_folder = private_folder
        self._copies: _GitBackupFile | None = None
        self._repositories: dict[str, _Repository] = {}
        self._lock = threading.Lock()
        self._running_commands = 0
        """The number of running commands; while one runs, the copies of files that disappear are kept."""

    def back_up_git_folders(self, folders: Iterable[str]) -> None:
        """Copies the parts of git folders that a command could destroy, before it runs. For a thread."""
        with self._lock:
            for folder in islice(folders, _MAX_BACKED_UP_REPOSITORIES):
                with suppress(OSError):  # no room for copies, or the repository is damaged
                    if self._copies is None:
                        self._copies = _GitBackupFile(self._private_folder("git"))
                    known = self._repositories.setdefault(folder, _Repository(folder, self._copies))
                    known.back_up_new_parts(forgets=not self._running_commands)
            self._running_commands += 1

    def put_back(self, folders: Iterable[str]) -> tuple[RestoredGitFiles, ...]:
        """Restores the parts of git folders that the command has destroyed. For a thread."""
        with self._lock:
            self._running_commands -= 1
            found: list[RestoredGitFiles] = []
            for folder in folders:
                known = self._repositories.get(folder)
                with suppress(OSError):
                    if known is not None and (lost := known.put_back()) is not None:
                        found.append(lost)
            return tuple(found)

    def close(self) -> None:
        if self._copies is not None:
            self._copies.close()
            self._copies = None
        self._repositories.clear()


class _GitObjectBackup(msgspec.Struct, frozen=True):
    """The place of one loose git object in the file of copies, from which it is restored if a command destroys it."""

    offset: int
    size: int
    changed: int


class _GitBackupFile:
    def __init__(self, folder: Path) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  (it is closed with the session)
        folder.rmdir()
        self._size = 0

    def add(self, data: bytes) -> int | None:
        """Adds data to the file of copies and returns its offset; None if there is no room."""
        if self._size + len(data) > _MAX_GIT_BACKUP_BYTES:
            return None
        at = self._size
        self._size += os.pwrite(self._file.fileno(), data, at)
        return at if self._size == at + len(data) else None

    def read(self, copy: _GitObjectBackup) -> bytes:
        return os.pread(self._file.fileno(), copy.size, copy.offset)

    def close(self) -> None:
        self._file.close()


class _Repository:
    """One git folder whose destructible parts are copied. It is entered without following links, which a command may
    have put there."""

    def __init__(self, folder: str, copies: _GitBackupFile) -> None:
        self._folder = folder
        self._copies = copies
        self._stamps: dict[str, GitFileStamp | None] = {}
        """The last known stamp of each folder of objects."""
        self._objects: dict[str, dict[str, _GitObjectBackup]] = {}
        self._newest_objects: deque[tuple[str, str]] = deque(maxlen=_MAX_GIT_OBJECTS_CHECKED_FOR_CHANGES)
        self._files: dict[str, tuple[GitFileStamp, bytes]] = {}
        self._caches: dict[str, GitFileStamp] = {}
        self._folders: tuple[str, ...] = ()
        """The existing folders among those that make a folder a git repository, such as `objects` and `refs`."""

    def back_up_new_parts(self, *, forgets: bool) -> None:
        """Copies the parts of the git folder that are new since the last copy. With `forgets`, it drops the copies
        of parts that disappeared since then, because no command ran that could have destroyed them."""
        with _open_folder(self._folder) as folder:
            self._folders = tuple(name for name in _REQUIRED_GIT_FOLDERS if _is_folder(name, folder))
            self._caches = dict(_caches_of(folder))
            before, self._files = self._files, {}
            for name, stamp in _small_files(folder):
                known = before.get(name)
                if known is not None and known[0] == stamp:
                    self._files[name] = known
                elif (data := _read_file(folder, name, _MAX_BACKED_UP_GIT_FILE_BYTES)) is not None:
                    self._files[name] = (stamp, data)
            with suppress(OSError), _open_folder("objects", folder) as objects:
                for name in self._copy_new_objects(objects):
                    if forgets:
                        del self._objects[name[:2]][name[2:]]
                    else:
                        self._stamps[name[:2]] = None  # checked once more after the command

    def _copy_new_objects(self, objects: int) -> list[str]:
        """Copies git's new loose objects, and returns those that have disappeared."""
        gone: list[str] = []
        new: list[tuple[int, str, str]] = []
        for name in _GIT_OBJECT_FOLDER_NAMES:
            stamp = _stamp_of_folder(name, objects)
            if stamp == self._stamps.get(name) and not (stamp is None and self._objects.get(name)):
                continue
            is_sure = stamp is not None and time.time_ns() - stamp[1] > _FOLDER_MTIME_RESOLUTION_NS
            self._stamps[name] = stamp if is_sure else None
            known = self._objects.setdefault(name, {})
            names: set[str] = set()
            with suppress(OSError), _open_folder(name, objects) as folder:
                names.update(filter(_LOOSE_OBJECT_NAME_PATTERN.fullmatch, os.listdir(folder)))  # noqa: PTH208  (of a descriptor)
                for rest in names - known.keys():
                    if (copy := self._copy_object(rest, folder)) is not None:
                        known[rest] = copy
                        new.append((copy.changed, name, rest))
            gone += (name + rest for rest in known.keys() - names)
        self._newest_objects.extend((name, rest) for _, name, rest in sorted(new))
        return gone

    def _copy_object(self, name: str, folder: int) -> _GitObjectBackup | None:
        with suppress(OSError):
            found = _read_with_stamp(folder, name, _MAX_BACKED_UP_OBJECT_BYTES)
            at = self._copies.add(found[1]) if found is not None else None
            if found is not None and at is not None:
                return _GitObjectBackup(at, len(found[1]), found[0][1])
        return None

    def put_back(self) -> RestoredGitFiles | None:
        with _open_folder(self._folder) as folder:
            changed = [name for name, stamp in _caches_of(folder) if self._caches.get(name) != stamp]
            broken = tuple(name for name in changed if not _is_sound_cache(folder, name))
            for name in broken:
                with suppress(OSError), _open_parent(name, folder) as (inner, last):
                    if _is_folder(last, inner):
                        shutil.rmtree(last, dir_fd=inner)
                    else:
                        os.unlink(last, dir_fd=inner)
            files = self._missing_files(folder)
            for name in files:
                with suppress(OSError):
                    _write_file(folder, name, self._files[name][1])
            for name in self._folders:
                with _open_parent(f"{name}/", folder, makes=True):
                    pass
            lost: list[str] = []
            with (
                _open_folder("objects", folder) if "objects" in self._folders else nullcontext(-1) as objects
            ):
                lost += self._lost_objects(objects) if objects >= 0 else ()
                for name in lost:
                    with suppress(OSError):
                        data = self._copies.read(self._objects[name[:2]][name[2:]])
                        _write_file(objects, f"{name[:2]}/{name[2:]}", data, mode=0o444)
        found = RestoredGitFiles(self._folder, len(lost), tuple(files), broken)
        return found if lost or files or broken else None

    def _missing_files(self, folder: int) -> list[str]:
        now = dict(_small_files(folder))
        changed = [name for name, (stamp, _) in self._files.items() if now.get(name) != stamp]
        if not changed:
            return []
        packed = _read_file(folder, "packed-refs", _MAX_BACKED_UP_GIT_FILE_BYTES) or b""
        head = os.fsdecode(self._current_content("HEAD").removeprefix(b"ref: ").strip())
        was_there = head in self._files or _packed_value(self._current_content("packed-refs"), head)
        is_same = self._current_content("HEAD") == _read_file(folder, "HEAD", _MAX_BACKED_UP_GIT_FILE_BYTES)
        has_head_lost = was_there and is_same and not (head in now or _packed_value(packed, head))
        heads = any(name.startswith("refs/heads/") for name in self._files)
        has_all_lost = has_head_lost or (heads and not _is_folder("refs/heads", folder))

        def is_lost(name: str) -> bool:
            if name.startswith("logs/"):
                owner = name.removeprefix("logs/")
                is_used = owner in ("HEAD", *now) or has_all_lost
                return self._is_log_missing(name, folder) if name in now else is_used
            if name.startswith("refs/") and name not in now:
                return has_all_lost or self._is_outdated(folder, name, _packed_value(packed, name))
            said = _read_file(folder, name, _MAX_BACKED_UP_GIT_FILE_BYTES)
            if said is None or name == "objects/info/alternates":
                return said is None and not (name == "HEAD" and _links_to_branch(folder))
            if name in _GIT_FILE_SIGNATURES:
                return not said.startswith(_GIT_FILE_SIGNATURES[name])
            return (
                _GIT_REFERENCE_CONTENT_PATTERN.fullmatch(said) is None
                and _GIT_REFERENCE_CONTENT_PATTERN.fullmatch(self._current_content(name)) is not None
            )

        return [name for name in changed if is_lost(name)]

    def _is_outdated(self, folder: int, name: str, packed: bytes | None) -> bool:
        """Returns whether a copied reference is outdated: git packed another value since, so another program removed
        the file."""
        log = _read_file(folder, f"logs/{name}", _MAX_BACKED_UP_GIT_FILE_BYTES) or self._current_content(
            f"logs/{name}"
        )
        last = log.rstrip(b"\n").rpartition(b"\n")[2].split(b" ", 2)
        return packed is not None and len(last) > 2 and last[1] != packed

    def _is_log_missing(self, name: str, folder: int) -> bool:
        """Returns whether a reflog was lost; git itself empties one when all entries are expired."""
        said = _read_file(folder, name, _MAX_BACKED_UP_GIT_FILE_BYTES)
        if said:
            return _REFLOG_LINE_PATTERN.match(said) is None
        times = _REFLOG_TIME_PATTERN.findall(self._current_content(name))
        return bool(times) and int(times[-1]) > time.time() - _GIT_REFLOG_EXPIRY_SECONDS

    def _current_content(self, name: str) -> bytes:
        return self._files[name][1] if name in self._files else b""

    def _lost_objects(self, objects: int) -> list[str]:
        gone = self._copy_new_objects(objects)
        rewritten = [
            f"{name}{rest}"
            for name, rest in self._newest_objects
            if self._is_overwritten(objects, name, rest)
        ]
        if rewritten:
            every = ((name, rest) for name, held in self._objects.items() for rest in held)
            rewritten = [f"{name}{rest}" for name, rest in every if self._is_overwritten(objects, name, rest)]
        missing = self._missing_objects(gone) if gone else []
        oldest = time.time_ns() - _GIT_PRUNE_AGE_SECONDS * 1_000_000_000
        is_pruned = missing and all(self._objects[name[:2]][name[2:]].changed < oldest for name in missing)
        if is_pruned and self._is_intact():
            missing = []
        for name in set(gone).difference(missing):
            del self._objects[name[:2]][name[2:]]
        return list(dict.fromkeys((*missing, *rewritten)))

    def _is_overwritten(self, objects: int, name: str, rest: str) -> bool:
        """Returns whether a loose object of git was overwritten with other content."""
        copy = self._objects[name].get(rest)
        if copy is None:
            return False
        try:
            status = os.stat(f"{name}/{rest}", dir_fd=objects, follow_symlinks=False)
        except OSError:
            return False
        if (status.st_size, status.st_mtime_ns) == (copy.size, copy.changed):
            return False
        if _read_file(objects, f"{name}/{rest}", _MAX_BACKED_UP_OBJECT_BYTES) != self._copies.read(copy):
            return True
        self._objects[name][rest] = _GitObjectBackup(
            copy.offset, copy.size, status.st_mtime_ns
        )  # git reports that it is used again
        return False

    def _missing_objects(self, names: list[str]) -> list[str]:
        """Returns those of the objects that the repository no longer has, loose or packed; all of them if git
        fails."""
        told = self._git_output(
            "cat-file", "--batch-check", given="".join(f"{name}\n" for name in names).encode()
        )
        if told is None:
            return names
        lines = told.decode("ascii", "replace").splitlines()
        return [line.split()[0] for line in lines if line.endswith(" missing")]

    def _is_intact(self) -> bool:
        reached = ("--all", "--reflog", "--indexed-objects")
        return self._git_output("rev-list", "--quiet", "--objects", *reached) is not None

    def _git_output(self, *words: str, given: bytes = b"") -> bytes | None:
        from tools.git.git_command import make_read_only_git_command  # noqa: PLC0415  (only where objects are gone)

        folder, home = Path(self._folder), Path.home()
        configuration = read_git_configuration(folder / "config", home=home)
        with suppress(OSError, TimeoutError):
            git = make_read_only_git_command(
                folder, f"--git-dir={folder}", *words, repository=configuration, home=home
            )
            code, told = git.run(_GIT_PROCESS_TIMEOUT, given) if git is not None else (1, b"")
            return told if code == 0 else None
        return None


def _links_to_branch(folder: int) -> bool:
    """Returns whether `HEAD` is a link to a branch, as git makes it with `core.preferSymlinkRefs`."""
    with suppress(OSError):
        target = os.readlink("HEAD", dir_fd=folder)
        return target.startswith("refs/heads/") and ".." not in target.split("/")
    return False


def _packed_value(text: bytes, name: str) -> bytes | None:
    """Returns the value that git's `packed-refs` has for a reference."""
    end = text.find(b" " + os.fsencode(name) + b"\n") if name else -1
    return text[text.rfind(b"\n", 0, end) + 1 : end] if end >= 0 else None


@contextmanager
def _open_folder(name: str, at: int | None = None) -> Generator[int]:
    folder = os.open(name, _READ_ONLY_OPEN_FLAGS | os.O_DIRECTORY, dir_fd=at)
    try:
        yield folder
    finally:
        os.close(folder)


def _is_folder(name: str, at: int) -> bool:
    return _stamp_of_folder(name, at) is not None


def _stamp_of_folder(name: str, at: int) -> GitFileStamp | None:
    try:
        status = os.stat(name, dir_fd=at, follow_symlinks=False)
    except OSError:
        return None
    return _status_stamp(status) if stat.S_ISDIR(status.st_mode) else None


def _status_stamp(status: os.stat_result) -> GitFileStamp:
    return status.st_ino, status.st_mtime_ns, status.st_size


def _small_files(folder: int) -> Iterator[tuple[str, GitFileStamp]]:
    """Yields the small files of a git folder that are copied whole, by path; none if there are too many."""
    places = [("", name) for name in _BACKED_UP_GIT_FILES]
    for tree in (name for name in _BACKED_UP_GIT_FOLDERS if _is_folder(name, folder)):
        for above, _, names, _ in os.fwalk(tree, dir_fd=folder):
            places += [(f"{above}/", name) for name in names if not name.endswith(".lock")]
            if len(places) > _MAX_BACKED_UP_GIT_FILES:
                return
    for above, name in places:
        with suppress(OSError):
            status = os.stat(above + name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and status.st_size <= _MAX_BACKED_UP_GIT_FILE_BYTES:
                yield above + name, _status_stamp(status)


def _caches_of(folder: int) -> Iterator[tuple[str, GitFileStamp]]:
    """Yields the paths of the caches of a git folder, without checking their content."""
    for place in (
        "objects/info",
        "objects/pack",
        "objects/info/commit-graphs",
        "objects/pack/multi-pack-index.d",
    ):
        with suppress(OSError), _open_parent(f"{place}/", folder) as (inner, _):
            for name in os.listdir(inner):  # noqa: PTH208  (of a descriptor)
                if _GIT_CACHE_FILE_NAME_PATTERN.fullmatch(path := f"{place}/{name}"):
                    with suppress(OSError):
                        yield path, _status_stamp(os.stat(name, dir_fd=inner, follow_symlinks=False))


def _is_sound_cache(folder: int, name: str) -> bool:
    """Returns whether a file is an intact git cache, which ends with the hash of its content."""
    with (
        suppress(OSError),
        _open_parent(name, folder) as (inner, last),
        os.fdopen(os.open(last, _READ_ONLY_OPEN_FLAGS, dir_fd=inner), "rb") as file,
    ):
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            return False
        if name.endswith("-chain"):
            return (
                _GIT_CACHE_CHAIN_CONTENT_PATTERN.fullmatch(file.read(_MAX_BACKED_UP_GIT_FILE_BYTES))
                is not None
            )
        return any(_ends_with_own_hash(file, status.st_size, kind) for kind in ("sha1", "sha256"))
    return False


def _ends_with_own_hash(file: IO[bytes], size: int, kind: str) -> bool:
    made = hashlib.new(kind, usedforsecurity=False)
    left = size - made.digest_size
    file.seek(0)
    while left > 0 and (data := file.read(min(left, 1 << 20))):
        made.update(data)
        left -= len(data)
    return left == 0 and file.read() == made.digest()


def _read_file(folder: int, name: str, limit: int) -> bytes | None:
    """Returns the content of a file of a git folder; None if it is not a regular file, or too large."""
    with suppress(OSError):
        found = _read_with_stamp(folder, name, limit)
        return found[1] if found is not None else None
    return None


def _read_with_stamp(folder: int, name: str, limit: int) -> tuple[GitFileStamp, bytes] | None:
    with _open_parent(name, folder) as (inner, last):
        opened = os.open(last, _READ_ONLY_OPEN_FLAGS, dir_fd=inner)
        with os.fdopen(opened, "rb", buffering=0) as file:
            status = os.fstat(opened)
            if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
                return None
            data = file.read(status.st_size + 1) or b""
            return (_status_stamp(status), data) if len(data) == status.st_size else None


@contextmanager
def _open_parent(path: str, at: int, *, makes: bool = False) -> Generator[tuple[int, str]]:
    """Opens the parent folder of a path, and yields it with the last name. `makes` recreates missing folders."""
    *above, last = path.split("/")
    with ExitStack() as stack:
        for name in above:
            if makes:
                _make_folder(name, at)
            at = stack.enter_context(_open_folder(name, at))
        yield at, last


def _make_folder(name: str, at: int) -> None:
    """Creates a folder of a git folder, replacing anything else of that name."""
    if not _is_folder(name, at):
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=at)
        os.mkdir(name, dir_fd=at)


def _write_file(folder: int, name: str, data: bytes, *, mode: int = 0o644) -> None:
    """Writes a restored file of a git folder, and creates the folders on its path."""
    with _open_parent(name, folder, makes=True) as (inner, last):
        temporary = f"bayou-{os.getpid()}-{last}"[:200] + ".lock"
        file = os.open(temporary, _NEW_FILE_OPEN_FLAGS, mode, dir_fd=inner)
        with os.fdopen(file, "wb") as writing:
            writing.write(data)
        with suppress(OSError):
            os.rmdir(last, dir_fd=inner)
        os.rename(temporary, last, src_dir_fd=inner, dst_dir_fd=inner)
