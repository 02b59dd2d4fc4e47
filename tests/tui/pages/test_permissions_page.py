"""`/permissions`: the mode is chosen, rules are taken away, verdicts told with their reasons."""

from pathlib import Path

from app.permits.permission_decisions import PERMISSION_MODE_DESCRIPTIONS
from app.providers.scripted import call, say
from app.sessions.session_log import SessionLog
from app.tui.features.permissions.page import PermissionsPage
from tests.engine.scripted_session import ScriptedSession
from tests.tui.pages.person import Person, at_the_keyboard
from tools.tool_registry import builtin_tools


def page_of(harness: ScriptedSession, person: Person) -> PermissionsPage:
    return PermissionsPage(
        harness.session.permissions, person.ask, person.say, harness.effective_settings.set
    )


async def test_a_mode_is_chosen(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path)
    async with at_the_keyboard() as person:
        page = page_of(harness, person)
        async with person.asked(page.open()):
            assert "auto-edit" in person.sees
            await person.press(*"read-only", "enter")
        assert harness.session.permissions.rules.mode == "read-only"
        await page.open("ask")
        assert harness.session.permissions.rules.mode == "ask"
        await page.open("everything")
        assert "no permission mode everything" in person.warned[-1]


async def test_a_verdict_tells_why_and_a_rule_is_taken_away(tmp_path: Path) -> None:
    harness = ScriptedSession(
        tmp_path, call("bash", command="git push --force"), say("ok"), tools=builtin_tools()
    )
    harness.session.permissions.rules.add_allow_rule("bash: npm **")
    await harness.prompt("go")
    async with at_the_keyboard() as person:
        page = page_of(harness, person)
        async with person.asked(page.open()):
            assert "git push --force" in person.sees
            await person.press(*"force", "enter")
        assert "a forced push overwrites history for others (the built-in safety rule)" in person.heard[-1]
        async with person.asked(page.open()):
            await person.press(*"npm", "enter")
        assert harness.session.permissions.gate_state().rules.rules == ()


async def test_each_section_has_its_columns_at_80_cells(tmp_path: Path) -> None:
    (tmp_path / "boat.txt").write_text("afloat\n")
    calls = call("read", path="boat.txt") + call("bash", command="git push --force")
    harness = ScriptedSession(tmp_path, calls, say("ok"), tools=builtin_tools())
    await harness.prompt("go")
    async with at_the_keyboard(size=(80, 24)) as person, person.asked(page_of(harness, person).open()):
        lines = person.sees.splitlines()
        for words in PERMISSION_MODE_DESCRIPTIONS.values():
            [line] = [line for line in lines if words in line]
            assert line.index(words) == 17
        [heads] = [line for line in lines if "Recent decisions: risk, tool, call" in line]
        assert heads.rstrip().endswith("outcome, by")
        [pushed] = [line for line in lines if "git push" in line]
        [shown] = [line for line in lines if "boat.txt" in line]
        assert shown.index("read") == pushed.index("bash") and shown.count("read") == 1
        assert shown.index("boat.txt") == pushed.index("git push")
        await person.press("escape")


async def test_verdicts_of_an_earlier_run_are_told_too(tmp_path: Path) -> None:
    first = ScriptedSession(
        tmp_path, call("bash", command="git push --force"), say("ok"), tools=builtin_tools()
    )
    await first.prompt("go")
    path = first.session.log.path
    assert path is not None
    await first.session.close()
    harness = ScriptedSession(tmp_path, log=SessionLog.open(path), tools=builtin_tools())
    async with at_the_keyboard() as person:
        page = page_of(harness, person)
        async with person.asked(page.open()):
            assert "git push --force" in person.sees
            await person.press(*"force", "enter")
        assert "bash: refused, by" in person.heard[-1]
        assert "a forced push overwrites history for others" in person.heard[-1]
    await harness.session.close()
