"""When a run of the tests looks for garbage: between tests, and within one only where it leaves a great deal.

What outlives a look is what is loaded and kept for the whole run, so it is never looked at again. An application in a
test cannot say how it is to be by itself, or all that it has would stay for good.
"""

import gc

_MUCH = 200_000
"""Values, in one test."""
_SOME = 50_000
"""Values that tests left, of which some may be in cycles."""

_freeze = gc.freeze
_set_threshold = gc.set_threshold


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
    """What an application under test does."""
