"""The page for `/usage`: tokens, cost and cache hits of all sessions by day, model, project or session, nested."""

import asyncio
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import msgspec

from app.engine.tree.session_paths import SessionPaths
from app.sessions.index.token_usage import (
    UNKNOWN_USAGE_GROUP_TITLE,
    USAGE_GROUPINGS,
    GroupFilter,
    Grouping,
    SessionDayModelUsage,
    SkippedUsageLine,
    TokenUsageGroup,
    TokenUsageReport,
    TokenUsageSum,
    filter_usage_parts,
    group_token_usage,
    sum_usage_parts,
)
from app.sessions.session_library import read_token_usage
from app.tui.features.usage.screen import (
    LEGEND_TONES,
    PlottedUsageDay,
    UsageRow,
    UsageScreen,
    UsageScreenContent,
)
from app.tui.page_protocols import AskOnScreen
from app.tui.status.header_and_footer import short_path
from app.values.usage import format_dollars
from tools.number_formatting import format_percentage, format_token_count
from widgets.screens.picker import PickerResult

_PLOTTED_DAYS = 30
"""The number of days in the plot."""


class UsagePage(msgspec.Struct, frozen=True):
    """Shows how many tokens and how much money all of the user's sessions used."""

    places: SessionPaths
    cache: Path
    ask: AskOnScreen
    home: Path

    async def open(self) -> None:
        found = await asyncio.to_thread(read_token_usage, self.places.sessions_root, self.cache)
        await _UsageScreenState(found, self.home).open(self.ask)


class _UsageScreenState:
    """The grouping and filters of one opened usage screen."""

    def __init__(self, found: TokenUsageReport, home: Path) -> None:
        self._report = found
        self._home = home
        self._filters: list[tuple[GroupFilter, str]] = []
        """The chosen filters, each within the one before, with their labels."""
        self._grouping: Grouping = USAGE_GROUPINGS[0]

    async def open(self, ask: AskOnScreen) -> None:
        """Shows the usage screen; Enter opens the parts of a sum, and Escape returns from them."""
        current = ""
        while True:
            picked: PickerResult | None = await ask(
                UsageScreen(self._make_view(), current=current), on_request=self._handle_request
            )
            if picked is None:
                if not self._filters:
                    return
                (self._grouping, current), _ = self._filters.pop()
                continue
            current = picked.row.id
            if len(self._unused_groupings()) > 1:
                self._filters.append(((self._grouping, current), picked.row.title))
                self._grouping, current = self._unused_groupings()[0], ""

    def _unused_groupings(self) -> list[Grouping]:
        taken = {by for (by, _), _ in self._filters}
        return [way for way in USAGE_GROUPINGS if way not in taken]

    async def _handle_request(self, request: UsageScreen.ActionRequested) -> None:
        if isinstance(request.screen, UsageScreen):
            ways, step = self._unused_groupings(), 1 if request.action == "app.usage.next" else -1
            self._grouping = ways[(ways.index(self._grouping) + step) % len(ways)]
            request.screen.show_view(self._make_view())

    def _make_view(self) -> UsageScreenContent:
        parts = filter_usage_parts(self._report.parts, [within for within, _ in self._filters])
        whole = sum_usage_parts(parts)
        legend = _legend_models(parts)
        within = "".join(f" · {name}" for _, name in self._filters)
        return UsageScreenContent(
            title=f"Usage by {self._grouping}{within}",
            heading=self._grouping.capitalize(),
            note=_usage_text(whole),
            days=_plotted_usage(parts, legend, date.today(), is_money=bool(whole.cost)),
            legend=legend,
            rows=tuple(
                self._usage_row(found, legend, is_money=bool(whole.cost))
                for found in group_token_usage(parts, self._grouping)
            ),
            skipped=() if self._filters else tuple(_skipped_row(one) for one in self._report.skipped),
        )

    def _usage_row(self, found: TokenUsageGroup, legend: Sequence[str], *, is_money: bool) -> UsageRow:
        title = found.title
        if self._grouping == "project" and found.id:
            title = short_path(Path(found.id), self._home)
        elif self._grouping == "day" and found.id != UNKNOWN_USAGE_GROUP_TITLE:
            title = format_weekday_and_date(date.fromisoformat(found.id))
        used = found.usage
        return UsageRow(
            id=found.id,
            title=title,
            detail=short_path(Path(found.session.cwd), self._home)
            if found.session and found.session.cwd
            else "",
            amount=used.cost if is_money else used.tokens,
            tone=LEGEND_TONES[_part_of_legend(found.id, legend)] if self._grouping == "model" else "accent",
            figures=(
                f"{used.answers:,}",
                format_token_count(used.tokens),
                _cached_share(used),
                format_dollars(used.cost),
            ),
        )


def format_weekday_and_date(day: date) -> str:
    """Returns a day as people say it: `Mon Nov 23`, with its year if it is another one."""
    year = "" if day.year == date.today().year else f" {day.year}"
    return f"{day:%a %b} {day.day}{year}"


def _usage_text(used: TokenUsageSum) -> str:
    cached = _cached_share(used)
    return " · ".join(
        filter(
            None,
            (
                format_dollars(used.cost),
                f"{format_token_count(used.tokens)} tokens",
                cached and f"{cached} cached",
            ),
        )
    )


def _cached_share(used: TokenUsageSum) -> str:
    return "" if used.cached_percentage is None else format_percentage(used.cached_percentage)


def _legend_models(parts: Sequence[SessionDayModelUsage]) -> tuple[str, ...]:
    """Returns the names of the models whose usage the plot tells apart, the most used first, and one name for all
    others."""
    models = [found.id for found in group_token_usage(parts, "model")]
    most = len(LEGEND_TONES) - 1
    return (*models[:most], *(["others"] if len(models) > most else []))


def _part_of_legend(model: str, legend: Sequence[str]) -> int:
    return legend.index(model) if model in legend else len(legend) - 1


def _plotted_usage(
    parts: Sequence[SessionDayModelUsage], legend: Sequence[str], today: date, *, is_money: bool
) -> tuple[PlottedUsageDay, ...]:
    sums = {found.id: found.usage for found in group_token_usage(parts, "day")}
    amounts: dict[str, list[float]] = {}
    for part in parts:
        amount = part.usage.cost if is_money else part.usage.tokens
        amounts.setdefault(part.day, [0.0] * len(legend))[_part_of_legend(part.model, legend)] += amount
    shown: list[PlottedUsageDay] = []
    for back in range(_PLOTTED_DAYS - 1, -1, -1):
        day = today - timedelta(days=back)
        used = sums.get(day.isoformat(), TokenUsageSum())
        shown.append(
            PlottedUsageDay(
                name=format_weekday_and_date(day),
                amounts=tuple(amounts.get(day.isoformat(), ())),
                figure=format_dollars(used.cost) if is_money else format_token_count(used.tokens),
            )
        )
    return tuple(shown)


def _skipped_row(one: SkippedUsageLine) -> tuple[str, str]:
    name = Path(one.path).name
    return one.why, f"line {one.line} of {name}" if one.line else name
