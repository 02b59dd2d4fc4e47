"""Fills a replacement template with the captures of a match and indents them. Pure."""

from collections.abc import Mapping
from typing import Final

import msgspec

from tools.lazy_patterns import lazy_regex

AST_GREP_VARIABLE_PATTERN: Final = lazy_regex(r"\$\$\$([A-Z_][A-Z0-9_]*)?|\$([A-Z_][A-Z0-9_]*)")


class CapturedCode(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    """The captured code, exactly as in the file."""
    indent: str
    """The indentation of the first captured line."""
    is_block: bool = False
    """Whether the captured code is a block of statements in a language whose blocks are marked by indentation."""
    has_multiline_string: bool = False
    """Whether a line of the captured code begins inside a string, so that its indentation must not change."""


class CannotIndentRewrite(Exception):
    """Raised if a match cannot be rewritten with proper indentation, with the reason."""


def find_pattern_variables(text: str) -> tuple[str, ...]:
    """Returns the names of the variables (`$NAME`) in an ast-grep pattern or replacement."""
    found = (match[1] or match[2] for match in AST_GREP_VARIABLE_PATTERN.finditer(text))
    return tuple(dict.fromkeys(name for name in found if name and not name.startswith("_")))


def fill_replacement_template(template: str, captures: Mapping[str, CapturedCode], indent: str) -> str:
    """Fills a replacement template with the captures of a match; `indent` is the indentation of the match's first line.
    Raises `CannotIndentRewrite`."""
    lines = template.strip("\n").split("\n")
    out: list[str] = []
    for number, line in enumerate(lines):
        own = line[: len(line) - len(line.lstrip())]
        target = indent + own if number else indent
        match = AST_GREP_VARIABLE_PATTERN.fullmatch(line.strip())
        if match is not None and (capture := captures.get(match[1] or match[2] or "")) is not None:
            moved = _reindent_capture(capture, target)
            out.append(moved if not number else target + moved)
            continue
        text = _fill_template_line(line, captures)
        out.append(text if not number or not text.strip() else indent + text)
    return "\n".join(out)


def _fill_template_line(line: str, captures: Mapping[str, CapturedCode]) -> str:
    parts: list[str] = []
    at = 0
    for match in AST_GREP_VARIABLE_PATTERN.finditer(line):
        capture = captures.get(match[1] or match[2] or "")
        if capture is None:
            continue
        if capture.is_block and "\n" in capture.text:
            raise CannotIndentRewrite("a block of several lines cannot stand within a line")
        parts += (line[at : match.start()], capture.text)
        at = match.end()
    return "".join([*parts, line[at:]])


def _reindent_capture(capture: CapturedCode, target: str) -> str:
    first, *rest = capture.text.split("\n")
    if not rest or capture.indent == target:
        return capture.text
    if capture.has_multiline_string:
        raise CannotIndentRewrite("its lines cannot be indented anew: one begins within a text")
    out = [first]
    for line in rest:
        if not line.strip():
            out.append(line)
        elif line.startswith(capture.indent):
            out.append(target + line[len(capture.indent) :])
        else:
            raise CannotIndentRewrite("its lines cannot be indented anew: one begins before the others")
    return "\n".join(out)
