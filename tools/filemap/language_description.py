"""Defines how a language is described for maps of files: which syntax nodes are symbols, how they are named, which
nodes are entered."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from tree_sitter import Node

from tools.filemap.deadline import Deadline

AncestorTypes = tuple[str, "AncestorTypes | None"]


class NodeContext:
    """What the rule that names a symbol may use besides its syntax node: the source text, and the types of the ancestor
    nodes."""

    __slots__ = ("ancestors", "ascii_text", "source")

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.ancestors: AncestorTypes | None = None
        self.ascii_text = source.decode("ascii") if source.isascii() else None
        """Most sources: their bytes are their letters, and a part of a text costs half of decoding it."""

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


class NamedNode(NamedTuple):
    """A symbol's name with another kind than its rule has, or a name that no single syntax node contains."""

    name: "Node | str"
    kind: str = ""
    signature: str = ""


NameRuleResult = None | str | Node | NamedNode | list[Node] | list[NamedNode]
NameRule = Callable[[Node, NodeContext], NameRuleResult]


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
    """Position of the first byte."""
    start_row: int
    end_row: int
    """Rows count from 0."""
    parent: int = -1
    signature: str = ""
    modifiers: tuple[str, ...] = ()
    doc: str = ""
    decorator_row: int = -1
    scope: str = ""
    """Name of the type that the symbol belongs to, if it is defined outside of it."""
    node_type: str = ""


class FoundRoute(msgspec.Struct, frozen=True):
    """A web route in a source: the verb and path, and the function that handles it."""

    start: int
    end: int
    http_verb: str
    path: str
    handler_name: str


class NodeRule(msgspec.Struct, frozen=True):
    kind: str
    name_rule: str | NameRule = "name"
    """A field of the node, or a function that returns the name (None: this node is no symbol)."""
    is_leaf: bool = False
    """Whether the node's children are skipped."""
    body_field: str = "body"
    """The field that ends the signature."""
    value_field: str = ""
    """The field whose `body` ends the signature: `const f = () => {…}`."""


class Language(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    display_name: str = ""
    """The name for people, if it is not `name` capitalised."""
    grammar_name: str = ""
    """Name of the bundled grammar, if it differs."""
    node_rules: Mapping[str, NodeRule]
    entered_nodes: frozenset[str]
    """Nodes whose children are visited although they are no symbols."""
    comment_nodes: frozenset[str] = frozenset({"comment", "line_comment", "block_comment"})
    wrapper_nodes: frozenset[str] = frozenset()
    """Nodes around a declaration that belong to it: `export …`, `template <…>`, decorators."""
    starts_at_wrapper: bool = True
    """Whether the symbol begins with its wrapper; otherwise that line is only its `decorator_line`."""
    attribute_nodes: frozenset[str] = frozenset()
    """Nodes allowed between a comment and its declaration, such as attributes; they belong to the declaration too."""
    import_rules: Mapping[str, str | NameRule] = {}
    modifier_words: frozenset[str] = frozenset()
    exporting_modifiers: frozenset[str] = frozenset()
    """Modifiers that mean `exported`."""
    export_rule: Callable[[FoundSymbol, bytes], bool] | None = None
    """For languages that export by name; takes the symbol and the text before its name."""
    has_type_before_name: bool = False
    """Whether the signature begins before the name (`static int f(int a)`)."""
    has_decorators: bool = False
    find_inner_doc: Callable[[bytes, int], str] | None = None
    """Returns the docstring of a body that begins at this byte."""
    prepare_source: Callable[[bytes, Deadline], bytes] | None = None
    """Blanks out text that the grammar cannot know, such as macros; lengths and lines must not change."""
    simplify_source: Callable[[bytes, Deadline], bytes] | None = None
    """Returns the text with less structure, parsed instead if the grammar fails on the whole."""
    recover_symbols: Callable[[list[FoundSymbol], bytes], list[FoundSymbol]] | None = None
    """Restores symbols lost to syntax errors; called before `finish`."""
    finish_symbols: Callable[[list[FoundSymbol], bytes], list[FoundSymbol]] | None = None
    """Applies what only the whole list shows: merged clauses, receivers, section ends."""
    find_routes: Callable[[bytes], Iterator[FoundRoute]] | None = None
    """Finds web routes in the whole text, including bodies."""
    definition_filter: Callable[[AncestorTypes], tuple[DefinitionWord, ...] | None] | None = None
    """Restricts the search inside a node to children that contain one of these words: bodies define little else."""
    max_outlined_line_bytes: int = 0
    """Longer lines are not outlined (0: all are), because generated one-line code has no useful positions."""

    @property
    def title(self) -> str:
        return self.display_name or self.name.capitalize()

    @property
    def grammar(self) -> str:
        return self.grammar_name or self.name


MAX_LINE_BYTES_OF_SCRIPTS = 10_000
"""For `max_outlined_line_bytes`: bundles have lines of megabytes, one-letter names and trees of forty times their
size."""


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def first_named_child(node: Node) -> Node | None:
    """Returns the first named child of a syntax node, or None (`named_child(0)` would raise)."""
    return node.named_child(0) if node.named_child_count else None


def last_named_child(node: Node) -> Node | None:
    return node.named_child(node.named_child_count - 1) if node.named_child_count else None


def child_of_type(node: Node, *types: str) -> Node | None:
    """Returns the first child of a syntax node that has one of these types."""
    return next((child for child in node.named_children if child.type in types), None)


def child_name_rule(*types: str) -> NameRule:
    return lambda node, _place: child_of_type(node, *types)


def fixed_name_rule(name: str) -> NameRule:
    return lambda _node, _place: name


def default_name_rule(other: str) -> NameRule:
    """Returns a rule that names a symbol by its node's name field, or `other` if it has none."""
    return lambda node, _place: node.child_by_field_name("name") or other


def method_rule_inside(*owners: str) -> NameRule:
    """Returns a rule for function nodes, which makes them methods inside of these node types."""

    def rule(node: Node, place: NodeContext) -> NamedNode | None:
        name = node.child_by_field_name("name") or child_of_type(node, "simple_identifier")
        return (
            NamedNode(name, "method" if place.ancestor_type() in owners else "function")
            if name is not None
            else None
        )

    return rule


def name_assigned_function(node: Node, _place: NodeContext) -> Node | None:
    """Names a function that is assigned to a name: returns `name` of `name = function(…)`."""
    value = node.child_by_field_name("value")
    is_function = value is not None and value.type == "function_definition"
    return node.child_by_field_name("name") if is_function else None


def first_line_of_node(node: Node, place: NodeContext, limit: int = 80, until: str = "{") -> str:
    """Returns the first line of a syntax node's text, without the start of its body."""
    line = place.source_between(
        node.start_byte, min(node.end_byte, node.start_byte + _MAX_HEADER_BYTES)
    ).split("\n", 1)[0]
    return line.split(until, 1)[0].strip()[:limit] if until else line.strip()[:limit]


_MAX_HEADER_BYTES = 2000


def descendant_name_rule(*types: str) -> NameRule:
    """Returns a rule that names a symbol by its first descendant node of one of these types, nearest level first."""
    wanted = frozenset(types)

    def rule(node: Node, _place: NodeContext) -> Node | None:
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
