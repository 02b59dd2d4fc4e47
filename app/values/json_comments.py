"""Reads and edits JSON with `//` and `/* */` comments and trailing commas; errors have line and column.

Used for every JSON file that a user edits. `parse` reads, `places` locates each value, `with_json_value` and
`without_json_key` change one value and leave every other byte unchanged. The callers know the meaning of
keys."""

import re
from typing import Any

import msgspec

from app.values.user_errors import UserError
from tools.lazy_patterns import lazy_regex

JsonPath = tuple[str | int, ...]
"""The keys and indices that lead from the document to a value."""

# Patterns as text, compiled at first use: most files are valid JSON and need none of them.
_JSON_STRING_OR_COMMENT_PATTERN = (
    r'(?s)"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])'
)
_JSON_SPACE_PATTERN = r"\s*"
_JSON_STRING_PATTERN = r'(?s)"(?:[^"\\]|\\.)*"'
_JSON_SCALAR_PATTERN = r'[^\s,\[\]{}:"]+'


_HUGE_JSON_NUMBER = lazy_regex(r"\d{4301,}")


class JsonSyntaxError(UserError):
    """Raised if a text is not JSON. `str()` names line and column."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {message}")
        self.message = message
        self.line = line
        self.column = column


class JsonValuePosition(msgspec.Struct, frozen=True, kw_only=True):
    """The position of a value in a JSON text; offsets count characters."""

    line: int
    column: int
    start: int
    end: int
    key_start: int | None = None
    """The offset of the member's key, if the value belongs to an object."""


def parse_json_with_comments(text: str) -> Any:
    """Parses JSON with comments to plain Python data. Raises `JsonSyntaxError`."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _parse_tolerantly(text)


def _parse_tolerantly(text: str) -> Any:
    """Parses JSON with comments and lone surrogates, and reports the line of a fault."""
    import json  # noqa: PLC0415  (see `_dump_json`)

    plain = without_json_comments(text)
    try:
        return json.loads(plain, parse_constant=_refuse_constant)
    except json.JSONDecodeError as problem:
        raise JsonSyntaxError(
            _JSON_ERROR_TEXTS.get(problem.msg, problem.msg), problem.lineno, problem.colno
        ) from None
    except _NonJsonConstant as problem:
        line, column = line_and_column_at_offset(plain, max(plain.find(str(problem)), 0))
        raise JsonSyntaxError(f"{problem} is not a JSON value", line, column) from None
    except RecursionError:
        raise JsonSyntaxError("nested too deeply", 1, 1) from None
    except ValueError:  # Python reads no number that is so long
        digits = _HUGE_JSON_NUMBER.search(plain)
        place = line_and_column_at_offset(plain, digits.start() if digits else 0)
        raise JsonSyntaxError("a number of more than 4,300 digits", *place) from None


def without_json_comments(text: str) -> str:
    """Replaces comments and trailing commas by spaces; every other character keeps its offset."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        if found[0] == '"':
            return found
        return "".join("\n" if character == "\n" else " " for character in found)

    if text.startswith("\ufeff"):
        text = " " + text[1:]
    return re.sub(_JSON_STRING_OR_COMMENT_PATTERN, blank, text)


def json_value_positions(text: str) -> dict[JsonPath, JsonValuePosition]:
    """Returns the position of each value in a JSON text by its path; `()` is the whole document. The text must
    be valid."""
    return _ValueFinder(without_json_comments(text)).run()


def line_and_column_at_offset(text: str, offset: int) -> tuple[int, int]:
    """Returns the line and column of an offset, counted from 1."""
    before = text.rfind("\n", 0, offset)
    return text.count("\n", 0, offset) + 1, offset - before


def with_json_value(text: str, path: tuple[str, ...], value: Any) -> str:
    """Sets the value at a path of a JSON text, creating objects on the way; all other text stays unchanged.
    Raises `JsonSyntaxError`."""
    if not text.strip().lstrip("\ufeff"):
        text = "{}\n"
    if not isinstance(parse_json_with_comments(text), dict):
        raise JsonSyntaxError("the document is not an object", 1, 1)
    found = json_value_positions(text)
    depth = len(path)
    while depth and path[:depth] not in found:
        depth -= 1
    if depth == len(path):
        place = found[path]
        indent = _indent_at(text, place.key_start or place.start)
        return text[: place.start] + _indented_json(value, indent) + text[place.end :]
    place = found[path[:depth]]
    if text[place.start] != "{":  # something else stands where an object is needed: it gives way
        return with_json_value(text[: place.start] + "{}" + text[place.end :], path, value)
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    return _with_member(text, place, path[:depth], path[depth], value, found)


def without_json_key(text: str, path: tuple[str, ...]) -> str:
    """Removes the member at a path of a JSON text; without such a member the text is unchanged. Raises
    `JsonSyntaxError`."""
    parse_json_with_comments(text)
    found = json_value_positions(text)
    place = found.get(path)
    if place is None or place.key_start is None:
        return text
    plain = without_json_comments(text)
    start, end = place.key_start, place.end
    after = re.compile(_JSON_SPACE_PATTERN).match(plain, end)
    assert after is not None
    if text[after.end() : after.end() + 1] == ",":
        end = after.end() + 1
    else:
        before = len(plain[:start].rstrip())
        if plain[before - 1] == ",":
            text = text[: before - 1] + " " + text[before:]
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    if not text[line_start:start].strip() and line_end >= 0 and not text[end:line_end].strip():
        start, end = line_start, line_end + 1
    return text[:start] + text[end:]


class _NonJsonConstant(ValueError):
    pass


def _refuse_constant(name: str) -> Any:
    raise _NonJsonConstant(name)


_JSON_ERROR_TEXTS = {
    "Expecting value": "a value is missing here",
    "Expecting property name enclosed in double quotes": "a key in double quotes is missing here",
    "Expecting ':' delimiter": "a ':' is missing here",
    "Expecting ',' delimiter": "a ',' is missing here",
    "Extra data": "the document ended before this",
    "Unterminated string starting at": "this text is never closed with a '\"'",
    "Invalid control character at": "a line break or control character stands inside a text",
}


class _ValueFinder:
    """Finds the begin and end of each value in a valid JSON text, without recursion."""

    def __init__(self, plain: str) -> None:
        self._text = plain
        self._at: int = 0
        self._line = 1
        self._line_start = 0
        self._counted = 0
        self._places: dict[JsonPath, JsonValuePosition] = {}
        self._open: list[tuple[JsonPath, int, int, int, int | None]] = []

    def run(self) -> dict[JsonPath, JsonValuePosition]:
        path: JsonPath = ()
        key_start: int | None = None
        index: list[int] = []
        while True:
            self._skip_space()
            if self._at >= len(self._text):
                return self._places
            character = self._text[self._at]
            if character in "}]":
                self._at += 1
                self._close_value()
                if index:
                    index.pop()
            elif character == ",":
                self._at += 1
                if index and index[-1] >= 0:
                    index[-1] += 1
            else:
                parent = self._open[-1][0] if self._open else ()
                if index and index[-1] >= 0:
                    path, key_start = (*parent, index[-1]), None
                elif self._open:
                    key_start = self._at
                    path = (*parent, self._read_key())
                self._read_value(path, key_start, index)
            if not self._open:
                return self._places

    def _read_value(self, path: JsonPath, key_start: int | None, index: list[int]) -> None:
        line, column = self._line_and_column()
        start = self._at
        character = self._text[start]
        if character in "{[":
            self._at += 1
            self._open.append((path, start, line, column, key_start))
            index.append(-1 if character == "{" else 0)
            return
        match = re.compile(_JSON_STRING_PATTERN if character == '"' else _JSON_SCALAR_PATTERN).match(
            self._text, start
        )
        self._at = match.end() if match else len(self._text)
        self._places[path] = JsonValuePosition(
            line=line, column=column, start=start, end=self._at, key_start=key_start
        )

    def _close_value(self) -> None:
        path, start, line, column, key_start = self._open.pop()
        self._places[path] = JsonValuePosition(
            line=line, column=column, start=start, end=self._at, key_start=key_start
        )

    def _read_key(self) -> str:
        match = re.compile(_JSON_STRING_PATTERN).match(self._text, self._at)
        assert match is not None  # the document has been parsed
        self._at = match.end()
        self._skip_space()
        self._at += 1  # the colon
        self._skip_space()
        import json  # noqa: PLC0415  (see `_dump_json`)

        return json.loads(match.group(), strict=False)

    def _skip_space(self) -> None:
        match = re.compile(_JSON_SPACE_PATTERN).match(self._text, self._at)
        assert match is not None
        self._at = match.end()

    def _line_and_column(self) -> tuple[int, int]:
        newlines = self._text.count("\n", self._counted, self._at)
        if newlines:
            self._line += newlines
            self._line_start = self._text.rfind("\n", self._counted, self._at) + 1
        self._counted = self._at
        return self._line, self._at - self._line_start + 1


def _with_member(
    text: str,
    place: JsonValuePosition,
    parent: tuple[str, ...],
    key: str,
    value: Any,
    found: dict[JsonPath, JsonValuePosition],
) -> str:
    """Adds a member behind the last one of a JSON object."""
    members = [
        spot for path, spot in found.items() if len(path) == len(parent) + 1 and path[: len(parent)] == parent
    ]
    outer = _indent_at(text, place.key_start if place.key_start is not None else place.start)
    if not members:
        indent = outer + "  "
        tail = text[place.start + 1 : place.end - 1].rstrip()
        member = f"{_dump_json(key)}: {_indented_json(value, indent)}"
        return f"{text[: place.start + 1]}{tail}\n{indent}{member}\n{outer}{text[place.end - 1 :]}"
    last = max(members, key=lambda spot: spot.end)
    assert last.key_start is not None
    indent = _indent_at(text, last.key_start)
    if text[place.start : last.key_start].count("\n") == 0:  # everything on one line: stay there
        member = f"{_dump_json(key)}: {_dump_json(value)}"
        return f"{text[: last.end]}, {member}{text[_after_comma(text, last.end) :]}"
    member = f"{_dump_json(key)}: {_indented_json(value, indent)}"
    rest = text[_after_comma(text, last.end) :]
    line_end = rest.find("\n")
    comment = rest[:line_end] if line_end >= 0 else ""
    if comment.strip().startswith(("//", "/*")) and "}" not in without_json_comments(comment):
        return f"{text[: last.end]},{comment}\n{indent}{member}{rest[line_end:]}"
    return f"{text[: last.end]},\n{indent}{member}{rest}"


def _after_comma(text: str, offset: int) -> int:
    match = re.compile(r"\s*,").match(text, offset)
    return match.end() if match else offset


def _indent_at(text: str, offset: int) -> str:
    line_start = text.rfind("\n", 0, offset) + 1
    match = re.compile(r"[ \t]*").match(text, line_start)
    return match.group() if match else ""


def _indented_json(value: Any, indent: str) -> str:
    return _dump_json(value, indent=2).replace("\n", "\n" + indent)


def _dump_json(value: Any, *, indent: int | None = None) -> str:
    import json  # noqa: PLC0415  (a part of every start else, and only a change to a file needs it)

    return json.dumps(value, ensure_ascii=False, indent=indent)
