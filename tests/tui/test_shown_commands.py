"""What a question shows of a command: the command once, what each part does, and why that is asked about."""

from pathlib import Path

import pytest

from app.providers.scripted import call, say
from tests.tui.test_approvals import asked, asking_app, wait


async def test_a_command_of_several_parts_is_shown_once(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="cd x && rm -rf build; touch y"), say("ok"))
    async with app.run_test(size=(80, 30)) as pilot:
        await asked(app, pilot)
        assert app.screen_text.count("rm -rf build") == 1
        assert "• && rm" not in app.screen_text and "• rm -rf build;    removes x/build" in app.screen_text


async def test_the_reason_of_a_danger_is_whole_on_a_row_below_its_part(tmp_path: Path) -> None:
    command = "git push --force origin main && touch there"
    app = asking_app(tmp_path, call("bash", command=command), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        rows = [row.strip("▌ ") for row in app.screen_text.splitlines()]
        at = rows.index("▲ git push --force origin main &&")
        assert rows[at + 1] == "a forced push overwrites history for others"


async def test_a_low_terminal_shows_the_command_once_and_then_the_reason(tmp_path: Path) -> None:
    command = "git push --force origin main && rm -rf build"
    app = asking_app(tmp_path, call("bash", command=command), say("ok"))
    async with app.run_test(size=(40, 10)) as pilot:
        await asked(app, pilot)
        wait(app)
        await app.settling_until(pilot, lambda: "No" in app.screen_text and "y yes" in app.screen_text)
        rows = [row[1:].strip() for row in app.screen_text.splitlines() if row.startswith("▌")]
        assert rows[0] == "▲ DANGEROUS  Run this command?"
        assert rows[1] == "git push --force origin main && r…"
        assert rows[2].startswith("▲ a forced push overwrites history")
        assert rows[3].startswith("› 1  No")


@pytest.mark.parametrize("command", ["touch there", "git push --force origin main && touch there", "echo '"])
async def test_the_details_show_a_command_once_with_the_reason_of_each_part(
    tmp_path: Path, command: str
) -> None:
    app = asking_app(tmp_path, call("bash", command=command), say("ok"))
    async with app.run_test(size=(80, 30)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press("alt+v")
        await app.settling_until(pilot, lambda: len(app.screen_stack) == 2 and "n deny" in app.screen_text)
        assert app.screen_text.count(command.rpartition("&& ")[2]) == 1
