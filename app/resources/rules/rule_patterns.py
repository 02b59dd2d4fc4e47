"""Searches for a rule's regular expressions within a time limit.

The standard library's engine cannot be interrupted, so that one `(a+)+$` would block the whole session.
`regex` has the same syntax and a timeout. Expressions that would be too expensive to compile are rejected."""

from functools import lru_cache
from math import prod
from typing import Any

from app.values.unable import Unable
from tools.patterns import late

PATIENCE = 0.05
"""Seconds for one search. Text arrives in many pieces per second."""
_LONGEST = 1000
_MOST_REPEATS = 10_000
_COUNTS = late(r"\{\s*(\d*)\s*(?:,\s*(\d*)\s*)?\}")


class PatternTooSlow(Exception):
    """The time limit passed before a match was found."""


class NoEngine(Unable):
    """The `regex` library, which conditions need, is not installed."""


def compile_condition(text: str) -> str:
    """Returns the fault of a regular expression; empty if it is valid. Raises `NoEngine`."""
    if len(text) > _LONGEST:
        return f"it is longer than {_LONGEST:,} characters"
    counts = [
        max(int(number[:9]) for number in found if number) for found in _COUNTS.findall(text) if any(found)
    ]
    if prod(count for count in counts if count) > _MOST_REPEATS:
        return f"it has more than {_MOST_REPEATS:,} repetitions"
    try:
        _compiled(text)
    except NoEngine:
        raise
    except Exception as problem:  # noqa: BLE001  (the engine has errors of its own, and runs out of depth as well)
        return str(problem)
    return ""


def search(condition: str, text: str) -> str | None:
    """Returns the condition's first match, or None. Raises `PatternTooSlow`."""
    try:
        match = _compiled(condition).search(text, timeout=PATIENCE)
    except TimeoutError:
        raise PatternTooSlow from None
    return None if match is None else match.group()


@lru_cache(maxsize=256)
def _compiled(text: str) -> Any:
    try:
        import regex  # noqa: PLC0415  (only a rule with a condition needs it)
    except ImportError:
        raise NoEngine("the library regex is missing; install bayou with all its dependencies") from None
    return regex.compile(text, regex.MULTILINE)
