"""The folder that a run works in: a clone at a commit or a copy of a folder, where no other run can write."""

import asyncio
import os
import shutil
import stat
import tempfile
from pathlib import Path

import msgspec

from app.batch.tasks import BatchError, Run, Task
from app.copies.repository_copies import Baseline, Git, GitFailed, RepositoryCopies
from app.resources.paths import state_folder
from tools.files.presence import is_dir

_PREFIX = "bayou-batch-"
_GITS_AT_A_TIME = 8


class RunFolder(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that one run works in."""

    path: Path
    above: Path
    """The folder that is removed after the run."""
    baseline: Baseline

    async def after_setup(self) -> "RunFolder":
        """Returns the folder with its present state as the base of patches."""
        return msgspec.structs.replace(self, baseline=await self.baseline.renewed(self.path))

    async def patch(self) -> str:
        return await self.baseline.patch(self.path)

    async def remove(self) -> None:
        await asyncio.to_thread(_remove, self.above)


class Workspaces:
    """Creates the folders of runs in one temporary folder of the batch."""

    def __init__(self, home: Path, above: Path | None, out: Path) -> None:
        """`above`: where the temporary folder is made; by default not in `/tmp`, which commands in any sandbox may
        write. `out`, the batch's results, is in no copy. Raises `BatchError`."""
        above = above or state_folder(home, os.environ) / "batches"
        try:
            above.mkdir(parents=True, exist_ok=True)
            self.root = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=above)).resolve()
        except OSError as problem:
            raise BatchError(f"{above}: {problem.strerror}. Name another folder with --work.") from None
        self._left_out = frozenset((str(self.root), str(out)))
        self.rate_limits = self.root / "rate-limits"
        """Where the runs tell each other which provider is to be left alone, and how long."""
        self._git = Git(home)
        self._copies = RepositoryCopies(self._git, self.root / "repositories")

    async def make(self, run: Run, commit: str | None) -> RunFolder:
        """Creates the folder of a run. Raises `BatchError`."""
        task = run.task
        source = Path(task.repo or task.folder or "")
        above = self.root / run.name
        folder, index = above / source.name, above / "index"
        try:
            above.mkdir()
            if task.repo is not None and commit is not None:
                baseline = await self._copies.check_out(source, commit, folder, index)
            else:
                await asyncio.to_thread(shutil.copytree, source, folder, symlinks=True, ignore=self._ignored)
                store = await self._copies.empty()
                baseline = await Baseline.of_folder(self._git, store, index, folder)
        except (OSError, shutil.Error) as problem:
            await asyncio.to_thread(_remove, above)
            raise BatchError(f"The folder of the run cannot be made: {_copy_error_text(problem)}.") from None
        except BaseException:
            await asyncio.to_thread(_remove, above)
            raise
        return RunFolder(path=folder, above=above, baseline=baseline)

    def close(self) -> None:
        _remove(self.root)

    def _ignored(self, folder: str, names: list[str]) -> list[str]:
        """Returns what is not copied: the batch's own folders, and pipes, sockets and devices."""
        places = ((name, f"{folder.rstrip(os.sep)}{os.sep}{name}") for name in names)
        return [name for name, place in places if place in self._left_out or _is_special(place)]


def remove_left_over(work: str) -> None:
    """Removes the temporary folder left behind by a killed batch."""
    if work and Path(work).name.startswith(_PREFIX):
        _remove(Path(work))


async def find_commits(runs: tuple[Run, ...], known: dict[str, str], home: Path) -> dict[str, str]:
    """Returns the commit of each repository and revision, by `commit_key`. Raises `BatchError` for a missing one."""
    wanted: dict[str, Task] = {}
    for run in runs:
        if run.task.repo is not None and (key := commit_key(run.task)) not in known:
            wanted.setdefault(key, run.task)
    git, turn = Git(home), asyncio.Semaphore(_GITS_AT_A_TIME)

    async def find(task: Task) -> str:
        async with turn:
            return await _commit(git, task)

    found = await asyncio.gather(*map(find, wanted.values()), return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return {**known, **{key: one for key, one in zip(wanted, found, strict=True) if isinstance(one, str)}}


def commit_key(task: Task) -> str:
    return f"{task.repo} {task.rev or 'HEAD'}"


async def _commit(git: Git, task: Task) -> str:
    repository = Path(task.repo or "")
    if not is_dir(repository / ".git") and await git.resolve(repository, "HEAD") is None:
        raise BatchError(
            f"Task {task.id}: {repository} is not the top of a git repository with a commit. "
            "Name one, or use folder, which copies the files."
        )
    commit = await git.resolve(repository, task.rev or "HEAD")
    if commit is None:
        raise BatchError(
            f"Task {task.id}: {repository} has no revision {task.rev or 'HEAD'}. Fetch or correct it."
        )
    if task.rev is None:
        try:
            is_dirty = await git.has_changes(repository)
        except GitFailed:
            is_dirty = False  # a bare repository has no files that could differ
        if is_dirty:
            raise BatchError(
                f"Task {task.id}: {repository} has changes that are not committed, which its runs would not have. "
                "Commit them, name a revision (rev: HEAD), or use folder, which copies the files as they are."
            )
    return commit


def _is_special(place: str) -> bool:
    mode = os.lstat(place).st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _copy_error_text(problem: OSError | shutil.Error) -> str:
    if isinstance(problem, shutil.Error):
        failures = problem.args[0]
        source, _, why = failures[0]
        return f"{source}: {why}"
    place = f"{problem.filename}: " if problem.filename else ""
    return f"{place}{problem.strerror}"
