"""The content of a batch's table: its runs as rows, and its progress in two lines."""

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from app.batch.pool import (
    ActiveBatchRun,
    BatchEnded,
    BatchEvent,
    BatchMachineNotice,
    BatchRunEnded,
    BatchRunPool,
)
from app.batch.results import BATCH_RUN_OUTCOMES
from app.values.usage import format_dollars
from bayou.batch import BatchResult
from tools.number_formatting import (
    count_with_noun,
    draw_thin_progress_bar,
    format_seconds,
    format_token_count,
)
from tools.text_sanitizing import one_line
from widgets.lists.list_rows import ListRow, RowBadge, RowTone, make_column_heads

_MAX_RUNNING_ROWS = 100
_MAX_ENDED_ROWS = 200
"""The maximum number of rows of a running batch, so that a frame costs the same with any number of runs."""
_BATCH_PROGRESS_BAR_CELLS = 24
_MAX_REASON_AND_NOTICE_CHARS = 200
_PILL_CELLS = max(map(len, (*BATCH_RUN_OUTCOMES, "running"))) + 2
_COLUMN_TONES: tuple[tuple[int, RowTone], ...] = ((9, "muted"), (8, "text"), (9, "number"))
"""The cells and tones of the figures of a run: time, tokens and cost."""
COLUMN_HEADS = make_column_heads(
    "Run",
    badges=("outcome".ljust(_PILL_CELLS),),
    detail="last line",
    right="".join(
        f"{head:>{size}}" for (size, _), head in zip(_COLUMN_TONES, ("time", "tokens", "cost"), strict=True)
    ),
)
ProgressPiece = tuple[str, RowTone]
"""A piece of a progress line: text and tone."""
_RUN_OUTCOME_TONES: dict[str, RowTone] = {
    "passed": "success",
    "failed": "error",
    "error": "error",
    "limit": "warning",
    "timeout": "warning",
    "cancelled": "muted",
}


class BatchTableData:
    """The data that the table of a batch shows, of a running batch or of the results of one that has ended."""

    def __init__(
        self,
        out: Path,
        results: Sequence[BatchResult] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.batch_folder = out
        self._clock = clock
        self.pool: BatchRunPool | None = None
        self.ended: BatchEnded | None = None
        self.changes = 0
        """Counts what has changed in the table."""
        self._notice = ""
        self._results = {result.key: result for result in results}
        self._latest_ended = deque(self._results, maxlen=None if results else _MAX_ENDED_ROWS)
        """The keys of ended runs whose rows are shown, the last one last."""

    @property
    def is_running(self) -> bool:
        return self.pool is not None and self.ended is None

    def handle_event(self, event: BatchEvent) -> None:
        """Updates the batch's rows and totals from an event."""
        self.changes += 1
        if isinstance(event, BatchRunEnded):
            if len(self._latest_ended) == self._latest_ended.maxlen:
                self._results.pop(self._latest_ended[0], None)
            self._results[event.result.key] = event.result
            self._latest_ended.append(event.result.key)
        elif isinstance(event, BatchMachineNotice):
            self._notice = event.text
        elif isinstance(event, BatchEnded):
            self.ended = event

    def find_result(self, key: str) -> BatchResult | None:
        return self._results.get(key)

    def find_running_batch_run(self, key: str) -> ActiveBatchRun | None:
        return self.pool.running.get(key) if self.pool is not None else None

    def run_rows(self) -> list[ListRow]:
        """Returns the rows of the batch's table: first the running runs, then the latest ended ones; of an ended batch
        all its runs."""
        running = list(self.pool.running.values()) if self.pool is not None else []
        rows = [_running_row(run, self._clock()) for run in running[:_MAX_RUNNING_ROWS]]
        if self.pool is None:
            return [_ended_row(self._results[key]) for key in self._latest_ended]
        return rows + [_ended_row(self._results[key]) for key in reversed(self._latest_ended)]

    def progress_lines(self, width: int) -> tuple[list[ProgressPiece], list[ProgressPiece]]:
        """Returns the two lines above a batch's table: how many runs are done, and the tokens, cost and time that they
        have used."""
        pool = self.pool
        if pool is None:
            return self._ended_batch_lines()
        done = sum(pool.outcomes.values())
        cells = max(8, min(_BATCH_PROGRESS_BAR_CELLS, width - 60))
        filled = draw_thin_progress_bar(done, pool.total, cells).rstrip()
        bar: list[ProgressPiece] = [(filled, "success"), ("─" * (cells - len(filled)), "dim")]
        share: ProgressPiece = (f"  {done}/{pool.total}", "strong")
        first = [*bar, share, *_outcome_pieces(pool.outcomes, len(pool.running))]
        spent = format_dollars(pool.cost())
        parts = [
            f"{format_token_count(pool.tokens())} tokens",
            f"{spent} of {format_dollars(pool.budget)}" if pool.budget is not None else spent,
            *self._rate_and_time_left(pool, done - pool.done_before, pool.total - done),
        ]
        told = " · ".join(filter(None, (*parts, one_line(self._notice)[:_MAX_REASON_AND_NOTICE_CHARS])))
        return first, [(told, "muted")]

    def _rate_and_time_left(self, pool: BatchRunPool, done: int, left: int) -> list[str]:
        if self.ended is not None:
            return ["stopped" if self.ended.stopped_by else "ended"]
        if pool.stopped_by is not None:
            return ["stopping"]
        seconds = self._clock() - pool.started
        rate = [_format_rate(done / seconds)] if done else []
        if pool.is_paused:
            return [*rate, "paused"]
        return [*rate, f"{format_seconds(left * seconds / done)} left"] if done and left else rate

    def _ended_batch_lines(self) -> tuple[list[ProgressPiece], list[ProgressPiece]]:
        results = list(self._results.values())
        counts = Counter(result.outcome for result in results)
        used = f"{format_token_count(sum(result.tokens for result in results))} tokens"
        cost = format_dollars(sum(result.cost for result in results))
        runs: ProgressPiece = (count_with_noun(len(results), "run"), "strong")
        return [runs, *_outcome_pieces(counts)], [(f"{used} · {cost}", "muted")]


def _outcome_pieces(counts: Mapping[str, int], running: int = 0) -> list[ProgressPiece]:
    """Returns how many runs have which outcome, each in its tone."""
    pieces: list[ProgressPiece] = [(f"{running} running", "accent")] if running else []
    for outcome in BATCH_RUN_OUTCOMES:
        if counts.get(outcome):
            pieces.append((f"{counts[outcome]} {outcome}", _RUN_OUTCOME_TONES[outcome]))
    gap: ProgressPiece = ("   ", "muted")
    out: list[ProgressPiece] = []
    for piece in pieces:
        out += [gap, piece]
    return out


def _outcome_badges(outcome: str, tone: RowTone) -> tuple[RowBadge, ...]:
    """Returns the state of a run as a pill, and blanks that align the text after it."""
    return (
        RowBadge(text=f" {outcome} ", tone=tone, is_pill=True),
        RowBadge(text=" " * (_PILL_CELLS - 2 - len(outcome)), gap=0),
    )


def _figures(seconds: float, used_tokens: int, cost: float) -> str:
    texts = (
        format_seconds(seconds),
        format_token_count(used_tokens) if used_tokens else "",
        format_dollars(cost) if used_tokens else "",
    )
    return "".join(f"{text:>{size}}" for (size, _), text in zip(_COLUMN_TONES, texts, strict=True))


def _running_row(run: ActiveBatchRun, now: float) -> ListRow:
    state = run.state
    return ListRow(
        id=run.run.key,
        title=one_line(run.run.key),
        badges=_outcome_badges("running", "accent"),
        detail=one_line(state.line),
        right=_figures(now - run.started, state.tokens, state.cost),
        right_tones=_COLUMN_TONES,
    )


def _ended_row(result: BatchResult) -> ListRow:
    answer = result.answer.split("\n", 1)[0]
    return ListRow(
        id=result.key,
        title=one_line(result.key),
        badges=_outcome_badges(result.outcome, _RUN_OUTCOME_TONES[result.outcome]),
        detail=one_line((result.reason or answer)[:_MAX_REASON_AND_NOTICE_CHARS]),
        right=_figures(result.seconds, result.tokens, result.cost),
        right_tones=_COLUMN_TONES,
    )


def _format_rate(each_second: float) -> str:
    by_minute = 60 * each_second
    return f"{by_minute:.1f} a minute" if by_minute >= 1 else f"{60 * by_minute:.1f} an hour"
