"""Judges which assignments of environment variables can change what a program does."""

import re
from typing import Final

from app.permits.command_findings import RiskFinding, contained_risk_finding
from app.permits.shell_words import UNKNOWN_TEXT_MARK, parse_word_set

HARMLESS_ENVIRONMENT_VARIABLES: Final = parse_word_set(
    "LANG LANGUAGE TZ TERM COLORTERM NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES "
    "LS_COLORS GREP_COLORS TIME_STYLE BLOCK_SIZE CI"
)
"""The names of variables that only set language, time zone, colour and width."""
_LOCALE_AND_TERMINAL_VARIABLES: Final = re.compile("LANG|LANGUAGE|LC_.*|TZ|TERM")
"""Variables that name files which every program loads; a path as their value could lead into the workspace."""
_HARMLESS_VARIABLE_VALUE: Final = re.compile(r"[A-Za-z0-9_.@:,+-]*|[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+)*")
_HARMLESS_LOWERCASE_VARIABLE_NAME: Final = re.compile(r"(?!.*_proxy$|npm_config_|dyld_|ld_)[a-z_][a-z0-9_]*")
"""Matches lower-case names, which scripts use for their own variables. Exported, they can change what a program
does: make and configure read any name, Yarn and fish some."""


def is_harmless_variable_assignment(name: str, value: str = UNKNOWN_TEXT_MARK, *, is_exported: bool) -> bool:
    """Returns whether assigning a variable of this name is harmless. `value` is the assigned value, if known;
    `is_exported` says that programs get the variable."""
    if _LOCALE_AND_TERMINAL_VARIABLES.fullmatch(name):
        return _HARMLESS_VARIABLE_VALUE.fullmatch(value) is not None
    return name in HARMLESS_ENVIRONMENT_VARIABLES or (
        not is_exported and _HARMLESS_LOWERCASE_VARIABLE_NAME.fullmatch(name) is not None
    )


def judge_variable_assignment(name: str, value: str, *, is_exported: bool) -> list[RiskFinding]:
    """Judges an assignment to a variable, for one command or for all that follow; returns a finding for each risk."""
    if is_harmless_variable_assignment(name, value, is_exported=is_exported):
        return []
    return [contained_risk_finding(f"{name} may change how programs behave")]
