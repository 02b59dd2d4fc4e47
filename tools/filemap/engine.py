"""The walk over a syntax tree: the same for every language, driven by its description."""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tree_sitter import Language as Grammar
from tree_sitter import Node, Tree

from tools.filemap.language import Chain, Draft, Language, Named, Place, Rule
from tools.filemap.parsing import grammar_of, parse
from tools.filemap.watch import Watch

_ERROR = 0xFFFF
_MANY_CHILDREN = 5000
_CHECK_EVERY = 256
_MAX_NAME = 120
_MAX_SIGNATURE = 160
_MAX_DOC = 120
_MAX_IMPORTS = 200
_MAX_SYMBOLS = 400_000
_DECORATOR = re.compile(rb"@[A-Za-z_][\w.]*")
_WORD = re.compile(rb"[A-Za-z_]+")
_DOC_EDGE = " \t\r/*!#;%-{}|\"'"


class Compiled(NamedTuple):
    language: Language
    grammar: Grammar
    rules: dict[int, Rule]
    enter: frozenset[int]
    comments: frozenset[int]
    imports: dict[int, object]


class Outline(NamedTuple):
    drafts: list[Draft]
    imports: list[str]
    has_errors: bool


@cache
def _ids(grammar_name: str) -> dict[str, list[int]]:
    grammar = grammar_of(grammar_name)
    ids: dict[str, list[int]] = {}
    for number in range(grammar.node_kind_count):
        kind = grammar.node_kind_for_id(number)
        if kind and grammar.node_kind_is_named(number):
            ids.setdefault(kind, []).append(number)
    return ids


_compiled: dict[str, Compiled] = {}


def compiled(language: Language) -> Compiled:
    """The description with node types as the numbers that the grammar gives them."""
    known = _compiled.get(language.name)
    if known is None:
        ids = _ids(language.grammar)
        enter = {number for kind in language.enter for number in ids.get(kind, ())} | {_ERROR}
        known = _compiled[language.name] = Compiled(
            language=language,
            grammar=grammar_of(language.grammar),
            rules={number: rule for kind, rule in language.rules.items() for number in ids.get(kind, ())},
            enter=frozenset(enter),
            comments=frozenset(number for kind in language.comments for number in ids.get(kind, ())),
            imports={number: rule for kind, rule in language.imports.items() for number in ids.get(kind, ())},
        )
    return known


def unknown_types(language: Language) -> set[str]:
    """Node types of the description that the grammar does not have."""
    ids = _ids(language.grammar)
    return {kind for kind in (*language.rules, *language.enter, *language.imports) if kind not in ids}


def outline(language: Language, source: bytes, watch: Watch) -> Outline:
    """The symbols of a source text. Raises `Overtime` or `Cancelled`."""
    plan = compiled(language)
    tree = parse(plan.grammar, source, watch)
    walk = _Walk(plan, source, watch)
    walk.run(tree)
    drafts = walk.drafts
    if language.finish is not None:
        drafts = language.finish(drafts, source)
    return Outline(drafts, walk.imports, tree.root_node.has_error)


class _Lead(NamedTuple):
    """What stands in front of a declaration and belongs to it."""

    start: int
    row: int
    comment: "Node | None"


class _Walk:
    def __init__(self, plan: Compiled, source: bytes, watch: Watch) -> None:
        self.plan = plan
        self.source = source
        self.watch = watch
        self.place = Place(source)
        self.drafts: list[Draft] = []
        self.imports: list[str] = []

    def run(self, tree: Tree) -> None:
        stack: list[tuple[Node, int, Chain | None, _Lead | None]] = [(tree.root_node, -1, None, None)]
        steps = 0
        while stack:
            steps += 1
            if steps % _CHECK_EVERY == 0:
                self.watch.check()
            node, parent, chain, lead = stack.pop()
            here: Chain = (node.type, chain)
            self.place.chain = here
            stack.extend(self._inside(node, parent, here, lead))

    def _inside(
        self, node: Node, parent: int, here: Chain, lead: _Lead | None
    ) -> Iterator[tuple[Node, int, Chain, _Lead | None]]:
        """Takes the symbols among the children of a node; yields what is to be looked into."""
        rules, enter, comments, imports = (
            self.plan.rules,
            self.plan.enter,
            self.plan.comments,
            self.plan.imports,
        )
        wrappers = self.plan.language.wrappers
        comment: Node | None = None
        comment_end = -2
        for child in _children(node):
            kind = child.kind_id
            rule = rules.get(kind)
            if rule is not None:
                if len(self.drafts) >= _MAX_SYMBOLS:
                    return
                near = comment if comment is not None and comment_end >= child.start_point[0] - 1 else None
                before = len(self.drafts)
                self._define(child, rule, parent, lead, near)
                if len(self.drafts) > before:
                    if not rule.is_leaf:
                        yield child, before, here, None
                elif not rule.is_leaf or kind in enter:
                    yield child, parent, here, None
            elif kind in enter:
                below = None
                if child.type in wrappers:
                    near = (
                        comment if comment is not None and comment_end >= child.start_point[0] - 1 else None
                    )
                    below = lead or _Lead(child.start_byte, child.start_point[0], near)
                yield child, parent, here, below
            elif kind in comments:
                row = child.start_point[0]
                if row > comment_end + 1 or comment is None:
                    comment = child
                comment_end = _last_row(child, row)
            elif kind in imports:
                self._import(child, kind)

    def _define(self, node: Node, rule: Rule, parent: int, lead: _Lead | None, near: Node | None) -> None:
        name = rule.name
        found = node.child_by_field_name(name) if isinstance(name, str) else name(node, self.place)
        if found is None:
            return
        for one in found if isinstance(found, list) else (found,):
            self._add(node, rule, one, parent, lead, near)

    def _add(
        self,
        node: Node,
        rule: Rule,
        found: "Node | str | Named",
        parent: int,
        lead: _Lead | None,
        near: Node | None,
    ) -> None:
        kind, given = rule.kind, ""
        if isinstance(found, Named):
            kind, given = found.kind or kind, found.signature
            found = found.name
        start, row = node.start_byte, node.start_point[0]
        if isinstance(found, str):
            name, name_at = found, self._position(found, start, node.end_byte)
        else:
            name, name_at = self.place.text(found), found.start_byte
        name = _one_line(name, _MAX_NAME)
        if not name:
            return
        draft = Draft(
            name=name, kind=kind, start=start, start_row=row, end_row=_last_row(node, row), parent=parent
        )
        language = self.plan.language
        begin = start
        if lead is not None:
            begin = lead.start
            near = lead.comment or near
            if language.is_wrapper_start:
                draft.start, draft.start_row = lead.start, lead.row
            elif lead.row < row:
                draft.lead_row = lead.row
        draft.signature = given or self._signature(node, rule, start, name_at)
        draft.node_type = node.type
        self._qualify(draft, begin, name_at)
        draft.doc = self._doc(node, near)
        self.drafts.append(draft)

    def _position(self, name: str, start: int, end: int) -> int:
        at = self.source.find(name.encode(), start, min(end, start + 600))
        return at if at >= 0 else start

    def _signature(self, node: Node, rule: Rule, start: int, name_at: int) -> str:
        body = node.child_by_field_name(rule.body)
        begin = start if self.plan.language.is_header_whole else name_at
        end = body.start_byte if body is not None else node.end_byte
        text = self.source[begin : min(end, begin + 2 * _MAX_SIGNATURE)].decode("utf-8", "replace")
        return header(text, is_cut=body is not None)

    def _qualify(self, draft: Draft, begin: int, name_at: int) -> None:
        language = self.plan.language
        before = self.source[begin:name_at] if begin < name_at else b""
        if len(before) > 800:
            before = before[-800:]
        found: list[str] = []
        if language.modifiers and before:
            for word in _WORD.findall(before):
                text = word.decode()
                if text in language.modifiers and text not in found:
                    found.append(text)
        exported = not language.exporting.isdisjoint(found)
        if language.export_rule is not None:
            exported = language.export_rule(draft, before.decode("utf-8", "replace"))
        if exported:
            found.insert(0, "exported")
        if language.has_decorators and b"@" in before:
            found.extend(word.decode() for word in _DECORATOR.findall(before)[:6])
        if found:
            draft.modifiers = tuple(found)

    def _doc(self, node: Node, near: Node | None) -> str:
        inner = self.plan.language.inner_doc
        if inner is not None:
            found = inner(node, self.place)
            if isinstance(found, str):
                return doc_line(found)
            if isinstance(found, Node):
                return doc_line(self._start_of(found))
        return doc_line(self._start_of(near)) if near is not None else ""

    def _start_of(self, node: Node) -> str:
        end = min(node.end_byte, node.start_byte + 600)
        return self.source[node.start_byte : end].decode("utf-8", "replace")

    def _import(self, node: Node, kind: int) -> None:
        rule = self.plan.imports[kind]
        if len(self.imports) >= _MAX_IMPORTS:
            return
        found = node.child_by_field_name(rule) if isinstance(rule, str) else rule(node, self.place)  # type: ignore[operator]
        for one in found if isinstance(found, list) else (found,):
            if one is not None:
                text = one if isinstance(one, str) else self.place.text(one)
                text = _one_line(text, _MAX_NAME).strip("\"'`<>; ")
                if text and text not in self.imports:
                    self.imports.append(text)


def _children(node: Node) -> "list[Node] | Iterator[Node]":
    """The named children; of very many, one after the other, so that the interpreter is not held for all of them."""
    return node.named_children if node.child_count < _MANY_CHILDREN else _one_by_one(node)


def _one_by_one(node: Node) -> Iterator[Node]:
    cursor = node.walk()
    is_more = cursor.goto_first_child()
    while is_more:
        child = cursor.node
        if child is not None and child.is_named:
            yield child
        is_more = cursor.goto_next_sibling()


def _last_row(node: Node, start_row: int) -> int:
    row, column = node.end_point
    return row - 1 if column == 0 and row > start_row else row


def _one_line(text: str, limit: int) -> str:
    if len(text) > 4 * limit:
        text = text[: 4 * limit]
    if " " in text or "\n" in text or "\t" in text or "\r" in text:
        text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def header(text: str, *, is_cut: bool) -> str:
    """A declaration on one line, without what opens its body."""
    if not is_cut:
        text = _before_body(text)
    return _one_line(text.strip().rstrip("{:=;, \t\r\n"), _MAX_SIGNATURE)


def _before_body(text: str) -> str:
    """Up to the first brace that is no argument, or the end of the line on which all brackets are closed."""
    depth = 0
    for at, mark in enumerate(text):
        if mark in "([":
            depth += 1
        elif mark in ")]":
            depth -= 1
        elif depth <= 0 and (mark == "\n" or (mark == "{" and at)):
            return text[:at]
    return text


def doc_line(comment: str) -> str:
    """The first line of a comment that says something, without its marks."""
    for line in comment.splitlines():
        said = line.strip(_DOC_EDGE)
        if len(said) > 1 and any(mark.isalnum() for mark in said):
            return _one_line(said, _MAX_DOC)
    return ""
