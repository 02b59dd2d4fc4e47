"""Formats a report as lines for a terminal or as an HTML page, and its runs as CSV."""

import csv
import io
from collections.abc import Iterator, Sequence
from html import escape

from app.batch.report.batch_metrics import BatchReport, BatchRunGroup, ReportedBatchRun, RunGroupComparison
from app.printing import safe_text
from app.values.usage import format_dollars
from tools.number_formatting import (
    count_with_noun,
    draw_block_progress_bar,
    format_seconds,
    format_token_count,
)

_REPORT_BAR_CELLS = 20
_MAX_GROUP_NAME_CHARS = 40
_WIDE, _WIDEST = 120, 150
_HISTOGRAM_BAR_CHARACTERS = " ▁▂▃▄▅▆▇█"
_REPORT_COLUMN_NAMES = ("passed", "rate", "95 %", "cost p50", "p90", "total", "time p50", "p90", "tokens p50")
_RUN_CSV_FIELDS = (
    *(
        "id",
        "key",
        "number",
        "model",
        "thinking",
        "permissions",
        "label",
        "prompt",
        "commit",
        "outcome",
        "reason",
    ),
    *(
        "exit_code",
        "check_code",
        "turns",
        "tokens",
        "cost",
        "seconds",
        "agent_seconds",
        "started",
        "patch",
        "session",
    ),
)
_REPORT_PAGE_CSS = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222;"
    "background:#fff}table{border-collapse:collapse;margin:.5rem 0 2rem}th,td{padding:.2rem .8rem;text-align:right;"
    "border-bottom:1px solid #ddd}th:first-child,td:first-child{text-align:left}.bar{width:12rem;background:#eee;"
    "position:relative;height:1rem}.bar i,.bar b{position:absolute;top:0;height:100%}.bar i{background:#9cc3e6}"
    ".bar b{width:2px;background:#1b5e9b}@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}"
    "th,td{border-color:#444}.bar{background:#333}.bar i{background:#2f5f8a}.bar b{background:#9cc3e6}}"
)


def report_terminal_lines(report: BatchReport, columns: int) -> Iterator[str]:
    """Returns the lines; bars, tokens and distributions are left out if there is no room for them."""
    yield _total_line(report)
    cells = _REPORT_BAR_CELLS if columns >= _WIDE else 0
    head = (
        (*_REPORT_COLUMN_NAMES, *_distribution_headings(report))
        if columns >= _WIDEST
        else _REPORT_COLUMN_NAMES
        if cells
        else _REPORT_COLUMN_NAMES[:-1]
    )
    for grouping in report.groupings:
        names = [safe_text(group.name)[:_MAX_GROUP_NAME_CHARS] for group in grouping.groups]
        width = max(len(grouping.by), *map(len, names))
        rows = [_group_cells(group)[: len(head)] for group in grouping.groups]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        yield ""
        yield f"{grouping.by:{width}}  {'':{cells}}  " + _align_cells(head, widths)
        for name, group, row in zip(names, grouping.groups, rows, strict=True):
            drawn = draw_block_progress_bar(group.rate.rate, 1.0, cells) if cells else ""
            yield f"{name:{width}}  {drawn}  " + _align_cells(row, widths)
    if report.comparisons:
        yield ""
        yield "On the same tasks (sign test; a small p speaks for a difference)"
        yield from (f"  {_comparison_line(one)}" for one in report.comparisons)
    if report.failures:
        yield ""
        yield "Not passed"
        yield from (f"  {one.count:>5}  {one.outcome:<9}  {one.reason}" for one in report.failures)


def report_html_page(report: BatchReport) -> str:
    """Returns a batch's report as one self-contained HTML page."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>Batch report</title><style>{_REPORT_PAGE_CSS}</style><h1>Batch report</h1>",
        f"<p>{escape(', '.join(report.batches))}</p><p>{escape(_total_line(report))}</p>",
    ]
    for grouping in report.groupings:
        rows = "".join(_html_row(group) for group in grouping.groups)
        head = "".join(
            f"<th>{escape(name)}</th>"
            for name in (grouping.by, "", *_REPORT_COLUMN_NAMES, *_distribution_headings(report))
        )
        parts.append(f"<h2>By {escape(grouping.by)}</h2><table><tr>{head}</tr>{rows}</table>")
    if report.comparisons:
        items = "".join(f"<li>{escape(_comparison_line(one))}</li>" for one in report.comparisons)
        parts.append(
            f"<h2>On the same tasks</h2><p>Sign test; a small p speaks for a difference.</p><ul>{items}</ul>"
        )
    if report.failures:
        cells = [
            (one.outcome, one.reason, str(one.count), ", ".join(one.examples)) for one in report.failures
        ]
        rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in cells)
        head = "<tr><th>outcome</th><th>reason</th><th>runs</th><th>such as</th></tr>"
        parts.append(f"<h2>Not passed</h2><table>{head}{rows}</table>")
    return "\n".join(parts) + "\n"


def runs_csv_text(runs: Sequence[ReportedBatchRun]) -> str:
    """Returns the runs of a batch's report as CSV, one line for each."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("batch", *_RUN_CSV_FIELDS))
    for run in runs:
        writer.writerow((run.batch, *(getattr(run.result, name) for name in _RUN_CSV_FIELDS)))
    return text.getvalue()


def _total_line(report: BatchReport) -> str:
    told = ", ".join(f"{count} {outcome}" for outcome, count in report.outcomes.items()) or "none"
    count, whole = sum(report.outcomes.values()), report.all
    return (
        f"{count_with_noun(count, 'run')}: {told}.\n{_percent(whole.rate.rate)} passed "
        f"({_format_interval(whole)}), {format_dollars(report.spent)}, "
        f"{format_seconds(whole.seconds.total) or '0 s'} of work."
    )


def _group_cells(group: BatchRunGroup) -> tuple[str, ...]:
    return (
        f"{group.rate.passed}/{group.rate.of}",
        _percent(group.rate.rate),
        _format_interval(group),
        format_dollars(group.cost.median),
        format_dollars(group.cost.ninety),
        format_dollars(group.cost.total),
        format_seconds(group.seconds.median) or "0 s",
        format_seconds(group.seconds.ninety) or "0 s",
        format_token_count(round(group.tokens.median)),
        _distribution_bars(group.cost.bins),
        _distribution_bars(group.seconds.bins),
    )


def _distribution_headings(report: BatchReport) -> tuple[str, str]:
    whole = report.all
    return (
        f"cost 0–{format_dollars(whole.cost.most)}",
        f"time 0–{format_seconds(whole.seconds.most) or '0 s'}",
    )


def _distribution_bars(bins: Sequence[int]) -> str:
    """Draws a distribution as upright bars; any run is visible."""
    most = max(bins, default=0)
    return "".join(_HISTOGRAM_BAR_CHARACTERS[-(-8 * count // most)] for count in bins) if most else ""


def _align_cells(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _html_row(group: BatchRunGroup) -> str:
    low, high, rate = (round(100 * one, 2) for one in (group.rate.low, group.rate.high, group.rate.rate))
    drawn = f"<div class=bar><i style='left:{low}%;width:{high - low:.2f}%'></i><b style='left:{rate}%'></b></div>"
    cells = "".join(f"<td>{escape(cell)}</td>" for cell in _group_cells(group))
    return f"<tr><td>{escape(group.name)}</td><td>{drawn}</td>{cells}</tr>"


def _comparison_line(one: RunGroupComparison) -> str:
    better = f"{one.first} is better on {one.first_better}, {one.second} on {one.second_better}"
    return f"{one.first} and {one.second} on {count_with_noun(one.tasks, 'task')}: {better}, p = {one.p:.3g}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _format_interval(group: BatchRunGroup) -> str:
    return f"{100 * group.rate.low:.0f}–{100 * group.rate.high:.0f} %"
