"""`/permissions`: the mode is chosen, rules are taken away, verdicts told with their reasons."""

from pathlib import Path

from app.providers.scripted import call, say
from app.sessions.session_log import SessionLog
from app.tui.features.permissions.page import PermissionsPage
from tests.engine.scripted_session import ScriptedSession
from tests.tui.pages.person import Person, at_the_keyboard
from tools.registry import builtin_tools


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
    harness.session.permissions.rules.allow("bash: npm **")
    await harness.prompt("go")
    async with at_the_keyboard() as person:
        page = page_of(harness, person)
        async with person.asked(page.open()):
            assert "git push --force" in person.sees
            await person.press(*"force", "enter")
        assert "a forced push overwrites history for others (the built-in safety rule)" in person.heard[-1]
        async with person.asked(page.open()):
            await person.press(*"npm", "enter")
        assert harness.session.permissions.view().rules.rules == ()


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
