"""Translates a model's pattern for ripgrep: multi-line patterns, and any line ending."""

from typing import Final

from tools.lazy_patterns import lazy_regex

_REGEX_CHARACTER_PATTERN: Final = lazy_regex(r"([\\.+*?()|\[\]{}^$#&~-])")
_DOT_ALL_FLAG_PATTERN: Final = lazy_regex(r"\(\?[a-zA-Z]*s")


def translate_for_ripgrep(pattern: str, *, is_literal: bool, spans_lines: bool) -> tuple[str, list[str]]:
    """Translates a model's search pattern into one for ripgrep, and returns the options it needs."""
    # Only lookaround and back references need the other engine.
    options = ["--engine=auto"]
    if is_literal and "\n" in pattern:
        pattern, is_literal = _REGEX_CHARACTER_PATTERN.sub(r"\\\1", pattern), False
    if is_literal:
        options.append("--fixed-strings")
    else:
        pattern, has_line_feed = _match_any_line_end(pattern)
        if spans_lines or has_line_feed or _DOT_ALL_FLAG_PATTERN.search(pattern):
            options.append("--multiline")
        if spans_lines:
            options.append("--multiline-dotall")
    if "\r" not in pattern.replace(_ANY_LINE_END_REGEX, "\n") and r"\r" not in pattern.replace(
        _ANY_LINE_END_REGEX, "\n"
    ):
        options.append("--crlf")
    return pattern, options


_ANY_LINE_END_REGEX: Final = r"\r?\n"


def _match_any_line_end(pattern: str) -> tuple[str, bool]:
    """Lets the line feeds of a search pattern match CRLF too; also returns whether the pattern has any."""
    out: list[str] = []
    is_in_class = is_negated = has_line_feed = False
    index = 0
    while index < len(pattern):
        step = 2 if pattern[index] == "\\" and index + 1 < len(pattern) else 1
        part = pattern[index : index + step]
        is_line_feed = part in ("\n", r"\n")
        if is_line_feed and not is_in_class:
            before = "".join(out[-1:])
            out.append(
                part if before in ("\r", r"\r", "?") and _ends_optional_return(out) else _ANY_LINE_END_REGEX
            )
            has_line_feed = True
        else:
            has_line_feed = has_line_feed or (is_line_feed and not is_negated)
            out.append(part)
        if part == "[" and not is_in_class:
            is_in_class, is_negated = True, pattern.startswith("^", index + 1)
            rest = index + 1 + is_negated
            if pattern.startswith("]", rest):  # the first bracket in a class is a literal
                out.append(pattern[index + 1 : rest + 1])
                step = rest + 1 - index
        elif part == "]" and is_in_class:
            is_in_class = is_negated = False
        index += step
    return "".join(out), has_line_feed


def _ends_optional_return(out: list[str]) -> bool:
    """Returns whether a search pattern itself already matches a carriage return before a line feed."""
    return "".join(out[-2:]).endswith(("\r", r"\r", "\r?", r"\r?"))
