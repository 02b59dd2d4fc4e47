"""Runs a whole batch, from its file to its results, for the command line."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from app.batch.batch_run import BatchRunInProgress
from app.batch.pool import BatchEndReason, BatchEvent, BatchProgress, BatchRunPool, batch_progress
from app.batch.results import BatchFolder, BatchManifest
from app.batch.run_folders import (
    BatchRunFolders,
    remove_leftover_run_folders,
    resolve_task_commits,
    task_commit_key,
)
from app.batch.task_files import read_task_rows
from app.batch.tasks import BatchDefaults, BatchPlan, BatchRun, plan_batch
from app.resources.paths import BayouPaths
from bayou.batch import Outcome


class BatchCommandArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `bayou batch`: tasks, output folder, defaults, parallel jobs, cluster and budget."""

    tasks: Path
    out: Path
    paths: BayouPaths
    defaults: BatchDefaults
    jobs: int | None = None
    """How many runs at a time; on a cluster of this machine for each worker."""
    cluster: str | None = None
    """The address of a cluster; None: a pool of processes here."""
    budget: float | None = None
    retry: frozenset[Outcome] = frozenset()
    work: Path | None = None
    """The folder in which the temporary folder of the runs is made; None: the system's."""


def read_and_plan_batch(request: BatchCommandArguments) -> BatchPlan:
    """Reads the tasks and plans the runs. Raises `UserError`."""
    return plan_batch(read_task_rows(request.tasks), request.defaults)


async def run_batch(
    request: BatchCommandArguments, tell: Callable[[BatchEvent], None], begun: Callable[[BatchRunPool], None]
) -> BatchEndReason:
    """Runs the remaining runs of a batch. `begun` gets the pool before its first run. Raises `UserError`."""
    batch = read_and_plan_batch(request)
    folder = BatchFolder(request.out)
    try:
        manifest = folder.open_for_tasks(request.tasks, request.paths)
        remove_leftover_run_folders(manifest.work)
        progress = batch_progress(batch, folder.results(), request.retry)
        commits = await resolve_task_commits(progress.left, manifest.commits, request.paths)
        if request.cluster is not None:
            # Imported here because only this needs the engine of clusters.
            from app.batch.cluster.cluster_batch import ClusterBatch, run_batch_on_cluster  # noqa: PLC0415

            there = ClusterBatch(
                address=request.cluster,
                jobs=request.jobs or 1,
                paths=request.paths,
                folder=folder,
                manifest=manifest,
                progress=progress,
                commits=commits,
                options=batch.options,
                budget=request.budget,
            )
            return await run_batch_on_cluster(there, tell, begun)
        return await _run_locally(request, batch, folder, manifest, progress, commits, tell, begun)
    finally:
        folder.close()


async def _run_locally(
    request: BatchCommandArguments,
    batch: BatchPlan,
    folder: BatchFolder,
    manifest: BatchManifest,
    progress: BatchProgress,
    commits: Mapping[str, str],
    tell: Callable[[BatchEvent], None],
    begun: Callable[[BatchRunPool], None],
) -> BatchEndReason:
    """Runs with a pool of processes on this machine."""
    workspaces = BatchRunFolders(request.paths, request.work, request.out)
    try:
        folder.save_manifest(
            msgspec.structs.replace(manifest, work=str(workspaces.root), commits=dict(commits))
        )

        def start(
            run: BatchRun, folder: Path, *, max_cost: float | None, changed: Callable[[], None]
        ) -> BatchRunInProgress:
            return BatchRunInProgress(
                run,
                folder,
                workspaces,
                commit=commits[task_commit_key(run.task)] if run.task.repo is not None else None,
                options=batch.options,
                max_cost=max_cost,
                changed=changed,
            )

        jobs = request.jobs or os.cpu_count() or 1
        pool = BatchRunPool(folder, progress, start=start, jobs=jobs, budget=request.budget, tell=tell)
        begun(pool)
        return await pool.run()
    finally:
        workspaces.close()
