"""Walks a syntax tree and collects the symbols of a source: the same for every language, driven by its numbered rules.
Each node property is read once, by number, because sources may have tens of thousands of symbols."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator

from tree_sitter import Node, Tree

from tools.filemap.grammar_rules_by_id import LanguageRulesById, SyntaxNodeRuleById
from tools.filemap.language_description import (
    AncestorNodeTypes,
    DefinitionWord,
    FoundSymbol,
    LanguageDescription,
    SymbolNameNode,
    SyntaxNodeContext,
)
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.nodes_before_declaration import (
    LeadingCommentTracker,
    NodesBeforeDeclaration,
    last_row_with_text,
)
from tools.filemap.one_line_text import (
    MAX_SHOWN_SYMBOL_NAME_CHARS,
    MAX_SIGNATURE_CHARS,
    MAX_STORED_SYMBOL_NAME_CHARS,
    first_doc_comment_line,
    one_line_declaration,
    shorten_to_one_line,
    strip_declaration_modifiers,
    strip_symbol_name_quotes,
)

_SPACE_BYTE = 32
_MAX_CHILDREN_READ_AT_ONCE = 5000
_SYNTAX_NODES_PER_DEADLINE_CHECK = 256
_MAX_COLLECTED_IMPORTS = 200
_DEFINITION_WORD_CONTEXT_BYTES = 60
_MAX_ANNOTATION_BYTES = 40
_MAX_COLLECTED_SYMBOLS = 400_000
_MAX_DOC_COMMENT_BYTES = 300
_MAX_DECLARATION_BYTES = 3 * MAX_SIGNATURE_CHARS
_DECORATOR_PATTERN = re.compile(rb"@[A-Za-z_][\w.]*")
_ASCII_WORD_PATTERN = re.compile(rb"[A-Za-z_]+")
_AT_SIGN_BYTE = ord("@")
_QUOTED_TEXT_REGEX = rb"\"(?:[^\"\\\n]|\\.)*\""
_ANNOTATIONS_PATTERN = re.compile(
    rb"(?:@[\w.]+(?:[ \t]*\((?:[^()\"]|"
    + _QUOTED_TEXT_REGEX
    + rb"|\((?:[^()\"]|"
    + _QUOTED_TEXT_REGEX
    + rb")*\))*\))?\s+)+"
)
"""Matches annotations (`@Name(…)`) in front of a declaration, which may be many lines long and become modifiers of
the symbol."""
_MODIFIERS_OF_EXPORTED_SYMBOL = ("exported",)
_MAX_DECORATORS_OF_SYMBOL = 6
"""The maximum number of decorators of a symbol that are shown."""

_PendingNode = tuple[Node, int, int, AncestorNodeTypes | None, NodesBeforeDeclaration | None]
"""A node to enter: the node, its type, the symbol around it, its ancestor types, its leading nodes."""


class SymbolCollectingTreeWalk:
    def __init__(
        self, plan: LanguageRulesById, source: bytes, watch: MapDeadline, imports: list[str]
    ) -> None:
        self.symbols: list[FoundSymbol] = []
        self.imports = imports
        language = plan.language
        self._rules = plan
        self._language = language
        self._source = source
        self._watch = watch
        self._node_context = SyntaxNodeContext(source)
        self._text_between, self._ascii_text = (
            self._node_context.source_between,
            self._node_context.ascii_text,
        )
        self._export_rule, self._inner_doc = language.export_rule, language.find_inner_doc
        self._has_modifier_words = bool(language.modifier_words) or language.has_decorators
        self._modifiers_cache: dict[bytes, tuple[str, ...]] = {}
        self._positions_by_word: dict[tuple[DefinitionWord, ...], array[int]] = {}
        self._positions_by_rule: dict[tuple[str, str], array[int] | None] = {}

    def run(self, tree: Tree) -> None:
        root = tree.root_node
        stack: list[_PendingNode] = [(root, root.kind_id, -1, None, None)]
        steps = 0
        while stack:
            steps += 1
            if steps % _SYNTAX_NODES_PER_DEADLINE_CHECK == 0:
                self._watch.raise_if_deadline_over()
            self._visit_children(stack.pop(), stack)

    def _visit_children(self, inside: _PendingNode, stack: list[_PendingNode]) -> None:
        """Adds the symbols among the children of a syntax node, and puts nodes to enter on the stack."""
        node, node_kind, parent, chain, lead = inside
        language, _, types, rules, enter, wrappers, between, imports, attached = self._rules
        drafts = self.symbols
        here: AncestorNodeTypes = (types[node_kind], chain)
        self._node_context.ancestors = here
        worth = self._definition_positions(here) if language.definition_filter is not None else None
        above: LeadingCommentTracker | None = None
        is_lead_taken = False
        for child in _iterate_named_children(node):
            kind = child.kind_id
            rule = rules.get(kind)
            if rule is None and kind not in enter:
                if kind in attached:
                    if above is None:
                        above = LeadingCommentTracker(between, self._source)
                    above.add(child, kind)
                elif kind in imports and (
                    worth is None or _has_position_between(worth, child.start_byte, child.end_byte)
                ):
                    self._add_import(child, kind)
                continue
            if worth is not None and not _has_position_between(worth, child.start_byte, child.end_byte):
                continue
            if is_lead_taken and lead is not None:
                lead, is_lead_taken = lead.without_wrapper_start(), False
            if rule is not None:
                before = len(drafts)
                if before >= _MAX_COLLECTED_SYMBOLS:
                    return
                body = self._add_symbols_of_node(child, rule, parent, lead, above)
                if len(drafts) > before:
                    is_lead_taken, above = lead is not None, None
                    if not rule.is_leaf and self._may_contain_definition(child, (types[kind], here), body):
                        stack.append((child, kind, before, here, None))
                    continue
                if rule.is_leaf and kind not in enter:
                    continue
            below = (lead or NodesBeforeDeclaration.before(child, above)) if kind in wrappers else None
            stack.append((child, kind, parent, here, below))

    def _may_contain_definition(self, node: Node, inside: AncestorNodeTypes, body: int) -> bool:
        inner = self._definition_positions(inside) if self._language.definition_filter is not None else None
        return inner is None or _has_position_between(
            inner, body if body >= 0 else node.start_byte, node.end_byte
        )

    def _definition_positions(self, here: AncestorNodeTypes) -> "array[int] | None":
        """Returns the positions at which symbols may be inside a syntax node of such a type; None means anywhere."""
        above = here[1]
        key = (here[0], above[0] if above is not None else "")
        if key in self._positions_by_rule:
            return self._positions_by_rule[key]
        asked = self._rules.language.definition_filter
        wanted = asked(here) if asked is not None else None
        found = self._positions_by_rule[key] = (
            self._find_definition_words(wanted) if wanted is not None else None
        )
        return found

    def _find_definition_words(self, wanted: tuple[DefinitionWord, ...]) -> "array[int]":
        """Returns the positions of definition words in the whole source: searched once, used at every node."""
        found = self._positions_by_word.get(wanted)
        if found is None:
            places: set[int] = set()
            for sign in wanted:
                places.update(_find_word_positions(sign, self._source))
                self._watch.raise_if_deadline_over()
            found = self._positions_by_word[wanted] = array("Q", sorted(places))
        return found

    def _add_symbols_of_node(
        self,
        node: Node,
        rule: SyntaxNodeRuleById,
        parent: int,
        lead: NodesBeforeDeclaration | None,
        above: LeadingCommentTracker | None,
    ) -> int:
        """Adds the symbols that a syntax node defines; returns the start of its body (-1: none)."""
        name, ask, body_field, value_field, kind, node_type, _ = rule
        if name:
            found = node.child_by_field_id(name)
        else:
            found = ask(node, self._node_context) if ask is not None else None
        if found is None:
            return -1
        inner = node.child_by_field_id(body_field) if body_field else None
        if inner is None and value_field:
            value = node.child_by_field_id(value_field)
            inner = value.child_by_field_name("body") if value is not None else None
        body = inner.start_byte if inner is not None else -1
        start, end, row, end_row = node.start_byte, node.end_byte, node.start_point[0], node.end_point[0]
        if end_row > row and self._source[end - 1] <= _SPACE_BYTE:
            end_row = last_row_with_text(node, row, self._source)
        comment, first = above.comment_and_attribute_above(start) if above is not None else (None, None)
        if not isinstance(found, list):
            draft = FoundSymbol("", kind, start, row, end_row, parent, "", (), "", -1, "", node_type)
            self._add_symbol(draft, found, end, body, lead, comment, first)
            return body
        last = -1
        for one in found:
            named = one.name if isinstance(one, SymbolNameNode) else one
            if last >= 0 and isinstance(named, Node):  # further names may be lines below the first
                row += max(0, named.start_point[0] - last)
            last = named.start_point[0] if isinstance(named, Node) else -1
            draft = FoundSymbol("", kind, start, row, end_row, parent, "", (), "", -1, "", node_type)
            self._add_symbol(draft, one, end, body, lead, comment, first)
        return body

    def _add_symbol(
        self,
        draft: FoundSymbol,
        found: Node | str | SymbolNameNode,
        end: int,
        body: int,
        lead: NodesBeforeDeclaration | None,
        comment: Node | None,
        first: Node | None,
    ) -> None:
        start, plain, drafts = draft.start, self._ascii_text, self.symbols
        if isinstance(found, Node):
            name_at, name_end = found.start_byte, found.end_byte
            name = plain[name_at:name_end] if plain is not None else self._text_between(name_at, name_end)
        else:
            name, name_at = self._resolve_name(draft, found, end)
        if not name.isidentifier() or len(name) > MAX_STORED_SYMBOL_NAME_CHARS:
            name = shorten_to_one_line(strip_symbol_name_quotes(name), MAX_STORED_SYMBOL_NAME_CHARS)
            if not name:
                return
        draft.name = name
        begin = start if lead is None and first is None else self._apply_leading_nodes(draft, lead, first)
        if not draft.signature:
            draft.signature = self._format_signature(start, name_at, end, body)
        if lead is None or lead.is_first_declaration or not drafts:
            if begin < name_at or self._export_rule is not None:
                self._add_modifiers(draft, begin, name_at)
            if first is not None and self._language.has_decorators:
                led = _find_decorators(self._source[first.start_byte : start])
                draft.modifiers += tuple(word for word in led if word not in draft.modifiers)
            if comment is None and lead is not None:
                comment = lead.comment
        else:
            draft.modifiers = drafts[-1].modifiers
        if self._inner_doc is not None:
            if body >= 0:
                draft.doc = first_doc_comment_line(self._inner_doc(self._source, body))
        elif comment is not None:
            at = comment.start_byte
            draft.doc = first_doc_comment_line(
                self._text_between(at, min(comment.end_byte, at + _MAX_DOC_COMMENT_BYTES))
            )
        drafts.append(draft)

    def _resolve_name(self, draft: FoundSymbol, found: str | SymbolNameNode, end: int) -> tuple[str, int]:
        """Returns the name that a language's rule gives a symbol, and the position of the name."""
        if isinstance(found, str):
            return found, self._find_name_position(found, draft.start, end)
        name, draft.kind, draft.signature = found.name, found.kind or draft.kind, found.signature
        if isinstance(name, str):
            return name, self._find_name_position(name, draft.start, end)
        return self._text_between(name.start_byte, name.end_byte), name.start_byte

    def _apply_leading_nodes(
        self, draft: FoundSymbol, lead: NodesBeforeDeclaration | None, first: Node | None
    ) -> int:
        """Begins a symbol at its wrapper (such as `export`), or records the wrapper's start; returns the first byte of
        its modifiers."""
        row = draft.start_row
        if lead is None:
            if first is not None and first.start_point[0] < row:
                draft.decorator_row = first.start_point[0]
            return draft.start
        language = self._rules.language
        if not lead.is_first_declaration:
            return draft.start
        if language.starts_at_wrapper:
            draft.start, draft.start_row = lead.start, lead.row
        elif language.has_decorators and lead.row < row:
            draft.decorator_row = lead.row
        return lead.start

    def _find_name_position(self, name: str, start: int, end: int) -> int:
        at = self._source.find(name.encode(), start, min(end, start + 600))
        return at if at >= 0 else start

    def _format_signature(self, start: int, name_at: int, end: int, body: int) -> str:
        is_whole = self._language.has_type_before_name
        begin = start if is_whole else name_at
        if is_whole and self._language.has_decorators and self._source[start] == _AT_SIGN_BYTE:
            led = _ANNOTATIONS_PATTERN.match(self._source, start, name_at)
            begin = led.end() if led is not None else start
        until = min(body if body >= 0 else end, begin + _MAX_DECLARATION_BYTES)
        text = one_line_declaration(self._text_between(begin, until), is_cut=body >= 0)
        return strip_declaration_modifiers(text, self._language.modifier_words) if is_whole else text

    def _add_modifiers(self, draft: FoundSymbol, begin: int, name_at: int) -> None:
        before = self._source[max(begin, name_at - 800) : name_at] if begin < name_at else b""
        found: tuple[str, ...] | None = ()
        if before and self._has_modifier_words:
            found = self._modifiers_cache.get(before)
            if found is None:
                found = _find_modifiers(before, self._language)
                if len(before) <= _MAX_ANNOTATION_BYTES:
                    self._modifiers_cache[before] = found
        if self._export_rule is None:
            is_exported = not self._language.exporting_modifiers.isdisjoint(found)
        else:
            is_exported = self._export_rule(draft, before)
        if is_exported:
            draft.modifiers = ("exported", *found) if found else _MODIFIERS_OF_EXPORTED_SYMBOL
        elif found:
            draft.modifiers = found

    def _add_import(self, node: Node, kind: int) -> None:
        rule = self._rules.import_rules[kind]
        if len(self.imports) >= _MAX_COLLECTED_IMPORTS:
            return
        found = node.child_by_field_name(rule) if isinstance(rule, str) else rule(node, self._node_context)
        for one in found if isinstance(found, list) else (found,):
            named = one.name if isinstance(one, SymbolNameNode) else one
            if named is not None:
                text = named if isinstance(named, str) else self._node_context.text(named)
                text = shorten_to_one_line(text, MAX_SHOWN_SYMBOL_NAME_CHARS).strip("\"'`<>; ")
                if text and text not in self.imports:
                    self.imports.append(text)


def _find_modifiers(before: bytes, language: LanguageDescription) -> tuple[str, ...]:
    """Returns the modifiers and decorators in the text before a symbol's name."""
    found: list[str] = []
    if language.modifier_words:
        for word in _ASCII_WORD_PATTERN.findall(before):
            text = word.decode()
            if text in language.modifier_words and text not in found:
                found.append(text)
    if language.has_decorators and b"@" in before:
        found.extend(_find_decorators(before))
    return tuple(found)


def _find_decorators(before: bytes) -> tuple[str, ...]:
    return tuple(word.decode() for word in _DECORATOR_PATTERN.findall(before)[:_MAX_DECORATORS_OF_SYMBOL])


def _find_word_positions(sign: DefinitionWord, source: bytes) -> Iterator[int]:
    word, around = sign
    find, step = source.find, len(word)
    at = find(word)
    while at >= 0:
        if around is None or around.search(
            source, max(0, at - _DEFINITION_WORD_CONTEXT_BYTES), at + _DEFINITION_WORD_CONTEXT_BYTES
        ):
            yield at
        at = find(word, at + step)


def _has_position_between(positions: "array[int]", start: int, end: int) -> bool:
    at = bisect_left(positions, start)
    return at < len(positions) and positions[at] < end


def _iterate_named_children(node: Node) -> "list[Node] | Iterator[Node]":
    """Returns the named children of a syntax node; very many one by one, so that the interpreter is not blocked."""
    return (
        node.named_children if node.child_count < _MAX_CHILDREN_READ_AT_ONCE else _children_one_by_one(node)
    )


def _children_one_by_one(node: Node) -> Iterator[Node]:
    cursor = node.walk()
    is_more = cursor.goto_first_child()
    while is_more:
        child = cursor.node
        if child is not None and child.is_named:
            yield child
        is_more = cursor.goto_next_sibling()
