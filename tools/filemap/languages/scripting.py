"""Describes Ruby, PHP, Lua and Perl for maps of files."""

import re

from tree_sitter import Node

from tools.filemap.language_description import (
    FoundSymbol,
    LanguageDescription,
    SymbolNameNode,
    SyntaxNodeContext,
    SyntaxNodeRule,
    first_child_of_types,
    first_line_of_node_without_body,
    first_named_child,
    last_named_child,
    word_set,
)
from tools.filemap.languages.doc_comments import attach_comments_to_first_declarations
from tools.filemap.languages.functions_lost_by_grammar import make_finder_of_lost_functions
from tools.filemap.symbol_list_changes import remove_symbols, sort_symbols_in_file_order

_PERL_CONSTANT_PATTERN = re.compile(r"(\w+)\s*=>")
_RUBY_ATTRIBUTE_CALLS = word_set(
    "attr_accessor attr_reader attr_writer cattr_accessor mattr_accessor class_attribute"
)
_RUBY_TEST_CALLS = word_set("describe context it namespace task feature scenario test")
_RUBY_NAMING_LITERALS = word_set("simple_symbol delimited_symbol string")
"""Ruby literals that can be the name of a symbol; other expressions are only known at run time."""
_RUBY_DEFINING_CALLS = {
    "define_method": "method", "delegate": "method", "alias_method": "alias", "has_many": "property",
    "has_one": "property", "belongs_to": "property", "has_and_belongs_to_many": "property", "scope": "property",
}  # fmt: skip


def _name_ruby_call(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    method, arguments = node.child_by_field_name("method"), node.child_by_field_name("arguments")
    receiver = node.child_by_field_name("receiver")
    if method is None or arguments is None or not arguments.named_child_count:
        return None
    word = place.text(method)
    if receiver is not None:
        return _name_ruby_test(node, place, word, arguments) if place.text(receiver) == "RSpec" else None
    if word in _RUBY_ATTRIBUTE_CALLS:
        return [
            SymbolNameNode(place.text(child).lstrip(":"), "property", f"{word} {place.text(child)}")
            for child in arguments.named_children
            if child.type == "simple_symbol"
        ] or None
    first = first_named_child(arguments)
    if first is None:
        return None
    if word in _RUBY_DEFINING_CALLS:
        names = arguments.named_children if word == "delegate" else [first]
        return [
            SymbolNameNode(
                place.text(name).strip(":\"'"), _RUBY_DEFINING_CALLS[word], f"{word} {place.text(name)}"
            )
            for name in names
            if name.type in _RUBY_NAMING_LITERALS and first_child_of_types(name, "interpolation") is None
        ] or None
    return _name_ruby_test(node, place, word, arguments)


def _name_ruby_test(
    node: Node, place: SyntaxNodeContext, word: str, arguments: Node
) -> list[SymbolNameNode] | None:
    first = first_named_child(arguments)
    if word not in _RUBY_TEST_CALLS or first is None:
        return None
    if word != "task" and node.child_by_field_name("block") is None:
        return None
    label = place.text(first).strip("\"':")
    return [
        SymbolNameNode(
            f"{word} {label}", "test" if word not in ("task", "namespace") else word, f"{word} {label}"
        )
    ]


def _name_ruby_singleton_method(node: Node, place: SyntaxNodeContext) -> str | None:
    owner, name = node.child_by_field_name("object"), node.child_by_field_name("name")
    return f"{place.text(owner)}.{place.text(name)}" if owner is not None and name is not None else None


def _name_ruby_singleton_class(node: Node, place: SyntaxNodeContext) -> str:
    value = node.child_by_field_name("value")
    return "<< " + (place.text(value) if value is not None else "self")


def _name_ruby_constant(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or left.type != "constant":
        return None
    made = place.source[right.start_byte : right.start_byte + 12] if right is not None else b""
    kind = "class" if made.startswith((b"Struct.new", b"Class.new", b"Data.define")) else "constant"
    return [SymbolNameNode(left, "module" if made.startswith(b"Module.new") else kind)]


def _name_ruby_method(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    owner = place.nearest_ancestor_type("class", "module", "singleton_class", "do_block")
    return [SymbolNameNode(name, "method" if owner else "function")]


RUBY_LANGUAGE = LanguageDescription(
    name="ruby",
    node_rules={
        "module": SyntaxNodeRule("module"),
        "class": SyntaxNodeRule("class"),
        "singleton_class": SyntaxNodeRule("class", _name_ruby_singleton_class),
        "method": SyntaxNodeRule("method", _name_ruby_method),
        "singleton_method": SyntaxNodeRule("method", _name_ruby_singleton_method),
        "alias": SyntaxNodeRule("alias", is_leaf=True),
        "assignment": SyntaxNodeRule("constant", _name_ruby_constant),
        "call": SyntaxNodeRule("method", _name_ruby_call),
    },
    entered_nodes=word_set(
        "program body_statement begin begin_block if unless if_modifier unless_modifier do_block block then else elsif "
        "rescue ensure argument_list case when block_body"
    ),
    modifier_words=word_set("private protected public"),
    finish_symbols=attach_comments_to_first_declarations,
)


def _name_php_imports(node: Node, place: SyntaxNodeContext) -> list[Node]:
    return [child for child in node.named_children if child.type == "namespace_use_clause"]


def _name_php_element(node: Node, place: SyntaxNodeContext) -> Node | None:
    return node.child_by_field_name("name") or first_child_of_types(node, "name", "variable_name")


PHP_LANGUAGE = LanguageDescription(
    name="php",
    display_name="PHP",
    node_rules={
        "namespace_definition": SyntaxNodeRule("namespace"),
        "class_declaration": SyntaxNodeRule("class"),
        "interface_declaration": SyntaxNodeRule("interface"),
        "trait_declaration": SyntaxNodeRule("trait"),
        "enum_declaration": SyntaxNodeRule("enum"),
        "enum_case": SyntaxNodeRule("enum member", is_leaf=True),
        "function_definition": SyntaxNodeRule("function"),
        "method_declaration": SyntaxNodeRule("method", is_leaf=True),
        "const_element": SyntaxNodeRule("constant", _name_php_element, is_leaf=True),
        "property_element": SyntaxNodeRule("property", _name_php_element, is_leaf=True),
    },
    entered_nodes=word_set(
        "program compound_statement declaration_list enum_declaration_list const_declaration property_declaration "
        "if_statement colon_block else_clause else_if_clause text_interpolation"
    ),
    import_rules={"namespace_use_declaration": _name_php_imports},
    wrapper_nodes=word_set("const_declaration property_declaration"),
    modifier_words=word_set("public private protected static abstract final readonly var"),
    export_rule=lambda _draft, before: not {b"private", b"protected"} & set(before.split()),
)


def _name_lua_assignment(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    if node.named_child_count < 2:
        return None
    names, values = first_named_child(node), last_named_child(node)
    if names is None or values is None or names.end_byte - names.start_byte > 200:
        return None
    value = first_named_child(values)
    name = first_named_child(names) or names
    if value is not None and value.type == "function_definition":
        return [SymbolNameNode(name, "function")]
    if place.ancestor_type() == "chunk" or (
        place.ancestor_type() == "variable_declaration" and place.ancestor_type(1) == "chunk"
    ):
        return [SymbolNameNode(name, "variable")]
    return None


def _name_lua_field(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    """Returns the symbol name of a function in a Lua table, or of a table with functions; `[KEY]` if a value is the
    key."""
    value = node.child_by_field_name("value")
    name = node.child_by_field_name("name")
    if value is None or name is None:
        return None
    while value.type == "binary_expression":  # `is_shown and function() … end`
        value = value.child_by_field_name("right") or last_named_child(value)
        if value is None:
            return None
    kind = (
        "method" if value.type == "function_definition" else "property" if _has_lua_functions(value) else ""
    )
    if not kind:
        return None
    is_computed = place.source[node.start_byte : node.start_byte + 1] == b"[" and name.type != "string"
    said = f"[{place.text(name)}]" if is_computed else place.text(name)
    if len(said) > _MAX_LUA_KEY_BYTES:
        return None
    head = (
        place.source_between(value.start_byte, value.end_byte).split("\n", 1)[0] if kind == "method" else ""
    )
    return [
        SymbolNameNode(
            said if is_computed else name, kind, f"{said} = {head.split(')')[0]})" if head else said
        )
    ]


_MAX_LUA_KEY_BYTES = 100
_MAX_LUA_MEMBERS_CHECKED = 400


def _has_lua_functions(table: Node) -> bool:
    if table.type != "table_constructor":
        return False
    values = (each.child_by_field_name("value") for each in table.named_children[:_MAX_LUA_MEMBERS_CHECKED])
    return any(value is not None and value.type == "function_definition" for value in values)


def _name_lua_function(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    return [SymbolNameNode(name, "function" if name.type == "identifier" else "method")]


LUA_LANGUAGE = LanguageDescription(
    name="lua",
    node_rules={
        "function_declaration": SyntaxNodeRule("function", _name_lua_function),
        "assignment_statement": SyntaxNodeRule("variable", _name_lua_assignment),
        "field": SyntaxNodeRule("method", _name_lua_field),
    },
    entered_nodes=word_set(
        "chunk block variable_declaration do_statement if_statement else_statement elseif_statement expression_list "
        "table_constructor function_call arguments return_statement function_definition while_statement for_statement"
    ),
    wrapper_nodes=word_set("variable_declaration"),
    modifier_words=word_set("local"),
    export_rule=lambda _draft, before: b"local" not in before.split(),
    max_outlined_line_bytes=1_000_000,
)


def _name_perl_constants(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    """Returns the symbol names of Perl's constants: `use constant NAME => …`."""
    module = node.child_by_field_name("module")
    if module is None or place.text(module) != "constant" or node.named_child_count < 2:
        return None
    text = place.text(node).split("constant", 1)[1].lstrip(" ({\n\t")
    if place.text(node).split("constant", 1)[1].lstrip().startswith("{"):
        return [SymbolNameNode(name, "constant") for name in _PERL_CONSTANT_PATTERN.findall(text)] or None
    return [SymbolNameNode(text.split("=>")[0].strip(), "constant")]


def _name_perl_phase_block(node: Node, place: SyntaxNodeContext) -> str:
    return first_line_of_node_without_body(node, place).split()[0]


def _name_perl_documentation(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    line = first_line_of_node_without_body(node, place, until="")
    return [SymbolNameNode(line.lstrip("="), "documentation", line)] if line.startswith("=") else None


_add_missed_perl_subs = make_finder_of_lost_functions(
    re.compile(rb"^sub[ \t]+(?P<name>[A-Za-z_][\w:']*)(?P<rest>[^\n{]*\n?\{[^\n]*)$", re.M)
)
"""Adds the Perl subs that the grammar loses, for example because it takes the slash of `pi2 / 360 }` for the start
of a pattern."""


_PERL_FORWARD_DECLARATION_PATTERN = re.compile(rb"sub\s+[\w:']+\s*(?:\([^)]*\))?\s*;")
"""Matches a Perl statement that announces a sub without a body; the grammar wrongly continues it."""


_PERL_PACKAGE_STATEMENT_PATTERN = re.compile(rb"package\s+[\w:']+(?:\s+v?[\d._]+)?\s*;")
_KIND_OF_PERL_BARE_BLOCK = "scope"
"""The temporary kind of a Perl block that contains a package statement; only `_finish_perl_symbols` uses it."""


def _name_perl_block(node: Node, place: SyntaxNodeContext) -> str | None:
    return _KIND_OF_PERL_BARE_BLOCK if first_child_of_types(node, "package_statement") is not None else None


def _finish_perl_symbols(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Completes Perl symbols: extends a package statement to the next one, or to the end of its block, and attaches the
    symbols in between."""
    drafts = sort_symbols_in_file_order(_add_missed_perl_subs(drafts, source))
    inside: dict[int, list[int]] = {-1: []}
    for index, draft in enumerate(drafts):
        ahead = (
            _PERL_FORWARD_DECLARATION_PATTERN.match(source, draft.start) if draft.kind == "function" else None
        )
        if ahead is not None:
            draft.end_row = draft.start_row + ahead[0].count(b"\n")
        inside.setdefault(draft.parent, []).append(index)
    scopes = [index for index, draft in enumerate(drafts) if draft.kind == _KIND_OF_PERL_BARE_BLOCK]
    blocks = [
        index for index in inside if index < 0 or drafts[index].kind in (_KIND_OF_PERL_BARE_BLOCK, "package")
    ]
    for block in blocks:
        last_row = source.rstrip().count(b"\n") if block < 0 else drafts[block].end_row - 1
        _attach_to_perl_package(drafts, inside[block], source, last_row)
    for scope in scopes:
        for index in inside[scope]:
            if drafts[index].kind == "package":
                drafts[index].parent = -1
    return remove_symbols(drafts, scopes)


def _attach_to_perl_package(
    drafts: list[FoundSymbol], inside: list[int], source: bytes, last_row: int
) -> None:
    package = -1
    for index in inside:
        draft = drafts[index]
        if draft.kind != "package":
            draft.parent = package if package >= 0 else draft.parent
        elif _PERL_PACKAGE_STATEMENT_PATTERN.match(source, draft.start):
            if package >= 0:
                drafts[package].end_row = max(drafts[package].start_row, draft.start_row - 1)
            package, draft.end_row = index, max(draft.start_row, last_row)


PERL_LANGUAGE = LanguageDescription(
    name="perl",
    node_rules={
        "package_statement": SyntaxNodeRule("package"),
        "block_statement": SyntaxNodeRule(_KIND_OF_PERL_BARE_BLOCK, _name_perl_block),
        "class_statement": SyntaxNodeRule("class"),
        "subroutine_declaration_statement": SyntaxNodeRule("function", is_leaf=True),
        "method_declaration_statement": SyntaxNodeRule("method", is_leaf=True),
        "phaser_statement": SyntaxNodeRule("block", _name_perl_phase_block, is_leaf=True),
        "use_statement": SyntaxNodeRule("constant", _name_perl_constants, is_leaf=True),
        "pod": SyntaxNodeRule("documentation", _name_perl_documentation, is_leaf=True),
    },
    entered_nodes=word_set("source_file block block_statement conditional_statement"),
    finish_symbols=_finish_perl_symbols,
)

LANGUAGE_DESCRIPTIONS = (RUBY_LANGUAGE, PHP_LANGUAGE, LUA_LANGUAGE, PERL_LANGUAGE)
