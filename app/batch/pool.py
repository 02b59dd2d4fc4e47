"""Runs the remaining runs of a batch with a pool of local processes, within a budget; can be paused and stopped."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import msgspec

from app.batch.one_run import RunInProgress, StopReason
from app.batch.results import INTERRUPTED_REASON, BatchFolder
from app.batch.tasks import Batch, Run
from app.batch.workspaces import Workspaces, commit_key
from bayou.batch import BatchResult, Outcome


class BatchStarted(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="batch_started"):
    runs: int
    done: int
    """The number of runs that an earlier start has finished."""
    changed: int
    """The number of runs whose task has changed since their result; they run again."""
    jobs: int


class RunStarted(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="run_started"):
    id: str
    key: str
    folder: str


class RunEnded(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="run_ended"):
    result: BatchResult


class BatchEnded(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="batch_ended"):
    outcomes: dict[str, int]
    """The number of runs by outcome, including earlier starts."""
    left: int
    cost: float
    tokens: int
    stopped_by: str | None


BatchEvent = BatchStarted | RunStarted | RunEnded | BatchEnded
End = Literal["done", "interrupted", "budget"]


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a batch that are finished and those that remain."""

    left: tuple[Run, ...]
    results: dict[str, BatchResult]
    """The latest result of each run that need not run again, by key."""
    changed: int
    spent: float
    """The cost of all results, including those of runs that run again."""


def progress_of(batch: Batch, results: Iterable[BatchResult], retry: frozenset[Outcome]) -> Progress:
    """Compares the runs of a batch with the results of earlier starts."""
    latest: dict[str, BatchResult] = {}
    spent = 0.0
    for result in results:
        latest[result.key] = result
        spent += result.cost
    left: list[Run] = []
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
    return Progress(left=tuple(left), results=kept, changed=changed, spent=spent)


class BatchPool:
    """Runs the remaining runs of a batch, `jobs` at a time."""

    def __init__(
        self,
        folder: BatchFolder,
        progress: Progress,
        workspaces: Workspaces,
        *,
        options: tuple[str, ...],
        commits: Mapping[str, str],
        jobs: int,
        budget: float | None,
        tell: Callable[[BatchEvent], None],
    ) -> None:
        self._folder = folder
        self._workspaces = workspaces
        self._options = options
        self._commits = commits
        self._jobs = jobs
        self._budget = budget
        self._tell = tell
        self.queue = deque(progress.left)
        self.total = len(progress.left) + len(progress.results)
        self._changed = progress.changed
        self.running: dict[str, RunInProgress] = {}
        self.outcomes: Counter[str] = Counter(result.outcome for result in progress.results.values())
        self.cost = progress.spent
        self.tokens = sum(result.tokens for result in progress.results.values())
        self._stopped_by: StopReason | None = None
        self._stops: set[asyncio.Task[None]] = set()

    def stop(self, reason: StopReason) -> None:
        """Cancels all runs and starts no further ones."""
        self._stopped_by = self._stopped_by or reason
        for run in self.running.values():
            self._stop(run, reason)

    async def run(self) -> End:
        """Runs until all runs have ended. Raises `BatchError` if a result cannot be written."""
        done = self.total - len(self.queue)
        self._tell(BatchStarted(runs=self.total, done=done, changed=self._changed, jobs=self._jobs))
        workers = [asyncio.ensure_future(self._run_queue()) for _ in range(min(self._jobs, len(self.queue)))]
        try:
            await asyncio.gather(*workers)
        except BaseException:
            self.stop("interrupted")
            await asyncio.gather(*workers, *self._stops, return_exceptions=True)
            raise
        await asyncio.gather(*self._stops)
        self._tell(
            BatchEnded(
                outcomes=dict(self.outcomes),
                left=len(self.queue),
                cost=self.cost,
                tokens=self.tokens,
                stopped_by=self._stopped_by,
            )
        )
        return (
            "done"
            if self._stopped_by is None
            else "budget"
            if self._stopped_by == "budget"
            else "interrupted"
        )

    async def _run_queue(self) -> None:
        while True:
            if not self.queue or self._stopped_by is not None:
                return
            if self._budget is not None and self._spent() >= self._budget:
                self.stop("budget")
                return
            await self._run_one(self.queue.popleft())

    async def _run_one(self, run: Run) -> None:
        task = run.task
        progress = RunInProgress(
            run,
            self._folder.run_folder(run),
            self._workspaces,
            commit=self._commits[commit_key(task)] if task.repo is not None else None,
            options=self._options,
            max_cost=None if self._budget is None else self._budget - self._spent(),
            changed=self._on_run_changed,
        )
        self.running[run.key] = progress
        self._tell(RunStarted(id=task.id, key=run.key, folder=f"runs/{progress.folder.name}"))
        try:
            result = await progress.carry_out()
        finally:
            del self.running[run.key]
        self._folder.append(result)
        self.outcomes[result.outcome] += 1
        self.cost += result.cost
        self.tokens += result.tokens
        self._tell(RunEnded(result=result))

    def _on_run_changed(self, run: RunInProgress) -> None:
        if self._budget is not None and self._spent() >= self._budget:
            self.stop("budget")

    def _spent(self) -> float:
        return self.cost + sum(run.state.cost for run in self.running.values())

    def _stop(self, run: RunInProgress, reason: StopReason) -> None:
        stopping = asyncio.ensure_future(run.stop(reason))
        self._stops.add(stopping)
        stopping.add_done_callback(self._stops.discard)


def _was_interrupted(result: BatchResult) -> bool:
    return result.outcome == "cancelled" and result.reason == INTERRUPTED_REASON
