"""Runs a batch in the terminal as a table, and shows the results of one that has ended."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from app.assembly.shutdown import force_exit_after_timeout
from app.assembly.signals import TERMINATION_SIGNALS, handle_signals
from app.batch.batch_execution import BatchCommandArguments, run_batch
from app.batch.pool import BatchEndReason, BatchEvent, BatchRunPool
from app.resources.paths import BayouPaths
from app.tui.batch.batch_app import BatchApp
from app.tui.batch.batch_table_data import BatchTableData
from bayou.batch import BatchResult


def show_batch_results(out: Path, results: Sequence[BatchResult], paths: BayouPaths) -> int:
    """Shows the table of the results of an ended batch until the person leaves it."""
    asyncio.run(BatchApp(BatchTableData(out, results), paths).run_async())
    return 0


async def run_batch_with_table(
    request: BatchCommandArguments, tell: Callable[[BatchEvent], None]
) -> BatchEndReason:
    """Runs a batch and shows its table until the person leaves it. Raises `UserError` before the table is shown if the
    tasks are invalid."""
    view = BatchTableData(request.out)
    has_begun = asyncio.get_running_loop().create_future()

    def begun(pool: BatchRunPool) -> None:
        view.pool = pool
        has_begun.set_result(None)

    def take(event: BatchEvent) -> None:
        view.handle_event(event)
        tell(event)

    batch = asyncio.ensure_future(run_batch(request, take, begun))
    await asyncio.wait((batch, has_begun), return_when=asyncio.FIRST_COMPLETED)
    if not has_begun.done():
        return await batch
    app = BatchApp(view, request.paths)

    signals: list[int] = []

    def end(_: object) -> None:
        """Ends the table too: of a batch that a person or a signal has stopped, or that cannot go on."""
        if signals:
            force_exit_after_timeout(128 + signals[0])  # the terminal may be gone
        if batch.cancelled() or batch.exception() is not None or batch.result() == "interrupted":
            app.exit()

    def stop(number: int) -> None:
        signals.append(number)
        if view.pool is not None:
            view.pool.stop("interrupted")
        if batch.done():
            end(None)

    batch.add_done_callback(end)
    handle_signals(TERMINATION_SIGNALS, stop)
    try:
        await app.run_async()
    finally:
        if view.pool is not None:
            view.pool.stop("interrupted")
    return await batch
