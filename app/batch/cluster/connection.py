"""Connects to a cluster by its scheduler's address, or starts one on this machine."""

import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from app.batch.agent_process import DASK_TLS_VARIABLE_PREFIX
from app.batch.tasks import BatchError
from tools.lazy_patterns import lazy_regex
from tools.running.child_programs import ChildProgram

if TYPE_CHECKING:
    from app.batch.cluster.engine import Client, Security

_LOCAL_CLUSTER_ADDRESS_PATTERN = lazy_regex(r"local:([1-9]\d{0,2})")
_SCHEDULER_ADDRESS_PATTERN = lazy_regex(r"(?:[a-z]+://)?[^\s/]+:\d+")
_SCHEDULER_CONNECT_TIMEOUT_SECONDS = 3.0
_MAX_LOST_WORKERS_PER_RUN = 20
"""How many workers may be lost below a run until the engine gives it up."""


def check_cluster_address(address: str) -> str:
    """Returns the address. Raises `BatchError` for something else."""
    if not (
        _LOCAL_CLUSTER_ADDRESS_PATTERN.fullmatch(address) or _SCHEDULER_ADDRESS_PATTERN.fullmatch(address)
    ):
        raise BatchError(
            f"--cluster {address}: use a scheduler's address, such as tcp://10.0.0.1:8786, or local:4 for four workers "
            "here."
        )
    return address


@asynccontextmanager
async def connect_or_start_cluster(address: str, jobs: int) -> AsyncIterator["Client"]:
    """Yields a client of the scheduler; `jobs` is how many runs each worker of a local cluster has at a time. Raises
    `BatchError`."""
    try:
        # Imported here because only this needs the engine.
        from app.batch.cluster.engine import Client, LocalCluster, Security, config  # noqa: PLC0415
    except ImportError:
        raise BatchError(
            "--cluster needs Dask's distributed, which is not installed. Install bayou with its extra: "
            "`uv tool install 'bayou[cluster]'` or `pip install 'bayou[cluster]'`."
        ) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # the batch reports what matters as events
    async with AsyncExitStack() as stack:
        place: str | LocalCluster = address
        local = _LOCAL_CLUSTER_ADDRESS_PATTERN.fullmatch(address)
        if local is not None:
            stack.enter_context(
                config.set({"distributed.scheduler.allowed-failures": _MAX_LOST_WORKERS_PER_RUN})
            )
            security = Security.temporary()  # other users of this machine cannot connect
            place = await stack.enter_async_context(
                LocalCluster(
                    n_workers=0,
                    security=security,
                    asynchronous=True,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
            )
            words = _worker_command(place.scheduler_address, int(local[1]), jobs)
            variables = {**os.environ, **_tls_variables(security)}
            await stack.enter_async_context(await ChildProgram.start(words, env=variables))
        try:
            client = await stack.enter_async_context(
                Client(
                    place,
                    asynchronous=True,
                    timeout=_SCHEDULER_CONNECT_TIMEOUT_SECONDS,
                    set_as_default=False,
                    name="bayou",
                )
            )
        except (OSError, ValueError, RuntimeError, MemoryError, EOFError) as problem:
            # MemoryError and its like: what answers there is something else.
            raise BatchError(
                f"--cluster {address}: no scheduler answers there ({_first_line(problem)}). Start one with `dask "
                "scheduler`, or use local:4."
            ) from None
        if local is not None:
            await client.wait_for_workers(1)
        yield client


def _worker_command(scheduler: str, count: int, jobs: int) -> tuple[str, ...]:
    """Returns the engine's own command for workers. They end with the scheduler, which ends with this process."""
    options = ("--nworkers", str(count), "--nthreads", str(jobs), "--memory-limit", "0", "--no-dashboard")
    return sys.executable, "-P", "-m", "distributed.cli.dask_worker", scheduler, *options


def _tls_variables(security: "Security") -> dict[str, str]:
    """Returns the certificate and the key of the workers as the engine's settings, so that no file has them."""
    return {
        f"{DASK_TLS_VARIABLE_PREFIX}CA_FILE": security.tls_ca_file,
        f"{DASK_TLS_VARIABLE_PREFIX}WORKER__CERT": security.tls_worker_cert,
        f"{DASK_TLS_VARIABLE_PREFIX}WORKER__KEY": security.tls_worker_key,
    }


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or [type(problem).__name__])[0]
