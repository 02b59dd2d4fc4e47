"""Reads JSON files that people edit (models.json, auth.json) and reports a fault with the file's name and the
place in it."""

from pathlib import Path
from typing import Any

from app.values.json_comments import JsonFault, line_and_column, parse, places
from app.values.unable import FileFault
from tools.files.regular import read_regular


def read_object(path: Path) -> tuple[dict[str, Any], str]:
    """Returns the file's object and its text; an empty object if the file does not exist. Raises `FileFault`."""
    try:
        raw = read_regular(path)
    except FileNotFoundError:
        return {}, ""
    except OSError as problem:
        raise FileFault(path, f"cannot be read: {problem.strerror or problem}") from None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        before = raw[: problem.start].decode("utf-8")
        raise FileFault(path, "it is not UTF-8 text", *line_and_column(before, len(before))) from None
    if not text.strip():
        return {}, text
    try:
        data = parse(text)
    except JsonFault as fault:
        raise FileFault(path, fault.message, fault.line, fault.column) from None
    if not isinstance(data, dict):
        raise FileFault(path, "the top level must be a JSON object", 1, 1)
    return data, text


def place_of(text: str, path: tuple[str | int, ...]) -> tuple[int, int]:
    """Returns line and column of the value at `path`, or of its nearest existing parent."""
    found = places(text)
    while path not in found:
        path = path[:-1]
    return found[path].line, found[path].column
