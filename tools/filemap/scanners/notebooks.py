"""Jupyter notebooks: cells in order, with the headings and definitions that stand in them."""

import re

from tree_sitter import Node

from tools.filemap.engine import outline
from tools.filemap.language import Draft
from tools.filemap.languages.registry import is_described, language_named
from tools.filemap.parsing import grammar_of, parse
from tools.filemap.scanners import markdown
from tools.filemap.scanners.result import Scanned
from tools.filemap.watch import Watch

_CELL_LANGUAGE = re.compile(rb'"(?:language|name)"\s*:\s*"([A-Za-z]+)"')
_ESCAPES = {b"n": b"\n", b"t": b"\t", b'"': b'"', b"\\": b"\\", b"/": b"/", b"r": b"", b"b": b"", b"f": b""}
_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|(.))", re.S)


def scan(source: bytes, watch: Watch) -> Scanned:
    tree = parse(grammar_of("json"), source, watch)
    root = next(iter(tree.root_node.named_children), None)
    cells = _value(root, b'"cells"', source) if root is not None else None
    if cells is None:
        return Scanned(drafts=[])
    language = _language(root, source)
    drafts: list[Draft] = []
    number = 0
    for cell in cells.named_children:
        if cell.type == "object":
            number += 1
            _cell(drafts, cell, number, language, source, watch)
    return Scanned(drafts=drafts, title=f"Jupyter notebook ({language})", parser="tree-sitter")


def _value(node: Node | None, key: bytes, source: bytes) -> Node | None:
    for pair in node.named_children if node is not None else ():
        name = pair.child_by_field_name("key")
        if name is not None and source[name.start_byte : name.end_byte] == key:
            return pair.child_by_field_name("value")
    return None


def _language(root: Node | None, source: bytes) -> str:
    data = _value(root, b'"metadata"', source)
    found = _CELL_LANGUAGE.search(source, data.start_byte, data.end_byte) if data is not None else None
    return found[1].decode("ascii").lower() if found is not None else "python"


def _cell(drafts: list[Draft], cell: Node, number: int, language: str, source: bytes, watch: Watch) -> None:
    kind_node, text_node = _value(cell, b'"cell_type"', source), _value(cell, b'"source"', source)
    kind = "code"
    if kind_node is not None:
        kind = source[kind_node.start_byte + 1 : kind_node.end_byte - 1].decode("ascii", "replace")
    lines = _lines(text_node, source)
    text = b"\n".join(line for line, _ in lines) + b"\n"
    index = len(drafts)
    first = next((line.strip() for line, _ in lines if line.strip()), b"")
    drafts.append(
        Draft(
            name=f"cell {number}",
            kind=kind,
            start=cell.start_byte,
            start_row=cell.start_point[0],
            end_row=cell.end_point[0],
            signature=" ".join(first.decode("utf-8", "replace").split())[:100],
        )
    )
    if kind == "markdown":
        inside = [draft for draft in markdown.scan(text, watch).drafts if draft.kind == "heading"]
        for draft in inside:
            draft.parent = -1
    elif kind == "code" and is_described(language):
        inside = outline(language_named(language), text, watch).drafts
    else:
        inside = []
    last = max(0, len(lines) - 1)
    for draft in inside:
        start, end = min(draft.start_row, last), min(draft.end_row, last)
        draft.start = cell.start_byte + 1 + draft.start
        draft.start_row, draft.end_row = lines[start][1], lines[end][1]
        draft.lead_row = -1
        draft.parent = draft.parent + index + 1 if draft.parent >= 0 else index
    drafts.extend(inside)


def _lines(node: Node | None, source: bytes) -> list[tuple[bytes, int]]:
    """The lines of a cell, each with the row of the file that it stands in."""
    lines: list[tuple[bytes, int]] = []
    for part in (node.named_children if node.type == "array" else [node]) if node is not None else ():
        if part.type == "string":
            text = _unescaped(source[part.start_byte + 1 : part.end_byte - 1])
            for line in text.removesuffix(b"\n").split(b"\n"):
                lines.append((line, part.start_point[0]))
    return lines


def _unescaped(text: bytes) -> bytes:
    def one(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return chr(int(match[1], 16)).encode("utf-8", "replace")
        return _ESCAPES.get(match[2], match[2])

    return _ESCAPE.sub(one, text) if b"\\" in text else text
