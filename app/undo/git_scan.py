"""Scans a work tree with git, which only reads: git can give the content of every file that it calls
clean.

The index is copied first, so that a commit, checkout or stash inside a command hides no change. Filters
are off (`tools.git.git_command`): contents that a filter would have made are not available, except LFS
objects in the repository."""

import asyncio
import os
import re
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec

from app.undo.change_records import StoredFileState
from app.undo.content_store import blob_hash
from app.undo.disk_files import MAX_SCANNED_FOLDER_ENTRIES, find_folders
from app.undo.folder_scans import FolderScan, FolderScanLimits, ScannedContentStore, ScannedFileState
from app.values.user_errors import UserError
from tools.files.atomic_replacement import is_temporary_replacement_name
from tools.git.git_command import make_read_only_git_command
from tools.git.git_config import GitConfiguration
from tools.git.git_repository import GitRepository

_GIT_STATUS_COMMAND = (
    "status",
    "--porcelain=v2",
    "-z",
    "-uall",
    "--no-renames",
    "--ignored=matching",
    "--ignore-submodules=all",
)
_GIT_SCAN_LIMITS = FolderScanLimits(file_bytes=4 << 20, all_bytes=64 << 20, files=2_000)
_MAX_ORIGINAL_FILE_STATES = 5_000
_GIT_INDEX_SIZE_LINE = re.compile(rb"\n  size: (\d+)\t")
_GIT_LFS_POINTER = re.compile(
    rb"version https://git-lfs[^\n]*\n(?:ext-[^\n]*\n)*oid sha256:([0-9a-f]{64})\nsize (\d+)\n\Z"
)
_GITLINK_MODE = 0o160000.to_bytes(4, "big")
"""The mode that git's index has for a nested repository."""
_GIT_TIMEOUT = 120.0


class GitScanFailed(UserError):
    """Raised if a git command failed or timed out."""


class _TrackedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as the scanner's copy of the git index has it."""

    oid: str
    mode: str


class GitFolderScanner:
    """Scans one git repository for file changes, from before a command until after it."""

    def __init__(
        self,
        repository: GitRepository,
        configuration: GitConfiguration,
        holder: ScannedContentStore,
        *,
        root: Path,
        home: Path,
        folder: Path,
        max_bytes: int,
    ) -> None:
        """Creates the scanner. `folder` is where the copy of the index is stored; `root` is the session's folder as
        a path without links."""
        self.repository = repository
        self._repository_root = os.path.realpath(repository.work_tree)
        self._configuration = configuration
        self._holder = holder
        self._root = str(root)
        self._home = home
        self._folder = folder
        self._max_bytes = max_bytes
        self._index: Path | None = None
        self._tracked: dict[str, _TrackedFile] = {}
        self.head = ""

    def open(self) -> None:
        """Copies the repository's index for the scan. Blocks. Raises `OSError`."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        copy = self._folder / f"{os.getpid()}-{secrets.token_hex(6)}"
        source = self.repository.git_folder / "index"
        if source.exists():
            # The time is copied too, because git compares files as young as the index by content.
            shutil.copy2(source, copy)
        self._index = copy
        self.head = self._branch_and_commit()

    async def scan(self) -> FolderScan:
        listed = list(self._list_names(await self._run_git(*_GIT_STATUS_COMMAND)))
        listed += await self._files_below_links([name for name, _ in listed])
        return await asyncio.to_thread(self._scan_names, listed)

    async def _files_below_links(self, listed: list[str]) -> list[tuple[str, bool]]:
        """Lists tracked files whose folder is a link now; git's status omits them if the link leads in a
        circle."""
        links = await asyncio.to_thread(
            lambda: [name for name in listed if os.path.islink(self.absolute_path(name))]  # noqa: PTH114
        )
        if not links:
            return []
        paths = [self._name_for_git(name) for name in links]
        told = await self._run_git("--literal-pathspecs", "ls-files", "-z", "--stage", "--", *paths)
        known = frozenset(listed)
        found: list[tuple[str, bool]] = []
        for record in told.split(b"\0"):
            words, _, path = record.partition(b"\t")
            name = self.name(path)
            if path and name not in known and not words.startswith(b"160000"):
                mode, oid, _ = words.decode().split(" ")
                self._tracked[name] = _TrackedFile(oid=oid, mode=mode)
                found.append((name, True))
        return found

    def _scan_names(self, listed: list[tuple[str, bool]]) -> FolderScan:
        clean = frozenset(name for name, is_tracked in listed if is_tracked)
        places = [(name, self.absolute_path(name)) for name, _ in listed]
        seen = self._holder.store_files(places, _GIT_SCAN_LIMITS, was_clean=clean)
        left_out = frozenset(place.rstrip("/") for name, place in places if name.endswith("/"))
        folders = find_folders(self._repository_root, left_out) if _has_few_files(self._index) else None
        return FolderScan(names=seen, folders=folders)

    def has_repository(self) -> bool:
        return os.path.lexists(f"{self._repository_root}/.git")

    async def gitlinks(self) -> list[str]:
        """Returns the folders that the git index holds as nested repositories, with a slash at the end."""
        data = (
            await asyncio.to_thread(self._index.read_bytes) if self._index and self._index.exists() else b""
        )
        if _GITLINK_MODE not in data:
            return []
        told = await self._run_git("ls-files", "-z", "--stage")
        paths = [record.partition(b"\t")[2] for record in told.split(b"\0") if record.startswith(b"160000 ")]
        return [f"{self.name(path)}/" for path in paths]

    def _list_names(self, told: bytes) -> Iterable[tuple[str, bool]]:
        """Yields the names of files that differ from the git index, and whether the index has them."""
        for record in told.split(b"\0"):
            kind = record[:1]
            if kind == b"1":
                _, state, sub, _, _, _, _, oid, path = record.split(b" ", 8)
                if state[1:2] == b"." or sub[:1] == b"S":
                    continue
                mode = record.split(b" ", 5)[4].decode()
            elif kind == b"u":
                path, oid, mode = record.split(b" ", 10)[10], b"", ""
            elif kind in (b"?", b"!"):
                name = self.name(record[2:])
                if not is_temporary_replacement_name(name.rpartition("/")[2]):
                    yield name, False
                continue
            else:
                continue
            name = self.name(path)
            if oid.strip(b"0"):
                self._tracked[name] = _TrackedFile(oid=oid.decode(), mode=mode)
            yield name, bool(oid.strip(b"0"))

    async def file_states_at_open(self, names: list[str]) -> dict[str, StoredFileState | str]:
        if not names:
            return {}
        found: dict[str, StoredFileState | str] = {
            name: f"more than {_MAX_ORIGINAL_FILE_STATES:,} files"
            for name in names[_MAX_ORIGINAL_FILE_STATES:]
        }
        names = names[:_MAX_ORIGINAL_FILE_STATES]
        try:
            contents = await self._read_objects([self._tracked[name].oid for name in names])
            filtered = await self._filter_names(names)
            sizes = await self._recorded_sizes(names)
        except GitScanFailed:
            return {name: "git did not report its old content" for name in (*names, *found)}
        for name in names:
            found[name] = await self._original_state(name, contents, filtered.get(name, ""), sizes.get(name))
        return found

    async def _original_state(
        self, name: str, contents: dict[str, bytes], filter_name: str, size: int | None
    ) -> StoredFileState | str:
        tracked = self._tracked[name]
        data = contents.get(tracked.oid)
        if data is None:
            return "git does not have its old content"
        if tracked.mode == "120000":
            return await asyncio.to_thread(self._store_content, data, "link", 0)
        if filter_name == "lfs" and size != len(data):
            data = _lfs_content(data, self.repository.common_git_folder / "lfs" / "objects", self._max_bytes)
        if data is None or filter_name not in ("", "lfs"):
            return f"it uses the git filter {filter_name}, which bayou does not run"
        if not filter_name and size is not None and size != len(data):
            try:
                data = await self._run_git(
                    "cat-file", "--filters", f"--path={self._name_for_git(name)}", tracked.oid
                )
            except GitScanFailed:
                return "git did not report its old content"
        if size is not None and size != len(data):
            return "git does not have its old content"
        mode = 0o755 if tracked.mode == "100755" else 0o644
        return await asyncio.to_thread(self._store_content, data, "file", mode)

    def _store_content(self, data: bytes, kind: str, mode: int) -> StoredFileState | str:
        if len(data) > self._max_bytes:
            return f"larger than {self._max_bytes >> 20} MB"
        try:
            name = self._holder.store_content(data, blob_hash(data))
        except OSError as problem:
            return f"it could not be stored: {problem.strerror}"
        return StoredFileState(
            kind="link" if kind == "link" else "file", hash=name, mode=mode, size=len(data)
        )

    async def list_unrestorable_files(self, names: list[str], *, ignored: bool) -> dict[str, str]:
        paths = [self._name_for_git(name) or "." for name in names]
        told = await self._run_git("--literal-pathspecs", "ls-files", "-z", "--", *paths) if paths else b""
        clean = [self.name(path) for path in dict.fromkeys(told.split(b"\0")) if path]
        found = {
            name: f"more than {_MAX_ORIGINAL_FILE_STATES:,} files"
            for name in clean[_MAX_ORIGINAL_FILE_STATES:]
        }
        clean = clean[:_MAX_ORIGINAL_FILE_STATES]
        for name, value in (await self._filter_names(clean)).items() if clean else ():
            found[name] = f"it uses the git filter {value}, which bayou does not run"
        found.update(
            await asyncio.to_thread(
                _too_large_files, {name: self.absolute_path(name) for name in clean}, self._max_bytes
            )
        )
        return found

    async def present_file_states(self, names: list[str]) -> dict[str, ScannedFileState]:
        places = [(name, self.absolute_path(name)) for name in names]
        return await asyncio.to_thread(
            self._holder.store_files, places, _GIT_SCAN_LIMITS, was_clean=frozenset()
        )

    def text(self, image: StoredFileState | None) -> str | None:
        return self._holder.text(image)

    async def close(self) -> None:
        if self._index is not None:
            self._index.unlink(missing_ok=True)
            self._index = None

    def moved_git_head(self) -> tuple[str, str] | None:
        now = self._branch_and_commit()
        return (self.head, now) if now != self.head else None

    def _branch_and_commit(self) -> str:
        """Returns the branch and its commit, read from git's files."""
        branch = self.repository.branch_or_commit_name()
        for file in (self.repository.git_folder / "logs" / "HEAD", self.repository.git_folder / "HEAD"):
            try:
                last = file.read_bytes().rstrip(b"\n").rsplit(b"\n", 1)[-1].decode("utf-8", "replace")
            except OSError:
                continue
            words = last.split("\t")[0].split()
            if len(words) > 1:
                return f"{branch} {words[1][:7]}"
        return branch

    # Output of git

    async def _read_objects(self, oids: list[str]) -> dict[str, bytes]:
        told = await self._run_git("cat-file", "--batch", given="".join(f"{oid}\n" for oid in oids).encode())
        found: dict[str, bytes] = {}
        at = 0
        while at < len(told):
            end = told.index(b"\n", at)
            words = told[at:end].split()
            at = end + 1
            if len(words) == 3 and words[1] == b"blob":
                size = int(words[2])
                found[words[0].decode()] = told[at : at + size]
                at += size + 1
        return found

    async def _filter_names(self, names: list[str]) -> dict[str, str]:
        """Returns, for each name, the git filter that attributes in the work tree or the index choose."""
        given = b"".join(os.fsencode(self._name_for_git(name)) + b"\0" for name in names)
        back = {os.fsencode(self._name_for_git(name)): name for name in names}
        found: dict[str, str] = {}
        for how in ((), ("--cached",)):
            told = (await self._run_git("check-attr", "-z", *how, "--stdin", "filter", given=given)).split(
                b"\0"
            )
            for path, _, value in zip(told[::3], told[1::3], told[2::3], strict=False):
                if value not in (b"unspecified", b"unset", b"set", b"") and path in back:
                    found[back[path]] = value.decode("utf-8", "replace")
        return found

    async def _recorded_sizes(self, names: list[str]) -> dict[str, int]:
        """Returns the file sizes that the git index recorded; 0 means unknown."""
        found: dict[str, int] = {}
        back = {os.fsencode(self._name_for_git(name)): name for name in names}
        for first in range(0, len(names), 400):
            paths = [self._name_for_git(name) for name in names[first : first + 400]]
            told = await self._run_git("--literal-pathspecs", "ls-files", "-z", "--debug", "--", *paths)
            for path, size in _parse_debug_output(told):
                if path in back and size:
                    found[back[path]] = size
        return found

    async def _run_git(self, *words: str, given: bytes = b"") -> bytes:
        command = make_read_only_git_command(
            Path(self._repository_root), *words, repository=self._configuration, home=self._home
        )
        if command is None:
            raise GitScanFailed("git is not installed")
        environment = {**command.environment, "GIT_INDEX_FILE": str(self._index)}
        try:
            code, told = await msgspec.structs.replace(command, environment=environment).run_async(
                _GIT_TIMEOUT, given
            )
        except TimeoutError:
            raise GitScanFailed("git took too long") from None
        except OSError as problem:
            raise GitScanFailed(str(problem)) from None
        if code:
            raise GitScanFailed(f"git failed with exit code {code}")
        return told

    # Names

    def name(self, path: bytes) -> str:
        """Converts the path that git uses to the name that session entries use."""
        place = f"{self._repository_root}/{os.fsdecode(path)}"
        inside = f"{self._root}/"
        return place[len(inside) :] if place.startswith(inside) else place

    def file_name_at_path(self, place: str) -> str | None:
        if place != self._repository_root and not place.startswith(f"{self._repository_root}/"):
            return None
        if place == self._root:
            return ""
        inside = f"{self._root}/"
        return place[len(inside) :] if place.startswith(inside) else place

    def absolute_path(self, name: str) -> str:
        return name if name.startswith("/") else f"{self._root}/{name}"

    def _name_for_git(self, name: str) -> str:
        return self.absolute_path(name).rstrip("/")[len(self._repository_root) + 1 :]


def _parse_debug_output(told: bytes) -> Iterable[tuple[bytes, int]]:
    """Yields paths and sizes from `git ls-files --debug`: `path NUL` followed by lines about the file."""
    path, _, rest = told.partition(b"\0")
    while rest:
        size = _GIT_INDEX_SIZE_LINE.search(b"\n" + rest)
        end = rest.find(b"\tflags:")
        end = rest.find(b"\n", end) + 1 if end >= 0 else len(rest)
        yield path, int(size[1]) if size else 0
        path, _, rest = rest[end:].partition(b"\0")


def _has_few_files(index: Path | None) -> bool:
    """Whether the header of a git index counts few files."""
    if index is None:
        return True
    try:
        with index.open("rb") as file:
            return int.from_bytes(file.read(12)[8:], "big") <= MAX_SCANNED_FOLDER_ENTRIES
    except OSError:
        return True


def _too_large_files(places: dict[str, str], max_bytes: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, place in places.items():
        try:
            size = os.lstat(place).st_size
        except OSError:
            continue
        if size > max_bytes:
            found[name] = f"larger than {max_bytes >> 20} MB"
    return found


def _lfs_content(pointer: bytes, objects: Path, max_bytes: int) -> bytes | None:
    match = _GIT_LFS_POINTER.match(pointer)
    if match is None:
        return pointer  # the filter leaves this file unchanged
    oid = match[1].decode()
    place = objects / oid[:2] / oid[2:4] / oid
    try:
        if place.stat().st_size > max_bytes:
            return None
        data = place.read_bytes()
    except OSError:
        return None
    return data if blob_hash(data) == oid else None
