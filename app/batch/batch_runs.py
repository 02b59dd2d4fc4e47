"""Runs a whole batch, from its file to its results, for the command line."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from app.batch.one_run import RunInProgress
from app.batch.pool import BatchEndReason, BatchEvent, BatchPool, BatchProgress, batch_progress
from app.batch.results import BatchFolder, Manifest
from app.batch.task_files import read_rows
from app.batch.tasks import Batch, BatchDefaults, Run, plan_batch
from app.batch.workspaces import Workspaces, commit_key, find_commits, remove_left_over
from app.resources.paths import Paths
from bayou.batch import Outcome


class BatchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `bayou batch`: tasks, output folder, defaults, parallel jobs, cluster and budget."""

    tasks: Path
    out: Path
    paths: Paths
    defaults: BatchDefaults
    jobs: int | None = None
    """How many runs at a time; on a cluster of this machine for each worker."""
    cluster: str | None = None
    """The address of a cluster; None: a pool of processes here."""
    budget: float | None = None
    retry: frozenset[Outcome] = frozenset()
    work: Path | None = None
    """The folder in which the temporary folder of the runs is made; None: the system's."""


def read_batch(request: BatchRequest) -> Batch:
    """Reads the tasks and plans the runs. Raises `UserError`."""
    return plan_batch(read_rows(request.tasks), request.defaults)


async def run_batch(
    request: BatchRequest, tell: Callable[[BatchEvent], None], begun: Callable[[BatchPool], None]
) -> BatchEndReason:
    """Runs the remaining runs of a batch. `begun` gets the pool before its first run. Raises `UserError`."""
    batch = read_batch(request)
    folder = BatchFolder(request.out)
    try:
        manifest = folder.open_for_tasks(request.tasks, request.paths)
        remove_left_over(manifest.work)
        progress = batch_progress(batch, folder.results(), request.retry)
        commits = await find_commits(progress.left, manifest.commits, request.paths)
        if request.cluster is not None:
            # Imported here because only this needs the engine of clusters.
            from app.batch.cluster.cluster_batch import ClusterBatch, run_on_cluster  # noqa: PLC0415

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
            return await run_on_cluster(there, tell, begun)
        return await _run_locally(request, batch, folder, manifest, progress, commits, tell, begun)
    finally:
        folder.close()


async def _run_locally(
    request: BatchRequest,
    batch: Batch,
    folder: BatchFolder,
    manifest: Manifest,
    progress: BatchProgress,
    commits: Mapping[str, str],
    tell: Callable[[BatchEvent], None],
    begun: Callable[[BatchPool], None],
) -> BatchEndReason:
    """Runs with a pool of processes on this machine."""
    workspaces = Workspaces(request.paths, request.work, request.out)
    try:
        folder.save_manifest(
            msgspec.structs.replace(manifest, work=str(workspaces.root), commits=dict(commits))
        )

        def start(
            run: Run, folder: Path, *, max_cost: float | None, changed: Callable[[], None]
        ) -> RunInProgress:
            return RunInProgress(
                run,
                folder,
                workspaces,
                commit=commits[commit_key(run.task)] if run.task.repo is not None else None,
                options=batch.options,
                max_cost=max_cost,
                changed=changed,
            )

        jobs = request.jobs or os.cpu_count() or 1
        pool = BatchPool(folder, progress, start=start, jobs=jobs, budget=request.budget, tell=tell)
        begun(pool)
        return await pool.run()
    finally:
        workspaces.close()
