"""Runs the remaining runs of a batch on a cluster."""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from app.batch.cluster.connection import connect_or_start_cluster
from app.batch.cluster.messages import worker_batch_folder
from app.batch.cluster.source_bundles import SourceBundles
from app.batch.pool import BatchEndReason, BatchEvent, BatchProgress, BatchRunPool
from app.batch.results import BatchFolder, BatchManifest
from app.batch.run_folders import BatchRunFolders, remove_leftover_run_folders
from app.copies.repository_copies import RepositoryGit
from app.resources.paths import BayouPaths

if TYPE_CHECKING:
    from app.batch.cluster.run_distributor import ClusterRunDistributor

_CLUSTER_WORK_PREFIX = "cluster:"
"""The prefix by which a manifest names the start of a batch on a cluster."""


class ClusterBatch(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a batch on a cluster: the scheduler's address, the number of parallel runs, the budget and the
    remaining runs."""

    address: str
    jobs: int
    paths: BayouPaths
    folder: BatchFolder
    manifest: BatchManifest
    progress: BatchProgress
    commits: Mapping[str, str]
    options: tuple[str, ...]
    budget: float | None


async def run_batch_on_cluster(
    batch: ClusterBatch, tell: Callable[[BatchEvent], None], begun: Callable[[BatchRunPool], None]
) -> BatchEndReason:
    """Runs until all runs have ended. Raises `UserError`."""
    name, folder = secrets.token_hex(6), batch.folder
    async with connect_or_start_cluster(batch.address, batch.jobs) as client:
        place = worker_batch_folder(name, batch.paths.home)
        try:
            # Imported here because it needs the engine, of which the line above has said if it is missing.
            from app.batch.cluster.run_distributor import ClusterRunDistributor  # noqa: PLC0415

            copies = BatchRunFolders(batch.paths, place, folder.path)
            runs = ClusterRunDistributor(
                client,
                name,
                parcels=SourceBundles(
                    RepositoryGit(batch.paths.home), copies.root / "parcels", copies.copy_task_folder
                ),
                cache=batch.paths.cache_dir,
                commits=batch.commits,
                models=tuple(sorted({run.task.model for run in batch.progress.left if run.task.model})),
                options=batch.options,
                tell=tell,
            )
            await runs.refresh_worker_list()
            runs.require_usable_workers()
            work = f"{_CLUSTER_WORK_PREFIX}{name}"
            folder.save_manifest(
                msgspec.structs.replace(batch.manifest, work=work, commits=dict(batch.commits))
            )
            if batch.manifest.work.startswith(_CLUSTER_WORK_PREFIX):
                before = batch.manifest.work.removeprefix(_CLUSTER_WORK_PREFIX)
                await runs.remove_worker_files(before)
                remove_leftover_run_folders(str(worker_batch_folder(before, batch.paths.home)))
            pool = BatchRunPool(
                folder,
                batch.progress,
                start=runs.start_run,
                jobs=runs.max_parallel_runs,
                budget=batch.budget,
                tell=tell,
            )
            begun(pool)
            return await _run_pool(pool, runs, name)
        finally:
            remove_leftover_run_folders(str(place))


async def _run_pool(pool: BatchRunPool, runs: "ClusterRunDistributor", name: str) -> BatchEndReason:
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
            await runs.remove_worker_files(name)
