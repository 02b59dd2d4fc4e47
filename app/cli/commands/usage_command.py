"""Implements `bayou usage`: sums up the usage of all sessions, as tables for people and as JSON for
scripts."""

import os
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from app.assembly.command_line_options import UsageError
from app.cli.change_folder import current_folder
from app.cli.usage_page import UsagePageRow, UsagePageTable, usage_page
from app.printing import print_json, print_line, print_problem, print_text, safe_text
from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from app.sessions.index.token_usage import (
    USAGE_GROUPINGS,
    Grouping,
    SessionDayModelUsage,
    SkippedUsageLine,
    TokenUsageGroup,
    TokenUsageReport,
    TokenUsageSum,
    group_token_usage,
    recent_usage_parts,
    sum_usage_parts,
)
from app.sessions.session_library import read_token_usage
from app.values.usage import format_dollars
from tools.number_formatting import (
    count_with_noun,
    draw_block_progress_bar,
    format_percentage,
    format_token_count,
)

_USAGE_COMMAND_USAGE_TEXT = (
    "bayou usage [--by day|model|project|session] [--days N] [--json | --html]\n\nShows answers, "
    "tokens, cache hits and cost of all sessions. What a fork shares with its parent is "
    "counted once.\n\n  --by WAY   one complete table; without it the first ten rows of each "
    "table\n  --days N   only the last N days, including today\n  --json     print "
    "everything as JSON\n  --html     print everything as a page: bayou usage --html > usage.html\n"
)
_MAX_USAGE_NAME_CELLS = 44
_MAX_USAGE_ROWS = 10
_USAGE_BAR_CELLS = 12
_USAGE_COLUMN_NAMES = ("answers", "input", "output", "cached", "cost")


class _UsageArguments(msgspec.Struct, kw_only=True):
    """The arguments of `bayou usage`."""

    by: Grouping | None = None
    days: int | None = None
    json: bool = False
    html: bool = False


def run(words: list[str]) -> int:
    if {"-h", "--help"} & set(words):
        print_text(_USAGE_COMMAND_USAGE_TEXT)
        return 0
    wanted = _parse_arguments(words)
    paths = BayouPaths.from_env(os.environ, current_folder())
    named = EffectiveSettings(paths).settings.sessions.session_dir
    found = read_token_usage(Path(named).expanduser() if named else paths.sessions_dir, paths.cache_dir)
    parts = (
        list(found.parts)
        if wanted.days is None
        else recent_usage_parts(found.parts, wanted.days, date.today())
    )
    if wanted.json:
        print_json(_usage_data(parts, found))
        return 0
    ways = USAGE_GROUPINGS if wanted.by is None else (wanted.by,)
    if wanted.html:
        tables = [_html_table(group_token_usage(parts, by), by, paths.home) for by in ways if parts]
        skipped = [f"{_entry_location(one)}: {one.why}" for one in found.skipped]
        print_text(usage_page(_usage_text(sum_usage_parts(parts)), tables, skipped) + "\n")
        return 0
    lines = [_usage_text(sum_usage_parts(parts))]
    for by in ways if parts else ():
        lines += [
            "",
            *_table_lines(
                group_token_usage(parts, by), by, None if wanted.by else _MAX_USAGE_ROWS, paths.home
            ),
        ]
    print_line("\n".join(lines))
    for one in found.skipped:
        print_problem(f"skipped: {_entry_location(one)}: {one.why}")
    return 0


def _parse_arguments(words: list[str]) -> _UsageArguments:
    wanted, rest = _UsageArguments(), list(words)
    while rest:
        word = rest.pop(0)
        if word in ("--json", "--html"):
            setattr(wanted, word.removeprefix("--"), True)
        elif word == "--by":
            by = rest.pop(0) if rest else ""
            wanted.by = next((way for way in USAGE_GROUPINGS if way == by), None)
            if wanted.by is None:
                raise UsageError(f"--by takes one of {', '.join(USAGE_GROUPINGS)}.")
        elif word == "--days":
            days = rest.pop(0) if rest else ""
            if not (days.isascii() and days.isdecimal() and 0 < int(days) <= 100_000):
                raise UsageError("--days takes a number of days, 1 or more.")
            wanted.days = int(days)
        else:
            raise UsageError(f"Unknown option: {word}. bayou usage --help lists the options.")
    if wanted.json and wanted.html:
        raise UsageError("--json and --html exclude each other.")
    return wanted


def _usage_text(used: TokenUsageSum) -> str:
    if not used.answers:
        return "No usage recorded yet."
    answers = count_with_noun(used.answers, "answer")
    tokens = f"{format_token_count(used.tokens)} tokens"
    return f"{format_dollars(used.cost)} · {tokens} · {_cached_share(used)} cached · {answers}"


def _table_lines(sums: list[TokenUsageGroup], by: Grouping, most: int | None, home: Path) -> list[str]:
    shown = sums[:most]
    is_money = any(found.usage.cost for found in sums)
    largest = max(_usage_amount(found.usage, is_money=is_money) for found in sums)
    titles = [_group_title(found, by, home) for found in shown]
    width = max(len(by), *map(len, titles))
    lines = [
        f"{by:{width}}  {'':{_USAGE_BAR_CELLS}}" + "".join(f"{word:>10}" for word in _USAGE_COLUMN_NAMES)
    ]
    for found, title in zip(shown, titles, strict=True):
        drawn = draw_block_progress_bar(
            _usage_amount(found.usage, is_money=is_money), largest, _USAGE_BAR_CELLS
        )
        lines.append(
            f"{title:{width}}  {drawn}" + "".join(f"{one:>10}" for one in _shown_figures(found.usage))
        )
    if len(sums) > len(shown):
        lines.append(f"… {len(sums) - len(shown)} more: bayou usage --by {by}")
    return lines


def _shown_figures(used: TokenUsageSum) -> tuple[str, ...]:
    return (
        f"{used.answers:,}",
        format_token_count(used.tokens - used.output),
        format_token_count(used.output),
        _cached_share(used),
        format_dollars(used.cost),
    )


def _html_table(sums: list[TokenUsageGroup], by: Grouping, home: Path) -> UsagePageTable:
    is_money = any(found.usage.cost for found in sums)
    largest = max((_usage_amount(found.usage, is_money=is_money) for found in sums), default=0) or 1
    rows = tuple(
        UsagePageRow(
            title=_group_title(found, by, home).rstrip(),
            share=_usage_amount(found.usage, is_money=is_money) / largest,
            figures=_shown_figures(found.usage),
        )
        for found in sums
    )
    return UsagePageTable(title=by, head=_USAGE_COLUMN_NAMES, rows=rows)


def _group_title(found: TokenUsageGroup, by: Grouping, home: Path) -> str:
    title = safe_text(" ".join(found.title.split()))  # its width is that of what is printed
    if found.session is not None:
        id_ = found.session.id[-8:]
        return f"{title[: _MAX_USAGE_NAME_CELLS - 10]:{_MAX_USAGE_NAME_CELLS - 10}}  {id_}"
    if by == "project" and (title == str(home) or title.startswith(f"{home}{os.sep}")):
        title = "~" + title[len(str(home)) :]
    return title if len(title) <= _MAX_USAGE_NAME_CELLS else f"…{title[1 - _MAX_USAGE_NAME_CELLS :]}"


def _usage_amount(used: TokenUsageSum, *, is_money: bool) -> float:
    return used.cost if is_money else used.tokens


def _cached_share(used: TokenUsageSum) -> str:
    return "–" if used.cached_percentage is None else format_percentage(used.cached_percentage)


def _entry_location(one: SkippedUsageLine) -> str:
    return f"{one.path}, line {one.line}" if one.line else one.path


def _usage_data(parts: list[SessionDayModelUsage], found: TokenUsageReport) -> dict[str, Any]:
    return {
        "total": _usage_figures(sum_usage_parts(parts)),
        "days": [{"day": one.id, **_usage_figures(one.usage)} for one in group_token_usage(parts, "day")],
        "models": [
            {"model": one.id, **_usage_figures(one.usage)} for one in group_token_usage(parts, "model")
        ],
        "projects": [
            {"project": one.id, **_usage_figures(one.usage)} for one in group_token_usage(parts, "project")
        ],
        "sessions": [
            {
                "id": one.session.id,
                "title": one.title,
                "project": one.session.cwd,
                "file": one.id,
                **_usage_figures(one.usage),
            }
            for one in group_token_usage(parts, "session")
            if one.session is not None
        ],
        "leftOut": [
            {
                "file": one.path,
                "line": one.line or None,
                "why": one.why,
            }
            for one in found.skipped
        ],
    }


def _usage_figures(used: TokenUsageSum) -> dict[str, Any]:
    return {
        "answers": used.answers,
        "input": used.input,
        "output": used.output,
        "cacheRead": used.cache_read,
        "cacheWrite": used.cache_write,
        "tokens": used.tokens,
        "cachedPercent": None if used.cached_percentage is None else round(used.cached_percentage, 1),
        "cost": round(used.cost, 6),
    }
