"""Files of records: CSV and TSV by column, JSON Lines by shape or as a conversation, logs by level and time, patches."""

import csv
import re
from collections import Counter

import msgspec

from tools.filemap.language import Draft
from tools.filemap.scanners.lines import Blocks, Lines, text_of
from tools.filemap.scanners.nesting import Nesting
from tools.filemap.scanners.result import Scanned
from tools.filemap.watch import Watch

_SAMPLED_ROWS = 200
_MAX_COLUMNS = 500
_NUMBER = re.compile(r"[-+]?\d{1,18}$")
_DECIMAL = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?$")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*)?$|\d\d?[/.]\d\d?[/.]\d{2,4}$")


def _csv_type(values: list[str]) -> str:
    """One word for what a column holds, from a sample."""
    present = [value.strip() for value in values if value.strip()]
    if not present:
        return "empty"
    if all(_NUMBER.match(value) for value in present):
        return "integer"
    if all(_DECIMAL.match(value) for value in present):
        return "number"
    if all(_DATE.match(value) for value in present):
        return "date"
    if all(value.lower() in ("true", "false", "yes", "no") for value in present):
        return "boolean"
    return "text"


def _scan_table(source: bytes, watch: Watch, delimiter: str) -> Scanned:
    head = source[: 256 * 1024]
    if len(source) > len(head):
        head = head[: head.rfind(b"\n") + 1] or head
    text = head.decode("utf-8", "replace").replace("\0", "")
    if delimiter == ",":
        first = text.split("\n", 1)[0]
        delimiter = max((",", ";", "\t", "|"), key=first.count)
    rows: list[list[str]] = []
    try:
        for record in csv.reader(text.splitlines(keepends=True), delimiter=delimiter):
            if record:
                rows.append(record[:_MAX_COLUMNS])
            if len(rows) > _SAMPLED_ROWS:
                break
    except csv.Error:
        rows = [line.split(delimiter)[:_MAX_COLUMNS] for line in text.splitlines()[:_SAMPLED_ROWS]]
    if not rows:
        return Scanned(drafts=[])
    count = _records(source, watch)
    head_row, has_header = rows[0], _has_header(rows)
    sample = rows[1:] if has_header else rows
    table = Draft(
        name=f"{count - has_header:,} rows × {len(head_row)} columns",
        kind="table",
        start=0,
        start_row=0,
        end_row=max(0, source.count(b"\n") - source.endswith(b"\n")),
        signature=f"delimiter {delimiter!r}" + ("" if has_header else ", no header"),
    )
    drafts = [table]
    for number, name in enumerate(head_row):
        values = [row[number] for row in sample if number < len(row)]
        example = next((value.strip() for value in values if value.strip()), "")
        shown = " ".join(name.split())[:100] if has_header and name.strip() else f"column {number + 1}"
        said = _csv_type(values) + (f", such as {example[:40]}" if example else "")
        drafts.append(
            Draft(
                name=shown, kind="column", start=number + 1, start_row=0, end_row=0, parent=0, signature=said
            )
        )
    return Scanned(drafts=drafts)


def _has_header(rows: list[list[str]]) -> bool:
    """A first row without numbers, over rows that have some or that differ from it."""
    first = rows[0]
    if any(_DECIMAL.match(cell.strip()) for cell in first):
        return False
    return len(set(first)) == len(first) and any(cell.strip() for cell in first)


def _records(source: bytes, watch: Watch) -> int:
    """Lines that are not inside quotes."""
    if b'"' not in source:
        return sum(1 for _, _, line in Lines(source, watch) if line.strip())
    count, is_open = 0, False
    for _, _, line in Lines(source, watch):
        if not is_open and line.strip():
            count += 1
        if line.count(b'"') % 2:
            is_open = not is_open
    return count


def scan_csv(source: bytes, watch: Watch) -> Scanned:
    return _scan_table(source, watch, ",")


def scan_tsv(source: bytes, watch: Watch) -> Scanned:
    return _scan_table(source, watch, "\t")


_DIFF_GIT = re.compile(rb"diff --git (?:\"?a/)?(.*?)\"? \"?b/(.*?)\"?\r?$")
_DIFF_NEW = re.compile(rb"\+\+\+ (?:b/)?([^\t\r\n]+)")
_DIFF_OLD = re.compile(rb"--- (?:a/)?([^\t\r\n]+)")
_HUNK = re.compile(rb"@@+ -(\d+)(?:,(\d+))?.*? \+(\d+)(?:,(\d+))? @@+ ?(.*)")
_COMMIT = re.compile(rb"(?:From ([0-9a-f]{40}) |commit ([0-9a-f]{40}))")
_SUBJECT = re.compile(rb"Subject: (?:\[[^\]]*\] )?(.*)")


def scan_diff(source: bytes, watch: Watch) -> Scanned:
    """Commits, files and hunks; files with their counts of added and removed lines."""
    found = Nesting()
    file: Draft | None = None
    commit: Draft | None = None
    counts: dict[int, list[int]] = {}
    old, last_row = b"", 0
    left = [0, 0]
    for row, start, line in Lines(source, watch):
        last_row = row
        mark = line[:1]
        if left[0] > 0 or left[1] > 0:
            _count(line, left, counts.setdefault(id(file), [0, 0]) if file is not None else [0, 0])
            if mark in (b" ", b"+", b"-", b"\\", b""):
                continue
            left = [0, 0]
        if mark == b"@" and (hunk := _HUNK.match(line)) is not None:
            name = f"lines {int(hunk[3])}-{int(hunk[3]) + max(0, int(hunk[4] or 1) - 1)}"
            found.open(2, name, "hunk", row, start, text_of(hunk[5], 100))
            left = [int(hunk[2] or 1), int(hunk[4] or 1)]
        elif mark == b"d" and (git := _DIFF_GIT.match(line)) is not None:
            file = found.open(1, text_of(git[2]), "file", row, start)
        elif mark == b"-" and (before := _DIFF_OLD.match(line)) is not None:
            old = before[1]
        elif mark == b"+" and (new := _DIFF_NEW.match(line)) is not None:
            name = text_of(old if new[1].strip() == b"/dev/null" else new[1])
            if file is None or file.name != name or id(file) in counts:
                file = found.open(1, name, "file", row, start)
        elif mark in (b"F", b"c") and (made := _COMMIT.match(line)) is not None:
            commit = found.open(0, text_of((made[1] or made[2])[:12]), "commit", row, start)
            file = None
        elif mark == b"S" and commit is not None and (subject := _SUBJECT.match(line)) is not None:
            commit.signature = text_of(subject[1], 120)
    found.close(0, last_row)
    for draft in found.drafts:
        added = counts.get(id(draft))
        if added is not None:
            draft.signature = f"+{added[0]} -{added[1]}"
    return Scanned(drafts=found.drafts)


def _count(line: bytes, left: list[int], counts: list[int]) -> None:
    mark = line[:1]
    if mark == b"+":
        counts[0] += 1
        left[1] -= 1
    elif mark == b"-":
        counts[1] += 1
        left[0] -= 1
    elif mark in (b" ", b"", b"\r"):
        left[0] -= 1
        left[1] -= 1


_LEVEL = re.compile(
    rb"\b(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|CRITICAL|FATAL|SEVERE|PANIC|ALERT|EMERG)\b"
    rb"|level=\"?(trace|debug|info|notice|warn(?:ing)?|error|fatal|critical)\b"
    rb"|\[(trace|debug|info|notice|warn|error|crit|alert|emerg)\]"
)
_TIME = re.compile(
    rb"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
    rb"|\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d|\d\d:\d\d:\d\d"
)
_ALIKE = {"warning": "warn", "err": "error", "crit": "critical", "severe": "error", "emerg": "emergency"}
_SERIOUS = ("error", "critical", "fatal", "panic", "alert", "emergency")
_SPANS = 40
_NAMED_ERRORS = 200


def scan_log(source: bytes, watch: Watch) -> Scanned:
    """Spans of equal length with their time and the levels in them; serious lines by themselves inside."""
    total = source.count(b"\n") + (not source.endswith(b"\n"))
    size = max(50, -(-total // _SPANS))
    drafts: list[Draft] = []
    for row, start, line in Lines(source, watch):
        if row % size == 0:
            drafts.append(
                Draft(name="", kind="span", start=start, start_row=row, end_row=min(row + size, total) - 1)
            )
            counts: Counter[str] = Counter()
            times = [b"", b""]
            span = len(drafts) - 1
        head = line[:200]
        time = _TIME.search(head)
        if time is not None:
            times[0] = times[0] or time[0]
            times[1] = time[0]
        level = _LEVEL.search(head)
        if level is not None:
            word = (level[1] or level[2] or level[3]).decode().lower()
            word = _ALIKE.get(word, word)
            counts[word] += 1
            if word in _SERIOUS and len(drafts) < _NAMED_ERRORS:
                said = text_of(line[time.end() if time is not None else 0 :], 110).lstrip(" .,:;|-]")
                drafts.append(
                    Draft(name=said, kind=word, start=start, start_row=row, end_row=row, parent=span)
                )
        drafts[span].name = _between(times, row)
        drafts[span].signature = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    return Scanned(drafts=drafts)


def _between(times: list[bytes], row: int) -> str:
    if not times[0]:
        return f"lines to {row + 1:,}"
    first, last = text_of(times[0]), text_of(times[1])
    return first if first == last else f"{first} … {last}"


_SHAPES_NAMED = 30
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
        found.leaf(_first_line(text) or called or "(nothing)", "assistant", row, start, called if text else "")
        return
    found.leaf(said.tool_name or _first_line(text) or said.role, said.role or "message", row, start)


def _text(parts: list[_Part]) -> str:
    return next((part.text for part in parts if part.text), "")


def _first_line(text: str) -> str:
    return " ".join(text.strip().split("\n", 1)[0].split())[:100]


__all__ = ["Blocks", "scan_csv", "scan_diff", "scan_jsonl", "scan_log", "scan_tsv", "type_of"]
