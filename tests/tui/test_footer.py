"""The footer's segments: which there are, in which order and colour, and when."""

from pathlib import Path

import pytest

from app.engine.core.hook_results import NavigationOptions
from app.engine.permissions.permission_gate import PermissionGate
from app.providers.scripted import say
from app.resources.settings.settings_display import FooterSegmentSettings
from app.tui.status.header_and_footer import FooterContext, footer_segments
from app.values.todos import TodoItem, TodoPhase
from tests.engine.scripted_session import ScriptedSession
from tests.tui.scripted_app import make_app, wait_for_runs
from widgets.status.status_header import StatusHeader


async def test_segments_are_in_the_wanted_order_and_colour(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path)
    await harness.session.todos.replace_by_user(
        [TodoPhase(name="W", tasks=(TodoItem(content="a"), TodoItem(content="b")))]
    )
    around = FooterContext(home=tmp_path, host="harbour")
    made = footer_segments(
        harness.session,
        around,
        ["host", "todos", "sessionId", "path"],
        {"host": FooterSegmentSettings(tone="success")},
    )
    assert [(one.id, one.text, one.tone) for one in made] == [
        ("host", "harbour", "success"),
        ("todos", "0/2 done", "accent"),
        ("sessionId", harness.session.state.session_id, "dim"),
        ("path", "~", "muted"),
    ]


async def test_a_segment_shows_when_it_is_wanted(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path)

    def shown(show: str, width: int) -> list[str]:
        look = FooterSegmentSettings(show=show)  # pyright: ignore[reportArgumentType]
        around = FooterContext(home=tmp_path, width=width)
        return [one.id for one in footer_segments(harness.session, around, ["path"], {"path": look})]

    assert shown("always", 80) == shown("idle", 80) == shown("wide", 120) == ["path"]
    assert shown("running", 80) == shown("wide", 119) == []


async def test_it_says_plan_where_the_place_in_the_tree_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PermissionGate, "can_ask_person", True)
    app = make_app(tmp_path, say("first answer"), say("second answer"))
    async with app.run_test(size=(100, 30)) as pilot:
        await app.is_ready.wait()

        def says_plan() -> bool:
            return any(one.id == "permissions" and one.text == "plan" for one in app.editor.surface.status)

        await app.session.prompt("first")
        await wait_for_runs(app, pilot)
        before = app.session.log.leaf_id
        assert not says_plan()
        app.session.plan.set_active(True)
        await app.settling_until(pilot, says_plan)
        planning = app.session.log.leaf_id
        await app.session.branches.go_to_entry(before, NavigationOptions())
        await app.settling_until(pilot, lambda: not says_plan())
        await app.session.branches.go_to_entry(planning, NavigationOptions())
        await app.settling_until(pilot, says_plan)


async def test_the_header_says_the_first_prompt_once_it_has_scrolled_out_of_sight(tmp_path: Path) -> None:
    app = make_app(tmp_path, say("\n\n".join(f"line {number}" for number in range(40))))
    async with app.run_test(size=(100, 30)) as pilot:
        await app.is_ready.wait()

        def title() -> str:
            segments = app.query_one(StatusHeader).segments
            return next((one.text for one in segments if one.id == "title"), "")

        await app.session.prompt("count the boats")
        await wait_for_runs(app, pilot)
        assert title() == "count the boats"
        app.transcript.keyboard.go_home()
        await app.settling_until(pilot, lambda: not title())
        app.transcript.keyboard.go_end()
        await app.settling_until(pilot, lambda: title() == "count the boats")
        await app.session.notes.rename("Boats")
        app.transcript.keyboard.go_home()
        await app.settling_until(pilot, lambda: title() == "Boats")
