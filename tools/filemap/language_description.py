"""Defines how a language is described for maps of files: which syntax nodes are symbols, how they are named, which
nodes are entered."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from tree_sitter import Node

from tools.filemap.map_deadline import MapDeadline

AncestorNodeTypes = tuple[str, "AncestorNodeTypes | None"]


class SyntaxNodeContext:
    """The source text around a syntax node, and the types of its ancestor nodes, for the rule that names the node's
    symbol."""

    __slots__ = ("ancestors", "ascii_text", "source")

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.ancestors: AncestorNodeTypes | None = None
        self.ascii_text = source.decode("ascii") if source.isascii() else None
        """The source as text if it is ASCII, as most sources are: a part of a text costs half as much as decoding
        bytes."""

    def source_between(self, start: int, end: int) -> str:
        """Returns the source text between two byte positions."""
        if self.ascii_text is not None:
            return self.ascii_text[start:end]
        return self.source[start:end].decode("utf-8", "replace")

    def text(self, node: Node) -> str:
        return self.source_between(node.start_byte, node.end_byte)

    def ancestor_type(self, steps: int = 0) -> str:
        """Returns the type of the ancestor node that many steps above the parent (0: the parent). Cheaper than
        `node.parent`."""
        link = self.ancestors
        while steps and link is not None:
            link, steps = link[1], steps - 1
        return link[0] if link is not None else ""

    def nearest_ancestor_type(self, *types: str) -> str:
        """Returns the type of the nearest ancestor node that is one of these; empty if there is none."""
        link = self.ancestors
        while link is not None and link[0] not in types:
            link = link[1]
        return link[0] if link is not None else ""


class SymbolNameNode(NamedTuple):
    """The name that a rule found for a symbol, with another kind than the rule's own, or not contained in a single
    syntax node."""

    name: "Node | str"
    kind: str = ""
    signature: str = ""


SymbolNameRuleResult = None | str | Node | SymbolNameNode | list[Node] | list[SymbolNameNode]
SymbolNameRule = Callable[[Node, SyntaxNodeContext], SymbolNameRuleResult]


class DefinitionWord(NamedTuple):
    """A word that a source contains wherever it defines something, such as `def`; with a pattern, only where that
    matches around the word."""

    word: bytes
    context_pattern: re.Pattern[bytes] | None = None


def make_definition_words(*written: bytes) -> tuple[DefinitionWord, ...]:
    return tuple(DefinitionWord(word) for word in written)


class FoundSymbol(msgspec.Struct, gc=False):
    """A symbol that was found in a source, as it is while the map of the file is built."""

    name: str
    kind: str
    start: int
    """The position of the symbol's first byte in the source."""
    start_row: int
    end_row: int
    """The last row of the symbol, counted from 0."""
    parent: int = -1
    signature: str = ""
    modifiers: tuple[str, ...] = ()
    doc: str = ""
    decorator_row: int = -1
    scope: str = ""
    """The name of the type that the symbol belongs to, if the symbol is defined outside that type."""
    node_type: str = ""


class FoundRoute(msgspec.Struct, frozen=True):
    """A web route in a source: the verb and path, and the function that handles it."""

    start: int
    end: int
    http_verb: str
    path: str
    handler_name: str


class SyntaxNodeRule(msgspec.Struct, frozen=True):
    kind: str
    name_rule: str | SymbolNameRule = "name"
    """The field of the syntax node that has the symbol's name, or a function that returns the name (None: the node
    is no symbol)."""
    is_leaf: bool = False
    """Whether the children of the syntax node are not searched for symbols."""
    body_field: str = "body"
    """The field of the syntax node at which the symbol's signature ends."""
    value_field: str = ""
    """The field of a value whose `body` ends the symbol's signature, as in `const f = () => {…}`."""


class LanguageDescription(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    display_name: str = ""
    """The language's name for people; empty if it is `name` capitalised."""
    grammar_name: str = ""
    """The name of the bundled grammar; empty if it is the language's name."""
    node_rules: Mapping[str, SyntaxNodeRule]
    entered_nodes: frozenset[str]
    """Syntax nodes whose children are searched for symbols although the nodes themselves are none."""
    comment_nodes: frozenset[str] = frozenset({"comment", "line_comment", "block_comment"})
    wrapper_nodes: frozenset[str] = frozenset()
    """Nodes around a declaration that belong to it: `export …`, `template <…>`, decorators."""
    starts_at_wrapper: bool = True
    """Whether a symbol begins with its wrapper node; otherwise the wrapper's line is only the symbol's
    `decorator_line`."""
    attribute_nodes: frozenset[str] = frozenset()
    """Nodes allowed between a comment and its declaration, such as attributes; they belong to the declaration too."""
    import_rules: Mapping[str, str | SymbolNameRule] = {}
    modifier_words: frozenset[str] = frozenset()
    exporting_modifiers: frozenset[str] = frozenset()
    """Modifiers that make a symbol exported."""
    export_rule: Callable[[FoundSymbol, bytes], bool] | None = None
    """A function that decides whether a symbol is exported, from the symbol and the text before its name; for
    languages in which the name decides."""
    has_type_before_name: bool = False
    """Whether the signature begins before the name (`static int f(int a)`)."""
    has_decorators: bool = False
    find_inner_doc: Callable[[bytes, int], str] | None = None
    """A function that returns the docstring at the beginning of a body, given the source and the body's first byte."""
    prepare_source: Callable[[bytes, MapDeadline], bytes] | None = None
    """A function that replaces text that the grammar cannot know, such as macros, by spaces; lengths and lines must
    not change."""
    simplify_source: Callable[[bytes, MapDeadline], bytes] | None = None
    """A function that returns a simpler text to parse, if the grammar fails on the whole source."""
    recover_symbols: Callable[[list[FoundSymbol], bytes], list[FoundSymbol]] | None = None
    """A function that restores symbols lost to syntax errors; it is called before `finish_symbols`."""
    finish_symbols: Callable[[list[FoundSymbol], bytes], list[FoundSymbol]] | None = None
    """A function that completes the list of all symbols: merges clauses, assigns methods to receivers, sets the
    ends of sections."""
    find_routes: Callable[[bytes], Iterator[FoundRoute]] | None = None
    """A function that finds web routes in the whole source, including bodies of functions."""
    definition_filter: Callable[[AncestorNodeTypes], tuple[DefinitionWord, ...] | None] | None = None
    """A function that returns the words without which a child of a syntax node contains no definition, so that it
    is not searched; None searches all children."""
    max_outlined_line_bytes: int = 0
    """The length in bytes above which lines are not outlined, because generated one-line code has no useful
    positions; 0 outlines all."""

    @property
    def title(self) -> str:
        return self.display_name or self.name.capitalize()

    @property
    def grammar(self) -> str:
        return self.grammar_name or self.name


MAX_OUTLINED_LINE_BYTES_OF_SCRIPTS = 10_000
"""The value of `max_outlined_line_bytes` for scripts: bundles have lines of megabytes, one-letter names, and syntax
trees of forty times their size."""


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def first_named_child(node: Node) -> Node | None:
    """Returns the first named child of a syntax node, or None (`named_child(0)` would raise)."""
    return node.named_child(0) if node.named_child_count else None


def last_named_child(node: Node) -> Node | None:
    return node.named_child(node.named_child_count - 1) if node.named_child_count else None


def first_child_of_types(node: Node, *types: str) -> Node | None:
    """Returns the first child of a syntax node that has one of these types."""
    return next((child for child in node.named_children if child.type in types), None)


def name_by_child_type(*types: str) -> SymbolNameRule:
    return lambda node, _place: first_child_of_types(node, *types)


def name_rule_with_fixed_name(name: str) -> SymbolNameRule:
    return lambda _node, _place: name


def name_rule_with_default(other: str) -> SymbolNameRule:
    """Returns a rule that names a symbol by its node's name field, or by the name `other` if the node has none."""
    return lambda node, _place: node.child_by_field_name("name") or other


def name_rule_for_methods_inside(*owners: str) -> SymbolNameRule:
    """Returns a rule for function nodes, which makes them methods inside of these node types."""

    def rule(node: Node, place: SyntaxNodeContext) -> SymbolNameNode | None:
        name = node.child_by_field_name("name") or first_child_of_types(node, "simple_identifier")
        return (
            SymbolNameNode(name, "method" if place.ancestor_type() in owners else "function")
            if name is not None
            else None
        )

    return rule


def name_assigned_function(node: Node, _place: SyntaxNodeContext) -> Node | None:
    """Returns the symbol name of a function that is assigned to a variable: `name` of `name = function(…)`."""
    value = node.child_by_field_name("value")
    is_function = value is not None and value.type == "function_definition"
    return node.child_by_field_name("name") if is_function else None


def first_line_of_node_without_body(
    node: Node, place: SyntaxNodeContext, limit: int = 80, until: str = "{"
) -> str:
    """Returns the first line of a syntax node's text, without the start of its body."""
    line = place.source_between(
        node.start_byte, min(node.end_byte, node.start_byte + _MAX_FIRST_LINE_BYTES)
    ).split("\n", 1)[0]
    return line.split(until, 1)[0].strip()[:limit] if until else line.strip()[:limit]


_MAX_FIRST_LINE_BYTES = 2000


def name_rule_by_descendant_type(*types: str) -> SymbolNameRule:
    """Returns a rule that names a symbol by its first descendant node of one of these types, nearest level first."""
    wanted = frozenset(types)

    def rule(node: Node, _place: SyntaxNodeContext) -> Node | None:
        level, seen = [node], 0
        while level and seen < 60:
            below: list[Node] = []
            for each in level:
                seen += 1
                for child in each.named_children[:12]:
                    if child.type in wanted:
                        return child
                    below.append(child)
            level = below
        return None

    return rule
