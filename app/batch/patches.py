"""Finds the patches of a batch's runs by name, merges them into the repository or folder that a run had a copy of,
and pushes them as branches."""

import asyncio
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from app.batch.remote_repositories import update_local_clone
from app.batch.results import is_batch_from_this_machine, resolve_file_in_batch
from app.batch.tasks import BatchError, is_repository_address
from app.copies.changed_files import RepositoryCopyChanges, changed_files_since_baseline
from app.copies.repository_copies import FolderBaseline, GitFailed, RepositoryCopies, RepositoryGit
from app.copies.staged_copy_changes import stage_copy_changes
from app.copies.user_git import run_user_git
from app.resources.paths import BayouPaths
from bayou.batch import BatchResult
from tools.edits.staged_actions import StagedFile
from tools.files.output_artifacts import OutputArtifacts
from tools.files.path_existence import is_dir
from tools.number_formatting import count_with_noun
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolError

_GIT_APPLY_ARGUMENTS = ("apply", "--cached", "--whitespace=nowarn")


class PatchConflict(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a patch could not be merged into, with the reason."""

    path: str
    text: str
    """Both versions of the lines, or why they cannot be merged."""


class AppliedPatch(msgspec.Struct, frozen=True, kw_only=True):
    """The files that an applied patch changed, and its conflicts."""

    written: tuple[str, ...] = ()
    conflicts: tuple[PatchConflict, ...] = ()

    @property
    def text(self) -> str:
        told = f"Applied to {count_with_noun(len(self.written), 'file')}: {', '.join(self.written)}."
        if not self.conflicts:
            return told if self.written else "Nothing to apply: the files are like this already."
        kept = ", ".join(conflict.path for conflict in self.conflicts)
        return f"{told} " * bool(self.written) + f"Not written, because it was changed there too: {kept}."


def find_results_by_name(results: Sequence[BatchResult], names: Sequence[str]) -> list[BatchResult]:
    """Returns the latest result of each run that is named by its id or key. Raises `BatchError`."""
    latest = {result.key: result for result in results}
    found: list[BatchResult] = []
    for name in names:
        if (exact := latest.get(name)) is not None:
            found.append(exact)
            continue
        runs = [result for result in latest.values() if result.id == name]
        if not runs:
            raise BatchError(f"There is no result named {name}. `bayou batch show DIR` lists the results.")
        if len(runs) > 1:
            keys = ", ".join(f'"{run.key}"' for run in runs[:5])
            raise BatchError(f"{name} has {len(runs)} runs. Name one of them: {keys}.")
        found += runs
    return found


def read_run_patch(out: Path, result: BatchResult) -> bytes:
    """Returns the patch of a run. Raises `BatchError` if the run changed nothing."""
    if result.patch is None:
        raise BatchError(f"{result.key} has no patch: it changed no file.")
    file = resolve_file_in_batch(out, result.patch)
    try:
        return file.read_bytes()
    except OSError as problem:
        raise BatchError(f"{file}: {problem.strerror}.") from None


async def apply_run_patch(out: Path, result: BatchResult, paths: BayouPaths) -> AppliedPatch:
    """Merges the patch, file by file, into the repository or folder that the run had a copy of. Raises
    `UserError`."""
    patch = read_run_patch(out, result)
    if is_repository_address(result.source):
        raise BatchError(
            f"{result.key} worked on {result.source}, which is not on this machine. Push its patch as a "
            f"branch, or "
            f"apply {out / (result.patch or '')} in your clone."
        )
    source = _source_folder(out, result, paths)
    with tempfile.TemporaryDirectory(prefix="bayou-patch-") as scratch:
        changes, misfits = await _patch_changes(patch, result, source, Path(scratch), paths.home)
    workspace = SessionWorkspace(source, artifacts=OutputArtifacts(working=paths.temporary_dir))
    try:
        return await _merge_changes(changes, misfits, result, source, workspace)
    finally:
        workspace.close()


async def push_run_patch(
    out: Path, result: BatchResult, paths: BayouPaths, *, remote: str = "origin", branch: str = ""
) -> str:
    """Commits the patch on a new branch at the run's commit, and pushes that; returns what was pushed where. Raises
    `UserError`."""
    patch = read_run_patch(out, result)
    if result.commit is None:
        raise BatchError(
            f"{result.key} worked on a copy of {result.source}, not on a commit. Apply its patch."
        )
    branch = branch or f"batch/{Path(result.folder).name}"
    if is_repository_address(result.source):
        if not is_batch_from_this_machine(out, paths):
            raise BatchError(
                f"{out} was not made here, and says that {result.key} worked on {result.source}. If that is right, "
                f"apply {out / (result.patch or '')} in your clone."
            )
        repository = await update_local_clone(result.source, paths, result.commit)
        remote = result.source
    else:
        repository = _source_folder(out, result, paths)
    with tempfile.TemporaryDirectory(prefix="bayou-patch-") as scratch:
        env = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
        await run_user_git(repository, "read-tree", result.commit, env=env)
        await run_user_git(repository, *_GIT_APPLY_ARGUMENTS, env=env, given=patch)
        tree = (await run_user_git(repository, "write-tree", env=env)).strip()
    first, _, rest = (result.answer or f"Change of {result.key}").partition("\n")
    message = f"{first[:72]}\n\n{rest.strip()}\n\nBy bayou, task {result.id}\n"
    words = ("commit-tree", tree, "-p", result.commit, "-F", "-")
    try:
        commit = (await run_user_git(repository, *words, given=message.encode("utf-8", "replace"))).strip()
    except GitFailed as problem:
        raise BatchError(
            f"{problem}. A commit needs your name: git config --global user.name, user.email."
        ) from None
    await run_user_git(repository, "push", "--quiet", remote, f"{commit}:refs/heads/{branch}")
    return f"Pushed {commit[:12]} to {remote} as the branch {branch}."


def _source_folder(out: Path, result: BatchResult, paths: BayouPaths) -> Path:
    source = Path(result.source)
    if not result.source or not is_dir(source):
        raise BatchError(f"{result.key}: {result.source or 'its folder'} is not there.")
    if not is_batch_from_this_machine(out, paths) and os.path.realpath(source) != os.path.realpath(paths.cwd):
        raise BatchError(
            f"{out} was not made here, and says that {result.key} worked on {source}. Nothing was changed. If that is "
            "right, run the command in that folder."
        )
    return source


async def _patch_changes(
    patch: bytes, result: BatchResult, source: Path, scratch: Path, home: Path
) -> tuple[RepositoryCopyChanges, tuple[str, ...]]:
    """Returns the changed files with both contents, and those whose part of the patch does not fit."""
    git = RepositoryGit(home)
    copies = RepositoryCopies(git, scratch / "repositories", shares_objects=True)
    index = scratch / "index"
    if result.commit is None:
        # A copied folder: what it was is not stored, so the patch has to fit what the folder is now.
        baseline = await FolderBaseline.record_folder(git, await copies.empty_git_store(), index, source)
    else:
        store = await copies.clone_store_for(source)
        baseline = FolderBaseline(git=git, store=store, index=index, tree=result.commit)
        await baseline.run_and_read_text(source, "read-tree", result.commit)
    misfits: list[str] = []
    try:
        await baseline.read_bytes(source, *_GIT_APPLY_ARGUMENTS, given=patch)
    except GitFailed:
        for path in await _paths_in_patch(baseline, source, patch):
            only = "--include=" + re.sub(r"([*?\[\\])", r"\\\1", path)
            try:
                await baseline.read_bytes(source, *_GIT_APPLY_ARGUMENTS, only, given=patch)
            except GitFailed:
                misfits.append(path)
    return await changed_files_since_baseline(baseline, source), tuple(misfits)


async def _paths_in_patch(baseline: FolderBaseline, folder: Path, patch: bytes) -> list[str]:
    told = await baseline.read_bytes(folder, "apply", "--numstat", "-z", given=patch)
    rows = told.decode("utf-8", "surrogateescape").split("\0")
    return [row.split("\t", 2)[2] for row in rows if row.count("\t") >= 2]


async def _merge_changes(
    changes: RepositoryCopyChanges,
    misfits: tuple[str, ...],
    result: BatchResult,
    source: Path,
    workspace: SessionWorkspace,
) -> AppliedPatch:
    conflicts = [
        PatchConflict(path=path, text="The patch does not fit what the file is now.") for path in misfits
    ]
    conflicts += [
        PatchConflict(path=path, text="Links and repositories are not merged.")
        for path in changes.unsupported_files
    ]
    inside = [file for file in changes.files if _is_inside(source, file.path)]
    conflicts += [
        PatchConflict(path=file.path, text="It is behind a link that leads out of the folder.")
        for file in changes.files
        if file not in inside
    ]
    files = await asyncio.to_thread(stage_copy_changes, inside, source, workspace)
    if not files:
        return AppliedPatch(conflicts=tuple(conflicts))
    before = await asyncio.to_thread(_file_contents, files)
    staged = workspace.staged_actions.stage_action(result.key, "batch", files, is_merged=True)
    try:
        resolved = await workspace.staged_actions.resolve_staged_action(
            staged.id, "apply", "", by="person", call_id="batch"
        )
    except (ToolError, OSError) as problem:
        raise BatchError(f"{source}: {problem}") from None
    refused: tuple[StagedFile, ...] = (
        () if resolved.is_done else workspace.staged_actions.find_staged_action(staged.id).files
    )
    conflicts += [PatchConflict(path=file.display_path, text=file.conflict_text) for file in refused]
    after = await asyncio.to_thread(_file_contents, files)
    written = [file.display_path for file, old, new in zip(files, before, after, strict=True) if old != new]
    return AppliedPatch(written=tuple(written), conflicts=tuple(conflicts))


def _is_inside(source: Path, path: str) -> bool:
    return Path(os.path.realpath(source / path)).is_relative_to(os.path.realpath(source))


def _file_contents(files: Sequence[StagedFile]) -> list[tuple[bytes, int] | None]:
    """Returns the content and mode of each file, which tell whether a merge has changed it."""
    places = [Path(file.path) for file in files]
    return [(place.read_bytes(), place.stat().st_mode) if place.exists() else None for place in places]
