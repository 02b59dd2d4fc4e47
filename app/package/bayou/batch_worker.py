"""What the workers of a cluster run for `bayou batch --cluster`: functions that each machine finds by name in its own
bayou, so that no code is sent."""

import sys
from typing import Any

from bayou.program import program_folder


def _program() -> Any:
    """Returns the module of the program that does the work."""
    if program_folder() not in sys.path:
        sys.path.insert(0, program_folder())
    from app.batch.cluster import batch_worker  # noqa: PLC0415  (found by the line above)

    return batch_worker


async def carry_out(order: bytes) -> bytes:
    """Carries out one run; a task of the cluster."""
    return await _program().carry_out(order)


async def answer(request: bytes, dask_worker: Any = None) -> bytes:
    """Answers a request of the batch about this worker."""
    return await _program().answer(request, dask_worker)
