"""Reads JSON files that people edit (models.json, auth.json) and reports a fault with the file's name and the
place in it."""

from pathlib import Path
from typing import Any

from app.values.json_comments import (
    JsonSyntaxError,
    json_value_positions,
    line_and_column_at_offset,
    parse_json_with_comments,
)
from app.values.user_errors import FileError
from tools.files.regular_files import read_regular_file


def read_json_object(path: Path) -> tuple[dict[str, Any], str]:
    """Returns the file's object and its text; an empty object if the file does not exist. Raises `FileError`."""
    try:
        raw = read_regular_file(path)
    except FileNotFoundError:
        return {}, ""
    except OSError as problem:
        raise FileError(path, f"cannot be read: {problem.strerror or problem}") from None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        before = raw[: problem.start].decode("utf-8")
        raise FileError(
            path, "it is not UTF-8 text", *line_and_column_at_offset(before, len(before))
        ) from None
    if not text.strip():
        return {}, text
    try:
        data = parse_json_with_comments(text)
    except JsonSyntaxError as fault:
        raise FileError(path, fault.message, fault.line, fault.column) from None
    if not isinstance(data, dict):
        raise FileError(path, "the top level must be a JSON object", 1, 1)
    return data, text


def line_and_column_of_json_path(text: str, path: tuple[str | int, ...]) -> tuple[int, int]:
    """Returns line and column of the value at `path`, or of its nearest existing parent."""
    found = json_value_positions(text)
    while path not in found:
        path = path[:-1]
    return found[path].line, found[path].column
