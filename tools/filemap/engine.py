"""The walk over a syntax tree: the same for every language, driven by its description."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from tree_sitter import Language as Grammar
from tree_sitter import Node, Tree

from tools.filemap.bodies import without_bodies
from tools.filemap.language import Chain, Draft, Language, Named, NameRule, Place, Rule, Sign
from tools.filemap.languages.registry import language_named
from tools.filemap.leading import Above, Lead, last_row
from tools.filemap.parsing import grammar_of, parse
from tools.filemap.watch import Watch
from tools.filemap.wording import MAX_NAME, MAX_SIGNATURE, doc_line, header, one_line, without_words

_ERROR = 0xFFFF
_MANY_CHILDREN = 5000
_CHECK_EVERY = 256
_MAX_IMPORTS = 200
_AROUND = 60
_KEPT = 40
_MAX_SYMBOLS = 400_000
_LONGEST_DOC = 300
_LONGEST_HEADER = 3 * MAX_SIGNATURE
_DECORATOR = re.compile(rb"@[A-Za-z_][\w.]*")
_WORD = re.compile(rb"[A-Za-z_]+")


class Compiled(NamedTuple):
    language: Language
    grammar: Grammar
    types: dict[int, str]
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
def _types(grammar_name: str) -> dict[int, str]:
    """Names of node types by number."""
    grammar = grammar_of(grammar_name)
    names = {number: grammar.node_kind_for_id(number) or "" for number in range(grammar.node_kind_count)}
    return {**names, _ERROR: "ERROR"}


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
        types=_types(language.grammar),
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
    if language.bodies is not None:
        source = without_bodies(source, language.bodies, watch)
    prepared = language.prepare(source, watch) if language.prepare is not None else source
    tree = parse(plan.grammar, prepared, watch)
    walk = _Walk(plan, source, watch)
    walk.run(tree)
    has_errors = tree.root_node.has_error
    if language.simplify is not None and tree.root_node.is_error:
        del tree
        again = _Walk(plan, source, watch)
        again.run(parse(plan.grammar, language.simplify(prepared, watch), watch))
        if len(again.drafts) > len(walk.drafts):
            walk = again
    drafts = walk.drafts
    if has_errors and language.recover is not None:
        drafts = language.recover(drafts, prepared)
    if language.finish is not None:
        drafts = language.finish(drafts, source)
    return Outline(drafts, walk.imports, has_errors)


class _Whole(NamedTuple):
    """A node that defines something: it is asked once, for all names that it defines."""

    node_type: str
    start: int
    end: int
    row: int
    end_row: int
    body: int
    """-1: it has none."""
    comment: Node | None
    first_row: int


_Inside = tuple[Node, int, int, Chain | None, Lead | None]
"""A node to look into: itself, its type, the symbol around it, the types above it, the wrapper that it is."""


class _Walk:
    def __init__(self, plan: Compiled, source: bytes, watch: Watch) -> None:
        self.plan = plan
        self.source = source
        self.watch = watch
        self.place = Place(source)
        self.drafts: list[Draft] = []
        self.imports: list[str] = []
        self._said_before: dict[bytes, tuple[str, ...]] = {}
        self._found: dict[tuple[Sign, ...], array[int]] = {}

    def _occurrences(self, wanted: tuple[Sign, ...]) -> "array[int]":
        """Where the signs are in the whole source: looked for once, asked for at every node."""
        found = self._found.get(wanted)
        if found is None:
            places: set[int] = set()
            for sign in wanted:
                places.update(_places_of(sign, self.source))
                self.watch.check()
            found = self._found[wanted] = array("Q", sorted(places))
        return found

    def run(self, tree: Tree) -> None:
        root = tree.root_node
        stack: list[_Inside] = [(root, root.kind_id, -1, None, None)]
        steps = 0
        while stack:
            steps += 1
            if steps % _CHECK_EVERY == 0:
                self.watch.check()
            self._look_into(stack.pop(), stack)

    def _look_into(self, inside: "_Inside", stack: "list[_Inside]") -> None:
        """Takes the symbols among the children of a node; puts what is to be looked into on the stack."""
        node, node_kind, parent, chain, lead = inside
        plan, drafts = self.plan, self.drafts
        rules, enter, attached = plan.rules, plan.enter, plan.attached
        here: Chain = (plan.types[node_kind], chain)
        self.place.chain = here
        worth = self._worth(here)
        above: Above | None = None
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
                if len(drafts) >= _MAX_SYMBOLS:
                    return
                before = len(drafts)
                body = self._define(child, kind, rule, parent, lead, above)
                if lead is not None and lead.is_first:
                    lead = lead._replace(is_first=False)
                if len(drafts) > before:
                    if not rule.is_leaf and self._may_hold_symbols(child, kind, body, here):
                        stack.append((child, kind, before, here, None))
                    continue
                if rule.is_leaf and kind not in enter:
                    continue
            if rule is not None or kind in enter:
                below = None
                if kind in plan.wrappers:
                    below = lead or Lead.of(child, above)
                stack.append((child, kind, parent, here, below))
            elif kind in attached:
                if above is None:
                    above = Above(plan.between, self.source)
                above.add(child, kind)
            elif kind in plan.imports:
                self._import(child, kind)

    def _worth(self, here: Chain) -> "array[int] | None":
        """Where inside such a node there may be symbols; None: anywhere."""
        wanted = self.plan.language.worth(here) if self.plan.language.worth is not None else None
        return self._occurrences(wanted) if wanted is not None else None

    def _may_hold_symbols(self, node: Node, kind: int, body: int, here: Chain) -> bool:
        worth = self._worth((self.plan.types[kind], here))
        return worth is None or _is_between(worth, body if body >= 0 else node.start_byte, node.end_byte)

    def _define(
        self, node: Node, kind: int, rule: Rule, parent: int, lead: Lead | None, above: Above | None
    ) -> int:
        """Takes what the node defines; where its body begins (-1: it has none)."""
        name = rule.name
        found = node.child_by_field_name(name) if isinstance(name, str) else name(node, self.place)
        if found is None:
            return -1
        body = node.child_by_field_name(rule.body)
        if body is None and rule.value:
            value = node.child_by_field_name(rule.value)
            body = value.child_by_field_name("body") if value is not None else None
        start, row = node.start_byte, node.start_point[0]
        comment, first_row = None, row
        if above is not None:
            comment, first_row = above.comment_of(start), above.first_row(start, row)
        whole = _Whole(
            self.plan.types[kind],
            start,
            node.end_byte,
            row,
            last_row(node, row, self.source),
            body.start_byte if body is not None else -1,
            comment,
            first_row,
        )
        if isinstance(found, list):
            for one in found:
                self._add(whole, rule.kind, one, parent, lead)
        else:
            self._add(whole, rule.kind, found, parent, lead)
        return whole.body

    def _add(
        self, whole: _Whole, kind: str, found: "Node | str | Named", parent: int, lead: Lead | None
    ) -> None:
        node_type, start, end, row, end_row, body, comment, first_row = whole
        given = ""
        if isinstance(found, Named):
            found, kind, given = found.name, found.kind or kind, found.signature
        if isinstance(found, str):
            name, name_at = found, self._position(found, start, end)
        else:
            name_at = found.start_byte
            name = self.source[name_at : found.end_byte].decode("utf-8", "replace")
        if not name.isidentifier() or len(name) > MAX_NAME:
            name = one_line(name.strip("\"'`"), MAX_NAME)
            if not name:
                return
        draft = Draft(name, kind, start, row, end_row, parent)
        draft.node_type = node_type
        begin = start if lead is None and first_row == row else self._led(draft, lead, first_row)
        draft.signature = given or self._signature(start, end, body, name_at)
        language = self.plan.language
        if lead is not None and not lead.is_first and self.drafts:
            draft.modifiers = self.drafts[-1].modifiers
        else:
            if begin < name_at or language.export_rule is not None:
                self._qualify(draft, begin, name_at)
            if comment is None and lead is not None:
                comment = lead.comment
        if language.inner_doc is not None:
            if body >= 0:
                draft.doc = doc_line(language.inner_doc(self.source, body))
        elif comment is not None:
            at = comment.start_byte
            text = self.source[at : min(comment.end_byte, at + _LONGEST_DOC)]
            draft.doc = doc_line(text.decode("utf-8", "replace"))
        self.drafts.append(draft)

    def _led(self, draft: Draft, lead: Lead | None, first_row: int) -> int:
        """Lets the symbol begin with its wrapper, or remember where that begins; the byte where its modifiers begin."""
        row = draft.start_row
        if lead is None:
            if first_row < row:
                draft.lead_row = first_row
            return draft.start
        language = self.plan.language
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

    def _signature(self, start: int, end: int, body: int, name_at: int) -> str:
        language = self.plan.language
        begin = start if language.is_header_whole else name_at
        until = body if body >= 0 else end
        if until > begin + _LONGEST_HEADER:
            until = begin + _LONGEST_HEADER
        text = header(self.source[begin:until].decode("utf-8", "replace"), is_cut=body >= 0)
        return without_words(text, language.modifiers) if language.is_header_whole else text

    def _qualify(self, draft: Draft, begin: int, name_at: int) -> None:
        language = self.plan.language
        before = self.source[max(begin, name_at - 800) : name_at] if begin < name_at else b""
        found = self._said_before.get(before)
        if found is None:
            found = _words_of(before, language)
            if len(before) <= _KEPT:
                self._said_before[before] = found
        if language.export_rule is None:
            is_exported = not language.exporting.isdisjoint(found)
        else:
            is_exported = language.export_rule(draft, before.decode("utf-8", "replace"))
        if is_exported:
            draft.modifiers = ("exported", *found)
        elif found:
            draft.modifiers = found

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


def _words_of(before: bytes, language: Language) -> tuple[str, ...]:
    """Modifiers and decorators in the text before a name."""
    found: list[str] = []
    if language.modifiers:
        for word in _WORD.findall(before):
            text = word.decode()
            if text in language.modifiers and text not in found:
                found.append(text)
    if language.has_decorators and b"@" in before:
        found.extend(word.decode() for word in _DECORATOR.findall(before)[:6])
    return tuple(found)


def _places_of(sign: Sign, source: bytes) -> Iterator[int]:
    word, around = sign
    find, step = source.find, len(word)
    at = find(word)
    while at >= 0:
        if around is None or around.search(source, max(0, at - _AROUND), at + _AROUND):
            yield at
        at = find(word, at + step)


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
