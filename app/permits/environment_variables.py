"""Environment variables: which assignments can change what a program does."""

import re
from typing import Final

from app.permits.command_findings import Finding, contained
from app.permits.shell_words import word_set

HARMLESS_VARIABLES: Final = word_set(
    "LANG LANGUAGE TZ TERM COLORTERM NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES "
    "LS_COLORS GREP_COLORS TIME_STYLE BLOCK_SIZE CI"
)
"""Variables for language, time zone, colour and width."""
_LOWERCASE_NAME: Final = re.compile(r"(?!.*_proxy$|npm_config_|dyld_|ld_)[a-z_][a-z0-9_]*")
"""Lower-case names, which scripts use for themselves; no program is configured by them."""


def is_harmless(name: str) -> bool:
    return name in HARMLESS_VARIABLES or name.startswith("LC_") or _LOWERCASE_NAME.fullmatch(name) is not None


def judge_variable(name: str) -> list[Finding]:
    """Judges an assignment, for one command or for all that follow."""
    return [] if is_harmless(name) else [contained(f"{name} may change how programs behave")]
