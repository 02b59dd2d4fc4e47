"""Distributes the runs of a batch to the workers of a cluster: admits workers, sends them orders and parcels, and
receives results. Dask's scheduler places the runs, gives those of lost workers to others, and passes on the
workers' reports."""

import asyncio
import time
from collections.abc import Callable, Collection, Coroutine, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, assert_never

import msgspec

from app.batch.agent_process import AgentProgress
from app.batch.batch_run import StopReason
from app.batch.cluster.engine import Client, Future, FutureCancelledError, KilledWorker
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
    unpack_folder,
)
from app.batch.cluster.source_bundles import SourceBundles, source_bundle_name
from app.batch.pool import BatchMachineNotice, BatchRunPool
from app.batch.results import INTERRUPTED_RUN_REASON
from app.batch.run_folders import task_commit_key, task_source_folder
from app.batch.tasks import BatchError, BatchRun
from app.values.user_errors import UserError
from app.version import VERSION
from bayou import batch_worker
from bayou.batch import BatchResult, Outcome

_WORKER_CHECK_INTERVAL_SECONDS = 1.0
_WORKER_ANSWER_TIMEOUT_SECONDS = 10.0
_SCHEDULER_SILENCE_TIMEOUT_SECONDS = 15.0
"""Seconds without an answer of the scheduler until it counts as gone."""
_MAX_RESUBMISSIONS_AFTER_LOST_WORKERS = 5
"""How often the engine may give a run up, each time after several lost workers."""


class ClusterRunDistributor:
    """The runs of one start of a batch, on all workers that have this version of bayou and the keys."""

    def __init__(
        self,
        client: Client,
        batch: str,
        *,
        parcels: SourceBundles,
        cache: Path,
        commits: Mapping[str, str],
        models: tuple[str, ...],
        options: tuple[str, ...],
        tell: Callable[[BatchMachineNotice], None],
    ) -> None:
        """`batch` is the name of this start. `cache` is where repositories with an address are."""
        self._client = client
        self._batch = batch
        self._parcels = parcels
        self._cache = cache
        self._commits = commits
        self._models = models
        self._options = options
        self._tell = tell
        self._runs: dict[str, RemoteBatchRun] = {}
        self._sources: dict[str, tuple[Path, str | None]] = {}
        self._threads: dict[str, int] = {}
        """How many runs each worker may have at a time, by address."""
        self._refused: dict[str, str] = {}
        self._limits: dict[str, float] = {}
        self._sending: set[asyncio.Task[None]] = set()
        self._has_workers = asyncio.Event()
        self.is_gone = False
        """Whether the scheduler no longer answers."""
        client.subscribe_topic(dask_report_topic(batch), self._on_report)

    @property
    def max_parallel_runs(self) -> int:
        """Returns how many runs the cluster's workers may have at a time."""
        return sum(self._threads.values())

    def start_run(
        self, run: BatchRun, folder: Path, *, max_cost: float | None, changed: Callable[[], None]
    ) -> "RemoteBatchRun":
        task = run.task
        commit = self._commits[task_commit_key(task)] if task.repo is not None else None
        source = task_source_folder(task, self._cache)
        parcel = source_bundle_name(source, commit)
        self._sources[parcel] = (source, commit)
        order = RunOrder(
            batch=self._batch,
            run=run,
            folder=folder.name,
            task="",
            parcel=parcel,
            source=source.name,
            commit=commit,
            options=self._options,
            max_cost=max_cost,
        )
        self._runs[run.key] = remote = RemoteBatchRun(self, order, folder, changed)
        return remote

    # Workers

    async def refresh_worker_list(self) -> None:
        """Updates the list of the cluster's workers. Raises `BatchError` if the scheduler does not answer."""
        deadline = time.monotonic() + _SCHEDULER_SILENCE_TIMEOUT_SECONDS
        threads: dict[str, int] | None = None
        while threads is None:
            if time.monotonic() > deadline or self._client.status == "closed":
                raise BatchError(
                    "The cluster's scheduler no longer answers. Start it and its workers again, then run "
                    "the same command to continue."
                )
            try:
                async with asyncio.timeout(_WORKER_ANSWER_TIMEOUT_SECONDS):
                    threads = dict(await self._client.nthreads())
            except OSError:
                await asyncio.sleep(_WORKER_CHECK_INTERVAL_SECONDS)
        await self._admit_workers(
            [address for address in threads if address not in self._threads | self._refused]
        )
        self._threads = {address: threads[address] for address in self._threads if address in threads}
        self._refused = {address: why for address, why in self._refused.items() if address in threads}
        if self._threads:
            self._has_workers.set()
        else:
            self._has_workers.clear()

    def require_usable_workers(self) -> None:
        """Raises `BatchError` if the cluster has workers but none of them may carry out runs."""
        if self._refused and not self._threads:
            raise BatchError("No worker of the cluster can run tasks. " + " ".join(self._refused.values()))
        if not self._threads:
            self._tell(
                BatchMachineNotice(text="The cluster has no workers yet. Runs begin with the first one.")
            )

    async def watch_workers(self, pool: BatchRunPool) -> None:
        """Follows which workers come and go until it is cancelled. Raises `BatchError`."""
        while True:
            await asyncio.sleep(_WORKER_CHECK_INTERVAL_SECONDS)
            await self.refresh_worker_list()
            pool.resize(self.max_parallel_runs)
            for run in list(self._runs.values()):
                await run.resubmit_if_workers_lost(self._threads.keys())

    async def _admit_workers(self, addresses: list[str]) -> None:
        """Asks new workers whether they have this version and the keys, before they get a run."""
        if not addresses:
            return
        versions = await self._client.run(
            resolve_name, "bayou:__version__", workers=addresses, on_error="return"
        )
        same: list[str] = []
        for address in addresses:
            found = versions.get(address)
            if found == VERSION:
                same.append(address)
            elif isinstance(found, str | ImportError):
                has = f"bayou {found}" if isinstance(found, str) else "no bayou"
                self._refuse_worker(
                    address, f"it has {has}, and this is bayou {VERSION}. Install this version there."
                )
        answers = await self._ask_workers(CheckWorkerRequest(models=self._models), same)
        for address, why in answers.items():
            if why:
                self._refuse_worker(address, f"{why.decode()}. Set it in the environment of the worker.")
            else:
                self._threads[address] = 1  # until the next look
        if same and (held := self._paused_providers()):
            await self._ask_workers(PauseProvidersRequest(batch=self._batch, seconds=held), same)

    def _refuse_worker(self, address: str, why: str) -> None:
        self._refused[address] = text = f"The worker {address} gets no runs: {why}"
        self._tell(BatchMachineNotice(text=text))

    # Runs

    async def submit_run_order(self, order: RunOrder) -> tuple[Future, frozenset[str]]:
        """Gives a run to the engine; returns the engine's future, and the workers that may carry it out."""
        await self._has_workers.wait()
        workers = frozenset(self._threads)
        future = self._client.submit(
            batch_worker.carry_out,
            msgspec.msgpack.encode(order),
            key=order.task,
            workers=sorted(workers),
            allow_other_workers=False,
            pure=False,
        )
        return future, workers

    async def ask_worker(self, request: Request, worker: str) -> bytes:
        """Returns a worker's answer; empty if it is gone."""
        return (await self._ask_workers(request, [worker])).get(worker, b"")

    async def _ask_workers(self, request: Request, workers: list[str]) -> dict[str, bytes]:
        if not workers or self.is_gone or self._client.status == "closed":
            return {}
        data = msgspec.msgpack.encode(request)
        try:
            async with asyncio.timeout(_WORKER_ANSWER_TIMEOUT_SECONDS):
                answers = await self._client.run(
                    batch_worker.answer, data, workers=workers, on_error="return"
                )
        except (OSError, TimeoutError, ValueError):  # ValueError: a worker that is gone already
            return {}
        return {worker: answer for worker, answer in answers.items() if isinstance(answer, bytes)}

    def remove_run(self, run: "RemoteBatchRun") -> None:
        self._runs.pop(run.run.key, None)

    async def remove_worker_files(self, batch: str) -> None:
        """Removes the files that a start of the batch has left on the workers' machines."""
        await self._ask_workers(RemoveBatchFilesRequest(batch=batch), list(self._threads))

    # What workers report

    def _on_report(self, event: tuple[float, bytes]) -> None:
        report = msgspec.msgpack.decode(event[1], type=Report)
        match report:
            case RunBegunReport() | RunProgressReport():
                if (run := self._runs.get(report.key)) is not None:
                    run.handle_worker_report(report)
            case SourceBundleNeededReport():
                self._send_in_background(self._deliver_parcel(report))
            case RateLimitedProvidersReport():
                until = {provider: time.time() + seconds for provider, seconds in report.seconds.items()}
                self._limits.update(until)
                self._send_in_background(
                    self._spread_limit(PauseProvidersRequest(batch=self._batch, seconds=report.seconds))
                )
            case _:
                assert_never(report)

    def _send_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        self._sending.add(task := asyncio.ensure_future(work))
        task.add_done_callback(self._sending.discard)

    async def _deliver_parcel(self, wanted: SourceBundleNeededReport) -> None:
        source, commit = self._sources[wanted.parcel]
        try:
            data = await self._parcels.source_bundle_bytes(wanted.parcel, source, commit)
        except (UserError, OSError) as problem:
            self._tell(BatchMachineNotice(text=f"{source} cannot be packed for the workers: {problem}"))
            data = b""
        await self.ask_worker(
            SourceBundleDelivery(
                batch=self._batch,
                parcel=wanted.parcel,
                place=wanted.place,
                is_repository=wanted.is_repository,
                data=data,
            ),
            wanted.worker,
        )

    async def _spread_limit(self, limit: PauseProvidersRequest) -> None:
        await self._ask_workers(limit, list(self._threads))

    def _paused_providers(self) -> dict[str, float]:
        left = {provider: until - time.time() for provider, until in self._limits.items()}
        return {provider: seconds for provider, seconds in left.items() if seconds > 0}


class RemoteBatchRun:
    """One run of a batch, carried out by a worker of a cluster."""

    def __init__(
        self, cluster: ClusterRunDistributor, order: RunOrder, folder: Path, changed: Callable[[], None]
    ) -> None:
        self.run = order.run
        self.folder = folder
        self.started = time.monotonic()
        self.state = AgentProgress()
        self._cluster = cluster
        self._order = order
        self._changed = changed
        self._worker = ""
        self._future: Future | None = None
        self._workers: frozenset[str] = frozenset()
        self._stopped_by: StopReason | None = None
        self._stopped, self._abandoned = asyncio.Event(), asyncio.Event()
        self._stopping: asyncio.Future[bytes] | None = None
        self._attempts = 0

    async def carry_out(self) -> BatchResult:
        try:
            return await self._carry_out_attempts()
        finally:
            self._cluster.remove_run(self)
            if self._future is not None:
                self._future.release()

    async def _carry_out_attempts(self) -> BatchResult:
        lost = 0
        while self._stopped_by is None:
            self._attempts += 1
            task = f"{dask_report_topic(self._order.batch)}-{self._order.folder}-{self._attempts}"
            order = msgspec.structs.replace(self._order, task=task)
            submitting = asyncio.ensure_future(self._cluster.submit_run_order(order))
            stopped = asyncio.ensure_future(self._stopped.wait())
            await asyncio.wait((submitting, stopped), return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            if not submitting.done():
                submitting.cancel()
                break
            self._future, self._workers = submitting.result()
            ended = asyncio.ensure_future(self._future.result())
            abandoned = asyncio.ensure_future(self._abandoned.wait())
            await asyncio.wait((ended, abandoned), return_when=asyncio.FIRST_COMPLETED)
            abandoned.cancel()
            if not ended.done():
                ended.cancel()
                break
            try:
                return await self._accept_result(ended.result())
            except FutureCancelledError:
                continue  # it was on workers that are gone
            except KilledWorker:
                lost += 1
                if lost == _MAX_RESUBMISSIONS_AFTER_LOST_WORKERS:
                    return self._result_without_run("error", "its workers were lost again and again")
            except Exception as problem:  # noqa: BLE001  (what the engine passes on from a worker may be anything)
                return self._result_without_run("error", f"{self._worker or 'a worker'}: {problem!r}"[:500])
        match self._stopped_by:
            case "budget":
                return self._result_without_run("limit", "the budget of the batch is spent")
            case "person":
                return self._result_without_run("cancelled", "stopped by hand")
            case _:
                return self._result_without_run("cancelled", INTERRUPTED_RUN_REASON)

    async def stop(self, reason: StopReason) -> None:
        self._stopped_by = self._stopped_by or reason
        self._stopped.set()
        future, request = (
            self._future,
            StopRunRequest(batch=self._order.batch, key=self.run.key, reason=reason),
        )
        if self._worker and await self._cluster.ask_worker(request, self._worker):
            return  # its result comes
        self._abandoned.set()
        if future is not None and not self._cluster.is_gone:
            await future.cancel()

    async def resubmit_if_workers_lost(self, there: Collection[str]) -> None:
        """Gives the run to the engine again if no worker that might carry it out is left."""
        if self._future is not None and not self._future.done() and self._workers.isdisjoint(there):
            await self._future.cancel()

    async def live_session_file(self) -> Path | None:
        """Fetches the session as far as it is written."""
        data = await self._cluster.ask_worker(
            FetchSessionRequest(batch=self._order.batch, key=self.run.key), self._worker
        )
        file = self.folder / "session" / "live.jsonl"
        if data:
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(data)
        return file if data or file.exists() else None

    def handle_worker_report(self, report: RunBegunReport | RunProgressReport) -> None:
        if isinstance(report, RunBegunReport):
            self._worker, self.state = report.worker, AgentProgress()
            if self._stopped_by is not None:
                request = StopRunRequest(batch=self._order.batch, key=self.run.key, reason=self._stopped_by)
                self._stopping = asyncio.ensure_future(self._cluster.ask_worker(request, self._worker))
        else:
            self.state = report.state
        self._changed()

    async def _accept_result(self, data: bytes) -> BatchResult:
        ended = msgspec.msgpack.decode(data, type=EndedRunResult)
        try:
            (self.folder / "session" / "live.jsonl").unlink(missing_ok=True)
            if ended.files:
                await asyncio.to_thread(unpack_folder, ended.files, self.folder)
        except OSError as problem:
            raise BatchError(
                f"{self.folder}: the files of {self.run.key} cannot be written: {problem.strerror}. Make "
                f"room and run "
                "the same command again."
            ) from None
        task = self.run.task
        return msgspec.structs.replace(ended.result, source=task.repo or task.folder or "")

    def _result_without_run(self, outcome: Outcome, reason: str) -> BatchResult:
        result = make_result_of_unfinished_run(self.run, self.folder.name, outcome, reason)
        return msgspec.structs.replace(
            result, cost=self.state.cost, tokens=self.state.tokens, seconds=time.monotonic() - self.started
        )
