"""Regular expressions that are compiled when they are first used: compiling them all is a tenth of what a start costs.

Knows nothing but `re`, so that everybody may use it.
"""

import re
from typing import Any, AnyStr, Final, cast


def late(pattern: AnyStr, flags: int = 0) -> "re.Pattern[AnyStr]":
    """As `re.compile`, but for the moment: a fault in the pattern shows at its first use."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))


class _LazyPattern:
    def __init__(self, pattern: Any, flags: int) -> None:
        self._source = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        """Asked for what is not there yet; from then on it is."""
        found = getattr(re.compile(*self._source), name)
        setattr(self, name, found)
        return found


DIRECTION_CONTROLS: Final = late("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What turns the direction of writing: in a terminal it moves what stands behind it on the line."""
