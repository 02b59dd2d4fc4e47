"""`/usage` at the keyboard: one way of counting after the other, one within the other, and what is left out."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.engine.tree.session_paths import SessionPaths
from app.sessions.session_library import session_folder_of_project
from app.sessions.session_log import SessionLog
from app.tui.features.usage.page import UsagePage
from tests.sessions.make_entries import user_entry
from tests.sessions.test_usage import answered
from tests.tui.pages.person import Person, at_the_keyboard

NOW = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for project, words, entries in (
        (
            "boats",
            "paint [b]the[/b] boat",
            (answered(100, at=NOW, cost=3, cached=300), answered(1, model="n")),
        ),
        ("oars", "shorten the oars", (answered(20_000, at=NOW, cost=1),)),
    ):
        folder = tmp_path / project
        log = SessionLog.create(session_folder_of_project(tmp_path / "sessions", folder), folder)
        log.append(user_entry(words))
        for entry in entries:
            log.append(entry)
        log.close()
    return tmp_path / "sessions"


def page(root: Path, person: Person) -> UsagePage:
    return UsagePage(
        SessionPaths(default_root=root, cwd=root), root.parent / "cache", person.ask, home=root.parent
    )


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_ways_of_counting_and_one_within_the_other(root: Path, size: tuple[int, int]) -> None:
    async with at_the_keyboard(size=size) as person, person.asked(page(root, person).open()):
        await person.sees_soon("Usage by day", "$4.00 · 20k tokens", "Mon Nov 16", "answers", "━")
        await person.press("tab")
        await person.sees_soon("Usage by model", "p/m", "p/n", "■ p/m   ■ p/n")
        await person.press("tab")
        await person.sees_soon("Usage by project", "› ~/boats", "~/oars", "75 %")
        await person.press("down", "enter")
        await person.sees_soon("Usage by day · ~/oars", "$1.00 · 20k tokens")
        await person.press("shift+tab")
        await person.sees_soon("Usage by session · ~/oars", "shorten the oars")
        assert "paint" not in person.sees
        await person.press("escape")
        await person.sees_soon("Usage by project", "› ~/oars")
        await person.press("tab")
        await person.sees_soon("Usage by session", "paint [b]the[/b] boat")
        await person.press(*"shorten")
        await person.sees_soon("› shorten the oars")
        assert "paint" not in person.sees
        await person.press("escape")
        if "Usage" in person.sees:  # the first empties the filter
            await person.press("escape")


async def test_all_ways_taken_one_within_the_other_lead_no_further(root: Path) -> None:
    async with at_the_keyboard(size=(120, 40)) as person, person.asked(page(root, person).open()):
        for way in ("day", "model", "project", "session"):
            await person.sees_soon(f"Usage by {way}")
            await person.press("enter")
        await person.sees_soon("Usage by session")
        for way in ("project", "model", "day"):
            await person.press("escape")
            await person.sees_soon(f"Usage by {way}")
        await person.press("escape")


async def test_what_is_left_out_is_named(root: Path) -> None:
    (root / "no.jsonl").write_text("no session\n")
    async with at_the_keyboard(size=(120, 40)) as person, person.asked(page(root, person).open()):
        await person.sees_soon("Skipped", "is not a session file", "no.jsonl")
        await person.press("end", "enter", "escape")


async def test_the_usage_page_without_usage_says_so(tmp_path: Path) -> None:
    async with at_the_keyboard() as person, person.asked(page(tmp_path / "none", person).open()):
        await person.sees_soon("no usage recorded yet", "Usage by day")
        await person.press("enter", "tab", "escape")


async def test_without_prices_bars_are_of_tokens(root: Path) -> None:
    for path in root.rglob("*.jsonl"):
        path.write_text(re.sub(r'"total":[\d.]+', '"total":0', path.read_text()))
    async with at_the_keyboard() as person, person.asked(page(root, person).open()):
        await person.sees_soon("20k │", "$0.00 · 20k tokens")
        await person.press("escape")
