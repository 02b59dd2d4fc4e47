"""The engine of clusters, Dask's `distributed`: the only module that imports it. It is installed with the extra
`bayou[cluster]`; the stub beside has its types."""

from dask import config
from distributed import (
    Client,
    Future,
    KilledWorker,
    LocalCluster,
    Security,
    Worker,
    WorkerPlugin,
    get_worker,
)
from distributed.client import FutureCancelledError

__all__ = (
    "Client",
    "Future",
    "FutureCancelledError",
    "KilledWorker",
    "LocalCluster",
    "Security",
    "Worker",
    "WorkerPlugin",
    "config",
    "get_worker",
)
