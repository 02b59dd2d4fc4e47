"""The figures of a report over one or several batches: rates by model, prompt and setting, comparisons, reasons."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

import msgspec

from app.batch.report.report_statistics import (
    PassRate,
    Quantiles,
    compute_pass_rate,
    compute_quantiles,
    sign_test,
)
from app.batch.results import read_batch_results
from bayou.batch import BatchResult


class ReportedBatchRun(msgspec.Struct, frozen=True, kw_only=True):
    """The latest result of one run, with the folder of its batch."""

    batch: str
    result: BatchResult


class BatchRunGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The runs that have one model, prompt or setting."""

    name: str
    rate: PassRate
    cost: Quantiles
    seconds: Quantiles
    tokens: Quantiles


class BatchRunGrouping(msgspec.Struct, frozen=True, kw_only=True):
    by: str
    groups: tuple[BatchRunGroup, ...]


class RunGroupComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two groups on the tasks that both have run."""

    by: str
    first: str
    second: str
    tasks: int
    first_better: int
    """The number of tasks of which the first group passed a larger share."""
    second_better: int
    p: float


class FailedRunGroup(msgspec.Struct, frozen=True, kw_only=True):
    outcome: str
    reason: str
    count: int
    examples: tuple[str, ...]


class BatchReport(msgspec.Struct, frozen=True, kw_only=True):
    batches: tuple[str, ...]
    outcomes: dict[str, int]
    spent: float
    all: BatchRunGroup
    groupings: tuple[BatchRunGrouping, ...]
    comparisons: tuple[RunGroupComparison, ...]
    failures: tuple[FailedRunGroup, ...]


_MAX_FAILURE_EXAMPLES = 3
_RUN_GROUP_KEY_FUNCTIONS: dict[str, Callable[[ReportedBatchRun], str]] = {
    "batch": lambda run: run.batch,
    "model": lambda run: run.result.model or "the default model",
    "label": lambda run: run.result.label or "none",
    "setting": lambda run: (
        " · ".join(filter(None, (_thinking_label(run.result), run.result.permissions))) or "default"
    ),
    "prompt": lambda run: run.result.prompt,
}
_COMPARED_RUN_PROPERTIES = ("batch", "model")
"""The properties in which runs of the same task can be compared."""


def latest_batch_runs(folders: Sequence[Path]) -> list[ReportedBatchRun]:
    """Returns the latest result of each run of several batches. Raises `BatchError` for a folder that is not a
    batch's."""
    found: list[ReportedBatchRun] = []
    for folder in folders:
        latest = {result.key: result for result in read_batch_results(folder)}
        found += (ReportedBatchRun(batch=str(folder), result=result) for result in latest.values())
    return found


def compute_batch_report(folders: Sequence[Path], runs: Sequence[ReportedBatchRun]) -> BatchReport:
    """Computes the figures of a report. A cancelled run says nothing about a model; it is only counted by its
    outcome."""
    counted = [run for run in runs if run.result.outcome != "cancelled"]
    groupings = tuple(_groupings(counted))
    return BatchReport(
        batches=tuple(map(str, folders)),
        outcomes=dict(Counter(run.result.outcome for run in runs)),
        spent=sum(run.result.cost for run in runs),
        all=_make_group("all", counted, _largest_cost_and_time(counted)),
        groupings=groupings,
        comparisons=tuple(_comparisons(counted)),
        failures=tuple(_group_failures(runs)),
    )


def _groupings(runs: Sequence[ReportedBatchRun]) -> Iterator[BatchRunGrouping]:
    """Yields the groupings: by model, and by all else that varies. Prompts are compared only if they are
    templates."""
    largest = _largest_cost_and_time(runs)
    for by, key in _RUN_GROUP_KEY_FUNCTIONS.items():
        parts: defaultdict[str, list[ReportedBatchRun]] = defaultdict(list)
        for run in runs:
            parts[key(run)].append(run)
        if by == "prompt" and 2 * len(parts) > len({run.result.id for run in runs}):
            continue  # most tasks have different prompts
        if len(parts) > 1 or (by == "model" and parts):
            groups = [_make_group(name, some, largest) for name, some in parts.items()]
            groups.sort(key=lambda group: (-group.rate.rate, group.name))
            yield BatchRunGrouping(by=by, groups=tuple(groups))


def _largest_cost_and_time(runs: Sequence[ReportedBatchRun]) -> tuple[float, float]:
    """Returns the largest cost and time of a run, which the distributions of all groups end at."""
    results = [run.result for run in runs]
    return max((one.cost for one in results), default=0.0), max((one.seconds for one in results), default=0.0)


def _make_group(name: str, runs: Sequence[ReportedBatchRun], largest: tuple[float, float]) -> BatchRunGroup:
    results = [run.result for run in runs]
    return BatchRunGroup(
        name=name,
        rate=compute_pass_rate(sum(result.outcome == "passed" for result in results), len(results)),
        cost=compute_quantiles([result.cost for result in results], largest[0]),
        seconds=compute_quantiles([result.seconds for result in results], largest[1]),
        tokens=compute_quantiles([float(result.tokens) for result in results]),
    )


def _comparisons(runs: Sequence[ReportedBatchRun]) -> Iterator[RunGroupComparison]:
    for by in _COMPARED_RUN_PROPERTIES:
        others = [_RUN_GROUP_KEY_FUNCTIONS[one] for one in _COMPARED_RUN_PROPERTIES if one != by]
        shares: defaultdict[str, defaultdict[tuple[str, ...], list[bool]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for run in runs:
            task = (run.result.id, *(other(run) for other in others))
            shares[_RUN_GROUP_KEY_FUNCTIONS[by](run)][task].append(run.result.outcome == "passed")
        for first, second in combinations(sorted(shares), 2):
            common = shares[first].keys() & shares[second].keys()
            if not common:
                continue
            differences = [
                _passed_share(shares[first][task]) - _passed_share(shares[second][task]) for task in common
            ]
            better, worse = sum(one > 0 for one in differences), sum(one < 0 for one in differences)
            yield RunGroupComparison(
                by=by,
                first=first,
                second=second,
                tasks=len(common),
                first_better=better,
                second_better=worse,
                p=sign_test(better, worse),
            )


def _group_failures(runs: Iterable[ReportedBatchRun]) -> Iterator[FailedRunGroup]:
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for run in runs:
        if run.result.outcome != "passed":
            found[run.result.outcome, run.result.reason].append(run.result.key)
    for (outcome, reason), keys in sorted(found.items(), key=lambda one: (-len(one[1]), one[0])):
        yield FailedRunGroup(
            outcome=outcome, reason=reason, count=len(keys), examples=tuple(keys[:_MAX_FAILURE_EXAMPLES])
        )


def _passed_share(passed: Sequence[bool]) -> float:
    return sum(passed) / len(passed)


def _thinking_label(result: BatchResult) -> str:
    return f"thinking {result.thinking}" if result.thinking is not None else ""
