"""Plan mode belongs to a place: going back, forking, compacting and other sessions bring what holds there."""

from pathlib import Path

import pytest

from app.engine.core.hook_results import NavigationOptions
from app.providers.scripted import say
from app.values.entries import CustomEntry
from app.values.events import PlanModeChanged
from tests.engine.stage import Play
from tests.permits.test_gate import stage


def _is_on(play: Play) -> bool:
    mode = play.session.permissions.rules.mode
    is_on = play.session.state.is_planning
    assert mode == ("read-only" if is_on else "auto-edit")
    assert ("write" in play.session.tools.active()) is not is_on
    return is_on


@pytest.fixture
async def play(tmp_path: Path) -> Play:
    """A prompt without, then one in plan mode."""
    made = stage(tmp_path, *[say(f"answer {number}") for number in range(9)], mode="auto-edit")
    await made.prompt("first")
    made.session.plan.switch(True)
    await made.prompt("second")
    return made


def _prompt(play: Play, text: str) -> str:
    return next(
        entry.id
        for entry in play.session.entries
        if text in str(getattr(getattr(entry, "message", None), "content", ""))
    )


async def test_going_back_and_forth_in_the_tree(play: Play) -> None:
    leaf, first = play.session.log.leaf_id, _prompt(play, "answer 0")
    assert _is_on(play)
    await play.session.branches.go_to(first, NavigationOptions())
    assert not _is_on(play)
    await play.session.branches.go_to(leaf, NavigationOptions())
    assert _is_on(play)
    assert [event.is_on for event in play.all(PlanModeChanged)] == [True, False, True]
    await play.session.branches.go_to(
        _prompt(play, "second"), NavigationOptions()
    )  # to where it is asked, in plan mode
    assert _is_on(play)


async def test_a_fork_is_as_the_place_that_it_begins_at(play: Play) -> None:
    file = play.session.log.path
    assert file is not None
    second, first = _prompt(play, "second"), _prompt(play, "first")
    await play.session.branches.fork(second)
    assert _is_on(play)
    await play.session.branches.switch_to(str(file))
    assert _is_on(play)
    await play.session.branches.fork(first)
    assert not _is_on(play)
    await play.session.branches.switch_to(str(file))
    assert _is_on(play)
    await play.session.branches.fork(play.session.log.leaf_id or "", position="at")
    assert _is_on(play)


async def test_a_new_session_is_without(play: Play) -> None:
    await play.session.branches.begin()
    assert not _is_on(play)


async def test_a_compaction_changes_nothing(play: Play) -> None:
    play.effective_settings.set("compaction.keepRecentTokens", 10)
    await play.prompt("third")
    await play.session.compaction.run()
    assert _is_on(play)
    file = str(play.session.log.path)
    await play.session.branches.begin()
    await play.session.branches.switch_to(file)
    assert _is_on(play)
    await play.session.compaction.undo()
    assert _is_on(play)


@pytest.mark.parametrize("by_setting", [True, False])
async def test_who_chooses_another_mode_has_left_it_here(play: Play, by_setting: bool) -> None:
    if by_setting:
        play.session.settings.keep("permissions.mode", "auto-edit")
    else:
        play.session.permissions.rules.set_mode("auto-edit")
    assert not _is_on(play)
    said = [entry.data for entry in play.session.entries if isinstance(entry, CustomEntry)]
    assert said[-1] == {"on": False} and play.all(PlanModeChanged)[-1].is_on is False
    file = str(play.session.log.path)
    await play.session.branches.begin()
    await play.session.branches.switch_to(file)
    assert not _is_on(play)
