"""Compiles regular expressions at their first use: compiling all of them takes a tenth of the start-up time.

Depends on `re` only, so that every module may import it."""

import re
from typing import Any, AnyStr, Final, cast


def lazy_regex(pattern: AnyStr, flags: int = 0) -> "re.Pattern[AnyStr]":
    """Returns a regular expression that is compiled at its first use; an invalid pattern raises an error only then."""
    return cast("re.Pattern[AnyStr]", _LazyRegex(pattern, flags))


class _LazyRegex:
    def __init__(self, pattern: Any, flags: int) -> None:
        self._source = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        """Compiles the pattern and copies its attributes at the first access."""
        found = getattr(re.compile(*self._source), name)
        setattr(self, name, found)
        return found


TEXT_DIRECTION_CONTROL_PATTERN: Final = lazy_regex("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that change the writing direction; in a terminal they move the text behind them on the line."""
