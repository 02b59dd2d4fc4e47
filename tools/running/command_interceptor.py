"""Suggests a better tool instead of a shell command. Off unless a setting turns it on."""

from collections.abc import Collection
from typing import Any, Final

import msgspec


class CommandInterceptRule(msgspec.Struct, frozen=True, kw_only=True):
    pattern: str
    tool: str
    """The tool that the rule suggests; the rule applies only if the model has this tool."""
    message: str
    ignore_case: bool = False


COMMAND_INTERCEPT_MATCH_TIMEOUT: Final = 0.1
"""The maximum time in seconds for matching one pattern."""
COMMAND_INTERCEPT_RULES: Final[tuple[CommandInterceptRule, ...]] = (
    CommandInterceptRule(
        pattern=r"\s*(?:echo|printf|cat)\b[^|;&]*[^0-9&>-]>{1,2}\s*(?!/dev/|&)[^\s&|;]",
        tool="write",
        message="Use the write tool to make files: it keeps quoting intact and shows the change.",
    ),
    CommandInterceptRule(
        pattern=r"\s*(?:cat|head|tail|less|more)\s+(?!-f\b)[^|;&><]+$",
        tool="read",
        message="Use the read tool: it pages, numbers and remembers what was seen.",
    ),
    CommandInterceptRule(
        pattern=r"\s*(?:grep|egrep|fgrep|rg|ripgrep|ag|ack)\s[^|;&><]+$",
        tool="grep",
        message="Use the grep tool: it respects .gitignore and limits its output.",
    ),
    CommandInterceptRule(
        pattern=r"\s*(?:find|fd|fdfind|locate)\s.*(?:-name|-iname|-type|--type|-glob|--glob)\b[^|;&><]*$",
        tool="find",
        message="Use the find tool: it respects .gitignore and sorts by recency.",
    ),
    CommandInterceptRule(
        pattern=r"\s*(?:sed\s(?:.*\s)?(?:-[a-zA-Z]*i|--in-place)|perl\s(?:.*\s)?-[a-zA-Z]*i|awk\s.*-i\s+inplace)",
        tool="edit",
        message="Use the edit tool: it checks what it replaces and tells what changed.",
    ),
)


def find_intercept_pattern_error(pattern: str) -> str | None:
    """Returns why the pattern of an intercept rule is invalid, or None."""
    try:
        _compile_with_timeout_engine(pattern)
    except regex_error_type() as problem:
        return str(problem)
    return None


def find_tool_instead_of_command(
    command: str, without_cd: str, tools: Collection[str], own: tuple[CommandInterceptRule, ...] = ()
) -> str | None:
    """Returns why a shell command is refused in favour of a tool, or None. A rule applies only if its tool is
    available; an invalid pattern never applies. `own` are the user's rules, which precede the built-in ones."""
    for rule in (*own, *COMMAND_INTERCEPT_RULES):
        if rule.tool not in tools:
            continue
        try:
            pattern = _compile_with_timeout_engine(rule.pattern, ignores_case=rule.ignore_case)
            matches = any(
                pattern.match(text.strip(), timeout=COMMAND_INTERCEPT_MATCH_TIMEOUT)
                for text in (command, without_cd)
            )
        except (regex_error_type(), TimeoutError):
            continue
        if matches:
            return f"Blocked: {rule.message}\n\nOriginal command: {command}"
    return None


def _compile_with_timeout_engine(pattern: str, *, ignores_case: bool = False) -> Any:
    """Compiles the pattern of an intercept rule with an engine that has a timeout, because a user's pattern may be
    slow."""
    import regex  # noqa: PLC0415  (only where commands are intercepted)

    return regex.compile(pattern, regex.DOTALL | (regex.IGNORECASE if ignores_case else 0))


def regex_error_type() -> type[Exception]:
    import regex  # noqa: PLC0415  (as above)

    return regex.error
