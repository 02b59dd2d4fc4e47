"""JSON Lines: sessions of an agent as conversations, other records by their keys, types and counts."""

from collections import Counter

import msgspec

from tools.filemap.language import Draft
from tools.filemap.scanners.lines import Lines
from tools.filemap.scanners.nesting import Nesting
from tools.filemap.scanners.result import Scanned
from tools.filemap.watch import Watch

_KEYS_NAMED = 60
_MAX_TURNS = 3000
_LARGEST_RECORD = 1024 * 1024


def scan_jsonl(source: bytes, watch: Watch) -> Scanned:
    """A session of an agent as its conversation; other records by their keys, types and counts."""
    if _is_session(source):
        return _conversation(source, watch)
    keys: dict[str, Counter[str]] = {}
    first_row: dict[str, int] = {}
    count = broken = 0
    decode = msgspec.json.decode
    for row, _start, line in Lines(source, watch):
        if not line.strip():
            continue
        count += 1
        if count > 2000 or len(line) > _LARGEST_RECORD:
            continue
        try:
            record = decode(line)
        except (msgspec.DecodeError, RecursionError):
            broken += 1
            continue
        for key, value in record.items() if isinstance(record, dict) else [("(value)", record)]:
            keys.setdefault(key, Counter())[type_of(value)] += 1
            first_row.setdefault(key, row)
    if not count:
        return Scanned(drafts=[])
    seen = min(count, 2000)
    whole = Draft(
        name=f"{count:,} records",
        kind="records",
        start=0,
        start_row=0,
        end_row=max(0, source.count(b"\n") - source.endswith(b"\n")),
        signature=(f"{broken} of them are no JSON" if broken else "")
        + (f" (keys from the first {seen:,})" if count > seen else ""),
    )
    drafts = [whole]
    for number, (key, types) in enumerate(list(keys.items())[:_KEYS_NAMED]):
        how_many = sum(types.values())
        said = " | ".join(kind for kind, _ in types.most_common(4))
        said += "" if how_many == seen - broken else f", in {how_many:,} of {seen:,}"
        drafts.append(
            Draft(
                name=key[:100] or '""',
                kind="key",
                start=number + 1,
                start_row=first_row[key],
                end_row=first_row[key],
                parent=0,
                signature=said,
            )
        )
    return Scanned(drafts=drafts)


def type_of(value: object) -> str:
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    return "string" if isinstance(value, str) else "number"


def _is_session(source: bytes) -> bool:
    head = source[:400].split(b"\n", 1)[0]
    return b'"type":"session"' in head.replace(b" ", b"")


class _Part(msgspec.Struct):
    type: str = ""
    text: str = ""
    name: str = ""


class _Said(msgspec.Struct, rename="camel"):
    role: str = ""
    content: str | list[_Part] = ""
    tool_name: str = ""


class _Entry(msgspec.Struct, rename="camel"):
    type: str = ""
    cwd: str = ""
    custom_type: str = ""
    summary: str = ""
    name: str = ""
    model_id: str = ""
    message: _Said | None = None


def _conversation(source: bytes, watch: Watch) -> Scanned:
    """Every request of the person with what followed: replies, tool calls by name, compactions."""
    found = Nesting()
    decode = msgspec.json.Decoder(_Entry, strict=False).decode
    row, broken = -1, 0
    for row, start, line in Lines(source, watch):
        if not line.strip():
            continue
        try:
            entry = decode(line)
        except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
            broken += 1
            continue
        if len(found.drafts) < _MAX_TURNS:
            _entry(found, entry, row, start)
    found.close(0, max(0, row))
    notes = (f"{broken} lines are no entries",) if broken else ()
    return Scanned(drafts=found.drafts, title="Agent session", notes=notes)


def _entry(found: Nesting, entry: _Entry, row: int, start: int) -> None:
    said = entry.message
    if said is None:
        shown = entry.custom_type or entry.summary or entry.name or entry.model_id or entry.cwd
        found.leaf(_first_line(shown) or entry.type, entry.type or "entry", row, start)
        return
    text = said.content if isinstance(said.content, str) else _text(said.content)
    if said.role == "user":
        found.open(0, _first_line(text) or "(no text)", "user", row, start)
        return
    if said.role == "assistant":
        calls = [part.name for part in said.content if part.name] if isinstance(said.content, list) else []
        called = "calls " + ", ".join(calls[:6]) if calls else ""
        found.leaf(
            _first_line(text) or called or "(nothing)", "assistant", row, start, called if text else ""
        )
        return
    found.leaf(said.tool_name or _first_line(text) or said.role, said.role or "message", row, start)


def _text(parts: list[_Part]) -> str:
    return next((part.text for part in parts if part.text), "")


def _first_line(text: str) -> str:
    return " ".join(text.strip().split("\n", 1)[0].split())[:100]
