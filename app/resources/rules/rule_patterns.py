"""Regular expressions that a rule's file brings along: looked for within a limit of time that holds.

The standard library's engine cannot be stopped, and one `(a+)+$` would hold up the whole session. `regex` has the same
language and stops by the clock. What would cost too much to compile is refused before.
"""

from functools import lru_cache
from math import prod
from typing import Any

from app.values.unable import Unable
from tools.patterns import late

PATIENCE = 0.05
"""Seconds for one look. Text comes in pieces, many in a second."""
_LONGEST = 1000
_MOST_REPEATS = 10_000
_COUNTS = late(r"\{\s*(\d*)\s*(?:,\s*(\d*)\s*)?\}")


class PatternTooSlow(Exception):
    """The time was over before anything was found."""


class NoEngine(Unable):
    """This installation lacks the library that conditions are looked for with."""


def compile_condition(text: str) -> str:
    """What is wrong with a regular expression; empty when nothing is. Raises `NoEngine`."""
    if len(text) > _LONGEST:
        return f"it is longer than {_LONGEST:,} characters"
    counts = [
        max(int(number[:9]) for number in found if number) for found in _COUNTS.findall(text) if any(found)
    ]
    if prod(count for count in counts if count) > _MOST_REPEATS:
        return f"it repeats more than {_MOST_REPEATS:,} times"
    try:
        _compiled(text)
    except NoEngine:
        raise
    except Exception as problem:  # noqa: BLE001  (the engine has errors of its own, and runs out of depth as well)
        return str(problem)
    return ""


def search(condition: str, text: str) -> str | None:
    """What the condition finds first. Raises `SurveyStopped`."""
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
        raise NoEngine("the library regex is missing; install bayou with all that it depends on") from None
    return regex.compile(text, regex.MULTILINE)
