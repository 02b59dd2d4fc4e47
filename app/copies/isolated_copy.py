"""Separate folders for one helper each: a repository's last commit with its uncommitted and new files, and what has
been changed there since.

A copy is kept on the disk until its changes were delivered, whatever happens to the process that made it."""

import asyncio
import os
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from app.copies.repository_copies import Baseline, Git, GitFailed, RepositoryCopies
from app.sessions.file.lock import try_lock
from app.values.user_errors import UserError
from tools.files.presence import exists, is_dir
from tools.files.replacing import replace_atomically
from tools.git.repository import Repository, find_repository

_RECORD, _LOCK, _INDEX, _STORE = "copy.json", "lock", "index", "repository"
_CHANGES = ("diff", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=none")
_ATTRIBUTES = "* -text -ident !eol !filter !working-tree-encoding\n"
"""Files are copied and compared byte for byte."""
_REPOSITORY_MODE, _LINK_MODE, _EXECUTABLE_MODE, _NO_MODE = "160000", "120000", "100755", "000000"
_NO_OBJECT = "0"
_ABANDONED_SECONDS = 60
"""A younger folder without a record may be one that is being made."""


class CopyRefused(UserError):
    """No copy can be made here; the text says why."""


class CopyRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is known of a copy, stored beside it."""

    source: str
    """The top folder of the repository that it was made of."""
    folder: str
    """The copy's own top folder."""
    store: str
    tree: str
    """The state that it was made of."""
    session: str | None
    """The file of the session that its helper works for; None: that session is in memory."""
    title: str
    created: str
    left_out: tuple[str, ...] = ()
    """Repositories inside of the source, which are not copied."""


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that differs from the state that the copy was made of."""

    path: str
    """Relative to the top folder."""
    before: bytes | None
    after: bytes | None
    is_executable: bool | None = None
    """Whether it became executable, or ceased to be; None: neither."""


class CopyChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The changes in a copy."""

    files: tuple[ChangedFile, ...] = ()
    others: tuple[str, ...] = ()
    """What cannot be delivered as a file: links and repositories."""


class IsolatedCopy:
    """One copy, which this process alone uses."""

    def __init__(self, git: Git, above: Path, record: CopyRecord, lock: int) -> None:
        self._git = git
        self._lock = lock
        self.above = above
        self.record = record

    @property
    def folder(self) -> Path:
        return Path(self.record.folder)

    def inside(self, folder: Path) -> Path:
        """Returns the place in the copy of a folder of the source."""
        try:
            return self.folder / Path(os.path.realpath(folder)).relative_to(
                os.path.realpath(self.record.source)
            )
        except ValueError:
            return self.folder

    @property
    def session(self) -> Path | None:
        """The session whose helper made it, if that can be continued."""
        file = self.record.session
        return Path(file) if file is not None and exists(Path(file)) else None

    async def changes(self) -> CopyChanges:
        """Returns what differs from the state that the copy was made of. Raises `UserError`."""
        if not is_dir(self.folder):
            return CopyChanges()
        record = self.record
        baseline = Baseline(
            git=self._git, store=Path(record.store), index=self.above / _INDEX, tree=record.tree
        )
        await baseline.ask(self.folder, "add", "--all")
        rows = list(_rows(await baseline.ask(self.folder, *_CHANGES, record.tree)))
        files = [
            row for row in rows if not {row.mode_before, row.mode_after} & {_REPOSITORY_MODE, _LINK_MODE}
        ]
        ids = [one for row in files for one in (row.id_before, row.id_after)]
        blobs = [one async for one in _blobs(baseline, self.folder, ids)]
        found = [
            ChangedFile(
                path=row.path,
                before=blobs[2 * at],
                after=blobs[2 * at + 1],
                is_executable=_becomes_executable(row),
            )
            for at, row in enumerate(files)
        ]
        return CopyChanges(files=tuple(found), others=tuple(row.path for row in rows if row not in files))

    def remove(self) -> None:
        """Removes the copy, after its changes were delivered."""
        # Without its record, what an interrupted removal leaves is never taken for changes.
        (self.above / _RECORD).unlink(missing_ok=True)
        shutil.rmtree(self.above, ignore_errors=True)
        self.release()

    def release(self) -> None:
        """Gives up the lock, so that another process may offer the copy again."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


class IsolatedCopies:
    """Makes copies in bayou's folder for them, and finds those that were left behind."""

    def __init__(self, root: Path, home: Path) -> None:
        self._root = root
        self._git = Git(home)

    async def make(self, folder: Path, *, session: Path | None, title: str) -> IsolatedCopy:
        """Copies the repository of `folder` as it is now. Raises `UserError`."""
        repository = find_repository(folder)
        if repository is None or repository.is_bare:
            why = "in no git repository" if repository is None else "in a bare repository, without files"
            raise CopyRefused(f"{folder} is {why}, so there is nothing to make a separate copy of.")
        above = self._root / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
        try:
            above.mkdir(parents=True, mode=0o700)
            lock = _taken(above)
            assert lock is not None
        except OSError as problem:
            raise CopyRefused(
                f"A separate copy cannot be made in {self._root}: {problem.strerror}."
            ) from None
        copies = RepositoryCopies(self._git, above / _STORE, shares_objects=True)
        try:
            record = await self._fill(repository, above, copies, session=session, title=title)
            await asyncio.to_thread(_write, record, above)
        except BaseException as problem:
            await copies.stop()
            os.close(lock)
            await asyncio.to_thread(shutil.rmtree, above, ignore_errors=True)
            if isinstance(problem, OSError):
                raise CopyRefused(f"The separate copy cannot be made: {problem}.") from None
            raise
        return IsolatedCopy(self._git, above, record, lock)

    async def _fill(
        self,
        repository: Repository,
        above: Path,
        copies: RepositoryCopies,
        *,
        session: Path | None,
        title: str,
    ) -> CopyRecord:
        top = repository.top
        commit = await self._git.resolve(top, "HEAD")
        store = await copies.of(top)
        folder, index = above / (top.name or "copy"), above / _INDEX
        await asyncio.to_thread(_take_settings, repository, store)
        if commit is not None:
            baseline = await copies.check_out(top, commit, folder, index)
        else:
            await asyncio.to_thread(shutil.copytree, store, folder / ".git", symlinks=True)
            baseline = Baseline(git=self._git, store=store, index=index, tree="")
        present = msgspec.structs.replace(baseline, index=above / "present")
        await asyncio.to_thread(_take_index, repository, present, folder / ".git")
        await present.ask(top, "add", "--all")
        left_out = await _without_repositories(present, top)
        tree = (await present.ask(top, "write-tree")).strip()
        await baseline.ask(folder, "read-tree", "--reset", "-u", tree)
        return CopyRecord(
            source=str(top),
            folder=str(folder),
            store=str(store),
            tree=tree,
            session=str(session) if session is not None else None,
            title=title,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            left_out=left_out,
        )

    def left(self, folder: Path) -> list[IsolatedCopy]:
        """Returns the copies of this folder's repository that no process holds, the oldest first. Blocks."""
        repository = find_repository(folder)
        if repository is None:
            return []
        found: list[IsolatedCopy] = []
        for above in sorted(self._root.glob("*")):
            with suppress(OSError, msgspec.MsgspecError):
                record = _read(above)
                if record is None:
                    _remove_abandoned(above)
                elif record.source == str(repository.top) and (lock := _taken(above)) is not None:
                    found.append(IsolatedCopy(self._git, above, record, lock))
        return found


class _Row(msgspec.Struct, frozen=True):
    mode_before: str
    mode_after: str
    id_before: str
    id_after: str
    path: str


def _becomes_executable(row: _Row) -> bool | None:
    """None where nothing changes about it; a new file is not executable until it is made so."""
    was = row.mode_before == _EXECUTABLE_MODE
    now = row.mode_after == _EXECUTABLE_MODE
    return now if was != now and row.mode_after != _NO_MODE else None


def _rows(told: str) -> Iterator[_Row]:
    words = told.split("\0")
    for head, path in zip(words[::2], words[1::2], strict=False):
        before, after, old, new, _ = head.removeprefix(":").split(" ")
        yield _Row(before, after, old, new, path)


async def _blobs(baseline: Baseline, folder: Path, ids: list[str]) -> AsyncIterator[bytes | None]:
    """Yields the content of each object; None for the id of no object."""
    wanted = "".join(f"{one}\n" for one in ids if one.strip(_NO_OBJECT))
    told = await baseline.read(folder, "cat-file", "--batch", given=wanted.encode()) if wanted else b""
    at = 0
    for one in ids:
        if not one.strip(_NO_OBJECT):
            yield None
            continue
        end = told.index(b"\n", at)
        head = told[at:end].split(b" ")
        if len(head) != 3:
            raise GitFailed(f"git lacks the content {one}.")
        size = int(head[2])
        yield told[end + 1 : end + 1 + size]
        at = end + size + 2


async def _without_repositories(present: Baseline, top: Path) -> tuple[str, ...]:
    """Takes repositories inside of this one out of the index, and returns their paths."""
    told = await present.ask(top, "ls-files", "--stage", "-z")
    rows = (row.partition("\t") for row in told.split("\0"))
    paths = tuple(path for head, _, path in rows if head.startswith(_REPOSITORY_MODE))
    if paths:
        given = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
        await present.read(top, "update-index", "-z", "--force-remove", "--stdin", given=given)
    return paths


def _take_settings(repository: Repository, store: Path) -> None:
    """Makes the store ignore what the repository ignores, and keep files byte for byte."""
    info = store / "info"
    info.mkdir(exist_ok=True)
    (info / "attributes").write_text(_ATTRIBUTES)
    with suppress(FileNotFoundError):
        shutil.copyfile(repository.common / "info" / "exclude", info / "exclude")


def _take_index(repository: Repository, present: Baseline, copied: Path) -> None:
    """Begins the index of the present state, and that of the copy, with the person's, which knows unchanged files."""
    with suppress(FileNotFoundError):
        shutil.copyfile(repository.folder / "index", present.index)
        shutil.copyfile(present.index, copied / "index")
    for shared in repository.folder.glob("sharedindex.*"):
        for place in (present.store, copied):
            shutil.copyfile(shared, place / shared.name)


def _write(record: CopyRecord, above: Path) -> None:
    replace_atomically(above / _RECORD, msgspec.json.encode(record), durable=True)


def _read(above: Path) -> CopyRecord | None:
    """Returns the record; None where there is none. Raises what is wrong with it: such a copy is left alone."""
    try:
        return msgspec.json.decode((above / _RECORD).read_bytes(), type=CopyRecord)
    except FileNotFoundError:
        return None


def _remove_abandoned(above: Path) -> None:
    """Removes what was killed while it was made or removed."""
    if time.time() - above.stat().st_mtime > _ABANDONED_SECONDS and (lock := _taken(above)) is not None:
        shutil.rmtree(above, ignore_errors=True)
        os.close(lock)


def _taken(above: Path) -> int | None:
    """Takes a copy for this process; None where another one, or other code of this one, has it."""
    lock = os.open(above / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if try_lock(lock):
        return lock
    os.close(lock)
    return None
