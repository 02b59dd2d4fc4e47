"""How a language is described for the engine: which nodes are symbols, what they are called, where to look inside."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from tree_sitter import Node

from tools.filemap.watch import Deadline

NodePath = tuple[str, "NodePath | None"]


class NodeContext:
    """What a name rule may ask about the node it judges: its text, and the types of the nodes above it."""

    __slots__ = ("ancestors", "ascii_text", "source")

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.ancestors: NodePath | None = None
        self.ascii_text = source.decode("ascii") if source.isascii() else None
        """Most sources: their bytes are their letters, and a part of a text costs half of decoding it."""

    def said(self, start: int, end: int) -> str:
        """The text between two bytes."""
        if self.ascii_text is not None:
            return self.ascii_text[start:end]
        return self.source[start:end].decode("utf-8", "replace")

    def text(self, node: Node) -> str:
        return self.said(node.start_byte, node.end_byte)

    def ancestor_type(self, steps: int = 0) -> str:
        """Type of the node that many steps above the parent (0: the parent itself). Cheaper than `node.parent`."""
        link = self.ancestors
        while steps and link is not None:
            link, steps = link[1], steps - 1
        return link[0] if link is not None else ""

    def nearest_ancestor_type(self, *types: str) -> str:
        """Which of these the nearest node around it is that is one of them; empty: there is none."""
        link = self.ancestors
        while link is not None and link[0] not in types:
            link = link[1]
        return link[0] if link is not None else ""


class NamedNode(NamedTuple):
    """A name with what differs from the rule: another kind, or a name that no single node spells."""

    name: "Node | str"
    kind: str = ""
    signature: str = ""


FoundNames = None | str | Node | NamedNode | list[Node] | list[NamedNode]
NameRule = Callable[[Node, NodeContext], FoundNames]


class DefinitionWord(NamedTuple):
    """A word that stands wherever something is defined; with a pattern, only where that occurs around the word."""

    word: bytes
    around: re.Pattern[bytes] | None = None


def definition_words(*written: bytes) -> tuple[DefinitionWord, ...]:
    return tuple(DefinitionWord(word) for word in written)


class FoundSymbol(msgspec.Struct, gc=False):
    """A symbol while the map is made."""

    name: str
    kind: str
    start: int
    """First byte."""
    start_row: int
    end_row: int
    """Rows count from 0."""
    parent: int = -1
    signature: str = ""
    modifiers: tuple[str, ...] = ()
    doc: str = ""
    lead_row: int = -1
    scope: str = ""
    """Name of the type that this belongs to although it does not stand inside it."""
    node_type: str = ""


class FoundRoute(msgspec.Struct, frozen=True):
    """A place in the text that ties a path to what answers it."""

    start: int
    end: int
    verb: str
    path: str
    handler: str


class NodeRule(msgspec.Struct, frozen=True):
    kind: str
    name: str | NameRule = "name"
    """A field of the node, or a function that finds the name (None: this node is no symbol)."""
    is_leaf: bool = False
    """Nothing inside is looked for."""
    body: str = "body"
    """The field that ends the signature."""
    value: str = ""
    """The field whose own `body` ends it: `const f = () => {…}`."""


class Language(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    display_name: str = ""
    """By people, where that is not its name with a capital letter."""
    grammar_name: str = ""
    """By which bundled grammar, where that is called otherwise."""
    rules: Mapping[str, NodeRule]
    enter: frozenset[str]
    """Nodes to look into although they are no symbols."""
    comments: frozenset[str] = frozenset({"comment", "line_comment", "block_comment"})
    wrappers: frozenset[str] = frozenset()
    """Nodes that stand around a declaration and belong to it: `export …`, `template <…>`, decorators."""
    is_wrapper_start: bool = True
    """Whether the symbol begins with its wrapper; else that line is only its `lead_line`."""
    between: frozenset[str] = frozenset()
    """Nodes that may stand between a comment and what it belongs to, such as attributes; they belong to it too."""
    imports: Mapping[str, str | NameRule] = {}
    modifiers: frozenset[str] = frozenset()
    exporting_modifiers: frozenset[str] = frozenset()
    """Modifiers that mean `exported`."""
    export_rule: Callable[[FoundSymbol, bytes], bool] | None = None
    """For languages that export by name; gets the symbol and the text before its name."""
    has_type_before_name: bool = False
    """Whether the signature begins before the name (`static int f(int a)`)."""
    has_decorators: bool = False
    inner_doc: Callable[[bytes, int], str] | None = None
    """The docstring of a body that begins at this byte."""
    prepare: Callable[[bytes, Deadline], bytes] | None = None
    """Covers up what the grammar cannot know, such as macros; lengths and lines must stay as they are."""
    simplify: Callable[[bytes, Deadline], bytes] | None = None
    """Where the grammar cannot make out the whole: the text with less structure, to be tried instead."""
    recover: Callable[[list[FoundSymbol], bytes], list[FoundSymbol]] | None = None
    """Where there are syntax errors, before `finish`: brings back what they swallowed."""
    finish: Callable[[list[FoundSymbol], bytes], list[FoundSymbol]] | None = None
    """What only the whole list can tell: merged clauses, receivers, section ends."""
    routes: Callable[[bytes], Iterator[FoundRoute]] | None = None
    """Where the whole text, bodies too, ties paths of a web program to functions."""
    definition_filter: Callable[[NodePath], tuple[DefinitionWord, ...] | None] | None = None
    """Inside the given node only children with one of these signs are looked at: bodies hold little else."""
    max_line_bytes: int = 0
    """Longer lines are not outlined (0: all are). What a program packed into one line has no places to go to."""

    @property
    def title(self) -> str:
        return self.display_name or self.name.capitalize()

    @property
    def grammar(self) -> str:
        return self.grammar_name or self.name


MAX_PACKED_LINE = 10_000
"""For `max_line_bytes`: bundles have lines of megabytes, names of one letter and trees of forty times their size."""


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def first_child(node: Node) -> Node | None:
    """The first named child; a node without any has none (`named_child(0)` would raise)."""
    return node.named_child(0) if node.named_child_count else None


def last_child(node: Node) -> Node | None:
    return node.named_child(node.named_child_count - 1) if node.named_child_count else None


def child_of_type(node: Node, *types: str) -> Node | None:
    """The first child of one of these types."""
    return next((child for child in node.named_children if child.type in types), None)


def first_of_types(*types: str) -> NameRule:
    return lambda node, _place: child_of_type(node, *types)


def fixed_name(name: str) -> NameRule:
    return lambda _node, _place: name


def name_or(other: str) -> NameRule:
    """What it is called, where it need not have a name."""
    return lambda node, _place: node.child_by_field_name("name") or other


def method_inside(*owners: str) -> NameRule:
    """A function, which is a method where it stands in one of these nodes."""

    def rule(node: Node, place: NodeContext) -> NamedNode | None:
        name = node.child_by_field_name("name") or child_of_type(node, "simple_identifier")
        return (
            NamedNode(name, "method" if place.ancestor_type() in owners else "function")
            if name is not None
            else None
        )

    return rule


def name_of_function(node: Node, _place: NodeContext) -> Node | None:
    """`name = function(…)` in a list."""
    value = node.child_by_field_name("value")
    is_function = value is not None and value.type == "function_definition"
    return node.child_by_field_name("name") if is_function else None


def header_line(node: Node, place: NodeContext, limit: int = 80, until: str = "{") -> str:
    """The first line of a node, without what opens its body."""
    line = place.said(node.start_byte, min(node.end_byte, node.start_byte + _MAX_LINE)).split("\n", 1)[0]
    return line.split(until, 1)[0].strip()[:limit] if until else line.strip()[:limit]


_MAX_LINE = 2000


def first_descendant(*types: str) -> NameRule:
    """The first node of one of these types anywhere inside, nearest level first."""
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
