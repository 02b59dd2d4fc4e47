"""The page before the first prompt, with a model: what answers, what it may do, what was loaded, and tips."""

import json
from pathlib import Path

from app.assembly.options import Options
from app.providers.scripted import say
from tests.tui.scripted_app import ScriptedApp, make_app, submit, wait_for_runs


def rows(app: ScriptedApp) -> list[str]:
    return [" ".join(row.split()) for row in app.screen_text.split("\n")]


def loaded(home: Path) -> None:
    """Puts instructions, skills, rules and a server into the person's own folder."""
    agent = home / ".bayou" / "agent"
    for name in ("skills/tides/SKILL.md", "skills/knots/SKILL.md"):
        path = agent / name
        path.parent.mkdir(parents=True)
        path.write_text(f"---\nname: {path.parent.name}\ndescription: On the water.\n---\nText.\n")
    (agent / "rules").mkdir()
    (agent / "rules" / "calm.md").write_text("---\ndescription: Stay calm.\n---\nStay calm.\n")
    (agent / "AGENTS.md").write_text("Be brief.\n")
    server = {"mcpServers": {"harbour": {"command": "harbour-server", "enabled": False}}}
    (agent / "mcp.json").write_text(json.dumps(server))


async def test_the_page_with_a_model_names_it_and_what_was_loaded(tmp_path: Path) -> None:
    loaded(tmp_path)
    app = make_app(tmp_path, say("Aye."), options=Options(use_theme="bayou-dark"))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.is_ready.wait()
        await app.settling_until(pilot, lambda: "/rules" in app.screen_text)
        shown = rows(app)
        assert "script from scripted answers with medium thinking." in shown
        assert "/context 1 instruction file (AGENTS.md)" in shown
        assert "/skills 2 skills" in shown
        assert "/rules 1 rule" in shown
        assert "/mcp 1 MCP server" in shown
        assert "· Worth knowing" in shown
        await submit(app, pilot, "ahoy")
        await wait_for_runs(app, pilot)
        assert "Aye." in app.screen_text
        assert "Welcome to bayou" not in app.screen_text and "Worth knowing" not in app.screen_text
        await submit(app, pilot, "/new")
        await app.settling_until(pilot, lambda: "Welcome to bayou" in app.screen_text)


async def test_each_new_session_has_other_tips(tmp_path: Path) -> None:
    seen: list[list[str]] = []
    for _ in range(2):
        app = make_app(tmp_path, say("Aye."), options=Options(use_theme="bayou-dark"))
        async with app.run_test(size=(80, 24)) as pilot:
            await app.is_ready.wait()
            shown = rows(app)
            at = shown.index("· Worth knowing")
            seen.append(shown[at + 1 : at + 5])
            await submit(app, pilot, "ahoy")
            await wait_for_runs(app, pilot)
    assert all(any(row) for row in seen) and not set(filter(None, seen[0])) & set(filter(None, seen[1]))


async def test_a_quiet_start_shows_nothing(tmp_path: Path) -> None:
    (tmp_path / ".bayou" / "agent").mkdir(parents=True)
    (tmp_path / ".bayou" / "agent" / "settings.json").write_text('{"quietStartup": true}')
    app = make_app(tmp_path, say("Aye."), options=Options(use_theme="bayou-dark"))
    async with app.run_test(size=(80, 24)):
        await app.is_ready.wait()
        assert "Welcome" not in app.screen_text
