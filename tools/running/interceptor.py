"""Points a shell command at the better tool, where the model has one. Off unless a setting turns it on."""

from collections.abc import Collection
from typing import Any, Final

import msgspec


class InterceptRule(msgspec.Struct, frozen=True, kw_only=True):
    pattern: str
    tool: str
    """Which the model has to have, so that the rule counts."""
    message: str
    ignore_case: bool = False


MATCH_TIMEOUT: Final = 0.1
"""Seconds for one expression."""
INTERCEPT_RULES: Final[tuple[InterceptRule, ...]] = (
    InterceptRule(
        pattern=r"\s*(?:echo|printf|cat)\b[^|;&]*[^0-9&>-]>{1,2}\s*(?!/dev/|&)[^\s&|;]",
        tool="write",
        message="Use the write tool to make files: it keeps quoting intact and shows the change.",
    ),
    InterceptRule(
        pattern=r"\s*(?:cat|head|tail|less|more)\s+(?!-f\b)[^|;&><]+$",
        tool="read",
        message="Use the read tool: it pages, numbers and remembers what was seen.",
    ),
    InterceptRule(
        pattern=r"\s*(?:grep|egrep|fgrep|rg|ripgrep|ag|ack)\s[^|;&><]+$",
        tool="grep",
        message="Use the grep tool: it respects .gitignore and limits its output.",
    ),
    InterceptRule(
        pattern=r"\s*(?:find|fd|fdfind|locate)\s.*(?:-name|-iname|-type|--type|-glob|--glob)\b[^|;&><]*$",
        tool="find",
        message="Use the find tool: it respects .gitignore and sorts by recency.",
    ),
    InterceptRule(
        pattern=r"\s*(?:sed\s(?:.*\s)?(?:-[a-zA-Z]*i|--in-place)|perl\s(?:.*\s)?-[a-zA-Z]*i|awk\s.*-i\s+inplace)",
        tool="edit",
        message="Use the edit tool: it checks what it replaces and tells what changed.",
    ),
)


def pattern_error(pattern: str) -> str | None:
    """What is wrong with it."""
    try:
        _compiled(pattern)
    except regex_error() as problem:
        return str(problem)
    return None


def better_tool(
    command: str, without_cd: str, tools: Collection[str], own: tuple[InterceptRule, ...] = ()
) -> str | None:
    """Why `command` is refused, or None. A rule counts only if its tool is there; a broken pattern never does.

    `own`: the person's rules, before those that every session has.
    """
    for rule in (*own, *INTERCEPT_RULES):
        if rule.tool not in tools:
            continue
        try:
            pattern = _compiled(rule.pattern, ignores_case=rule.ignore_case)
            matches = any(
                pattern.match(text.strip(), timeout=MATCH_TIMEOUT) for text in (command, without_cd)
            )
        except (regex_error(), TimeoutError):
            continue
        if matches:
            return f"Blocked: {rule.message}\n\nOriginal command: {command}"
    return None


def _compiled(pattern: str, *, ignores_case: bool = False) -> Any:
    """An expression of the person's own may be slow: this engine can be stopped."""
    import regex  # noqa: PLC0415  (only where commands are intercepted)

    return regex.compile(pattern, regex.DOTALL | (regex.IGNORECASE if ignores_case else 0))


def regex_error() -> type[Exception]:
    import regex  # noqa: PLC0415  (as above)

    return regex.error
