"""Decides when a test run collects garbage: between tests, and during one only if it leaves many
objects.

Objects that survive a collection are loaded for the whole run and are not visited again. An
application under test cannot freeze its own objects, or all of them would stay for good."""

import gc

_MUCH = 200_000
"""The number of objects in one test that triggers a collection."""
_SOME = 150_000
"""The number of objects left by tests, some of which may be in cycles, that triggers a
collection."""

_freeze = gc.freeze
_set_threshold = gc.set_threshold


def hold_back() -> None:
    """Until the tests are collected, which makes many objects and leaves none."""
    gc.disable()


def begin() -> None:
    gc.freeze = gc.set_threshold = _leave_it  # type: ignore[assignment]
    _look()


def between_tests() -> None:
    if gc.get_count()[0] > _SOME:
        _look()
    _set_threshold(_MUCH, 20, 20)
    gc.enable()


def _look() -> None:
    gc.collect()
    _freeze()


def _leave_it(*_how: int) -> None:
    """Replaces the garbage settings of an application under test; does nothing."""
