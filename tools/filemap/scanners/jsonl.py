"""Outlines JSON Lines files: sessions of an agent as conversations, other records by their keys, types and counts."""

from collections import Counter

import msgspec

from tools.filemap.language_description import FoundSymbol
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.scanners.outline_builder import OutlineBuilder
from tools.filemap.scanners.scan_result import ScannedOutline
from tools.filemap.scanners.source_lines import format_count_with_noun, iterate_source_lines
from tools.tool_result_values import Json

_MAX_JSONL_RECORDS_SAMPLED = 2000
_MAX_JSONL_KEYS_OF_OBJECT = 60
"""The maximum number of keys of a record; an object with more keys is treated as a data table."""
_MAX_JSONL_RECORD_KEYS = 300
_MAX_JSONL_KEY_DEPTH = 3
_MAX_JSONL_LIST_ITEMS_SAMPLED = 20
_MAX_CONVERSATION_TURNS = 3000
_MAX_TOOL_CALLS_NAMED_PER_TURN = 6
_MAX_JSONL_RECORD_BYTES = 1024 * 1024


def outline_jsonl(source: bytes, watch: MapDeadline) -> ScannedOutline:
    """Outlines a JSON Lines file: an agent's session as a conversation, other records by keys, types and counts."""
    if _is_agent_session(source):
        return _outline_conversation(source, watch)
    keys: dict[str, _KeyStatistics] = {}
    count = broken = 0
    decode = msgspec.json.decode
    for row, _start, line in iterate_source_lines(source, watch):
        if not line.strip():
            continue
        count += 1
        if count > _MAX_JSONL_RECORDS_SAMPLED or len(line) > _MAX_JSONL_RECORD_BYTES:
            continue
        try:
            record: Json = decode(line)
        except (ValueError, RecursionError):
            broken += 1
            continue
        _count_record_keys(keys, record if isinstance(record, dict) else {"(value)": record}, row, 1)
    if not count:
        return ScannedOutline([])
    seen = min(count, _MAX_JSONL_RECORDS_SAMPLED)
    whole = FoundSymbol(
        name=format_count_with_noun(count, "record"),
        kind="records",
        start=0,
        start_row=0,
        end_row=max(0, source.count(b"\n") - source.endswith(b"\n")),
        signature=(f"{broken} of them are no JSON" if broken else "")
        + (f" (keys from the first {seen:,})" if count > seen else ""),
    )
    drafts = [whole]
    _add_key_symbols(drafts, keys, seen - broken, 0)
    return ScannedOutline(drafts)


class _KeyStatistics(msgspec.Struct):
    """Statistics of the values that the records of a JSON Lines file have at one key: their types, the first row,
    and the keys of objects."""

    first_row: int
    type_counts: Counter[str] = msgspec.field(default_factory=Counter[str])
    object_count: int = 0
    """The number of objects at this key, single or in an array."""
    nested_keys: "dict[str, _KeyStatistics]" = {}


def _count_record_keys(
    keys: dict[str, _KeyStatistics], record: dict[str, Json], row: int, depth: int
) -> None:
    for name, value in record.items():
        key = keys.get(name)
        if key is None:
            if len(keys) >= _MAX_JSONL_KEYS_OF_OBJECT:
                continue
            key = keys[name] = _KeyStatistics(row)
        key.type_counts[json_type_name(value)] += 1
        if depth == _MAX_JSONL_KEY_DEPTH:
            continue
        items: list[Json] = value[:_MAX_JSONL_LIST_ITEMS_SAMPLED] if isinstance(value, list) else [value]
        for inner in items:
            if isinstance(inner, dict):
                key.object_count += 1
                _count_record_keys(key.nested_keys, inner, row, depth + 1)


def _add_key_symbols(
    drafts: list[FoundSymbol], keys: dict[str, _KeyStatistics], objects: int, parent: int
) -> None:
    """Adds symbols for the keys that the records have. `objects` is the number of objects that could have these
    keys."""
    for name, key in keys.items():
        how_many = key.type_counts.total()
        said = " | ".join(kind for kind, _ in key.type_counts.most_common(4))
        said += "" if how_many >= objects else f", in {how_many:,} of {objects:,}"
        number = len(drafts)
        if number > _MAX_JSONL_RECORD_KEYS:
            return
        drafts.append(
            FoundSymbol(
                name=name[:100] or '""',
                kind="key",
                start=number,
                start_row=key.first_row,
                end_row=key.first_row,
                parent=parent,
                signature=said,
            )
        )
        _add_key_symbols(drafts, key.nested_keys, key.object_count, number)


def json_type_name(value: object) -> str:
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    return "string" if isinstance(value, str) else "number"


def _is_agent_session(source: bytes) -> bool:
    head = source[:400].split(b"\n", 1)[0]
    return b'"type":"session"' in head.replace(b" ", b"")


class _MessagePart(msgspec.Struct):
    type: str = ""
    text: str = ""
    name: str = ""
    arguments: msgspec.Raw = msgspec.Raw(b"")


class _CallArguments(msgspec.Struct):
    """The arguments that best describe a tool call in a session file."""

    path: str = ""
    command: str = ""
    pattern: str = ""


class _SessionMessage(msgspec.Struct, rename="camel"):
    role: str = ""
    content: str | list[_MessagePart] = ""
    tool_name: str = ""
    is_error: bool = False
    command: str = ""
    exit_code: int | None = None


class _SessionEntry(msgspec.Struct, rename="camel"):
    type: str = ""
    cwd: str = ""
    custom_type: str = ""
    summary: str = ""
    name: str = ""
    label: str = ""
    model_id: str = ""
    thinking_level: str = ""
    content: str | list[_MessagePart] = ""
    message: _SessionMessage | None = None


def _outline_conversation(source: bytes, watch: MapDeadline) -> ScannedOutline:
    """Outlines a session file as a conversation: every user prompt with what followed: replies, tool calls by name,
    compactions."""
    found = OutlineBuilder()
    decode = msgspec.json.Decoder(_SessionEntry, strict=False).decode
    row, broken = -1, 0
    for row, start, line in iterate_source_lines(source, watch):
        if not line.strip():
            continue
        try:
            entry = decode(line)
        except (ValueError, RecursionError):
            broken += 1
            continue
        if len(found.symbols) < _MAX_CONVERSATION_TURNS:
            _add_session_entry(found, entry, row, start)
    found.close_symbols(0, max(0, row))
    notes = (f"no entries of a session: {format_count_with_noun(broken, 'line')}",) if broken else ()
    return ScannedOutline(found.symbols, title="Agent session", notes=notes)


def _add_session_entry(found: OutlineBuilder, entry: _SessionEntry, row: int, start: int) -> None:
    said = entry.message
    if said is None:
        shown = _first_prompt_line(entry.custom_type or entry.summary or entry.name or entry.label)
        shown = shown or _first_prompt_line(entry.model_id or entry.thinking_level or entry.cwd)
        about = _first_prompt_line(_message_text(entry.content))
        found.add_leaf_symbol(
            shown or entry.type, entry.type or "entry", row, start, f"{shown}: {about}" if about else ""
        )
        return
    text = _first_prompt_line(_message_text(said.content))
    if said.role == "user":
        found.open_symbol(0, text or "(no text)", "user", row, start)
        return
    if said.role == "assistant":
        called = _format_tool_calls(said.content)
        found.add_leaf_symbol(text or called or "(nothing)", "assistant", row, start, called if text else "")
        return
    shown = said.tool_name or _first_prompt_line(said.command) or text or said.role
    about = "failed" if said.is_error or said.exit_code else ""
    found.add_leaf_symbol(shown, said.role or "message", row, start, about)


def _format_tool_calls(content: str | list[_MessagePart]) -> str:
    """Returns the tool calls of a message as text, each with its distinguishing argument: `calls read a.py, read
    b.py`."""
    if isinstance(content, str):
        return ""
    calls = [part for part in content if part.name]
    shown: list[str] = []
    for part in calls[:_MAX_TOOL_CALLS_NAMED_PER_TURN]:
        try:
            called = msgspec.json.decode(part.arguments, type=_CallArguments)
        except (ValueError, RecursionError):  # no arguments, or of other types
            called = _CallArguments()
        shown.append(
            f"{part.name} {_first_prompt_line(called.path or called.command or called.pattern)[:60]}".strip()
        )
    more = len(calls) - len(shown)
    return "calls " + ", ".join(shown) + (f" and {more} more" if more > 0 else "") if calls else ""


def _message_text(content: str | list[_MessagePart]) -> str:
    return content if isinstance(content, str) else next((part.text for part in content if part.text), "")


def _first_prompt_line(text: str) -> str:
    return " ".join(text.strip().split("\n", 1)[0].split())[:100]
