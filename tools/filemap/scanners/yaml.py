"""Outlines YAML: keys by indentation, lists with their number of items. (The grammar fails after 32,768 lines.)"""

import re
from collections import Counter
from functools import lru_cache

from tools.filemap.language_description import FoundSymbol
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.scanners.scan_result import ScannedOutline
from tools.filemap.scanners.source_lines import decode_and_shorten_line, iterate_line_chunks

_YAML_KEY_REGEX = (
    rb"(?:\"(?P<double>(?:[^\"\\\n]|\\.){0,400})\"|'(?P<single>(?:[^'\n]|''){0,400})'"
    rb"|(?P<plain>[^\s#\-\[\]{},&*!|>%@`\"'?:\n](?:[^:#\n]|:(?=[^\s])|(?<=\S)#){0,400}?|[-?:](?=\S)(?:[^:#\n]|:(?=\S)){0,400}?"
    rb"|<<|\*[^\s:]{1,400}))"
)
_LARGE_YAML_BYTES = 1024 * 1024
_MAX_YAML_INDENT = 64
_MAX_YAML_KEYS = 12_000
"""The approximate maximum number of YAML keys that become symbols: in larger files, only as many outer levels as
fit."""


@lru_cache(maxsize=16)
def _make_yaml_line_pattern(max_indent: int) -> re.Pattern[bytes]:
    indent = rb"^(?P<indent> {0," + str(max_indent).encode() + rb"})"
    key = _YAML_KEY_REGEX + rb"[ \t]*:(?=[ \t\r\n]|$)[ \t]*(?P<value>[^\n]*)"
    item = rb"(?P<item>(?=\S)[^#\n][^\n]*)"
    document = rb"(?P<document>(?<![ ])---(?=\s|$))"
    return re.compile(
        indent + rb"(?:" + document + rb"|(?P<dashes>(?:- +)*)(?:" + key + rb"|" + item + rb"))", re.M
    )


_YAML_LINE_PATTERN = _make_yaml_line_pattern(_MAX_YAML_INDENT)
_YAML_INDENT_SAMPLE_BYTES = 256 * 1024
_YAML_KEY_INDENT_PATTERN = re.compile(rb"^( *)(?:- )*[^\s#:]+[^\n:]*:", re.M)


def _choose_yaml_line_pattern(source: bytes) -> re.Pattern[bytes]:
    if len(source) <= _LARGE_YAML_BYTES:
        return _YAML_LINE_PATTERN
    half = len(source) // 2
    sample = source[:_YAML_INDENT_SAMPLE_BYTES] + source[half : half + _YAML_INDENT_SAMPLE_BYTES]
    counts = Counter(len(indent) for indent in _YAML_KEY_INDENT_PATTERN.findall(sample))
    scale, total, deepest = len(source) / len(sample), 0.0, 0
    for indent in sorted(counts):
        total += counts[indent] * scale
        if total > _MAX_YAML_KEYS:
            break
        deepest = indent
    return _make_yaml_line_pattern(min(deepest, _MAX_YAML_INDENT))


class _OpenYamlKey:
    __slots__ = ("column", "index", "items")

    def __init__(self, column: int, index: int) -> None:
        self.column, self.index, self.items = column, index, 0


class _YamlOutline:
    def __init__(self, source: bytes) -> None:
        self.source = source
        self.symbols: list[FoundSymbol] = []
        self.open_keys: list[_OpenYamlKey] = []
        self.block_text_column = -1
        """The column of the key whose text block is being read, whose text is indented deeper; -1 outside a block."""
        self.decoded_keys: dict[bytes, str] = {}

    def close_keys(self, column: int, row: int, at: int) -> None:
        """Ends the open YAML keys at `column` and deeper; blank lines and comments before `at` belong to none."""
        if not self.open_keys or self.open_keys[-1].column < column:
            return
        end = row - 1
        while at > 0:
            begin = self.source.rfind(b"\n", 0, at - 1) + 1
            line = self.source[begin : min(at, begin + 400)].strip()
            if line and not line.startswith(b"#"):
                break
            end, at = end - 1, begin
        while self.open_keys and self.open_keys[-1].column >= column:
            done = self.open_keys.pop()
            draft = self.symbols[done.index]
            draft.end_row = max(draft.start_row, end)
            if done.items:
                draft.signature = f"list of {done.items:,}"


_YAML_BLOCK_TEXT_MARKS = frozenset({b"|", b">", b"|-", b">-", b"|+", b">+"})


def outline_yaml(source: bytes, watch: MapDeadline) -> ScannedOutline:
    state = _YamlOutline(source)
    pattern = _choose_yaml_line_pattern(source)
    row = 0
    for first, begin, block in iterate_line_chunks(source, watch):
        row, counted = first, 0
        for match in pattern.finditer(block):
            row += block.count(b"\n", counted, match.start())
            counted = match.start()
            _handle_yaml_key(state, match, row, begin + counted)
    total = source.count(b"\n") + (bool(source) and not source.endswith(b"\n"))
    state.close_keys(-1, total, len(source))
    return ScannedOutline(
        _name_kubernetes_resources(state.symbols, source) if b"apiVersion" in source else state.symbols
    )


_YAML_KEY_VALUE_PATTERN = re.compile(rb"[ \t]*(?:- +)*[\w\"'-]+[ \t]*:[ \t]*[\"']?(?P<said>[^\s#\"']{1,200})")


def _name_kubernetes_resources(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Gives the symbols of Kubernetes documents a name made of kind and name: `Deployment web`."""
    made: list[FoundSymbol] = []
    place = [0] * len(drafts)
    at = 0
    while at < len(drafts):
        after = at + 1
        while after < len(drafts) and not (
            drafts[after].parent < 0 and _begins_yaml_document(source, drafts[after])
        ):
            after += 1
        document = drafts[at:after]
        owner = _find_kubernetes_resource(document, at, source)
        if owner is not None:
            made.append(owner)
        root = len(made) - 1 if owner is not None else -1
        for number, draft in enumerate(document, at):
            place[number] = len(made)
            draft.parent = place[draft.parent] if draft.parent >= 0 else root
            made.append(draft)
        at = after
    return made


def _begins_yaml_document(source: bytes, draft: FoundSymbol) -> bool:
    """Returns whether a line of dashes begins a new YAML document between a symbol and the one above."""
    at = source.rfind(b"\n", 0, draft.start) + 1
    while at > 0:
        begin = source.rfind(b"\n", 0, at - 1) + 1
        line = source[begin : min(at, begin + 200)].strip()
        if line and not line.startswith(b"#"):
            return line.startswith(b"---")
        at = begin
    return False


def _find_kubernetes_resource(document: list[FoundSymbol], first: int, source: bytes) -> FoundSymbol | None:
    outer = {draft.name: number for number, draft in enumerate(document, first) if draft.parent < 0}
    if not {"apiVersion", "kind", "metadata"} <= outer.keys():
        return None
    kind = _read_yaml_value(document[outer["kind"] - first], source)
    name = next(
        (
            _read_yaml_value(draft, source)
            for draft in document
            if draft.parent == outer["metadata"] and draft.name in ("name", "generateName")
        ),
        "",
    )
    if not kind:
        return None
    start, end_row = document[0].start, max(draft.end_row for draft in document)
    said = f"{kind} {name}".strip()
    return FoundSymbol(said, "resource", start, document[0].start_row, end_row, -1)


def _read_yaml_value(draft: FoundSymbol, source: bytes) -> str:
    said = _YAML_KEY_VALUE_PATTERN.match(source, source.rfind(b"\n", 0, draft.start) + 1)
    return decode_and_shorten_line(said["said"], 200) if said is not None else ""


def _handle_yaml_key(state: _YamlOutline, match: re.Match[bytes], row: int, at: int) -> None:
    indent = len(match["indent"])
    if state.block_text_column >= 0:
        if indent > state.block_text_column:
            return
        state.block_text_column = -1
    if match["document"]:
        state.close_keys(-1, row, at)
        return
    item, dashes = match["item"], match["dashes"]
    if item is not None:
        if dashes or item.rstrip() == b"-":
            _handle_yaml_item(state, indent, row, at)
            if item.strip() in _YAML_BLOCK_TEXT_MARKS:
                state.block_text_column = indent
        elif item.startswith(b"..."):
            state.close_keys(-1, row, at)
        return
    column = indent + len(dashes)
    if dashes:
        _handle_yaml_item(state, indent, row, at)
    else:
        state.close_keys(column, row, at)
    value = match["value"].strip()
    state.open_keys.append(_OpenYamlKey(column, len(state.symbols)))
    state.symbols.append(_make_yaml_symbol(state, match, value, row, at))
    if value[:1] in b"|>" and value:
        state.block_text_column = column


def _handle_yaml_item(state: _YamlOutline, indent: int, row: int, at: int) -> None:
    """Handles the dash of a YAML list item: keys of the previous item end; the key that has the list may be in the same
    column."""
    state.close_keys(indent + 1, row, at)
    if state.open_keys:
        state.open_keys[-1].items += 1


def _make_yaml_symbol(
    state: _YamlOutline, match: re.Match[bytes], value: bytes, row: int, at: int
) -> FoundSymbol:
    raw = match["plain"]
    if raw is not None:
        name = state.decoded_keys.get(raw)
        if name is None:
            name = state.decoded_keys[raw] = decode_and_shorten_line(raw, 400)
    else:
        name = decode_and_shorten_line(match["double"] or match["single"] or b"", 400) or '""'
    return FoundSymbol(
        name=name,
        kind="key",
        start=at,
        start_row=row,
        end_row=row,
        parent=state.open_keys[-2].index if len(state.open_keys) > 1 else -1,
        signature=_yaml_value_type(value) if value else "",
    )


def _yaml_value_type(value: bytes) -> str:
    first = value[:1]
    if first in b"|>":
        return "text"
    if first == b"[":
        return f"list of {value.count(b',') + 1}" if value.endswith(b"]") and len(value) > 2 else "list"
    if first == b"{":
        return "map"
    if first in b"&*!#":
        return decode_and_shorten_line(value, 40) if first != b"#" else ""
    if value in (b"true", b"false", b"yes", b"no", b"on", b"off"):
        return "boolean"
    if first in b"0123456789-+." and _YAML_NUMBER_PATTERN.match(value):
        return "number"
    return "null" if value in (b"null", b"~") else "string"


_YAML_NUMBER_PATTERN = re.compile(
    rb"[-+]?(?:\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+|0[xo][\da-fA-F]+)(?:\s+#.*)?$"
)
