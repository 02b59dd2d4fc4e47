"""The folder that a run works in: a clone at a commit or a copy of a folder, where no other run can write."""

import asyncio
import os
import shutil
import stat
import tempfile
from collections import defaultdict
from pathlib import Path

import msgspec

from app.batch.remote_repositories import remote_clone_folder, resolve_remote_commit
from app.batch.tasks import BatchError, BatchRun, BatchTask, is_repository_address
from app.copies.repository_copies import FolderBaseline, GitFailed, RepositoryCopies, RepositoryGit
from app.resources.paths import BayouPaths, bayou_state_folder
from tools.files.path_existence import is_dir

_BATCH_TEMP_FOLDER_PREFIX = "bayou-batch-"
_MAX_PARALLEL_GIT_COMMANDS = 8


class BatchRunFolder(msgspec.Struct, frozen=True, kw_only=True):
    """The folder that one run of a batch works in, and the state that its patch is compared with."""

    path: Path
    parent_folder: Path
    """The folder that is removed after the run."""
    baseline: FolderBaseline

    async def with_state_after_setup(self) -> "BatchRunFolder":
        """Returns the folder with its present state as the base of patches."""
        return msgspec.structs.replace(self, baseline=await self.baseline.record_present_state(self.path))

    async def patch(self) -> str:
        return await self.baseline.patch(self.path)

    async def remove(self) -> None:
        await asyncio.to_thread(_remove_folder, self.parent_folder)


class BatchRunFolders:
    """Creates the folders of runs in one temporary folder of the batch."""

    def __init__(self, paths: BayouPaths, above: Path | None, out: Path) -> None:
        """`above`: where the temporary folder is made; by default not in `/tmp`, which commands in any sandbox may
        write. `out`, the batch's results, is in no copy. Raises `BatchError`."""
        above = above or bayou_state_folder(paths.home, os.environ) / "batches"
        try:
            above.mkdir(parents=True, exist_ok=True)
            self.root = Path(tempfile.mkdtemp(prefix=_BATCH_TEMP_FOLDER_PREFIX, dir=above)).resolve()
        except OSError as problem:
            raise BatchError(f"{above}: {problem.strerror}. Name another folder with --work.") from None
        self._left_out = frozenset((str(self.root), str(out)))
        self.rate_limits = self.root / "rate-limits"
        """Where the runs tell each other which provider is to be left alone, and how long."""
        self._cache = paths.cache_dir
        self._git = RepositoryGit(paths.home)
        self._copies = RepositoryCopies(self._git, self.root / "repositories")

    async def make_run_folder(self, run: BatchRun, commit: str | None) -> BatchRunFolder:
        """Creates the folder of a run. Raises `BatchError`."""
        task = run.task
        source = task_source_folder(task, self._cache)
        above = self.root / run.name
        folder, index = above / source.name, above / "index"
        try:
            above.mkdir()
            if task.repo is not None and commit is not None:
                baseline = await self._copies.check_out(source, commit, folder, index)
            else:
                await asyncio.to_thread(self.copy_task_folder, source, folder)
                store = await self._copies.empty_git_store()
                baseline = await FolderBaseline.record_folder(self._git, store, index, folder)
        except (OSError, shutil.Error) as problem:
            await asyncio.to_thread(_remove_folder, above)
            raise BatchError(f"The folder of the run cannot be made: {_copy_error_text(problem)}.") from None
        except BaseException:
            await asyncio.to_thread(_remove_folder, above)
            raise
        return BatchRunFolder(path=folder, parent_folder=above, baseline=baseline)

    def copy_task_folder(self, source: Path, place: Path) -> None:
        """Copies a folder of a task, without what belongs to the batch. Blocks."""
        shutil.copytree(source, place, symlinks=True, ignore=self._ignored_names)

    def close(self) -> None:
        _remove_folder(self.root)

    def _ignored_names(self, folder: str, names: list[str]) -> list[str]:
        """Returns the names that a copy of a task's folder leaves out: the batch's own folders, and pipes, sockets
        and devices."""
        places = ((name, f"{folder.rstrip(os.sep)}{os.sep}{name}") for name in names)
        return [name for name, place in places if place in self._left_out or _is_special(place)]


def remove_leftover_run_folders(work: str) -> None:
    """Removes the temporary folder left behind by a killed batch."""
    if work and Path(work).name.startswith(_BATCH_TEMP_FOLDER_PREFIX):
        _remove_folder(Path(work))


async def resolve_task_commits(
    runs: tuple[BatchRun, ...], known: dict[str, str], paths: BayouPaths
) -> dict[str, str]:
    """Returns the commit of each repository and revision, by `task_commit_key`, which is there to be copied. Raises
    `UserError` for a missing one."""
    wanted: dict[str, BatchTask] = {}
    for run in runs:
        if run.task.repo is None:
            continue
        if is_repository_address(run.task.repo) or task_commit_key(run.task) not in known:
            wanted.setdefault(task_commit_key(run.task), run.task)
    turn, turns = (
        asyncio.Semaphore(_MAX_PARALLEL_GIT_COMMANDS),
        defaultdict[str | None, asyncio.Lock](asyncio.Lock),
    )

    async def find(key: str, task: BatchTask) -> str:
        async with turns[task.repo], turn:  # a repository is fetched by one git at a time
            if task.repo is not None and is_repository_address(task.repo):
                return await _commit_of_address(task, known.get(key), paths)
            return await _resolve_commit(RepositoryGit(paths.home), task)

    found = await asyncio.gather(*(find(*one) for one in wanted.items()), return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return {**known, **{key: one for key, one in zip(wanted, found, strict=True) if isinstance(one, str)}}


def task_source_folder(task: BatchTask, cache: Path) -> Path:
    """Returns the folder that a run gets a copy of."""
    if task.repo is not None and is_repository_address(task.repo):
        return remote_clone_folder(task.repo, cache)
    return Path(task.repo or task.folder or "")


async def _commit_of_address(task: BatchTask, known: str | None, paths: BayouPaths) -> str:
    address = task.repo or ""
    commit = await resolve_remote_commit(address, known or task.rev, paths)
    if commit is None:
        raise BatchError(
            f"Task {task.id}: {address} has no revision {task.rev or 'HEAD'}. Push or correct it."
        )
    return commit


def task_commit_key(task: BatchTask) -> str:
    return f"{task.repo} {task.rev or 'HEAD'}"


async def _resolve_commit(git: RepositoryGit, task: BatchTask) -> str:
    repository = Path(task.repo or "")
    if not is_dir(repository / ".git") and await git.resolve(repository, "HEAD") is None:
        raise BatchError(
            f"Task {task.id}: {repository} is not the root of a git repository with a commit. Name such a "
            f"folder, or use folder, which copies the files."
        )
    commit = await git.resolve(repository, task.rev or "HEAD")
    if commit is None:
        raise BatchError(
            f"Task {task.id}: {repository} has no revision {task.rev or 'HEAD'}. Fetch or correct it."
        )
    if task.rev is None:
        try:
            is_dirty = await git.has_uncommitted_changes(repository)
        except GitFailed:
            is_dirty = False  # a bare repository has no files that could differ
        if is_dirty:
            raise BatchError(
                f"Task {task.id}: {repository} has uncommitted changes, which its runs would not have. "
                f"Commit them, set rev: HEAD to leave them out, or use folder, which copies the files as "
                f"they are."
            )
    return commit


def _is_special(place: str) -> bool:
    mode = os.lstat(place).st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))


def _remove_folder(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _copy_error_text(problem: OSError | shutil.Error) -> str:
    if isinstance(problem, shutil.Error):
        failures = problem.args[0]
        source, _, why = failures[0]
        return f"{source}: {why}"
    place = f"{problem.filename}: " if problem.filename else ""
    return f"{place}{problem.strerror}"
