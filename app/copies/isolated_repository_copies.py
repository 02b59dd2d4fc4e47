"""Separate copies of a repository for one helper agent each: the last commit with uncommitted and new files, and
what has been changed there since. A copy stays on the disk until its changes were delivered, even if the
process that made it dies."""

import asyncio
import os
import secrets
import shutil
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from app.copies.changed_files import (
    GIT_SUBMODULE_FILE_MODE,
    RepositoryCopyChanges,
    changed_files_since_baseline,
)
from app.copies.repository_copies import FolderBaseline, RepositoryCopies, RepositoryGit
from app.sessions.file.session_lock import try_lock_session_file
from app.values.user_errors import UserError
from tools.files.atomic_replacement import replace_file_atomically
from tools.files.path_existence import exists, is_dir
from tools.git.git_repository import GitRepository, find_repository

_RECORD_NAME, _LOCK_NAME, _INDEX_NAME, _STORE_NAME = "copy.json", "lock", "index", "repository"
_BYTE_EXACT_GIT_ATTRIBUTES = "* -text -ident !eol !filter !working-tree-encoding\n"
"""git attributes by which files are copied and compared byte for byte."""
_MIN_ABANDONED_COPY_AGE_SECONDS = 60
"""The age in seconds from which a folder without a record counts as abandoned; a younger one may be in the making."""


class IsolatedRepositoryCopyRefused(UserError):
    """Raised if no separate copy can be made of this folder; the text says why."""


class IsolatedRepositoryCopyRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The record of a separate copy, stored beside it: its source, folders, session and title."""

    source: str
    """The top folder of the repository that was copied."""
    folder: str
    """The top folder of the copy."""
    store: str
    tree: str
    """The git tree with the state of the repository when it was copied."""
    session: str | None
    """The file of the session whose helper works in the copy; None: that session is only in memory."""
    title: str
    created: str
    left_out: tuple[str, ...] = ()
    """The nested repositories in the source, which are not copied."""


class IsolatedRepositoryCopy:
    """One separate copy of a repository, which this process alone uses."""

    def __init__(
        self, git: RepositoryGit, above: Path, record: IsolatedRepositoryCopyRecord, lock: int
    ) -> None:
        self._git = git
        self._lock = lock
        self.parent_folder = above
        self.record = record

    @property
    def folder(self) -> Path:
        return Path(self.record.folder)

    def path_in_copy(self, folder: Path) -> Path:
        """Returns the path in the copy that corresponds to a folder of the source repository."""
        try:
            return self.folder / Path(os.path.realpath(folder)).relative_to(
                os.path.realpath(self.record.source)
            )
        except ValueError:
            return self.folder

    @property
    def session(self) -> Path | None:
        """The session whose helper agent made the copy, if that session can be continued."""
        file = self.record.session
        return Path(file) if file is not None and exists(Path(file)) else None

    async def changes(self) -> RepositoryCopyChanges:
        """Returns what differs in the copy from the state of which it was made. Raises `UserError`."""
        if not is_dir(self.folder):
            return RepositoryCopyChanges()
        record = self.record
        baseline = FolderBaseline(
            git=self._git, store=Path(record.store), index=self.parent_folder / _INDEX_NAME, tree=record.tree
        )
        # Only this process uses the copy: such a lock is of a git that was killed, and would stop every later one.
        (self.parent_folder / f"{_INDEX_NAME}.lock").unlink(missing_ok=True)
        await baseline.run_and_read_text(self.folder, "add", "--all")
        return await changed_files_since_baseline(baseline, self.folder)

    def remove(self) -> None:
        """Removes the copy, after its changes were delivered."""
        # Without its record, what an interrupted removal leaves is never taken for changes.
        (self.parent_folder / _RECORD_NAME).unlink(missing_ok=True)
        shutil.rmtree(self.parent_folder, ignore_errors=True)
        self.release()

    def release(self) -> None:
        """Releases the lock on the copy, so that another process may offer its changes to the user again."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


class IsolatedRepositoryCopies:
    """Makes separate copies in bayou's folder for them, and finds copies that earlier processes left behind."""

    def __init__(self, root: Path, home: Path) -> None:
        self._root = root
        self._git = RepositoryGit(home)

    async def make(self, folder: Path, *, session: Path | None, title: str) -> IsolatedRepositoryCopy:
        """Makes a separate copy of the repository of `folder` as it is now. Raises `UserError`."""
        repository = find_repository(folder)
        if repository is None or repository.is_bare:
            why = "not in a git repository" if repository is None else "in a bare repository, without files"
            raise IsolatedRepositoryCopyRefused(
                f"{folder} is {why}, so there is nothing to make a separate copy of."
            )
        above = self._root / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
        try:
            above.mkdir(parents=True, mode=0o700)
            lock = _lock_copy(above)
            assert lock is not None
        except OSError as problem:
            raise IsolatedRepositoryCopyRefused(
                f"A separate copy cannot be made in {self._root}: {problem.strerror}."
            ) from None
        copies = RepositoryCopies(self._git, above / _STORE_NAME, shares_objects=True)
        try:
            record = await self._fill_copy(repository, above, copies, session=session, title=title)
            await asyncio.to_thread(_write_record, record, above)
        except BaseException as problem:
            # Goes on also if it is cancelled again: a copy whose lock stays taken would never be offered.
            await asyncio.shield(_remove_unfinished(copies, above, lock))
            if isinstance(problem, OSError):
                raise IsolatedRepositoryCopyRefused(f"The separate copy cannot be made: {problem}.") from None
            raise
        return IsolatedRepositoryCopy(self._git, above, record, lock)

    async def _fill_copy(
        self,
        repository: GitRepository,
        above: Path,
        copies: RepositoryCopies,
        *,
        session: Path | None,
        title: str,
    ) -> IsolatedRepositoryCopyRecord:
        top = repository.work_tree
        commit = await self._git.resolve(top, "HEAD")
        store = await copies.clone_store_for(top)
        folder, index = above / (top.name or "copy"), above / _INDEX_NAME
        await asyncio.to_thread(_copy_ignore_settings, repository, store)
        if commit is not None:
            baseline = await copies.check_out(top, commit, folder, index)
        else:
            await asyncio.to_thread(shutil.copytree, store, folder / ".git", symlinks=True)
            baseline = FolderBaseline(git=self._git, store=store, index=index, tree="")
        present = msgspec.structs.replace(baseline, index=above / "present")
        await asyncio.to_thread(_copy_index, repository, present, folder / ".git")
        await present.run_and_read_text(top, "add", "--all")
        left_out = await _without_repositories(present, top)
        tree = (await present.run_and_read_text(top, "write-tree")).strip()
        await baseline.run_and_read_text(folder, "read-tree", "--reset", "-u", tree)
        return IsolatedRepositoryCopyRecord(
            source=str(top),
            folder=str(folder),
            store=str(store),
            tree=tree,
            session=str(session) if session is not None else None,
            title=title,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            left_out=left_out,
        )

    def leftover_helper_copies(self, folder: Path) -> list[IsolatedRepositoryCopy]:
        """Returns the copies of this folder's repository that no process has locked, oldest first. Blocks."""
        repository = find_repository(folder)
        if repository is None:
            return []
        found: list[IsolatedRepositoryCopy] = []
        for above in sorted(self._root.glob("*")):
            with suppress(OSError, msgspec.MsgspecError):
                record = _read_record(above)
                if record is None:
                    _remove_abandoned(above)
                elif record.source == str(repository.work_tree) and (lock := _lock_copy(above)) is not None:
                    found.append(IsolatedRepositoryCopy(self._git, above, record, lock))
        return found


async def _without_repositories(present: FolderBaseline, top: Path) -> tuple[str, ...]:
    """Removes nested repositories from the copy's index, and returns their paths."""
    told = await present.run_and_read_text(top, "ls-files", "--stage", "-z")
    rows = (row.partition("\t") for row in told.split("\0"))
    paths = tuple(path for head, _, path in rows if head.startswith(GIT_SUBMODULE_FILE_MODE))
    if paths:
        given = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
        await present.read_bytes(top, "update-index", "-z", "--force-remove", "--stdin", given=given)
    return paths


async def _remove_unfinished(copies: RepositoryCopies, above: Path, lock: int) -> None:
    """Removes a copy whose creation did not succeed."""
    try:
        await copies.stop()
    finally:
        os.close(lock)
    await asyncio.to_thread(shutil.rmtree, above, ignore_errors=True)


def _copy_ignore_settings(repository: GitRepository, store: Path) -> None:
    """Makes the copy's git store ignore what the repository ignores, and keep files byte for byte."""
    info = store / "info"
    info.mkdir(exist_ok=True)
    (info / "attributes").write_text(_BYTE_EXACT_GIT_ATTRIBUTES)
    with suppress(FileNotFoundError):
        shutil.copyfile(repository.common_git_folder / "info" / "exclude", info / "exclude")


def _copy_index(repository: GitRepository, present: FolderBaseline, copied: Path) -> None:
    """Copies the index of the person's repository into the copy, since it already knows which files are unchanged."""
    with suppress(FileNotFoundError):
        shutil.copyfile(repository.git_folder / "index", present.index)
        shutil.copyfile(present.index, copied / "index")
    for shared in repository.git_folder.glob("sharedindex.*"):
        for place in (present.store, copied):
            shutil.copyfile(shared, place / shared.name)


def _write_record(record: IsolatedRepositoryCopyRecord, above: Path) -> None:
    replace_file_atomically(above / _RECORD_NAME, msgspec.json.encode(record), durable=True)


def _read_record(above: Path) -> IsolatedRepositoryCopyRecord | None:
    """Reads the record of a separate copy; None if there is none. Raises an error for a damaged record, so that the
    copy is left alone."""
    try:
        return msgspec.json.decode((above / _RECORD_NAME).read_bytes(), type=IsolatedRepositoryCopyRecord)
    except FileNotFoundError:
        return None


def _remove_abandoned(above: Path) -> None:
    """Removes copies whose process was killed while it made or removed them."""
    if (
        time.time() - above.stat().st_mtime > _MIN_ABANDONED_COPY_AGE_SECONDS
        and (lock := _lock_copy(above)) is not None
    ):
        shutil.rmtree(above, ignore_errors=True)
        os.close(lock)


def _lock_copy(above: Path) -> int | None:
    """Locks a copy for this process; returns None if another process, or other code of this one, has locked it."""
    lock = os.open(above / _LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if try_lock_session_file(lock):
        return lock
    os.close(lock)
    return None
