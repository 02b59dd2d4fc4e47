"""Versions 1 and 2 of the session format brought to version 3, on plain data. The header's version is not set here."""

from typing import Any

from app.values.wire import now_iso, unused_id


def migrate_lines(lines: list[dict[str, Any]], header: dict[str, Any], version: int) -> list[dict[str, Any]]:
    """`lines` without the header, in file order; returns them in today's form, `header` set right in place."""
    if version < 2:
        lines = _to_version_2(lines, header)
    if version < 3:
        lines = [_to_version_3(line) for line in lines]
    return lines


def _to_version_2(lines: list[dict[str, Any]], header: dict[str, Any]) -> list[dict[str, Any]]:
    """A list becomes a chain: every line gets an id and its predecessor as parent."""
    taken: set[str] = set()
    chained: list[dict[str, Any]] = []
    previous: str | None = None
    for line in lines:
        entry_id = unused_id(taken)
        taken.add(entry_id)
        rest = {
            key: value for key, value in line.items() if key not in ("type", "id", "parentId", "timestamp")
        }
        chained.append(
            {
                "type": line.get("type"),
                "id": entry_id,
                "parentId": previous,
                "timestamp": line.get("timestamp") or header.get("timestamp") or now_iso(),
                **rest,
            }
        )
        previous = entry_id
    for line in chained:
        if line["type"] == "compaction" and "firstKeptEntryIndex" in line:
            line["firstKeptEntryId"] = _id_at(chained, line.pop("firstKeptEntryIndex"), line["id"])
    return chained


def _id_at(chained: list[dict[str, Any]], index: Any, default: str) -> str:
    """The old index counted lines including the header."""
    if isinstance(index, int) and 1 <= index <= len(chained):
        return chained[index - 1]["id"]
    return default


def _to_version_3(line: dict[str, Any]) -> dict[str, Any]:
    message = line.get("message")
    if isinstance(message, dict) and message.get("role") == "hookMessage":
        return {**line, "message": {**message, "role": "custom"}}
    return line
