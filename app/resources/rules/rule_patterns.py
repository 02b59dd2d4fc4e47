"""Searches for a rule's regular expressions within a time limit.

The standard library's engine cannot be interrupted, so that one `(a+)+$` would block the whole session.
`regex` has the same syntax and a timeout. Expressions that would be too expensive to compile are rejected."""

from functools import lru_cache
from math import prod
from typing import Any

from app.values.user_errors import UserError
from tools.patterns import late

SEARCH_TIMEOUT = 0.05
"""The maximum time of one search in seconds. Text arrives in many pieces per second."""
_MAX_PATTERN_CHARS = 1000
_MAX_REPEATS = 10_000
_REPEAT_COUNTS = late(r"\{\s*(\d*)\s*(?:,\s*(\d*)\s*)?\}")


class PatternTooSlow(Exception):
    """Raised if the time limit passed before a match was found."""


class RegexEngineMissing(UserError):
    """Raised if the `regex` library, which conditions need, is not installed."""


def condition_fault(text: str) -> str:
    """Returns the fault of a regular expression; empty if it is valid. Raises `RegexEngineMissing`."""
    if len(text) > _MAX_PATTERN_CHARS:
        return f"it is longer than {_MAX_PATTERN_CHARS:,} characters"
    counts = [
        max(int(number[:9]) for number in found if number)
        for found in _REPEAT_COUNTS.findall(text)
        if any(found)
    ]
    if prod(count for count in counts if count) > _MAX_REPEATS:
        return f"it has more than {_MAX_REPEATS:,} repetitions"
    try:
        _compile_pattern(text)
    except RegexEngineMissing:
        raise
    except Exception as problem:  # noqa: BLE001  (the engine has its own errors, and may exceed the recursion depth)
        return str(problem)
    return ""


def search_condition(condition: str, text: str) -> str | None:
    """Returns the condition's first match, or None. Raises `PatternTooSlow`."""
    try:
        match = _compile_pattern(condition).search(text, timeout=SEARCH_TIMEOUT)
    except TimeoutError:
        raise PatternTooSlow from None
    return None if match is None else match.group()


@lru_cache(maxsize=256)
def _compile_pattern(text: str) -> Any:
    try:
        import regex  # noqa: PLC0415  (only a rule with a condition needs it)
    except ImportError:
        raise RegexEngineMissing(
            "the library regex is missing; install bayou with all its dependencies"
        ) from None
    return regex.compile(text, regex.MULTILINE)
