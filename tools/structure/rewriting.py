"""What a replacement makes of a match: captures put into a template, indented as they have to be. Pure."""

from collections.abc import Mapping
from typing import Final

import msgspec

from tools.patterns import late

VARIABLE: Final = late(r"\$\$\$([A-Z_][A-Z0-9_]*)?|\$([A-Z_][A-Z0-9_]*)")


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    """From its first character to its last, as it stands in the file."""
    indent: str
    """What its first line begins with."""
    is_block: bool = False
    """Statements, in a language that tells by indentation where they end."""
    has_multiline_string: bool = False
    """A line of it begins within a text, and cannot be moved."""


class CannotIndent(Exception):
    """The match stays as it is, for a reason that is told."""


def pattern_variables(text: str) -> tuple[str, ...]:
    """The names that a pattern captures or a replacement wants."""
    found = (match[1] or match[2] for match in VARIABLE.finditer(text))
    return tuple(dict.fromkeys(name for name in found if name and not name.startswith("_")))


def fill_template(template: str, captures: Mapping[str, Capture], indent: str) -> str:
    """`indent`: of the line in which the match begins. Raises `CannotIndent`."""
    lines = template.strip("\n").split("\n")
    out: list[str] = []
    for number, line in enumerate(lines):
        own = line[: len(line) - len(line.lstrip())]
        target = indent + own if number else indent
        match = VARIABLE.fullmatch(line.strip())
        if match is not None and (capture := captures.get(match[1] or match[2] or "")) is not None:
            moved = _reindented(capture, target)
            out.append(moved if not number else target + moved)
            continue
        text = _fill_line(line, captures)
        out.append(text if not number or not text.strip() else indent + text)
    return "\n".join(out)


def _fill_line(line: str, captures: Mapping[str, Capture]) -> str:
    parts: list[str] = []
    at = 0
    for match in VARIABLE.finditer(line):
        capture = captures.get(match[1] or match[2] or "")
        if capture is None:
            continue
        if capture.is_block and "\n" in capture.text:
            raise CannotIndent("a block of several lines cannot stand within a line")
        parts += (line[at : match.start()], capture.text)
        at = match.end()
    return "".join([*parts, line[at:]])


def _reindented(capture: Capture, target: str) -> str:
    first, *rest = capture.text.split("\n")
    if not rest or capture.indent == target:
        return capture.text
    if capture.has_multiline_string:
        raise CannotIndent("its lines cannot be indented anew: one begins within a text")
    out = [first]
    for line in rest:
        if not line.strip():
            out.append(line)
        elif line.startswith(capture.indent):
            out.append(target + line[len(capture.indent) :])
        else:
            raise CannotIndent("its lines cannot be indented anew: one begins before the others")
    return "\n".join(out)
