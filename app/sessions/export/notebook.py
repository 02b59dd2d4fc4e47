"""A session's cells of Python as a notebook that Jupyter opens: the agent's and the person's, with what they showed."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from app.sessions.export.text import ChangeEntry, as_it_is
from app.sessions.log import SessionLog
from app.values.cells import CELL, content_in
from app.values.content import Image, Text, UserContent
from app.values.entries import CustomEntry, CustomMessageEntry, Entry, MessageEntry
from app.values.messages import AssistantMessage, ToolResultMessage

_OUT = re.compile(r"(?:\A|\n)Out: (?P<value>.*)\Z", re.DOTALL)
_HEADER = re.compile(r"^={5,}\s*(?P<words>.*?)\s*={5,}\s*$", re.MULTILINE)
_TRACEBACK = re.compile(r"(?:\A|\n)(?P<text>Traceback \(most recent call last\):\n.*)\Z", re.DOTALL)


class ExportedCell(msgspec.Struct, frozen=True, kw_only=True):
    code: str
    title: str
    content: tuple[UserContent, ...]
    details: Mapping[str, Any]
    is_error: bool


def export_notebook(log: SessionLog, *, change: ChangeEntry = as_it_is) -> bytes:
    """Version 4.5 of the format."""
    cells = _cells(map(change, log.path_to()))
    notebook = {
        "cells": [_cell(number, cell) for number, cell in enumerate(cells, 1)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n"


def _cells(entries: Iterable[Entry]) -> Iterator[ExportedCell]:
    asked: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
            asked.update(
                {call.id: call.arguments for call in entry.message.tool_calls if call.name == "eval"}
            )
        elif isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResultMessage):
            result = entry.message
            given = asked.get(result.tool_call_id, {}) if result.tool_name == "eval" else {}
            if isinstance(given.get("code"), str):
                yield _made(given, result.content, result.details, is_error=result.is_error)
        elif isinstance(entry, CustomMessageEntry) and entry.custom_type == CELL:
            content = entry.content[1:] if not isinstance(entry.content, str) else ()
            yield _of_person(entry.details, content)
        elif isinstance(entry, CustomEntry) and entry.custom_type == CELL:
            yield _of_person(entry.data, content_in(entry.data))


def _of_person(data: Any, content: tuple[UserContent, ...]) -> ExportedCell:
    known: Mapping[str, Any] = data if isinstance(data, dict) else {}
    return _made(known, content, known, is_error=bool(known.get("isError")))


def _made(
    given: Mapping[str, Any], content: tuple[UserContent, ...], details: Any, *, is_error: bool
) -> ExportedCell:
    return ExportedCell(
        code=str(given.get("code") or ""),
        title=str(given.get("title") or ""),
        content=content,
        details=details if isinstance(details, dict) else {},
        is_error=is_error,
    )


def _cell(number: int, cell: ExportedCell) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": number,
        "id": f"cell-{number}",
        "metadata": {"title": cell.title} if cell.title else {},
        "outputs": list(_outputs(number, cell)),
        # Headers of the form in which several cells come are no Python.
        "source": _HEADER.sub(lambda found: f"# {found['words']}", cell.code).splitlines(keepends=True),
    }


def _outputs(number: int, cell: ExportedCell) -> Iterator[dict[str, Any]]:
    kinds = cell.details.get("parts")
    named = kinds if isinstance(kinds, list) else []
    for at, part in enumerate(cell.content):
        kind = named[at] if at < len(named) else "text"
        if isinstance(part, Image):
            yield _display({part.mime_type: part.data})
        elif isinstance(part, Text):
            yield from _text(number, cell, str(kind), part.text)


def _text(number: int, cell: ExportedCell, kind: str, text: str) -> Iterator[dict[str, Any]]:
    if kind == "markdown":
        yield _display({"text/markdown": text})
        return
    if kind == "json":
        try:
            yield _display({"application/json": json.loads(text)})
            return
        except ValueError:
            pass
    if kind in ("notice", "ending"):
        yield _stream("stderr", text)
        return
    failed = _TRACEBACK.search(text) if cell.is_error else None
    value = _OUT.search(text) if failed is None else None
    found = failed or value
    before = text[: found.start()] if found is not None else text
    if before and before != "(no output)":
        yield _stream("stdout", before)
    if failed is not None:
        lines = failed["text"].splitlines()
        name, _, said = lines[-1].partition(": ")
        yield {"output_type": "error", "ename": name, "evalue": said, "traceback": lines}
    elif value is not None:
        data = {"text/plain": value["value"]}
        yield {"output_type": "execute_result", "execution_count": number, "data": data, "metadata": {}}


def _display(data: dict[str, Any]) -> dict[str, Any]:
    return {"output_type": "display_data", "data": data, "metadata": {}}


def _stream(name: str, text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text if text.endswith("\n") else text + "\n"}
