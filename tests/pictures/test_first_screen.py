"""The screen as people first see it, and a conversation with the offline guide on it."""

import pytest

from tests.support.screens import SIZES, Screen


@pytest.mark.parametrize("size", SIZES)
def test_opened(screen: Screen, snap_compare, size: str):
    assert snap_compare(screen.app(), terminal_size=SIZES[size], run_before=screen.until("guide"))


@pytest.mark.parametrize("size", [(40, 10), (200, 60)])
def test_opened_in_very_small_and_large_terminals(screen: Screen, snap_compare, size: tuple[int, int]):
    """The page has bayou's name, and stands near the prompt."""
    assert snap_compare(screen.app(), terminal_size=size, run_before=screen.until("git status"))


@pytest.mark.parametrize("size", SIZES)
def test_a_first_conversation(screen: Screen, snap_compare, size: str):
    talk = screen.say("read boats/fleet.py", "grep launch")
    assert snap_compare(screen.app(), terminal_size=SIZES[size], run_before=talk)
