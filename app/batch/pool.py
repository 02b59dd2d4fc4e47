"""Runs the remaining runs of a batch, a limited number at a time, within a budget; can be paused and stopped."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from app.batch.agent_process import AgentProgress
from app.batch.batch_run import StopReason
from app.batch.results import INTERRUPTED_RUN_REASON, BatchFolder
from app.batch.tasks import BatchPlan, BatchRun
from bayou.batch import BatchResult, Outcome


class BatchStarted(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="batch_started"):
    runs: int
    done: int
    """The number of runs that an earlier start has finished."""
    changed: int
    """The number of runs whose task has changed since their result; they run again."""
    jobs: int


class BatchRunStarted(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="run_started"):
    id: str
    key: str
    folder: str


class BatchRunEnded(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="run_ended"):
    result: BatchResult


class BatchEnded(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="batch_ended"):
    outcomes: dict[str, int]
    """The number of runs by outcome, including earlier starts."""
    left: int
    cost: float
    tokens: int
    stopped_by: str | None


class BatchMachineNotice(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="notice"):
    """A message about the machines that carry out the runs."""

    text: str


BatchEvent = BatchStarted | BatchRunStarted | BatchRunEnded | BatchMachineNotice | BatchEnded
BatchEndReason = Literal["done", "interrupted", "budget"]


class BatchProgress(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a batch that are finished and those that remain."""

    left: tuple[BatchRun, ...]
    results: dict[str, BatchResult]
    """The latest result of each run that need not run again, by key."""
    changed: int
    spent: float
    """The cost of all results, including those of runs that run again."""


def batch_progress(
    batch: BatchPlan, results: Iterable[BatchResult], retry: frozenset[Outcome]
) -> BatchProgress:
    """Compares the runs of a batch with the results of earlier starts."""
    latest: dict[str, BatchResult] = {}
    spent = 0.0
    for result in results:
        latest[result.key] = result
        spent += result.cost
    left: list[BatchRun] = []
    kept: dict[str, BatchResult] = {}
    changed = 0
    for run in batch.runs:
        result = latest.get(run.key)
        if result is not None and result.hash != run.hash:
            changed += 1
        elif result is not None and result.outcome not in retry and not _was_interrupted(result):
            kept[run.key] = result
            continue
        left.append(run)
    return BatchProgress(left=tuple(left), results=kept, changed=changed, spent=spent)


class ActiveBatchRun(Protocol):
    """A run that has been started, on this machine or on another."""

    run: BatchRun
    folder: Path
    """Where its result is stored."""
    started: float

    @property
    def state(self) -> AgentProgress: ...
    async def carry_out(self) -> BatchResult:
        """Returns the result; a failure is one too. A cancellation ends the run."""
        ...

    async def stop(self, reason: StopReason) -> None: ...
    async def live_session_file(self) -> Path | None:
        """Returns a file with the session as far as it is written."""
        ...


class StartBatchRun(Protocol):
    """Prepares a run, which calls `changed` when the state of its agent has changed."""

    def __call__(
        self, run: BatchRun, folder: Path, *, max_cost: float | None, changed: Callable[[], None]
    ) -> ActiveBatchRun: ...


class BatchRunPool:
    """Runs the remaining runs of a batch, `jobs` at a time."""

    def __init__(
        self,
        folder: BatchFolder,
        progress: BatchProgress,
        *,
        start: StartBatchRun,
        jobs: int,
        budget: float | None,
        tell: Callable[[BatchEvent], None],
    ) -> None:
        self._folder = folder
        self._start = start
        self._jobs = jobs
        self._on_event = tell
        self.budget = budget
        self.queue = deque(progress.left)
        self.total = len(progress.left) + len(progress.results)
        self._changed = progress.changed
        self.running: dict[str, ActiveBatchRun] = {}
        self.outcomes: Counter[str] = Counter(result.outcome for result in progress.results.values())
        self.started = time.monotonic()
        self.done_before = len(progress.results)
        self._cost = progress.spent
        self._tokens = sum(result.tokens for result in progress.results.values())
        self.is_paused = False
        self.stopped_by: StopReason | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._stop_tasks: set[asyncio.Task[None]] = set()
        self._wake_event = asyncio.Event()

    @property
    def path(self) -> Path:
        return self._folder.path

    def cost(self) -> float:
        """Returns the cost of all runs of the batch so far, including the active ones."""
        return self._cost + sum(run.state.cost for run in self.running.values())

    def tokens(self) -> int:
        return self._tokens + sum(run.state.tokens for run in self.running.values())

    def stop(self, reason: StopReason) -> None:
        """Cancels all runs and starts no further ones."""
        self.stopped_by = self.stopped_by or reason
        for run in self.running.values():
            self._stop_in_background(run, reason)
        self._wake_event.set()

    def stop_run(self, key: str) -> None:
        """Cancels one run, which is not run again unless it is asked for."""
        if (run := self.running.get(key)) is not None:
            self._stop_in_background(run, "person")

    def pause(self, is_paused: bool) -> None:
        """Pauses or resumes the start of further runs; active runs continue."""
        self.is_paused = is_paused
        self._wake_event.set()

    def resize(self, jobs: int) -> None:
        """Changes how many runs are active at a time; active runs continue."""
        self._jobs = jobs
        self._wake_event.set()

    async def run(self) -> BatchEndReason:
        """Runs until all runs have ended. Raises `BatchError` if a result cannot be written."""
        done = self.total - len(self.queue)
        self._on_event(BatchStarted(runs=self.total, done=done, changed=self._changed, jobs=self._jobs))
        try:
            while self._start_runs():
                await self._wake_event.wait()
                self._wake_event.clear()
                for task in [task for task in self._tasks if task.done()]:
                    self._tasks.discard(task)
                    await task
        except BaseException:
            self.stop("interrupted")
            await asyncio.gather(*self._tasks, *self._stop_tasks, return_exceptions=True)
            raise
        await asyncio.gather(*self._stop_tasks)
        self._on_event(
            BatchEnded(
                outcomes=dict(self.outcomes),
                left=len(self.queue),
                cost=self._cost,
                tokens=self._tokens,
                stopped_by=self.stopped_by,
            )
        )
        match self.stopped_by:
            case None:
                return "done"
            case "budget":
                return "budget"
            case _:
                return "interrupted"

    def _start_runs(self) -> bool:
        """Starts as many runs as there may be; returns whether there is something to wait for."""
        while self.queue and self.stopped_by is None and not self.is_paused and len(self._tasks) < self._jobs:
            if self.budget is not None and self.cost() >= self.budget:
                self.stop("budget")
                break
            task = asyncio.ensure_future(self._run_one(self.queue.popleft()))
            self._tasks.add(task)
            task.add_done_callback(lambda _: self._wake_event.set())
        return bool(self._tasks) or (bool(self.queue) and self.stopped_by is None)

    async def _run_one(self, run: BatchRun) -> None:
        max_cost = None if self.budget is None else self.budget - self.cost()
        folder = self._folder.create_run_folder(run)
        carried = self._start(run, folder, max_cost=max_cost, changed=self._on_run_changed)
        self.running[run.key] = carried
        self._on_event(BatchRunStarted(id=run.task.id, key=run.key, folder=f"runs/{folder.name}"))
        try:
            result = await carried.carry_out()
        finally:
            del self.running[run.key]
        self._folder.append_result(result)
        self.outcomes[result.outcome] += 1
        self._cost += result.cost
        self._tokens += result.tokens
        self._on_event(BatchRunEnded(result=result))

    def _on_run_changed(self) -> None:
        if self.budget is not None and self.cost() >= self.budget:
            self.stop("budget")

    def _stop_in_background(self, run: ActiveBatchRun, reason: StopReason) -> None:
        stopping = asyncio.ensure_future(run.stop(reason))
        self._stop_tasks.add(stopping)
        stopping.add_done_callback(self._stop_tasks.discard)


def _was_interrupted(result: BatchResult) -> bool:
    return result.outcome == "cancelled" and result.reason == INTERRUPTED_RUN_REASON
