"""JSON with comments, for the files of this folder's readers: faults and wrong values are told with their place."""

import json
import re
from pathlib import Path
from typing import Any

_SKIPPED = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL
)
_TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|([{}\[\]:,])|([^\s{}\[\]:,"]+))', re.DOTALL)


class FileFault(Exception):
    """A file that cannot be used, and where in it the fault is."""

    def __init__(self, path: Path, message: str, line: int | None = None, column: int | None = None) -> None:
        place = f", line {line}, column {column}" if line is not None else ""
        super().__init__(f"{path.name}{place}: {message} ({path})")
        self.path = path
        self.message = message
        self.line = line
        self.column = column


def without_comments(text: str) -> str:
    """Comments and trailing commas blanked out; every other character keeps its place."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        return found if found[0] == '"' else re.sub(r"[^\n]", " ", found)

    if text.startswith("\ufeff"):
        text = " " + text[1:]
    return _SKIPPED.sub(blank, text)


def read_object(path: Path) -> tuple[dict[str, Any], str]:
    """The file's object and its text; an empty object where there is no file. Raises `FileFault`."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return {}, ""
    except OSError as problem:
        raise FileFault(path, f"it cannot be read: {problem.strerror or problem}") from None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        before = raw[: problem.start]
        line = before.count(b"\n") + 1
        column = problem.start - (before.rfind(b"\n") + 1) + 1
        raise FileFault(path, "it is not UTF-8 text", line, column) from None
    if not text.strip():
        return {}, text
    try:
        data = json.loads(without_comments(text))
    except json.JSONDecodeError as problem:
        raise FileFault(path, problem.msg, problem.lineno, problem.colno) from None
    except RecursionError:
        raise FileFault(path, "nested too deeply", 1, 1) from None
    if not isinstance(data, dict):
        raise FileFault(path, "an object is needed at the top", 1, 1)
    return data, text


def place_of(text: str, path: tuple[str | int, ...]) -> tuple[int, int]:
    """Line and column of the value at `path`, or of the nearest thing above it that is there."""
    plain = without_comments(text)
    best = _Finder(plain, path).find()
    line_start = plain.rfind("\n", 0, best) + 1
    return plain.count("\n", 0, best) + 1, best - line_start + 1


class _Finder:
    """Walks a valid document once and remembers the longest match with the path."""

    def __init__(self, plain: str, path: tuple[str | int, ...]) -> None:
        self._plain = plain
        self._path = path
        self._depth = 0
        self._best = len(plain) - len(plain.lstrip())

    def find(self) -> int:
        stack: list[list[Any]] = []  # [is object, next key or index, expects a key]
        at = 0
        while match := _TOKEN.match(self._plain, at):
            at = match.end()
            text, mark, _ = match.groups()
            start = match.start(match.lastindex or 0)
            if mark == ":":
                continue
            if mark == ",":
                self._next(stack)
            elif mark in ("}", "]"):
                if stack:
                    stack.pop()
                if not stack:
                    break
            elif text and stack and stack[-1][0] and stack[-1][2]:
                stack[-1][1:] = [json.loads(text, strict=False), False]
            else:
                self._value(stack, start)
                if mark:
                    stack.append([mark == "{", None if mark == "{" else 0, mark == "{"])
        return self._best

    @staticmethod
    def _next(stack: list[list[Any]]) -> None:
        if stack and stack[-1][0]:
            stack[-1][2] = True
        elif stack:
            stack[-1][1] += 1

    def _value(self, stack: list[list[Any]], start: int) -> None:
        here = tuple(level[1] for level in stack)
        if len(here) > self._depth and here == self._path[: len(here)]:
            self._depth = len(here)
            self._best = start
