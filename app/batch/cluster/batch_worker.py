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

from app.batch.agent_process import AgentProgress
from app.batch.batch_run import BatchRunInProgress
from app.batch.cluster.engine import Worker, WorkerPlugin, get_worker
from app.batch.cluster.messages import (
    CheckWorkerRequest,
    EndedRunResult,
    FetchSessionRequest,
    PauseProvidersRequest,
    RateLimitedProvidersReport,
    RemoveBatchFilesRequest,
    Report,
    Request,
    RunBegunReport,
    RunOrder,
    RunProgressReport,
    SourceBundleDelivery,
    SourceBundleNeededReport,
    StopRunRequest,
    dask_report_topic,
    make_result_of_unfinished_run,
    pack_folder,
    worker_batch_folder,
)
from app.batch.cluster.source_bundles import unpack_source_bundle
from app.batch.run_folders import BatchRunFolders
from app.batch.tasks import BatchError
from app.copies.repository_copies import RepositoryGit
from app.providers.credentials import Credentials
from app.providers.models.catalogue import ModelCatalogue
from app.providers.models.known_providers import KNOWN_PROVIDERS
from app.providers.models.model_names import ModelNotFound, select_model
from app.providers.shared_rate_limit import SharedRateLimit
from app.resources.paths import BayouPaths
from app.values.user_errors import UserError
from tools.files.atomic_replacement import replace_file_atomically
from tools.files.path_existence import exists, is_dir

_PROGRESS_REPORT_INTERVAL_SECONDS = 0.5
_SOURCE_BUNDLE_TIMEOUT_SECONDS = 600.0
_DASK_STATES_OF_ABANDONED_TASKS = frozenset(("cancelled", "released", "forgotten"))
"""States of a task of the engine that nothing waits for."""


async def carry_out(data: bytes) -> bytes:
    """Carries out the run of a `RunOrder`; returns its `EndedRunResult`."""
    order = msgspec.msgpack.decode(data, type=RunOrder)
    part = await _batch_worker_on(get_worker(), order.batch)
    return await part.carry_out(order)


async def answer(data: bytes, worker: Worker) -> bytes:
    """Answers a message that a batch has sent to a worker of its cluster."""
    request = msgspec.msgpack.decode(data, type=Request)
    if isinstance(request, CheckWorkerRequest):
        return (await asyncio.to_thread(missing_api_keys, request.models)).encode()
    part = await _batch_worker_on(worker, request.batch)
    match request:
        case SourceBundleDelivery():
            await part.accept_source_bundle(request)
        case StopRunRequest():
            return await part.stop_run(request)
        case FetchSessionRequest():
            return await part.session_bytes(request.key)
        case PauseProvidersRequest():
            part.pause_providers(request.seconds)
        case RemoveBatchFilesRequest():
            await worker.plugin_remove(name=_plugin_name(request.batch))
            await asyncio.to_thread(shutil.rmtree, _batch_folder(request.batch), True)
        case _:
            assert_never(request)
    return b""


def missing_api_keys(models: tuple[str, ...]) -> str:
    """Returns which keys this machine lacks for the models; empty if none. Reads only its own environment."""
    paths = BayouPaths.from_env(os.environ, Path.cwd())
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


class BatchWorkerPlugin(WorkerPlugin):
    """The part of a worker that belongs to one batch."""

    def __init__(self, batch: str) -> None:
        self._batch = batch
        self._paths = BayouPaths.from_env(os.environ, Path.cwd())
        self._place = _batch_folder(batch)
        self._git = RepositoryGit(self._paths.home)
        self._workspaces = BatchRunFolders(self._paths, self._place, self._place)
        self._limits = SharedRateLimit(self._workspaces.rate_limits)
        self._runs: dict[str, BatchRunInProgress] = {}
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
        if run is not None and finish in _DASK_STATES_OF_ABANDONED_TASKS:
            self._stopping.add(task := asyncio.ensure_future(run.stop("interrupted")))
            task.add_done_callback(self._stopping.discard)

    async def carry_out(self, order: RunOrder) -> bytes:
        stored = self._place / "ended" / order.folder
        if exists(stored):
            return await asyncio.to_thread(stored.read_bytes)
        self._send_report(RunBegunReport(key=order.run.key, worker=self._worker_address))
        folder = self._place / "results" / order.folder
        try:
            await asyncio.to_thread(shutil.rmtree, folder, True)
            # A run that was killed with its worker may still write while its folder is removed.
            folder.mkdir(parents=True, exist_ok=True)
            ended = await self._run_order(order, folder)
        except (UserError, OSError) as problem:
            reason = (
                str(problem) if isinstance(problem, UserError) else f"{problem.filename}: {problem.strerror}"
            )
            result = make_result_of_unfinished_run(
                order.run, order.folder, "error", f"{self._worker_address}: {reason}"
            )
            return msgspec.msgpack.encode(EndedRunResult(result=result, files=b""))
        data = msgspec.msgpack.encode(ended)
        try:
            stored.parent.mkdir(parents=True, exist_ok=True)
            replace_file_atomically(stored, data, durable=False)
        except OSError:
            pass  # a full disk: the result is still returned
        await asyncio.to_thread(shutil.rmtree, folder, True)
        return data

    async def _run_order(self, order: RunOrder, folder: Path) -> EndedRunResult:
        source = await self._run_source(order)
        field = "folder" if order.run.task.repo is None else "repo"
        task = msgspec.structs.replace(order.run.task, **{field: str(source)})
        run = BatchRunInProgress(
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
        return EndedRunResult(result=result, files=await asyncio.to_thread(pack_folder, folder))

    async def _report_progress(self, run: BatchRunInProgress) -> None:
        """Reports the progress of a run, a few times a second at most."""
        told = AgentProgress()
        while True:
            await asyncio.sleep(_PROGRESS_REPORT_INTERVAL_SECONDS)
            if run.state != told:
                told = run.state
                self._send_report(RunProgressReport(key=run.run.key, state=told))
            self._report_rate_limits()

    def _report_rate_limits(self) -> None:
        """Reports the providers whose rate limit a run of this worker has hit, so that the other workers wait
        too."""
        now = time.time()
        new = {
            provider: seconds
            for provider, seconds in self._limits.paused_providers().items()
            if now + seconds > self._held.get(provider, 0.0) + _PROGRESS_REPORT_INTERVAL_SECONDS
        }
        if new:
            self._held.update({provider: now + seconds for provider, seconds in new.items()})
            self._send_report(RateLimitedProvidersReport(seconds=new))

    async def _run_source(self, order: RunOrder) -> Path:
        """Returns the repository or folder of a run, which the batch sends when it is first wanted."""
        task = order.run.task
        place = self._place / "sources" / order.parcel / order.source
        if is_dir(place):
            return place
        if order.parcel not in self._opened:
            self._opened[order.parcel] = asyncio.Event()
            self._send_report(
                SourceBundleNeededReport(
                    parcel=order.parcel,
                    place=str(place),
                    is_repository=task.repo is not None,
                    worker=self._worker_address,
                )
            )
        try:
            async with asyncio.timeout(_SOURCE_BUNDLE_TIMEOUT_SECONDS):
                await self._opened[order.parcel].wait()
        except TimeoutError:
            self._opened.pop(order.parcel, None)
            raise BatchError(
                f"the files of {order.source} did not arrive within {_SOURCE_BUNDLE_TIMEOUT_SECONDS:g} seconds"
            ) from None
        if not is_dir(place):
            raise BatchError(f"the files of {order.source} could not be sent")
        return place

    async def accept_source_bundle(self, request: SourceBundleDelivery) -> None:
        try:
            if request.data:
                place, is_repository = Path(request.place), request.is_repository
                await unpack_source_bundle(self._git, request.data, place, is_repository=is_repository)
        finally:
            # All waiting runs get the place or the failure; a later run tries again.
            self._opened.pop(request.parcel, asyncio.Event()).set()

    async def stop_run(self, request: StopRunRequest) -> bytes:
        """Stops a run of this worker. Returns nothing if there is no such run."""
        run = self._runs.get(request.key)
        if run is None:
            return b""
        await run.stop(request.reason)
        return b"stopped"

    async def session_bytes(self, key: str) -> bytes:
        run = self._runs.get(key)
        file = await run.live_session_file() if run is not None else None
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


async def _batch_worker_on(worker: Worker, batch: str) -> BatchWorkerPlugin:
    name = _plugin_name(batch)
    if name not in worker.plugins:
        await worker.plugin_add(BatchWorkerPlugin(batch), name=name)
    part = worker.plugins[name]
    assert isinstance(part, BatchWorkerPlugin)
    return part


def _plugin_name(batch: str) -> str:
    return dask_report_topic(batch)


def _batch_folder(batch: str) -> Path:
    return worker_batch_folder(batch, BayouPaths.from_env(os.environ, Path.cwd()).home)
