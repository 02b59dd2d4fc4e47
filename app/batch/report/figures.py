"""The figures of a report over one or several batches: rates by model, prompt and setting, comparisons, reasons."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

import msgspec

from app.batch.report.statistics import Quantiles, Rate, quantiles_of, rate_of, sign_test
from app.batch.results import read_results
from app.batch.tasks import BatchError
from bayou.batch import BatchResult


class ReportedRun(msgspec.Struct, frozen=True, kw_only=True):
    """The latest result of one run, with the folder of its batch."""

    batch: str
    result: BatchResult


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The runs that have one model, prompt or setting."""

    name: str
    rate: Rate
    cost: Quantiles
    seconds: Quantiles
    tokens: Quantiles


class Grouping(msgspec.Struct, frozen=True, kw_only=True):
    by: str
    groups: tuple[Group, ...]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two groups on the tasks that both have run."""

    by: str
    first: str
    second: str
    tasks: int
    first_better: int
    """The number of tasks of which the first group passed a larger share."""
    second_better: int
    p: float


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    outcome: str
    reason: str
    count: int
    examples: tuple[str, ...]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    batches: tuple[str, ...]
    outcomes: dict[str, int]
    spent: float
    all: Group
    groupings: tuple[Grouping, ...]
    comparisons: tuple[Comparison, ...]
    failures: tuple[Failure, ...]


_MAX_EXAMPLES = 3
_KEYS: dict[str, Callable[[ReportedRun], str]] = {
    "batch": lambda run: run.batch,
    "model": lambda run: run.result.model or "the default model",
    "label": lambda run: run.result.label or "none",
    "setting": lambda run: (
        " · ".join(filter(None, (_thinking(run.result), run.result.permissions))) or "default"
    ),
    "prompt": lambda run: run.result.prompt,
}
_COMPARED = ("batch", "model")
"""The properties in which runs of the same task can be compared."""


def latest_runs(folders: Sequence[Path]) -> list[ReportedRun]:
    """Returns the latest result of each run of these batches. Raises `BatchError` for a folder that is none."""
    found: list[ReportedRun] = []
    for folder in folders:
        if not (folder / "batch.json").is_file():
            raise BatchError(f"{folder}: this is no folder of a batch. Name the --out of `bayou batch`.")
        latest = {result.key: result for result in read_results(folder)}
        found += (ReportedRun(batch=str(folder), result=result) for result in latest.values())
    return found


def report_on(folders: Sequence[Path], runs: Sequence[ReportedRun]) -> Report:
    """Computes the figures. A cancelled run says nothing about a model; it is only counted by its outcome."""
    counted = [run for run in runs if run.result.outcome != "cancelled"]
    groupings = tuple(_groupings(counted))
    return Report(
        batches=tuple(map(str, folders)),
        outcomes=dict(Counter(run.result.outcome for run in runs)),
        spent=sum(run.result.cost for run in runs),
        all=_group("all", counted),
        groupings=groupings,
        comparisons=tuple(_comparisons(counted)),
        failures=tuple(_failures(runs)),
    )


def _groupings(runs: Sequence[ReportedRun]) -> Iterator[Grouping]:
    """Yields the groupings: by model, and by all else that varies. Prompts are compared only if they are
    templates."""
    for by, key in _KEYS.items():
        parts: defaultdict[str, list[ReportedRun]] = defaultdict(list)
        for run in runs:
            parts[key(run)].append(run)
        if by == "prompt" and len(parts) >= len({run.result.id for run in runs}):
            continue
        if len(parts) > 1 or (by == "model" and parts):
            groups = [_group(name, some) for name, some in parts.items()]
            groups.sort(key=lambda group: (-group.rate.rate, group.name))
            yield Grouping(by=by, groups=tuple(groups))


def _group(name: str, runs: Sequence[ReportedRun]) -> Group:
    results = [run.result for run in runs]
    return Group(
        name=name,
        rate=rate_of(sum(result.outcome == "passed" for result in results), len(results)),
        cost=quantiles_of([result.cost for result in results]),
        seconds=quantiles_of([result.seconds for result in results]),
        tokens=quantiles_of([float(result.tokens) for result in results]),
    )


def _comparisons(runs: Sequence[ReportedRun]) -> Iterator[Comparison]:
    for by in _COMPARED:
        others = [_KEYS[one] for one in _COMPARED if one != by]
        shares: defaultdict[str, defaultdict[tuple[str, ...], list[bool]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for run in runs:
            task = (run.result.id, *(other(run) for other in others))
            shares[_KEYS[by](run)][task].append(run.result.outcome == "passed")
        for first, second in combinations(sorted(shares), 2):
            common = shares[first].keys() & shares[second].keys()
            if not common:
                continue
            differences = [_share(shares[first][task]) - _share(shares[second][task]) for task in common]
            better, worse = sum(one > 0 for one in differences), sum(one < 0 for one in differences)
            yield Comparison(
                by=by,
                first=first,
                second=second,
                tasks=len(common),
                first_better=better,
                second_better=worse,
                p=sign_test(better, worse),
            )


def _failures(runs: Iterable[ReportedRun]) -> Iterator[Failure]:
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for run in runs:
        if run.result.outcome != "passed":
            found[run.result.outcome, run.result.reason].append(run.result.key)
    for (outcome, reason), keys in sorted(found.items(), key=lambda one: (-len(one[1]), one[0])):
        yield Failure(outcome=outcome, reason=reason, count=len(keys), examples=tuple(keys[:_MAX_EXAMPLES]))


def _share(passed: Sequence[bool]) -> float:
    return sum(passed) / len(passed)


def _thinking(result: BatchResult) -> str:
    return f"thinking {result.thinking}" if result.thinking is not None else ""
