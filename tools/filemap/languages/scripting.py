"""Ruby, PHP, Lua and Perl."""

import re

from tree_sitter import Node

from tools.filemap.drafts import ordered, without
from tools.filemap.language import (
    FoundSymbol,
    Language,
    Named,
    NodePlace,
    NodeRule,
    child_of,
    first_child,
    head_line,
    last_child,
    words,
)
from tools.filemap.languages.docs import comments_above
from tools.filemap.languages.missed import missed_functions

_PAIR = re.compile(r"(\w+)\s*=>")
_ATTRIBUTES = words("attr_accessor attr_reader attr_writer cattr_accessor mattr_accessor class_attribute")
_RUBY_TESTS = words("describe context it namespace task feature scenario test")
_RUBY_LITERALS = words("simple_symbol delimited_symbol string")
"""What calls something by a name; what an expression calls it only a run can tell."""
_RUBY_DEFINERS = {
    "define_method": "method", "delegate": "method", "alias_method": "alias", "has_many": "property",
    "has_one": "property", "belongs_to": "property", "has_and_belongs_to_many": "property", "scope": "property",
}  # fmt: skip


def _ruby_call(node: Node, place: NodePlace) -> list[Named] | None:
    method, arguments = node.child_by_field_name("method"), node.child_by_field_name("arguments")
    receiver = node.child_by_field_name("receiver")
    if method is None or arguments is None or not arguments.named_child_count:
        return None
    word = place.text(method)
    if receiver is not None:
        return _ruby_test(node, place, word, arguments) if place.text(receiver) == "RSpec" else None
    if word in _ATTRIBUTES:
        return [
            Named(place.text(child).lstrip(":"), "property", f"{word} {place.text(child)}")
            for child in arguments.named_children
            if child.type == "simple_symbol"
        ] or None
    first = first_child(arguments)
    if first is None:
        return None
    if word in _RUBY_DEFINERS:
        names = arguments.named_children if word == "delegate" else [first]
        return [
            Named(place.text(name).strip(":\"'"), _RUBY_DEFINERS[word], f"{word} {place.text(name)}")
            for name in names
            if name.type in _RUBY_LITERALS and child_of(name, "interpolation") is None
        ] or None
    return _ruby_test(node, place, word, arguments)


def _ruby_test(node: Node, place: NodePlace, word: str, arguments: Node) -> list[Named] | None:
    first = first_child(arguments)
    if word not in _RUBY_TESTS or first is None:
        return None
    if word != "task" and node.child_by_field_name("block") is None:
        return None
    label = place.text(first).strip("\"':")
    return [
        Named(f"{word} {label}", "test" if word not in ("task", "namespace") else word, f"{word} {label}")
    ]


def _singleton(node: Node, place: NodePlace) -> str | None:
    owner, name = node.child_by_field_name("object"), node.child_by_field_name("name")
    return f"{place.text(owner)}.{place.text(name)}" if owner is not None and name is not None else None


def _singleton_class(node: Node, place: NodePlace) -> str:
    value = node.child_by_field_name("value")
    return "<< " + (place.text(value) if value is not None else "self")


def _constant(node: Node, place: NodePlace) -> list[Named] | None:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or left.type != "constant":
        return None
    made = place.source[right.start_byte : right.start_byte + 12] if right is not None else b""
    kind = "class" if made.startswith((b"Struct.new", b"Class.new", b"Data.define")) else "constant"
    return [Named(left, "module" if made.startswith(b"Module.new") else kind)]


def _ruby_method(node: Node, place: NodePlace) -> list[Named] | None:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    owner = place.nearest("class", "module", "singleton_class", "do_block")
    return [Named(name, "method" if owner else "function")]


RUBY = Language(
    name="ruby",
    rules={
        "module": NodeRule("module"),
        "class": NodeRule("class"),
        "singleton_class": NodeRule("class", _singleton_class),
        "method": NodeRule("method", _ruby_method),
        "singleton_method": NodeRule("method", _singleton),
        "alias": NodeRule("alias", is_leaf=True),
        "assignment": NodeRule("constant", _constant),
        "call": NodeRule("method", _ruby_call),
    },
    enter=words(
        "program body_statement begin begin_block if unless if_modifier unless_modifier do_block block then else elsif "
        "rescue ensure argument_list case when block_body"
    ),
    modifiers=words("private protected public"),
    finish=comments_above,
)


def _php_import(node: Node, place: NodePlace) -> list[Node]:
    return [child for child in node.named_children if child.type == "namespace_use_clause"]


def _php_name(node: Node, place: NodePlace) -> Node | None:
    return node.child_by_field_name("name") or child_of(node, "name", "variable_name")


PHP = Language(
    name="php",
    called="PHP",
    rules={
        "namespace_definition": NodeRule("namespace"),
        "class_declaration": NodeRule("class"),
        "interface_declaration": NodeRule("interface"),
        "trait_declaration": NodeRule("trait"),
        "enum_declaration": NodeRule("enum"),
        "enum_case": NodeRule("enum member", is_leaf=True),
        "function_definition": NodeRule("function"),
        "method_declaration": NodeRule("method", is_leaf=True),
        "const_element": NodeRule("constant", _php_name, is_leaf=True),
        "property_element": NodeRule("property", _php_name, is_leaf=True),
    },
    enter=words(
        "program compound_statement declaration_list enum_declaration_list const_declaration property_declaration "
        "if_statement colon_block else_clause else_if_clause text_interpolation"
    ),
    imports={"namespace_use_declaration": _php_import},
    wrappers=words("const_declaration property_declaration"),
    modifiers=words("public private protected static abstract final readonly var"),
    export_rule=lambda _draft, before: not {b"private", b"protected"} & set(before.split()),
)


def _lua_assigned(node: Node, place: NodePlace) -> list[Named] | None:
    if node.named_child_count < 2:
        return None
    names, values = first_child(node), last_child(node)
    if names is None or values is None or names.end_byte - names.start_byte > 200:
        return None
    value = first_child(values)
    name = first_child(names) or names
    if value is not None and value.type == "function_definition":
        return [Named(name, "function")]
    if place.above() == "chunk" or (place.above() == "variable_declaration" and place.above(1) == "chunk"):
        return [Named(name, "variable")]
    return None


def _lua_field(node: Node, place: NodePlace) -> list[Named] | None:
    """A function in a table, or a table with functions; `[KEY]` when a value names it."""
    value = node.child_by_field_name("value")
    name = node.child_by_field_name("name")
    if value is None or name is None:
        return None
    kind = "method" if value.type == "function_definition" else "property" if _has_functions(value) else ""
    if not kind:
        return None
    is_computed = place.source[node.start_byte : node.start_byte + 1] == b"[" and name.type != "string"
    said = f"[{place.text(name)}]" if is_computed else place.text(name)
    if len(said) > _LONGEST_KEY:
        return None
    head = place.said(value.start_byte, value.end_byte).split("\n", 1)[0] if kind == "method" else ""
    return [Named(said if is_computed else name, kind, f"{said} = {head.split(')')[0]})" if head else said)]


_LONGEST_KEY = 100
_MOST_LOOKED_AT = 400


def _has_functions(table: Node) -> bool:
    if table.type != "table_constructor":
        return False
    values = (each.child_by_field_name("value") for each in table.named_children[:_MOST_LOOKED_AT])
    return any(value is not None and value.type == "function_definition" for value in values)


def _lua_function(node: Node, place: NodePlace) -> list[Named] | None:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    return [Named(name, "function" if name.type == "identifier" else "method")]


LUA = Language(
    name="lua",
    rules={
        "function_declaration": NodeRule("function", _lua_function),
        "assignment_statement": NodeRule("variable", _lua_assigned),
        "field": NodeRule("method", _lua_field),
    },
    enter=words(
        "chunk block variable_declaration do_statement if_statement else_statement elseif_statement expression_list "
        "table_constructor function_call arguments return_statement function_definition while_statement for_statement"
    ),
    wrappers=words("variable_declaration"),
    modifiers=words("local"),
    export_rule=lambda _draft, before: b"local" not in before.split(),
    max_line_bytes=1_000_000,
)


def _perl_used(node: Node, place: NodePlace) -> list[Named] | None:
    """`use constant NAME => …`"""
    module = node.child_by_field_name("module")
    if module is None or place.text(module) != "constant" or node.named_child_count < 2:
        return None
    text = place.text(node).split("constant", 1)[1].lstrip(" ({\n\t")
    if place.text(node).split("constant", 1)[1].lstrip().startswith("{"):
        return [Named(name, "constant") for name in _PAIR.findall(text)] or None
    return [Named(text.split("=>")[0].strip(), "constant")]


def _perl_phase(node: Node, place: NodePlace) -> str:
    return head_line(node, place).split()[0]


def _perl_pod(node: Node, place: NodePlace) -> list[Named] | None:
    line = head_line(node, place, until="")
    return [Named(line.lstrip("="), "documentation", line)] if line.startswith("=") else None


_with_missed_subs = missed_functions(
    re.compile(rb"^sub[ \t]+(?P<name>[A-Za-z_][\w:']*)(?P<rest>[^\n{]*\n?\{[^\n]*)$", re.M)
)
"""`pi2 / 360 }` may begin a pattern, for all that a grammar knows."""


_PERL_AHEAD = re.compile(rb"sub\s+[\w:']+\s*(?:\([^)]*\))?\s*;")
"""Only says that there will be such a sub; the grammar lets it go on."""


_PACKAGE_STATEMENT = re.compile(rb"package\s+[\w:']+(?:\s+v?[\d._]+)?\s*;")
_SCOPE = "scope"
"""Kind of a bare block with a package in it: told to `_perl_finish` alone."""


def _perl_block(node: Node, place: NodePlace) -> str | None:
    return _SCOPE if child_of(node, "package_statement") is not None else None


def _perl_finish(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """A package that is a statement reaches to the next one or to the end of the block it stands in, and owns that."""
    drafts = ordered(_with_missed_subs(drafts, source))
    inside: dict[int, list[int]] = {-1: []}
    for index, draft in enumerate(drafts):
        ahead = _PERL_AHEAD.match(source, draft.start) if draft.kind == "function" else None
        if ahead is not None:
            draft.end_row = draft.start_row + ahead[0].count(b"\n")
        inside.setdefault(draft.parent, []).append(index)
    scopes = [index for index, draft in enumerate(drafts) if draft.kind == _SCOPE]
    blocks = [index for index in inside if index < 0 or drafts[index].kind in (_SCOPE, "package")]
    for block in blocks:
        last_row = source.rstrip().count(b"\n") if block < 0 else drafts[block].end_row - 1
        _own(drafts, inside[block], source, last_row)
    for scope in scopes:
        for index in inside[scope]:
            if drafts[index].kind == "package":
                drafts[index].parent = -1
    return without(drafts, scopes)


def _own(drafts: list[FoundSymbol], inside: list[int], source: bytes, last_row: int) -> None:
    package = -1
    for index in inside:
        draft = drafts[index]
        if draft.kind != "package":
            draft.parent = package if package >= 0 else draft.parent
        elif _PACKAGE_STATEMENT.match(source, draft.start):
            if package >= 0:
                drafts[package].end_row = max(drafts[package].start_row, draft.start_row - 1)
            package, draft.end_row = index, max(draft.start_row, last_row)


PERL = Language(
    name="perl",
    rules={
        "package_statement": NodeRule("package"),
        "block_statement": NodeRule(_SCOPE, _perl_block),
        "class_statement": NodeRule("class"),
        "subroutine_declaration_statement": NodeRule("function", is_leaf=True),
        "method_declaration_statement": NodeRule("method", is_leaf=True),
        "phaser_statement": NodeRule("block", _perl_phase, is_leaf=True),
        "use_statement": NodeRule("constant", _perl_used, is_leaf=True),
        "pod": NodeRule("documentation", _perl_pod, is_leaf=True),
    },
    enter=words("source_file block block_statement conditional_statement"),
    finish=_perl_finish,
)

LANGUAGES = (RUBY, PHP, LUA, PERL)
