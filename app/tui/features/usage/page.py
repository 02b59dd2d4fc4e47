"""`/usage`: tokens, cost and cache hits of all sessions by day, model, project or session, nested."""

import asyncio
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import msgspec

from app.engine.tree.session_paths import SessionPaths
from app.sessions.index.usage import (
    GROUPINGS,
    UNKNOWN,
    GroupFilter,
    Grouping,
    SkippedUsage,
    UsageGroup,
    UsagePart,
    UsageReport,
    UsageSum,
    group_usage,
    matching_parts,
    sum_parts,
)
from app.sessions.session_library import usage_in
from app.tui.features.usage.screen import UsageDay, UsageRow, UsageScreen, UsageView
from app.tui.page_protocols import AskPerson
from app.tui.status.header_and_footer import short_path
from app.values.usage import format_dollars
from tools.amounts import percentage, tokens
from widgets.screens.picker import Picked

_DAYS = 30
"""The number of days in the plot."""


class UsagePage(msgspec.Struct, frozen=True):
    """Shows the user's usage over all sessions."""

    places: SessionPaths
    cache: Path
    ask: AskPerson
    home: Path

    async def open(self) -> None:
        found = await asyncio.to_thread(usage_in, self.places.root, self.cache)
        await _OpenUsage(found, self.home).open(self.ask)


class _OpenUsage:
    """The state of one opened usage screen."""

    def __init__(self, found: UsageReport, home: Path) -> None:
        self._found = found
        self._home = home
        self._within: list[tuple[GroupFilter, str]] = []
        """The chosen filters, each within the one before, with their labels."""
        self._by: Grouping = GROUPINGS[0]

    async def open(self, ask: AskPerson) -> None:
        """Shows the screen; Enter opens the parts of a sum, and Escape returns from them."""
        current = ""
        while True:
            picked: Picked | None = await ask(
                UsageScreen(self._view(), current=current), on_request=self._requested
            )
            if picked is None:
                if not self._within:
                    return
                (self._by, current), _ = self._within.pop()
                continue
            current = picked.row.id
            if len(self._free_groupings()) > 1:
                self._within.append(((self._by, current), picked.row.title))
                self._by, current = self._free_groupings()[0], ""

    def _free_groupings(self) -> list[Grouping]:
        taken = {by for (by, _), _ in self._within}
        return [way for way in GROUPINGS if way not in taken]

    async def _requested(self, request: UsageScreen.ActionRequested) -> None:
        if isinstance(request.screen, UsageScreen):
            ways, step = self._free_groupings(), 1 if request.action == "app.usage.next" else -1
            self._by = ways[(ways.index(self._by) + step) % len(ways)]
            request.screen.show_view(self._view())

    def _view(self) -> UsageView:
        parts = matching_parts(self._found.parts, [within for within, _ in self._within])
        whole = sum_parts(parts)
        within = "".join(f" · {name}" for _, name in self._within)
        return UsageView(
            title=f"Usage by {self._by}{within}",
            note=_usage_text(whole),
            days=_days(parts, date.today(), is_money=bool(whole.cost)),
            rows=tuple(self._row(found, is_money=bool(whole.cost)) for found in group_usage(parts, self._by)),
            left_out=() if self._within else tuple(_left_out(one) for one in self._found.left_out),
        )

    def _row(self, found: UsageGroup, *, is_money: bool) -> UsageRow:
        title = found.title
        if self._by == "project" and found.id:
            title = short_path(Path(found.id), self._home)
        elif self._by == "day" and found.id != UNKNOWN:
            title = f"{found.id} {date.fromisoformat(found.id):%a}"
        used = found.used
        return UsageRow(
            id=found.id,
            title=title,
            detail=short_path(Path(found.session.cwd), self._home)
            if found.session and found.session.cwd
            else "",
            amount=used.cost if is_money else used.tokens,
            figures=(f"{used.answers:,}", tokens(used.tokens), _cached(used), format_dollars(used.cost)),
        )


def _usage_text(used: UsageSum) -> str:
    cached = _cached(used)
    return " · ".join(
        filter(
            None, (format_dollars(used.cost), f"{tokens(used.tokens)} tokens", cached and f"{cached} cached")
        )
    )


def _cached(used: UsageSum) -> str:
    return "" if used.cached is None else percentage(used.cached)


def _days(parts: Sequence[UsagePart], today: date, *, is_money: bool) -> tuple[UsageDay, ...]:
    sums = {found.id: found.used for found in group_usage(parts, "day")}
    shown: list[UsageDay] = []
    for back in range(_DAYS - 1, -1, -1):
        day = today - timedelta(days=back)
        used = sums.get(day.isoformat(), UsageSum())
        shown.append(
            UsageDay(
                name=day.isoformat(),
                amount=used.cost if is_money else used.tokens,
                figure=format_dollars(used.cost) if is_money else tokens(used.tokens),
            )
        )
    return tuple(shown)


def _left_out(one: SkippedUsage) -> tuple[str, str]:
    name = Path(one.path).name
    return one.why, f"line {one.line} of {name}" if one.line else name
