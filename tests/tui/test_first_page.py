"""The page before the first prompt, with a model: what answers, what it may do, what was loaded, recent sessions, and
tips."""

import json
from pathlib import Path

from app.assembly.command_line_options import CommandLineOptions
from app.providers.scripted import say
from tests.support.sizes import resize
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
    app = make_app(tmp_path, say("Aye."), options=CommandLineOptions(use_theme="bayou-dark"))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.is_ready.wait()
        await app.settling_until(pilot, lambda: "1 rule" in app.screen_text)
        shown = rows(app)
        assert "Model scripted/script, medium thinking ctrl+l" in shown
        assert "Loaded AGENTS.md, 2 skills, 1 rule, 1 MCP server /context" in shown
        assert "Tips" in shown
        await submit(app, pilot, "ahoy")
        await wait_for_runs(app, pilot)
        assert "Aye." in app.screen_text
        assert "shows its work" not in app.screen_text and "Tips" not in app.screen_text
        await submit(app, pilot, "/new")
        await app.settling_until(pilot, lambda: "shows its work" in app.screen_text)


async def test_a_recent_session_is_continued_by_a_click_or_its_id(tmp_path: Path) -> None:
    said = [say("Aye."), say("They do.")]
    app = make_app(tmp_path, *said, options=CommandLineOptions(use_theme="bayou-dark"))
    async with app.run_test(size=(120, 40)) as pilot:
        await app.is_ready.wait()
        ids = []
        for count, prompt in enumerate(("ahoy", "do boats float?"), 1):
            await submit(app, pilot, prompt)
            await wait_for_runs(app, pilot, count)
            ids.append(app.session.state.session_id)
            await submit(app, pilot, "/new")
            await app.settling_until(pilot, lambda prompt=prompt: f"1 {prompt} now" in rows(app))
        assert "2 ahoy now" in rows(app)
        lines = app.screen_text.split("\n")
        y = next(at for at, line in enumerate(lines) if "ahoy" in line)
        await pilot.click(offset=(lines[y].index("ahoy"), y))
        await app.settling_until(pilot, lambda: "Aye." in app.screen_text)
        await submit(app, pilot, f"/resume {ids[1]}")
        await app.settling_until(pilot, lambda: "They do." in app.screen_text)
        assert app.session.state.session_id == ids[1]


async def test_a_recent_session_is_continued_by_its_number(tmp_path: Path) -> None:
    app = make_app(tmp_path, say("Aye."), options=CommandLineOptions(use_theme="bayou-dark"))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.is_ready.wait()
        await submit(app, pilot, "ahoy")
        await wait_for_runs(app, pilot)
        await submit(app, pilot, "/new")
        await app.settling_until(pilot, lambda: "1 ahoy now" in rows(app))
        await submit(app, pilot, "1")
        await app.settling_until(pilot, lambda: "Aye." in app.screen_text)


async def test_a_low_terminal_shows_less_of_the_page(tmp_path: Path) -> None:
    app = make_app(tmp_path, say("Aye."), options=CommandLineOptions(use_theme="bayou-dark"))
    async with app.run_test(size=(80, 40)) as pilot:
        await app.is_ready.wait()
        assert "≈ ≈ ≈ ≈" in app.screen_text and "Tips" in app.screen_text
        await resize(pilot, 80, 16)
        assert "b a y o u" in app.screen_text and "Tips" not in app.screen_text
        await resize(pilot, 40, 10)
        assert "≈ b a y o u ≈" in app.screen_text and "scripted/script" in app.screen_text


async def test_a_short_conversation_begins_at_the_top_also_behind_a_list(tmp_path: Path) -> None:
    app = make_app(tmp_path, say("Aye."))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.is_ready.wait()
        await submit(app, pilot, "ahoy")
        await wait_for_runs(app, pilot)
        lines = app.screen_text.split("\n")
        assert lines[app.transcript.region.y].startswith("› ahoy")
        await submit(app, pilot, "/theme")
        await app.settling_until(pilot, lambda: "Theme" in app.screen_text and "Aye." in app.screen_text)
        await pilot.press("escape")
        await app.settling_until(pilot, lambda: app.screen_text.split("\n") == lines)


async def test_sessions_that_are_loaded_late_are_above_the_tips(tmp_path: Path) -> None:
    app = make_app(tmp_path, say("Aye."), options=CommandLineOptions(use_theme="bayou-dark"))
    async with app.run_test(size=(120, 40)) as pilot:
        await app.is_ready.wait()
        await submit(app, pilot, "ahoy")
        await wait_for_runs(app, pilot)
        await submit(app, pilot, "/new")
        await app.settling_until(pilot, lambda: "1 ahoy now" in rows(app))
        assert [row for row in rows(app) if row in ("Recent sessions", "Tips")] == ["Recent sessions", "Tips"]
        lines = app.screen_text.split("\n")
        [fact] = [line for line in lines if "scripted/script" in line and "ctrl+l" in line]
        [session] = [line for line in lines if "ahoy" in line]
        assert fact.index("scripted/") == session.index("ahoy")


async def test_a_model_that_comes_after_the_start_has_the_page(tmp_path: Path) -> None:
    app = make_app(tmp_path, say("Aye."), options=CommandLineOptions(use_theme="bayou-dark"))
    model = app.session.model
    assert model is not None
    app.assembled.model_choice.model = None
    async with app.run_test(size=(80, 24)) as pilot:
        await app.is_ready.wait()
        assert "shows its work" not in app.screen_text
        await app.session.models.use_model(model)
        await app.settling_until(pilot, lambda: "Model scripted/script, medium thinking ctrl+l" in rows(app))


async def test_each_new_session_has_other_tips(tmp_path: Path) -> None:
    seen: list[list[str]] = []
    for _ in range(2):
        app = make_app(tmp_path, say("Aye."), options=CommandLineOptions(use_theme="bayou-dark"))
        async with app.run_test(size=(80, 24)) as pilot:
            await app.is_ready.wait()
            shown = rows(app)
            at = shown.index("Tips")
            seen.append(shown[at + 1 : at + 5])
            await submit(app, pilot, "ahoy")
            await wait_for_runs(app, pilot)
    assert all(any(row) for row in seen) and not set(filter(None, seen[0])) & set(filter(None, seen[1]))


async def test_a_quiet_start_shows_nothing(tmp_path: Path) -> None:
    (tmp_path / ".bayou" / "agent").mkdir(parents=True)
    (tmp_path / ".bayou" / "agent" / "settings.json").write_text('{"quietStartup": true}')
    app = make_app(tmp_path, say("Aye."), options=CommandLineOptions(use_theme="bayou-dark"))
    async with app.run_test(size=(80, 24)):
        await app.is_ready.wait()
        assert "Welcome" not in app.screen_text
