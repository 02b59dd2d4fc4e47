"""What all sessions used: a plot of days, a table with bars, a file that is left out."""

from datetime import date
from pathlib import Path

import pytest

from app.sessions.index.token_usage import (
    SessionDayModelUsage,
    SessionOfUsage,
    SkippedUsageLine,
    TokenUsageReport,
    TokenUsageSum,
)
from tests.support.photographs import Photographs
from tests.support.screens import Screen

MODELS = ("anthropic/claude-opus-4-5", "anthropic/claude-sonnet-4-5", "openai/gpt-5.1-codex")
SESSIONS = (
    ("Four oars for every boat", "/boats"),
    ("Why does the harbour's clock go wrong twice a year?", "/harbour/clock"),
    ("Read the log of the lighthouse", "/lighthouse"),
)


class Today(date):
    @classmethod
    def today(cls) -> "Today":
        return cls(2026, 11, 23)


def found() -> TokenUsageReport:
    parts: list[SessionDayModelUsage] = []
    for day in range(1, 24):
        if day % 7 in (0, 1):
            continue
        title, project = SESSIONS[day % 3]
        session = SessionOfUsage(path=f"/{day % 3}.jsonl", id=f"{day % 3}", cwd=project, title=title)
        for number, model in enumerate(MODELS[: 1 + day % 3]):
            used = TokenUsageSum(
                answers=day * 5 + number,
                input=day * 900,
                output=day * 700 * (number + 1),
                cache_read=day * 60_000,
                cache_write=day * 3_000,
                cost=day * (day % 5 + 1) * 0.11 / (number + 1),
            )
            parts.append(
                SessionDayModelUsage(session=session, day=f"2026-11-{day:02}", model=model, usage=used)
            )
    left_out = (SkippedUsageLine(path="/boats/torn.jsonl", line=17, why="its usage cannot be read"),)
    return TokenUsageReport(parts=tuple(parts), skipped=left_out)


async def test_usage(screen: Screen, photographs: Photographs, monkeypatch: pytest.MonkeyPatch) -> None:
    def known(root: Path, cache: Path) -> TokenUsageReport:
        return found()

    monkeypatch.setattr("app.tui.features.usage.page.read_token_usage", known)
    monkeypatch.setattr("app.tui.features.usage.page.date", Today)
    async with photographs.of(screen.app(theme=photographs.theme)) as tour:
        await tour.say("/usage")
        await tour.until("Usage by day")
        await tour.photograph("days")
        await tour.photograph_small("days")
        await tour.press("tab", "tab", "tab")
        await tour.until("Usage by session")
        await tour.photograph("sessions")
        await tour.photograph_small("sessions")
        await tour.press("shift+tab", "shift+tab")
        await tour.until("Usage by model")
        await tour.press("enter")
        await tour.until("Usage by day ·")
        await tour.photograph("of-a-model")
