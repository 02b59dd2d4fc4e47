"""The worker's side of a batch on a cluster: unpacks parcels, carries out runs, and reports their progress. A
result is stored on the worker's disk before it is returned, so that a run that has ended is not run again if the
result is lost on its way."""

import asyncio
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_never

import msgspec

from app.batch.agent_process import AgentState
from app.batch.cluster.engine import Worker, WorkerPlugin, get_worker
from app.batch.cluster.messages import (
    AdmitWorker,
    DeliverParcel,
    EndedRun,
    FetchSession,
    ForgetBatch,
    LimitProviders,
    ParcelWanted,
    ProvidersLimited,
    Report,
    Request,
    RunBegun,
    RunOrder,
    RunProgressed,
    StopRun,
    pack_folder,
    report_topic,
    result_without_run,
    worker_batch_folder,
)
from app.batch.cluster.parcels import open_parcel
from app.batch.one_run import RunInProgress
from app.batch.tasks import BatchError
from app.batch.workspaces import Workspaces
from app.copies.repository_copies import Git
from app.providers.credentials import Credentials
from app.providers.models.catalogue import ModelCatalogue
from app.providers.models.known_providers import KNOWN_PROVIDERS
from app.providers.models.model_names import ModelNotFound, select_model
from app.providers.shared_rate_limit import SharedRateLimit
from app.resources.paths import Paths
from app.values.user_errors import UserError
from tools.files.atomic_replacement import replace_atomically
from tools.files.existence import exists, is_dir

_REPORT_INTERVAL_SECONDS = 0.5
_PARCEL_TIMEOUT_SECONDS = 600.0
_ABANDONED_STATES = frozenset(("cancelled", "released", "forgotten"))
"""States of a task of the engine that nothing waits for."""


async def carry_out(data: bytes) -> bytes:
    """Carries out the run of an `RunOrder`; returns its `EndedRun`."""
    order = msgspec.msgpack.decode(data, type=RunOrder)
    part = await _batch_worker_on(get_worker(), order.batch)
    return await part.carry_out(order)


async def answer(data: bytes, worker: Worker) -> bytes:
    """Answers a message that a batch has sent to a worker of its cluster."""
    request = msgspec.msgpack.decode(data, type=Request)
    if isinstance(request, AdmitWorker):
        return (await asyncio.to_thread(missing_keys, request.models)).encode()
    part = await _batch_worker_on(worker, request.batch)
    match request:
        case DeliverParcel():
            await part.accept_parcel(request)
        case StopRun():
            return await part.stop_run(request)
        case FetchSession():
            return await part.session_bytes(request.key)
        case LimitProviders():
            part.pause_providers(request.seconds)
        case ForgetBatch():
            await worker.plugin_remove(name=_plugin_name(request.batch))
            await asyncio.to_thread(shutil.rmtree, _batch_folder(request.batch), True)
        case _:
            assert_never(request)
    return b""


def missing_keys(models: tuple[str, ...]) -> str:
    """Returns which keys this machine lacks for the models; empty if none. Reads only its own environment."""
    paths = Paths.from_env(os.environ, Path.cwd())
    credentials = Credentials(paths.agent_dir, os.environ)
    catalogue = ModelCatalogue.load_catalogue(paths.agent_dir, env=os.environ)
    missing: dict[str, str] = {}
    for name in models:
        try:
            provider = select_model(name, catalogue, credentials).model.provider
        except ModelNotFound:
            continue  # an extension of the run may define it
        if provider in KNOWN_PROVIDERS and not credentials.has_credential(provider):
            variable = next(iter(KNOWN_PROVIDERS[provider].key_variables), "")
            missing[provider] = f"{provider} ({variable})" if variable else provider
    return f"it has no key for {', '.join(missing.values())}" if missing else ""


class BatchWorker(WorkerPlugin):
    """The part of a worker that belongs to one batch."""

    def __init__(self, batch: str) -> None:
        self._batch = batch
        self._paths = Paths.from_env(os.environ, Path.cwd())
        self._place = _batch_folder(batch)
        self._git = Git(self._paths.home)
        self._workspaces = Workspaces(self._paths, self._place, self._place)
        self._limits = SharedRateLimit(self._workspaces.rate_limits)
        self._runs: dict[str, RunInProgress] = {}
        self._tasks: dict[str, str] = {}
        """The key of the run of each task of the engine."""
        self._opened: dict[str, asyncio.Event] = {}
        self._held: dict[str, float] = {}
        """Until when other workers are known to leave providers alone."""
        self._stopping: set[asyncio.Task[None]] = set()
        self._worker: Worker | None = None

    # The engine calls the next three.

    def setup(self, worker: Worker) -> None:
        self._worker = worker

    def teardown(self, worker: Worker) -> None:
        self._workspaces.close()

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """Ends a run for which the batch does not wait any more, because it is gone or has given the run to another
        worker."""
        run = self._runs.get(self._tasks.get(str(key), ""))
        if run is not None and finish in _ABANDONED_STATES:
            self._stopping.add(task := asyncio.ensure_future(run.stop("interrupted")))
            task.add_done_callback(self._stopping.discard)

    async def carry_out(self, order: RunOrder) -> bytes:
        stored = self._place / "ended" / order.folder
        if exists(stored):
            return await asyncio.to_thread(stored.read_bytes)
        self._send_report(RunBegun(key=order.run.key, worker=self._worker_address))
        folder = self._place / "results" / order.folder
        try:
            await asyncio.to_thread(shutil.rmtree, folder, True)
            folder.mkdir(parents=True)
            ended = await self._run_order(order, folder)
        except (UserError, OSError) as problem:
            reason = (
                str(problem) if isinstance(problem, UserError) else f"{problem.filename}: {problem.strerror}"
            )
            result = result_without_run(order.run, order.folder, "error", f"{self._worker_address}: {reason}")
            return msgspec.msgpack.encode(EndedRun(result=result, files=b""))
        data = msgspec.msgpack.encode(ended)
        try:
            stored.parent.mkdir(parents=True, exist_ok=True)
            replace_atomically(stored, data, durable=False)
        except OSError:
            pass  # a full disk: the result is still returned
        await asyncio.to_thread(shutil.rmtree, folder, True)
        return data

    async def _run_order(self, order: RunOrder, folder: Path) -> EndedRun:
        source = await self._run_source(order)
        field = "folder" if order.run.task.repo is None else "repo"
        task = msgspec.structs.replace(order.run.task, **{field: str(source)})
        run = RunInProgress(
            msgspec.structs.replace(order.run, task=task),
            folder,
            self._workspaces,
            commit=order.commit,
            options=order.options,
            max_cost=order.max_cost,
            changed=lambda: None,
        )
        self._runs[order.run.key], self._tasks[order.task] = run, order.run.key
        reporting = asyncio.ensure_future(self._report_progress(run))
        try:
            result = await run.carry_out()
        finally:
            reporting.cancel()
            del self._runs[order.run.key], self._tasks[order.task]
        self._report_rate_limits()
        return EndedRun(result=result, files=await asyncio.to_thread(pack_folder, folder))

    async def _report_progress(self, run: RunInProgress) -> None:
        """Reports the progress of a run, a few times a second at most."""
        told = AgentState()
        while True:
            await asyncio.sleep(_REPORT_INTERVAL_SECONDS)
            if run.state != told:
                told = run.state
                self._send_report(RunProgressed(key=run.run.key, state=told))
            self._report_rate_limits()

    def _report_rate_limits(self) -> None:
        """Reports the providers whose rate limit a run of this worker has hit, so that the other workers wait
        too."""
        now = time.time()
        new = {
            provider: seconds
            for provider, seconds in self._limits.paused_providers().items()
            if now + seconds > self._held.get(provider, 0.0) + _REPORT_INTERVAL_SECONDS
        }
        if new:
            self._held.update({provider: now + seconds for provider, seconds in new.items()})
            self._send_report(ProvidersLimited(seconds=new))

    async def _run_source(self, order: RunOrder) -> Path:
        """Returns the repository or folder of a run, which the batch sends when it is first wanted."""
        task = order.run.task
        place = self._place / "sources" / order.parcel / order.source
        if is_dir(place):
            return place
        if order.parcel not in self._opened:
            self._opened[order.parcel] = asyncio.Event()
            self._send_report(
                ParcelWanted(
                    parcel=order.parcel,
                    place=str(place),
                    is_repository=task.repo is not None,
                    worker=self._worker_address,
                )
            )
        try:
            async with asyncio.timeout(_PARCEL_TIMEOUT_SECONDS):
                await self._opened[order.parcel].wait()
        except TimeoutError:
            self._opened.pop(order.parcel, None)
            raise BatchError(
                f"the files of {order.source} did not arrive within {_PARCEL_TIMEOUT_SECONDS:g} seconds"
            ) from None
        if not is_dir(place):
            raise BatchError(f"the files of {order.source} could not be sent")
        return place

    async def accept_parcel(self, request: DeliverParcel) -> None:
        try:
            if request.data:
                place, is_repository = Path(request.place), request.is_repository
                await open_parcel(self._git, request.data, place, is_repository=is_repository)
        finally:
            # All waiting runs get the place or the failure; a later run tries again.
            self._opened.pop(request.parcel, asyncio.Event()).set()

    async def stop_run(self, request: StopRun) -> bytes:
        """Stops a run of this worker. Returns nothing if there is no such run."""
        run = self._runs.get(request.key)
        if run is None:
            return b""
        await run.stop(request.reason)
        return b"stopped"

    async def session_bytes(self, key: str) -> bytes:
        run = self._runs.get(key)
        file = await run.live_session() if run is not None else None
        return await asyncio.to_thread(file.read_bytes) if file is not None else b""

    def pause_providers(self, seconds: Mapping[str, float]) -> None:
        for provider, left in seconds.items():
            self._held[provider] = max(self._held.get(provider, 0.0), time.time() + left)
            self._limits.pause_provider(provider, left)

    @property
    def _worker_address(self) -> str:
        assert self._worker is not None
        return str(self._worker.address)

    def _send_report(self, report: Report) -> None:
        assert self._worker is not None
        self._worker.log_event(_plugin_name(self._batch), msgspec.msgpack.encode(report))


async def _batch_worker_on(worker: Worker, batch: str) -> BatchWorker:
    name = _plugin_name(batch)
    if name not in worker.plugins:
        await worker.plugin_add(BatchWorker(batch), name=name)
    part = worker.plugins[name]
    assert isinstance(part, BatchWorker)
    return part


def _plugin_name(batch: str) -> str:
    return report_topic(batch)


def _batch_folder(batch: str) -> Path:
    return worker_batch_folder(batch, Paths.from_env(os.environ, Path.cwd()).home)
