"""Reads the rows of a file of tasks: JSON lines, YAML or CSV, by the file's ending."""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from app.resources.text_files import read_text
from app.values.user_errors import FileError, UserError


class BatchTaskRow(msgspec.Struct, frozen=True, kw_only=True):
    location: str
    """The file's name and the row's number, for messages."""
    fields: Mapping[str, Any]
    is_text: bool = False
    """Whether numbers are written as text, as in CSV."""


def read_task_rows(file: Path) -> list[BatchTaskRow]:
    """Returns the rows. Raises `UserError`."""
    readers = {
        ".jsonl": _json_rows,
        ".ndjson": _json_rows,
        ".csv": _csv_rows,
        ".yaml": _yaml_rows,
        ".yml": _yaml_rows,
    }
    read = readers.get(file.suffix.lower())
    if read is None:
        raise UserError(f"{file}: tasks are read from files that end in .jsonl, .yaml or .csv.")
    text = read_text(file)
    if text is None:
        raise FileError(file, "does not exist")
    return list(read(file, text))


def _json_rows(file: Path, text: str) -> Iterator[BatchTaskRow]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        place = f"{file.name}, line {number}"
        try:
            fields = msgspec.json.decode(line)
        except msgspec.DecodeError as problem:
            raise UserError(f"{place}: this is not JSON: {problem}. Write one object a line.") from None
        yield BatchTaskRow(location=place, fields=_row_fields(fields, place))


def _yaml_rows(file: Path, text: str) -> Iterator[BatchTaskRow]:
    # Imported here because only this kind of file needs it.
    import yaml  # noqa: PLC0415

    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as problem:
        mark = getattr(problem, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        raise UserError(f"{file.name}{line}: this is not YAML: {_first_line(problem)}.") from None
    if not isinstance(data, list):
        raise UserError(f"{file.name}: write a list of tasks, each beginning with a dash.")
    for number, fields in enumerate(data, 1):
        place = f"{file.name}, task {number}"
        yield BatchTaskRow(location=place, fields=_row_fields(fields, place))


def _csv_rows(file: Path, text: str) -> Iterator[BatchTaskRow]:
    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        for fields in reader:
            place = f"{file.name}, line {reader.line_num}"
            if None in fields:
                raise UserError(
                    f"{place}: there are more values than columns. Quote values that have commas."
                )
            given = {name: value for name, value in fields.items() if value not in (None, "")}
            yield BatchTaskRow(location=place, fields=given, is_text=True)
    except csv.Error as problem:
        raise UserError(f"{file.name}, line {reader.line_num}: this is not CSV: {problem}.") from None


def _row_fields(data: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(data, dict) or not all(isinstance(name, str) for name in data):
        raise UserError(f"{place}: a task is an object with fields such as id and prompt.")
    return data


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or ["it is nested too deeply"])[0]
