"""JSON: keys of the outer levels with the types and counts of what they hold. Comments and trailing commas are taken.

The tree is the grammar's: it knows lines also where the whole file is one. Where the time is over, a scan by
indentation takes the outer keys.
"""

import re

from tree_sitter import Node

from tools.filemap.language import Draft
from tools.filemap.parsing import grammar_of, parse
from tools.filemap.scanners.lines import Blocks, text_of
from tools.filemap.scanners.result import Scanned
from tools.filemap.watch import Watch

_MAX_SYMBOLS = 20_000
_LARGE = 256 * 1024
_DEPTH, _LARGE_DEPTH = 8, 3
_SIMPLE = {"string": "string", "number": "number", "true": "boolean", "false": "boolean", "null": "null"}
_ITEMS_LISTED = 40
"""The objects of longer lists are told by their shape alone."""
_PARSED = 24 * 1024 * 1024
_NAME_KEYS = (b'"name"', b'"id"', b'"key"', b'"title"', b'"type"', b'"label"')


def scan(source: bytes, watch: Watch) -> Scanned:
    if len(source) > _PARSED:
        return Scanned(drafts=_by_indentation(source, watch), notes=("only keys of the outer levels",))
    tree = parse(grammar_of("json"), source, watch)
    walk = _Walk(source, watch, _LARGE_DEPTH if len(source) > _LARGE else _DEPTH)
    walk.run(tree.root_node)
    notes = ("it has syntax errors; keys near them may be missing",) if tree.root_node.has_error else ()
    return Scanned(drafts=walk.drafts, notes=notes, parser="tree-sitter")


class _Walk:
    def __init__(self, source: bytes, watch: Watch, depth: int) -> None:
        self.source, self.watch, self.depth = source, watch, depth
        self.drafts: list[Draft] = []

    def run(self, root: Node) -> None:
        stack: list[tuple[Node, int, int]] = [
            (child, -1, 0) for child in reversed(root.named_children) if child.type != "comment"
        ]
        while stack and len(self.drafts) < _MAX_SYMBOLS:
            node, parent, depth = stack.pop()
            kind = node.type
            if kind == "pair":
                self._pair(node, parent, depth, stack)
            elif kind == "object" or kind == "ERROR":
                inside = [(child, parent, depth) for child in node.named_children if child.type != "comment"]
                stack.extend(reversed(inside))
            elif kind == "array":
                self._array(node, parent, depth, stack)
            self.watch.check()

    def _pair(self, node: Node, parent: int, depth: int, stack: list[tuple[Node, int, int]]) -> None:
        key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
        if key is None or value is None:
            return
        index = self._add(node, self._plain(key), "key", parent, self.shape(value))
        if depth + 1 < self.depth and value.type in ("object", "array"):
            stack.append((value, index, depth + 1))

    def _array(self, node: Node, parent: int, depth: int, stack: list[tuple[Node, int, int]]) -> None:
        """The objects in a short list are symbols, called by their own name or number."""
        count = node.named_child_count
        if parent < 0:
            parent = self._add(node, self.shape(node), "list", -1, "")
        if count > _ITEMS_LISTED or depth >= self.depth:
            first = node.named_child(0) if count else None
            if first is not None and first.type == "object" and depth < self.depth:
                stack.append((first, self._add(first, "#0", "item", parent, self.shape(first)), depth + 1))
            return
        below = []
        for number, item in enumerate(node.named_children):
            if item.type != "object":
                continue
            index = self._add(item, self._item_name(item, number), "item", parent, self.shape(item))
            below.append((item, index, depth + 1))
        if depth + 1 < self.depth:
            stack.extend(reversed(below))

    def _item_name(self, item: Node, number: int) -> str:
        for pair in item.named_children[:6]:
            key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
            if key is None or value is None or value.type != "string":
                continue
            if self.source[key.start_byte : key.end_byte] in _NAME_KEYS:
                return f"#{number} {self._plain(value)}"
        return f"#{number}"

    def _plain(self, node: Node) -> str:
        end = min(node.end_byte, node.start_byte + 400)
        return text_of(self.source[node.start_byte : end].strip(b"\"'"), 100) or '""'

    def shape(self, value: Node) -> str:
        simple = _SIMPLE.get(value.type)
        if simple is not None:
            return simple
        count = value.named_child_count
        if value.type == "object":
            return f"object of {count:,}"
        if value.type != "array":
            return value.type
        first = value.named_child(0) if count else None
        kind = "" if first is None else _SIMPLE.get(first.type, first.type)
        return f"list of {count:,} {kind}s" if kind and count != 1 else f"list of {count} {kind}".strip()

    def _add(self, node: Node, name: str, kind: str, parent: int, signature: str) -> int:
        start, end = node.start_point[0], node.end_point
        self.drafts.append(
            Draft(
                name=name,
                kind=kind,
                start=node.start_byte,
                start_row=start,
                end_row=end[0] if end[1] or end[0] == start else end[0] - 1,
                parent=parent,
                signature=signature,
            )
        )
        return len(self.drafts) - 1


_OUTER_KEY = re.compile(
    rb"^(?P<indent>[ \t]{0,8})\"(?P<key>(?:[^\"\\\n]|\\.){0,200})\"\s*:\s*(?P<value>[^\n]?)", re.M
)
_OPENS = {b"{": "object", b"[": "list", b'"': "string", b"t": "boolean", b"f": "boolean", b"n": "null"}


def _by_indentation(source: bytes, watch: Watch) -> list[Draft]:
    drafts: list[Draft] = []
    open_: list[tuple[int, int]] = []
    row = 0
    for first, begin, block in Blocks(source, watch):
        row, counted = first, 0
        for match in _OUTER_KEY.finditer(block):
            row += block.count(b"\n", counted, match.start())
            counted = match.start()
            indent = len(match["indent"].expandtabs(4))
            while open_ and open_[-1][0] >= indent:
                drafts[open_.pop()[1]].end_row = row - 1
            if len(open_) >= _LARGE_DEPTH or len(drafts) >= _MAX_SYMBOLS:
                continue
            signature = _OPENS.get(match["value"], "number")
            draft = Draft(name=text_of(match["key"], 100) or '""', kind="key", start=begin + counted,
                          start_row=row, end_row=row, signature=signature)  # fmt: skip
            draft.parent = open_[-1][1] if open_ else -1
            open_.append((indent, len(drafts)))
            drafts.append(draft)
    last = max(row, source.count(b"\n") - source.endswith(b"\n"))
    for _, index in open_:
        drafts[index].end_row = last
    for draft in drafts:
        draft.end_row = max(draft.end_row, draft.start_row)
    return drafts
