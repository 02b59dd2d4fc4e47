"""JSON Lines: sessions of an agent as conversations, other records by their keys, types and counts."""

from collections import Counter

import msgspec

from tools.filemap.language import FoundSymbol
from tools.filemap.scanners.lines import counted, source_lines
from tools.filemap.scanners.nesting import Nesting
from tools.filemap.scanners.result import Scanned
from tools.filemap.watch import Deadline
from tools.results import Json

_RECORDS_READ = 2000
_KEYS_NAMED = 60
"""Of one object; more are rather data than names."""
_KEYS_LISTED = 300
_DEPTH = 3
_ITEMS_READ = 20
_MAX_TURNS = 3000
_CALLS_NAMED = 6
_LARGEST_RECORD = 1024 * 1024


def scan_jsonl(source: bytes, watch: Deadline) -> Scanned:
    """A session of an agent as its conversation; other records by their keys, types and counts."""
    if _is_session(source):
        return _conversation(source, watch)
    keys: dict[str, _Key] = {}
    count = broken = 0
    decode = msgspec.json.decode
    for row, _start, line in source_lines(source, watch):
        if not line.strip():
            continue
        count += 1
        if count > _RECORDS_READ or len(line) > _LARGEST_RECORD:
            continue
        try:
            record: Json = decode(line)
        except (ValueError, RecursionError):
            broken += 1
            continue
        _note(keys, record if isinstance(record, dict) else {"(value)": record}, row, 1)
    if not count:
        return Scanned([])
    seen = min(count, _RECORDS_READ)
    whole = FoundSymbol(
        name=counted(count, "record"),
        kind="records",
        start=0,
        start_row=0,
        end_row=max(0, source.count(b"\n") - source.endswith(b"\n")),
        signature=(f"{broken} of them are no JSON" if broken else "")
        + (f" (keys from the first {seen:,})" if count > seen else ""),
    )
    drafts = [whole]
    _list_keys(drafts, keys, seen - broken, 0)
    return Scanned(drafts)


class _Key(msgspec.Struct):
    """A key that was met: with which types of values, where first, and the keys of the objects in it."""

    row: int
    types: Counter[str] = msgspec.field(default_factory=Counter[str])
    objects: int = 0
    """How many objects stood there, by themselves or in an array."""
    below: "dict[str, _Key]" = {}


def _note(keys: dict[str, _Key], record: dict[str, Json], row: int, depth: int) -> None:
    for name, value in record.items():
        key = keys.get(name)
        if key is None:
            if len(keys) >= _KEYS_NAMED:
                continue
            key = keys[name] = _Key(row)
        key.types[type_of(value)] += 1
        if depth == _DEPTH:
            continue
        items: list[Json] = value[:_ITEMS_READ] if isinstance(value, list) else [value]
        for inner in items:
            if isinstance(inner, dict):
                key.objects += 1
                _note(key.below, inner, row, depth + 1)


def _list_keys(drafts: list[FoundSymbol], keys: dict[str, _Key], objects: int, parent: int) -> None:
    """`objects`: how many objects there are that could have these keys."""
    for name, key in keys.items():
        how_many = key.types.total()
        said = " | ".join(kind for kind, _ in key.types.most_common(4))
        said += "" if how_many >= objects else f", in {how_many:,} of {objects:,}"
        number = len(drafts)
        if number > _KEYS_LISTED:
            return
        drafts.append(
            FoundSymbol(
                name=name[:100] or '""',
                kind="key",
                start=number,
                start_row=key.row,
                end_row=key.row,
                parent=parent,
                signature=said,
            )
        )
        _list_keys(drafts, key.below, key.objects, number)


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
    arguments: msgspec.Raw = msgspec.Raw(b"")


class _Called(msgspec.Struct):
    """What of a call's arguments says best what was called for."""

    path: str = ""
    command: str = ""
    pattern: str = ""


class _Said(msgspec.Struct, rename="camel"):
    role: str = ""
    content: str | list[_Part] = ""
    tool_name: str = ""
    is_error: bool = False
    command: str = ""
    exit_code: int | None = None


class _Entry(msgspec.Struct, rename="camel"):
    type: str = ""
    cwd: str = ""
    custom_type: str = ""
    summary: str = ""
    name: str = ""
    label: str = ""
    model_id: str = ""
    thinking_level: str = ""
    content: str | list[_Part] = ""
    message: _Said | None = None


def _conversation(source: bytes, watch: Deadline) -> Scanned:
    """Every request of the person with what followed: replies, tool calls by name, compactions."""
    found = Nesting()
    decode = msgspec.json.Decoder(_Entry, strict=False).decode
    row, broken = -1, 0
    for row, start, line in source_lines(source, watch):
        if not line.strip():
            continue
        try:
            entry = decode(line)
        except (ValueError, RecursionError):
            broken += 1
            continue
        if len(found.drafts) < _MAX_TURNS:
            _entry(found, entry, row, start)
    found.close(0, max(0, row))
    notes = (f"no entries of a session: {counted(broken, 'line')}",) if broken else ()
    return Scanned(found.drafts, title="Agent session", notes=notes)


def _entry(found: Nesting, entry: _Entry, row: int, start: int) -> None:
    said = entry.message
    if said is None:
        shown = _first_line(entry.custom_type or entry.summary or entry.name or entry.label)
        shown = shown or _first_line(entry.model_id or entry.thinking_level or entry.cwd)
        about = _first_line(_text(entry.content))
        found.leaf(
            shown or entry.type, entry.type or "entry", row, start, f"{shown}: {about}" if about else ""
        )
        return
    text = _first_line(_text(said.content))
    if said.role == "user":
        found.open(0, text or "(no text)", "user", row, start)
        return
    if said.role == "assistant":
        called = _calls(said.content)
        found.leaf(text or called or "(nothing)", "assistant", row, start, called if text else "")
        return
    shown = said.tool_name or _first_line(said.command) or text or said.role
    about = "failed" if said.is_error or said.exit_code else ""
    found.leaf(shown, said.role or "message", row, start, about)


def _calls(content: str | list[_Part]) -> str:
    """`calls read a.py, read b.py`: every call with what tells it from the others."""
    if isinstance(content, str):
        return ""
    calls = [part for part in content if part.name]
    shown: list[str] = []
    for part in calls[:_CALLS_NAMED]:
        try:
            called = msgspec.json.decode(part.arguments, type=_Called)
        except (ValueError, RecursionError):  # none, or of other types
            called = _Called()
        shown.append(
            f"{part.name} {_first_line(called.path or called.command or called.pattern)[:60]}".strip()
        )
    more = len(calls) - len(shown)
    return "calls " + ", ".join(shown) + (f" and {more} more" if more > 0 else "") if calls else ""


def _text(content: str | list[_Part]) -> str:
    return content if isinstance(content, str) else next((part.text for part in content if part.text), "")


def _first_line(text: str) -> str:
    return " ".join(text.strip().split("\n", 1)[0].split())[:100]
