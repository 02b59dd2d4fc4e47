"""Finds the objects that SQL creates, with the columns of tables; rows of data are counted, not listed."""

import re
from collections.abc import Iterator
from sys import intern

from tools.filemap.language_description import FoundSymbol
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.one_line_text import MAX_STORED_SYMBOL_NAME_CHARS
from tools.filemap.scanners.scan_result import ScannedOutline
from tools.filemap.scanners.source_lines import SourceRowCounter, decode_and_shorten_line

_SQL_NAME_PART_REGEX = rb"(?:\[[^\]\n]*\]|\"[^\"\n]*\"|`[^`\n]*`|[\w$#@]+)"
_SQL_NAME_REGEX = rb"(?:" + _SQL_NAME_PART_REGEX + rb"\s*\.\s*)*" + _SQL_NAME_PART_REGEX
_SQL_STATEMENT_REGEX = (
    rb"^[ \t]*(?:"
    rb"(?P<create>CREATE|create|Create)\b(?:\s+(?:OR\s+(?:REPLACE|ALTER)|TEMP(?:ORARY)?|GLOBAL|LOCAL|UNLOGGED|UNIQUE|"
    rb"CLUSTERED|NONCLUSTERED|MATERIALIZED|RECURSIVE|FOREIGN|EVENT(?=\s+TRIGGER)|CONSTRAINT|EDITIONABLE|NONEDITIONABLE|"
    rb"PUBLIC|FULLTEXT|SPATIAL|BITMAP|EXTERNAL|VIRTUAL|DEFINER\s*=\s*\S+|SQL\s+SECURITY\s+\w+|ALGORITHM\s*=\s*\w+|"
    rb"TRUSTED|PROCEDURAL|FORCE))*"
    rb"\s+(?P<kind>TABLE|VIEW|FUNCTION|PROCEDURE|PROC|TRIGGER|INDEX|TYPE|SEQUENCE|SCHEMA|DATABASE|EXTENSION|POLICY|"
    rb"DOMAIN|ROLE|USER|PACKAGE(?:\s+BODY)?|RULE|AGGREGATE|OPERATOR|EVENT|SYNONYM|LANGUAGE|PUBLICATION|SUBSCRIPTION|"
    rb"SERVER|COLLATION|CAST|MACRO|STAGE|STREAM|TASK|LOGIN|KEYSPACE)\b"
    rb"(?:\s+(?:IF\s+NOT\s+EXISTS|CONCURRENTLY|BODY))*\s*(?P<name>" + _SQL_NAME_REGEX + rb")?"
    rb"|(?P<insert>INSERT\s+(?:OR\s+\w+\s+|IGNORE\s+)?INTO|COPY|REPLACE\s+INTO)\s+(?P<into>"
    + _SQL_NAME_REGEX
    + rb")"
    rb"|(?P<stop>GO|/)[ \t]*\r?$"
    rb")"
)
_SQL_TOKEN_REGEX = (
    _SQL_STATEMENT_REGEX
    + rb"|--[^\n]*|(?P<comment>/\*)|'(?:[^'\\]|''|\\.)*'|(?P<dollar>\$[A-Za-z_]{0,60}\$)|(?P<end>;)"
)
_SQL_TOKEN_PATTERN = re.compile(
    _SQL_TOKEN_REGEX
    + rb"|\b(?P<word>BEGIN|CASE|END)\b(?P<after>[ \t]+(?:IF|LOOP|WHILE|REPEAT|CASE|TRAN\w*|WORK|CONVERSATION))?",
    re.M | re.I,
)
_SQL_TOKEN_START_REGEX = rb"[;'$]|--|/\*|^[ \t]*[CcIiRrGg/]"
_TOKEN_START_OUTSIDE_ROUTINE_PATTERN, _TOKEN_START_IN_ROUTINE_PATTERN = (
    re.compile(_SQL_TOKEN_START_REGEX, re.M),
    re.compile(_SQL_TOKEN_START_REGEX + rb"|\b[BbCcEe]", re.M),
)
"""Patterns that find the start of SQL tokens quickly; words that open and close blocks are tokens only inside
routines."""
_SQL_ROUTINE_KINDS = frozenset(
    {"function", "procedure", "trigger", "package", "package body", "event", "type"}
)
_SYMBOL_KIND_BY_SQL_WORD = {"proc": "procedure", "materialized view": "view"}
_NOT_A_SQL_COLUMN_PATTERN = re.compile(
    rb"(?:CONSTRAINT|PRIMARY|FOREIGN|UNIQUE|KEY|INDEX|CHECK|LIKE|EXCLUDE|FULLTEXT|SPATIAL|PERIOD|INHERITS|ON|AND|OR)\b",
    re.I,
)
_SQL_COLUMN_PATTERN = re.compile(rb"\s*(\[[^\]\n]*\]|\"[^\"\n]*\"|`[^`\n]*`|[A-Za-z_]\w*)\s+([A-Za-z][^\n]*)")
_SQL_COLUMN_TYPE_END_PATTERN = re.compile(
    r"\s+(?:NOT\s+NULL|NULL|DEFAULT|PRIMARY|REFERENCES|UNIQUE|CHECK|CONSTRAINT|COLLATE|COMMENT|GENERATED|AUTO_INCREMENT"
    r"|ENCODE|IDENTITY|ON)\b.*|\s*(?:--|/\*).*",
    re.I | re.S,
)
_SIMPLE_SQL_NAME_PATTERN = re.compile(rb"[A-Za-z0-9_.]{1,120}")
_MAX_PARSED_SQL_TABLE_BYTES = 200_000
_SQL_TOKENS_PER_DEADLINE_CHECK = 512
_MAX_CACHED_COLUMN_BYTES, _MAX_CACHED_COLUMNS = 120, 4_000
_SEARCH_WINDOW_BYTES, _SEARCH_OVERLAP_BYTES, _MAX_TOKEN_BYTES = 64 * 1024, 1024, 4 * 1024 * 1024
"""Limits in bytes: one search, during which other threads cannot run, covers one window; windows overlap; a token,
such as a string, may be longer than a window."""


class _SqlOutline:
    def __init__(self, source: bytes) -> None:
        self.source = source
        self.symbols: list[FoundSymbol] = []
        self.open_symbol_index = -1
        self.is_routine = False
        self.depth = 0
        self.rows = SourceRowCounter(source)
        self.data: dict[str, FoundSymbol] = {}
        self.columns: dict[bytes, tuple[str, str, int]] = {}

    @property
    def is_open_routine(self) -> bool:
        return self.is_routine and self.open_symbol_index >= 0

    def finish(self, at: int) -> None:
        if self.open_symbol_index >= 0:
            draft = self.symbols[self.open_symbol_index]
            draft.end_row = max(draft.start_row, self.rows.row_of(at))
            if draft.kind in ("table", "type"):
                _add_table_columns(self, draft, at)
        self.open_symbol_index, self.depth = -1, 0


def outline_sql(source: bytes, watch: MapDeadline) -> ScannedOutline:
    state = _SqlOutline(source)
    at = 0
    for number, match in enumerate(_iterate_sql_tokens(state, watch)):
        if number % _SQL_TOKENS_PER_DEADLINE_CHECK == 0:
            watch.raise_if_deadline_over()
        _handle_sql_token(state, match)
        at = match.end()
    if state.open_symbol_index >= 0:
        state.finish(max(at, len(source.rstrip()) if len(source) < 1_000_000 else at))
    return ScannedOutline(state.symbols)


def _iterate_sql_tokens(state: _SqlOutline, watch: MapDeadline) -> Iterator[re.Match[bytes]]:
    """Yields the tokens of SQL statements, outside of comments, strings and dollar-quoted bodies."""
    source = state.source
    at, length = 0, len(source)
    while at < length:
        search = (
            _TOKEN_START_IN_ROUTINE_PATTERN if state.is_open_routine else _TOKEN_START_OUTSIDE_ROUTINE_PATTERN
        ).search
        first = search(source, at, at + _SEARCH_WINDOW_BYTES)
        if first is None:
            watch.raise_if_deadline_over()
            at += _SEARCH_WINDOW_BYTES - _SEARCH_OVERLAP_BYTES
            continue
        match = _SQL_TOKEN_PATTERN.match(source, first.start(), first.start() + _MAX_TOKEN_BYTES)
        if match is None:
            at = max(first.start() + 1, first.end() - 1)
            continue
        yield match
        at = _position_after_token(source, match, match.end())


def _position_after_token(source: bytes, match: re.Match[bytes], at: int) -> int:
    """Returns the position after the SQL comment, string or quoted body that a token begins."""
    if match.lastgroup == "end":
        return at
    if match["comment"]:
        end = source.find(b"*/", at)
        return end + 2 if end >= 0 else len(source)
    tag = match["dollar"]
    if tag:
        end = source.find(tag, at)
        return end + len(tag) if end >= 0 else at
    if match["insert"] and match["insert"][:4].upper() == b"COPY":
        return _find_end_of_copy_data(source, at)
    return at


def _find_end_of_copy_data(source: bytes, at: int) -> int:
    r"""Returns the end of the data rows after SQL's `COPY … FROM stdin;`, a line `\.`."""
    line_end = source.find(b"\n", at)
    if line_end < 0 or b"stdin" not in source[at:line_end].lower():
        return at
    end = source.find(b"\n\\.", line_end)
    return end + 3 if end >= 0 else at


def _handle_sql_token(state: _SqlOutline, match: re.Match[bytes]) -> None:
    group = match.lastgroup
    if group == "end":
        if state.open_symbol_index >= 0 and state.depth <= 0:
            state.finish(match.start())
    elif match["kind"]:
        _add_created_object(state, match)
    elif match["into"]:
        if not state.is_routine or state.open_symbol_index < 0:
            _add_inserted_rows(state, match)
    elif match["stop"]:
        state.finish(match.start() - 1)
    elif state.is_open_routine and match["word"]:
        word, after = match["word"].upper(), (match["after"] or b"").strip().upper()
        if word == b"END":
            state.depth -= after in (b"", b"CASE")
        elif word == b"CASE" or not after.startswith((b"TRAN", b"WORK", b"CONV")):
            state.depth += 1


def _add_created_object(state: _SqlOutline, match: re.Match[bytes]) -> None:
    if state.open_symbol_index >= 0 and state.is_routine and state.depth > 0 and match[0][:1] in b" \t":
        return
    source = state.source
    begin = match.start("create")
    if state.open_symbol_index >= 0:
        last = len(source[max(0, begin - 4000) : begin].rstrip())
        state.finish(max(0, begin - 4000) + last)
    kind = " ".join(match["kind"].decode("ascii", "replace").lower().split())
    kind = _SYMBOL_KIND_BY_SQL_WORD.get(kind, kind)
    name = _strip_sql_quotes(match["name"]) if match["name"] else ""
    if kind == "index" and name.upper() == "ON":
        name = ""
    line_end = source.find(b"\n", match.end())
    head = source[begin : line_end if line_end >= 0 else len(source)]
    row = state.rows.row_of(begin)
    state.open_symbol_index = len(state.symbols)
    state.is_routine = kind in _SQL_ROUTINE_KINDS
    state.depth = 1 if kind.startswith("package") else 0
    signature = decode_and_shorten_line(head, 140).split(" AS $")[0].rstrip(" (;{")
    state.symbols.append(FoundSymbol(name or kind, kind, begin, row, row, signature=signature))


def _add_inserted_rows(state: _SqlOutline, match: re.Match[bytes]) -> None:
    """Adds the rows that a dump inserts into a table as one symbol."""
    name = _strip_sql_quotes(match["into"])
    row = state.rows.row_of(match.start())
    known = state.data.get(name)
    if known is None or state.symbols[-1] is not known:
        known = FoundSymbol(name=name, kind="data", start=match.start(), start_row=row, end_row=row)
        state.data[name] = known
        state.symbols.append(known)
    state.finish(match.start())
    state.open_symbol_index = len(state.symbols) - 1
    state.is_routine = False
    known.node_type = str(int(known.node_type or 0) + 1)
    known.signature = f"{known.node_type} statements" if known.node_type != "1" else ""


def _strip_sql_quotes(name: bytes) -> str:
    if _SIMPLE_SQL_NAME_PATTERN.fullmatch(name):
        return name.decode("ascii")
    text = decode_and_shorten_line(name, MAX_STORED_SYMBOL_NAME_CHARS)
    return ".".join(part.strip().strip('[]"`') for part in text.split("."))


def _add_table_columns(state: _SqlOutline, draft: FoundSymbol, end: int) -> None:
    source = state.source
    opened = source.find(b"(", draft.start, min(end, draft.start + 2000))
    if opened < 0 or end - opened > _MAX_PARSED_SQL_TABLE_BYTES:
        return
    body = source[opened + 1 : end]
    row = draft.start_row + source.count(b"\n", draft.start, opened)
    parent, drafts, known = state.open_symbol_index, state.symbols, state.columns
    at = counted = 0
    for part in _split_column_list(body):
        # Tables repeat the same columns: each is parsed once, and each word is stored once.
        column = known.get(part)
        if column is None:
            column = _parse_table_column(part)
            if len(part) <= _MAX_CACHED_COLUMN_BYTES and len(known) < _MAX_CACHED_COLUMNS:
                known[part] = column
        name, kind, before = column
        if name:
            name_at = at + before
            row += body.count(b"\n", counted, name_at)
            counted = name_at
            drafts.append(FoundSymbol(name, "column", opened + 1 + name_at, row, row, parent, kind))
        at += len(part) + 1


def _parse_table_column(part: bytes) -> tuple[str, str, int]:
    """Parses a column of an SQL table: returns its name, its type and the position of the name; empty texts for a
    constraint."""
    column = _SQL_COLUMN_PATTERN.match(part)
    if column is None or _NOT_A_SQL_COLUMN_PATTERN.match(column[1]):
        return "", "", 0
    kind = intern(_SQL_COLUMN_TYPE_END_PATTERN.sub("", decode_and_shorten_line(column[2], 80)).rstrip(" ,;"))
    return intern(_strip_sql_quotes(column[1])), kind, column.start(1)


_SQL_COLUMN_SEPARATOR_PATTERN = re.compile(rb"[(),]|'(?:[^']|'')*'|--[^\n]*|/\*[^/]{0,4000}\*/")


def _split_column_list(body: bytes) -> list[bytes]:
    """Splits the column list of an SQL table at commas outside of brackets, up to the bracket that ends the list."""
    parts: list[bytes] = []
    depth = at = 0
    for match in _SQL_COLUMN_SEPARATOR_PATTERN.finditer(body):
        mark = match[0]
        if mark == b"(":
            depth += 1
        elif mark == b")":
            depth -= 1
            if depth < 0:
                parts.append(body[at : match.start()])
                return parts
        elif mark == b"," and depth == 0:
            parts.append(body[at : match.start()])
            at = match.end()
    return [*parts, body[at:]]
