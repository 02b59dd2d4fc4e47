"""Runs the remaining runs of a batch on a cluster."""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from app.batch.cluster.connection import open_cluster
from app.batch.cluster.messages import worker_batch_folder
from app.batch.cluster.parcels import Parcels
from app.batch.pool import BatchEndReason, BatchEvent, BatchPool, BatchProgress
from app.batch.results import BatchFolder, Manifest
from app.batch.workspaces import Workspaces, remove_left_over
from app.copies.repository_copies import Git
from app.resources.paths import Paths

if TYPE_CHECKING:
    from app.batch.cluster.cluster_runs import ClusterRuns

_WORK_PREFIX = "cluster:"
"""The prefix by which a manifest names the start of a batch on a cluster."""


class ClusterBatch(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a batch on a cluster: the scheduler's address, the number of parallel runs, the budget and the
    remaining runs."""

    address: str
    jobs: int
    paths: Paths
    folder: BatchFolder
    manifest: Manifest
    progress: BatchProgress
    commits: Mapping[str, str]
    options: tuple[str, ...]
    budget: float | None


async def run_on_cluster(
    batch: ClusterBatch, tell: Callable[[BatchEvent], None], begun: Callable[[BatchPool], None]
) -> BatchEndReason:
    """Runs until all runs have ended. Raises `UserError`."""
    name, folder = secrets.token_hex(6), batch.folder
    async with open_cluster(batch.address, batch.jobs) as client:
        place = worker_batch_folder(name, batch.paths.home)
        try:
            # Imported here because it needs the engine, of which the line above has said if it is missing.
            from app.batch.cluster.cluster_runs import ClusterRuns  # noqa: PLC0415

            copies = Workspaces(batch.paths, place, folder.path)
            runs = ClusterRuns(
                client,
                name,
                parcels=Parcels(Git(batch.paths.home), copies.root / "parcels", copies.copy_folder),
                cache=batch.paths.cache_dir,
                commits=batch.commits,
                models=tuple(sorted({run.task.model for run in batch.progress.left if run.task.model})),
                options=batch.options,
                tell=tell,
            )
            await runs.update_workers()
            runs.require_workers()
            work = f"{_WORK_PREFIX}{name}"
            folder.save_manifest(
                msgspec.structs.replace(batch.manifest, work=work, commits=dict(batch.commits))
            )
            if batch.manifest.work.startswith(_WORK_PREFIX):
                before = batch.manifest.work.removeprefix(_WORK_PREFIX)
                await runs.clean_up_workers(before)
                remove_left_over(str(worker_batch_folder(before, batch.paths.home)))
            pool = BatchPool(
                folder,
                batch.progress,
                start=runs.start_run,
                jobs=runs.job_count,
                budget=batch.budget,
                tell=tell,
            )
            begun(pool)
            return await _run_pool(pool, runs, name)
        finally:
            remove_left_over(str(place))


async def _run_pool(pool: BatchPool, runs: "ClusterRuns", name: str) -> BatchEndReason:
    running, following = asyncio.ensure_future(pool.run()), asyncio.ensure_future(runs.watch_workers(pool))
    try:
        await asyncio.wait((running, following), return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            runs.is_gone = True
            pool.stop("interrupted")
            await running
            await following  # raises why it has ended
        return await running
    finally:
        following.cancel()
        if not runs.is_gone:
            await runs.clean_up_workers(name)
