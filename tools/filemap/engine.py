"""The walk over a syntax tree: the same for every language, driven by its description."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from tree_sitter import Language as Grammar
from tree_sitter import Node, Tree

from tools.filemap.language import Chain, Draft, Language, Named, NameRule, Place, Rule
from tools.filemap.languages.registry import language_named
from tools.filemap.parsing import grammar_of, parse
from tools.filemap.watch import Watch
from tools.filemap.wording import MAX_NAME, MAX_SIGNATURE, doc_line, header, one_line, without_words

_ERROR = 0xFFFF
_MANY_CHILDREN = 5000
_CHECK_EVERY = 256
_MAX_IMPORTS = 200
_MAX_SYMBOLS = 400_000
_DECORATOR = re.compile(rb"@[A-Za-z_][\w.]*")
_WORD = re.compile(rb"[A-Za-z_]+")


class Compiled(NamedTuple):
    language: Language
    grammar: Grammar
    rules: dict[int, Rule]
    enter: frozenset[int]
    comments: frozenset[int]
    wrappers: frozenset[int]
    between: frozenset[int]
    imports: dict[int, str | NameRule]
    attached: frozenset[int]


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


@cache
def _compiled(name: str) -> Compiled:
    """The description with node types as the numbers that the grammar gives them."""
    language = language_named(name)
    ids = _ids(language.grammar)

    def numbers(kinds: Iterable[str]) -> frozenset[int]:
        return frozenset(number for kind in kinds for number in ids.get(kind, ()))

    return Compiled(
        language=language,
        grammar=grammar_of(language.grammar),
        rules={number: rule for kind, rule in language.rules.items() for number in ids.get(kind, ())},
        enter=numbers(language.enter) | {_ERROR},
        comments=numbers(language.comments),
        wrappers=numbers(language.wrappers),
        between=numbers(language.between),
        imports={number: rule for kind, rule in language.imports.items() for number in ids.get(kind, ())},
        attached=numbers(language.comments) | numbers(language.between),
    )


def unknown_types(language: Language) -> set[str]:
    """Node types of the description that the grammar does not have."""
    ids = _ids(language.grammar)
    return {kind for kind in (*language.rules, *language.enter, *language.imports) if kind not in ids}


def outline(language: Language, source: bytes, watch: Watch) -> Outline:
    """The symbols of a source text. Raises `Overtime` or `Cancelled`."""
    plan = _compiled(language.name)
    prepared = language.prepare(source, watch) if language.prepare is not None else source
    tree = parse(plan.grammar, prepared, watch)
    walk = _Walk(plan, source, watch)
    walk.run(tree)
    drafts = walk.drafts
    has_errors = tree.root_node.has_error
    if has_errors and language.recover is not None:
        drafts = language.recover(drafts, prepared)
    if language.finish is not None:
        drafts = language.finish(drafts, source)
    return Outline(drafts, walk.imports, has_errors)


class _Lead(NamedTuple):
    """What stands in front of a declaration and belongs to it."""

    start: int
    row: int
    comment: "Node | None"
    is_first: bool = True
    """Of several declarations in one wrapper only the first begins with it."""


class _Walk:
    def __init__(self, plan: Compiled, source: bytes, watch: Watch) -> None:
        self.plan = plan
        self.source = source
        self.watch = watch
        self.place = Place(source)
        self.drafts: list[Draft] = []
        self.imports: list[str] = []
        self._found: dict[re.Pattern[bytes], array[int]] = {}

    def _occurrences(self, pattern: re.Pattern[bytes]) -> "array[int]":
        """Where the pattern occurs in the whole source: looked for once, asked for at every node."""
        found = self._found.get(pattern)
        if found is None:
            found = self._found[pattern] = array(
                "Q", (match.start() for match in pattern.finditer(self.source))
            )
            self.watch.check()
        return found

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
        plan = self.plan
        rules, enter, imports = plan.rules, plan.enter, plan.imports
        attached = plan.attached
        pattern = plan.language.worth(here) if plan.language.worth is not None else None
        worth = self._occurrences(pattern) if pattern is not None else None
        above = _NOTHING_ABOVE
        for child in _children(node):
            kind = child.kind_id
            rule = rules.get(kind)
            if (
                worth is not None
                and kind not in attached
                and not _is_between(worth, child.start_byte, child.end_byte)
            ):
                continue
            if rule is not None:
                if len(self.drafts) >= _MAX_SYMBOLS:
                    return
                before = len(self.drafts)
                self._define(child, rule, parent, lead, above)
                if lead is not None and lead.is_first:
                    lead = lead._replace(is_first=False)
                if len(self.drafts) > before:
                    if not rule.is_leaf:
                        yield child, before, here, None
                    continue
                if rule.is_leaf and kind not in enter:
                    continue
            if rule is not None or kind in enter:
                below = None
                if kind in plan.wrappers:
                    below = lead or _Lead(child.start_byte, child.start_point[0], above.comment_of(child))
                yield child, parent, here, below
            elif kind in attached:
                if above is _NOTHING_ABOVE:
                    above = _Above(plan.between)
                above.add(child)
            elif kind in imports:
                self._import(child, kind)

    def _define(self, node: Node, rule: Rule, parent: int, lead: _Lead | None, above: "_Above") -> None:
        name = rule.name
        found = node.child_by_field_name(name) if isinstance(name, str) else name(node, self.place)
        if found is None:
            return
        if not isinstance(found, list):
            self._add(node, rule, found, parent, lead, above)
            return
        for one in found:
            self._add(node, rule, one, parent, lead, above)

    def _add(
        self,
        node: Node,
        rule: Rule,
        found: "Node | str | Named",
        parent: int,
        lead: _Lead | None,
        above: "_Above",
    ) -> None:
        kind, given = rule.kind, ""
        if isinstance(found, Named):
            kind, given, named = found.kind or kind, found.signature, found.name
        else:
            named = found
        start, row = node.start_byte, node.start_point[0]
        if isinstance(named, str):
            name, name_at = named, self._position(named, start, node.end_byte)
        else:
            name, name_at = self.place.text(named), named.start_byte
        name = one_line(name.strip("\"'`"), MAX_NAME)
        if not name:
            return
        draft = Draft(
            name=name, kind=kind, start=start, start_row=row, end_row=_last_row(node, row), parent=parent
        )
        begin = self._led(draft, lead, above.first_row(row))
        draft.signature = given or self._signature(node, rule, start, name_at)
        draft.node_type = node.type
        if lead is not None and not lead.is_first and self.drafts:
            draft.modifiers = self.drafts[-1].modifiers
        else:
            self._qualify(draft, begin, name_at)
        draft.doc = self._doc(
            node, above.comment_of(node) or (lead.comment if lead is not None and lead.is_first else None)
        )
        self.drafts.append(draft)

    def _led(self, draft: Draft, lead: _Lead | None, first_row: int) -> int:
        """Lets the symbol begin with its wrapper, or remember where that begins; the byte where its modifiers begin."""
        language = self.plan.language
        row = draft.start_row
        if lead is None:
            if first_row < row:
                draft.lead_row = first_row
            return draft.start
        if not lead.is_first:
            return draft.start
        if language.is_wrapper_start:
            draft.start, draft.start_row = lead.start, lead.row
        elif language.has_decorators and lead.row < row:
            draft.lead_row = lead.row
        return lead.start

    def _position(self, name: str, start: int, end: int) -> int:
        at = self.source.find(name.encode(), start, min(end, start + 600))
        return at if at >= 0 else start

    def _signature(self, node: Node, rule: Rule, start: int, name_at: int) -> str:
        body = node.child_by_field_name(rule.body)
        if body is None and rule.value:
            value = node.child_by_field_name(rule.value)
            body = value.child_by_field_name("body") if value is not None else None
        is_whole = self.plan.language.is_header_whole
        begin = start if is_whole else name_at
        end = body.start_byte if body is not None else node.end_byte
        text = self.source[begin : min(end, begin + 3 * MAX_SIGNATURE)].decode("utf-8", "replace")
        text = header(text, is_cut=body is not None)
        return without_words(text, self.plan.language.modifiers) if is_whole else text

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
        end = min(node.end_byte, node.start_byte + 300)
        return self.source[node.start_byte : end].decode("utf-8", "replace")

    def _import(self, node: Node, kind: int) -> None:
        rule = self.plan.imports[kind]
        if len(self.imports) >= _MAX_IMPORTS:
            return
        found = node.child_by_field_name(rule) if isinstance(rule, str) else rule(node, self.place)
        for one in found if isinstance(found, list) else (found,):
            named = one.name if isinstance(one, Named) else one
            if named is not None:
                text = named if isinstance(named, str) else self.place.text(named)
                text = one_line(text, MAX_NAME).strip("\"'`<>; ")
                if text and text not in self.imports:
                    self.imports.append(text)


class _Above:
    """The comments and attributes that stand directly above the next declaration."""

    __slots__ = ("_between", "_comment", "_end", "_first")

    def __init__(self, between: frozenset[int]) -> None:
        self._between = between
        self._comment: Node | None = None
        self._end = -2
        self._first = -1

    def add(self, node: Node) -> None:
        row = node.start_point[0]
        is_apart = row > self._end + 1
        if node.kind_id in self._between:
            if is_apart or self._first < 0:
                self._first = row
            if is_apart:
                self._comment = None
        else:
            if is_apart or self._comment is None:
                self._comment = node
            if is_apart:
                self._first = -1
        self._end = _last_row(node, row)

    def comment_of(self, node: Node) -> Node | None:
        return self._comment if self._end >= node.start_point[0] - 1 else None

    def first_row(self, row: int) -> int:
        """Row of the first attribute above a declaration in `row`; that row itself when there is none."""
        return self._first if 0 <= self._first < row and self._end >= row - 1 else row


_NOTHING_ABOVE = _Above(frozenset())


def _is_between(positions: "array[int]", start: int, end: int) -> bool:
    at = bisect_left(positions, start)
    return at < len(positions) and positions[at] < end


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
