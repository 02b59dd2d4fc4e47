"""Runs a whole batch, from its file to its results, for the command line."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from app.batch.pool import BatchEvent, BatchPool, End, progress_of
from app.batch.results import BatchFolder
from app.batch.task_files import read_rows
from app.batch.tasks import Batch, Defaults, plan_batch
from app.batch.workspaces import Workspaces, find_commits, remove_left_over
from bayou.batch import Outcome


class BatchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a batch."""

    tasks: Path
    out: Path
    home: Path
    defaults: Defaults
    jobs: int
    budget: float | None = None
    retry: frozenset[Outcome] = frozenset()
    work: Path | None = None
    """The folder in which the temporary folder of the runs is made; None: the system's."""


def read_batch(request: BatchRequest) -> Batch:
    """Reads the tasks and plans the runs. Raises `UserError`."""
    return plan_batch(read_rows(request.tasks), request.defaults)


async def run_batch(
    request: BatchRequest, tell: Callable[[BatchEvent], None], begun: Callable[[BatchPool], None]
) -> End:
    """Runs the remaining runs of a batch. `begun` gets the pool before its first run. Raises `UserError`."""
    batch = read_batch(request)
    folder = BatchFolder(request.out)
    try:
        manifest = folder.claim(request.tasks)
        remove_left_over(manifest.work)
        progress = progress_of(batch, folder.results(), request.retry)
        commits = await find_commits(progress.left, manifest.commits, request.home)
        workspaces = Workspaces(request.home, request.work, request.out)
        try:
            folder.save(msgspec.structs.replace(manifest, work=str(workspaces.root), commits=commits))
            pool = BatchPool(
                folder,
                progress,
                workspaces,
                options=batch.options,
                commits=commits,
                jobs=request.jobs,
                budget=request.budget,
                tell=tell,
            )
            begun(pool)
            return await pool.run()
        finally:
            workspaces.close()
    finally:
        folder.close()
