"""Searches for a rule's regular expressions within a time limit.

The standard library's engine cannot be interrupted, so that one `(a+)+$` would block the whole session.
`regex` has the same syntax and a timeout. Expressions that would be too expensive to compile are rejected."""

from functools import lru_cache
from math import prod
from typing import Any

from app.values.user_errors import UserError
from tools.lazy_patterns import lazy_regex

RULE_SEARCH_TIMEOUT_SECONDS = 0.05
"""The maximum time of one search in seconds. Text arrives in many pieces per second."""
_MAX_RULE_PATTERN_CHARS = 1000
_MAX_REGEX_REPEATS = 10_000
_REGEX_REPEAT_COUNTS = lazy_regex(r"\{\s*(\d*)\s*(?:,\s*(\d*)\s*)?\}")


class RulePatternTooSlow(Exception):
    """Raised if the time limit passed before a match was found."""


class RegexEngineMissing(UserError):
    """Raised if the `regex` library, which conditions need, is not installed."""


def rule_condition_fault(text: str) -> str:
    """Returns the fault of a regular expression; empty if it is valid. Raises `RegexEngineMissing`."""
    if len(text) > _MAX_RULE_PATTERN_CHARS:
        return f"it is longer than {_MAX_RULE_PATTERN_CHARS:,} characters"
    counts = [
        max(int(number[:9]) for number in found if number)
        for found in _REGEX_REPEAT_COUNTS.findall(text)
        if any(found)
    ]
    if prod(count for count in counts if count) > _MAX_REGEX_REPEATS:
        return f"it has more than {_MAX_REGEX_REPEATS:,} repetitions"
    try:
        _compile_pattern(text)
    except RegexEngineMissing:
        raise
    except Exception as problem:  # noqa: BLE001  (the engine has its own errors, and may exceed the recursion depth)
        return str(problem)
    return ""


def search_rule_condition(condition: str, text: str) -> str | None:
    """Returns the condition's first match, or None. Raises `RulePatternTooSlow`."""
    try:
        match = _compile_pattern(condition).search(text, timeout=RULE_SEARCH_TIMEOUT_SECONDS)
    except TimeoutError:
        raise RulePatternTooSlow from None
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
