"""Plan mode belongs to a place: going back, forking, compacting and other sessions bring what holds there."""

from pathlib import Path

import pytest

from app.engine.core.hook_results import NavigationOptions
from app.providers.scripted import say
from app.values.entries import CustomEntry
from app.values.events import PlanModeChanged
from tests.engine.scripted_session import ScriptedSession
from tests.permits.test_gate import gated_session


def _is_on(harness: ScriptedSession) -> bool:
    mode = harness.session.permissions.rules.mode
    is_on = harness.session.state.is_planning
    assert mode == ("read-only" if is_on else "auto-edit")
    assert ("write" in harness.session.tools.active_tools()) is not is_on
    return is_on


@pytest.fixture
async def harness(tmp_path: Path) -> ScriptedSession:
    """A prompt without, then one in plan mode."""
    made = gated_session(tmp_path, *[say(f"answer {number}") for number in range(9)], mode="auto-edit")
    await made.prompt("first")
    made.session.plan.set_active(True)
    await made.prompt("second")
    return made


def _prompt(harness: ScriptedSession, text: str) -> str:
    return next(
        entry.id
        for entry in harness.session.log.entries
        if text in str(getattr(getattr(entry, "message", None), "content", ""))
    )


async def test_going_back_and_forth_in_the_tree(harness: ScriptedSession) -> None:
    leaf, first = harness.session.log.leaf_id, _prompt(harness, "answer 0")
    assert _is_on(harness)
    await harness.session.branches.go_to_entry(first, NavigationOptions())
    assert not _is_on(harness)
    await harness.session.branches.go_to_entry(leaf, NavigationOptions())
    assert _is_on(harness)
    assert [event.is_on for event in harness.all(PlanModeChanged)] == [True, False, True]
    await harness.session.branches.go_to_entry(
        _prompt(harness, "second"), NavigationOptions()
    )  # to where it is asked, in plan mode
    assert _is_on(harness)


async def test_a_fork_is_as_the_place_that_it_begins_at(harness: ScriptedSession) -> None:
    file = harness.session.log.path
    assert file is not None
    second, first = _prompt(harness, "second"), _prompt(harness, "first")
    await harness.session.branches.fork(second)
    assert _is_on(harness)
    await harness.session.branches.switch_to(str(file))
    assert _is_on(harness)
    await harness.session.branches.fork(first)
    assert not _is_on(harness)
    await harness.session.branches.switch_to(str(file))
    assert _is_on(harness)
    await harness.session.branches.fork(harness.session.log.leaf_id or "", position="at")
    assert _is_on(harness)


async def test_a_new_session_is_without(harness: ScriptedSession) -> None:
    await harness.session.branches.start_new_session()
    assert not _is_on(harness)


async def test_a_compaction_changes_nothing(harness: ScriptedSession) -> None:
    harness.effective_settings.set("compaction.keepRecentTokens", 10)
    await harness.prompt("third")
    await harness.session.compaction.compact()
    assert _is_on(harness)
    file = str(harness.session.log.path)
    await harness.session.branches.start_new_session()
    await harness.session.branches.switch_to(file)
    assert _is_on(harness)
    await harness.session.compaction.undo_compaction()
    assert _is_on(harness)


@pytest.mark.parametrize("by_setting", [True, False])
async def test_who_chooses_another_mode_has_left_it_here(harness: ScriptedSession, by_setting: bool) -> None:
    if by_setting:
        harness.session.settings.save_setting("permissions.mode", "auto-edit")
    else:
        harness.session.permissions.rules.set_mode("auto-edit")
    assert not _is_on(harness)
    said = [entry.data for entry in harness.session.log.entries if isinstance(entry, CustomEntry)]
    assert said[-1] == {"on": False} and harness.all(PlanModeChanged)[-1].is_on is False
    file = str(harness.session.log.path)
    await harness.session.branches.start_new_session()
    await harness.session.branches.switch_to(file)
    assert not _is_on(harness)
