"""Describes JavaScript and TypeScript for maps of files, with and without JSX."""

import re
from collections.abc import Mapping

from tree_sitter import Node

from tools.filemap.language_description import (
    MAX_OUTLINED_LINE_BYTES_OF_SCRIPTS,
    AncestorNodeTypes,
    DefinitionWord,
    LanguageDescription,
    SymbolNameNode,
    SyntaxNodeContext,
    SyntaxNodeRule,
    first_child_of_types,
    first_named_child,
    make_definition_words,
    word_set,
)
from tools.filemap.languages.web_routes import find_script_routes

_JS_FUNCTION_NODES = word_set("function_expression arrow_function generator_function function")
_JS_TOP_LEVEL_NODES = word_set(
    "program export_statement ambient_declaration statement_block internal_module module expression_statement"
)
_JS_TEST_CALLS = word_set("describe it test suite context beforeEach afterEach beforeAll afterAll")
_JS_TEST_MODIFIERS = word_set(
    "concurrent describe each failing fails fixme for only parallel sequential serial shuffle skip step todo"
)
"""Words allowed after a test function's name and a dot, as in `test.only(…)`; calls with other words are no tests."""


_JS_DEFINITION_WORDS = (
    *make_definition_words(b"function", b"class", b"interface", b"namespace", b"module", b"enum", b"type"),
    *make_definition_words(b"){", b") {", b"):", b") :"),
    DefinitionWord(b")\n", re.compile(rb"\)\s*\{")),
    DefinitionWord(b")\r", re.compile(rb"\)\s*\{")),
    DefinitionWord(b"=>", re.compile(rb"\)\s*=>|=>\s*[{(]|[=:]\s*(?:async\s+)?[\w$]+\s*=>")),
)
"""Words that begin a definition; a body without them, such as `items.map(item => item.name)`, is not searched for
symbols."""
_TS_NAMESPACE_NODES = word_set("internal_module module ambient_declaration")
_JS_BODY_NODES = word_set(
    "function_declaration function_expression generator_function generator_function_declaration method_definition "
    "arrow_function arguments array assignment_expression await_expression binary_expression call_expression "
    "else_clause expression_statement finally_clause for_in_statement for_statement if_statement member_expression "
    "new_expression object parenthesized_expression return_statement sequence_expression switch_body switch_case "
    "ternary_expression try_statement while_statement"
)


def _js_definition_filter(here: AncestorNodeTypes) -> tuple[DefinitionWord, ...] | None:
    """Restricts the search for symbols inside of JavaScript bodies and expressions to definitions."""
    if here[0] == "statement_block":
        return None if here[1] is not None and here[1][0] in _TS_NAMESPACE_NODES else _JS_DEFINITION_WORDS
    return _JS_DEFINITION_WORDS if here[0] in _JS_BODY_NODES else None


_JS_VALUE_WRAPPER_NODES = word_set(
    "parenthesized_expression as_expression satisfies_expression type_assertion"
)


def _kind_of_js_value(value: Node | None) -> str:
    """Returns the kind of symbol that a JavaScript value defines, such as `function`; empty if none. Follows `a = b =
    function` and casts."""
    while value is not None:
        if value.type in _JS_FUNCTION_NODES:
            return "function"
        if value.type == "class":
            return "class"
        if value.type == "assignment_expression":
            value = value.child_by_field_name("right")
        elif value.type in _JS_VALUE_WRAPPER_NODES:
            value = first_named_child(value)
        else:
            return ""
    return ""


_MAX_JS_MEMBERS_CHECKED = 400


def _has_js_methods(node: Node | None) -> bool:
    """Returns whether a JavaScript value is an object with functions, which the name of the value then owns."""
    if node is None or node.type != "object":
        return False
    for child in node.named_children[:_MAX_JS_MEMBERS_CHECKED]:
        if child.type == "method_definition":
            return True
        if child.type == "pair":
            value = child.child_by_field_name("value")
            if value is not None and (value.type in _JS_FUNCTION_NODES or _has_js_methods(value)):
                return True
    return False


def _is_outside_js_functions(place: SyntaxNodeContext) -> bool:
    """Returns whether a JavaScript node is at the top of the file or of a namespace."""
    link = place.ancestors
    while link is not None:
        if link[0] == "statement_block":
            if link[1] is None or link[1][0] not in _TS_NAMESPACE_NODES:
                return False
        elif link[0] not in _JS_TOP_LEVEL_NODES and link[0] not in (
            "lexical_declaration",
            "variable_declaration",
        ):
            return False
        link = link[1]
    return True


def _name_js_variable(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    name = node.child_by_field_name("name")
    if name is None or name.type != "identifier":
        return None
    value = node.child_by_field_name("value")
    kind = _kind_of_js_value(value)
    if kind:
        return [SymbolNameNode(name, kind)]
    if not _is_outside_js_functions(place) and not _has_js_methods(value):
        return None
    before = place.source[max(0, name.start_byte - 6) : name.start_byte]
    return [SymbolNameNode(name, "constant" if before.startswith(b"const") else "variable")]


def _name_js_assignment(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or left.type not in ("member_expression", "identifier", "subscript_expression"):
        return None
    if left.type == "subscript_expression" and not _is_outside_js_functions(place):
        return None
    kind = _kind_of_js_value(right) or ("property" if _has_js_methods(right) else "")
    if not kind:
        return None
    text = place.text(left)
    if len(text) > 100 or "(" in text:
        return None
    if kind == "property":
        return [SymbolNameNode(left, kind, text)]
    if kind == "function" and (".prototype." in text or text.startswith("this.")):
        kind = "method"
    return [SymbolNameNode(left, kind)]


_JS_COMPONENT_SECTIONS = word_set("actions computed emits getters methods mutations props reducers watch")
"""The names of parts of a component or store, such as `methods`, whose functions become methods."""


_MAX_JS_KEY_BYTES = 100


def _name_js_property(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    key = node.child_by_field_name("key")
    if key is None or key.end_byte - key.start_byte > _MAX_JS_KEY_BYTES:
        return None
    value = node.child_by_field_name("value")
    if value is not None and value.type == "object":
        name = place.text(key)
        return (
            [SymbolNameNode(name, "property", name)]
            if name in _JS_COMPONENT_SECTIONS or _has_js_methods(value)
            else None
        )
    kind = _kind_of_js_value(value)
    return [SymbolNameNode(key, "method" if kind == "function" else kind)] if kind else None


def _name_js_method(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    return [SymbolNameNode(name, "constructor" if place.text(name) == "constructor" else "method")]


def _name_js_field(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    name = node.child_by_field_name("property") or node.child_by_field_name("name")
    if name is None:
        return None
    return [
        SymbolNameNode(
            name,
            "method" if _kind_of_js_value(node.child_by_field_name("value")) == "function" else "property",
        )
    ]


def _name_js_function_expression(node: Node, place: SyntaxNodeContext) -> Node | None:
    """Returns the symbol name of a JavaScript function expression that is not assigned: a named callback, `export
    default`."""
    return None if place.ancestor_type() in _JS_NAMING_NODES else node.child_by_field_name("name")


_JS_NAMING_NODES = word_set(
    "variable_declarator assignment_expression pair public_field_definition field_definition"
)


def _name_js_default_export(node: Node, place: SyntaxNodeContext) -> str | Node | None:
    return node.child_by_field_name("name") or (
        "default" if place.ancestor_type() == "export_statement" else None
    )


_JS_EXTENDING_CALLS = word_set(
    "Object.assign Object.defineProperties $.extend jQuery.extend _.extend _.assign extend assign"
)


def _name_js_call(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    """Returns the symbol name of a JavaScript call that defines something: a test such as `describe("…", () => …)`,
    `Object.assign(Boat.prototype, {…})`, `export default defineX({…})`."""
    called = node.child_by_field_name("function")
    if called is not None and called.type == "call_expression":  # `test.each([…])("…", …)`
        called = called.child_by_field_name("function")
    if called is None or called.end_byte - called.start_byte > 24:
        return None
    word = place.text(called)
    arguments = node.child_by_field_name("arguments")
    first = first_named_child(arguments) if arguments is not None else None
    if (
        word in _JS_EXTENDING_CALLS
        and first is not None
        and first.type in ("identifier", "member_expression")
    ):
        assert arguments is not None
        is_owner = any(_has_js_methods(child) for child in arguments.named_children[1:4])
        name = place.text(first)
        return (
            [SymbolNameNode(first, "property", f"{word}({name}, …)")]
            if is_owner and len(name) <= 100
            else None
        )
    if place.ancestor_type() == "export_statement" and _has_js_methods(first):
        return [SymbolNameNode("default", "constant", f"{word}(…)")]
    first_word, *modes = word.split(".")
    if first_word not in _JS_TEST_CALLS or not _JS_TEST_MODIFIERS.issuperset(modes):
        return None
    if first is None or first.type not in ("string", "template_string"):
        return None
    label = place.text(first)[1:-1]
    return [SymbolNameNode(f"{word} {label}", "test", f"{word} {label}")]


def _name_js_default_object(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    """Returns the symbol name of the JavaScript object in `export default {…}`, if it has methods."""
    if place.ancestor_type() != "export_statement" or not _has_js_methods(node):
        return None
    return [SymbolNameNode("default", "constant", "default")]


def _name_ts_type_member(node: Node, place: SyntaxNodeContext) -> Node | None:
    """Returns the symbol name of a member of a TypeScript interface or object type, but not of a type inside a
    signature."""
    above, owner = place.ancestor_type(), place.ancestor_type(1)
    is_whole = above == "object_type" and owner in ("type_alias_declaration", "interface_declaration")
    return node.child_by_field_name("name") if is_whole or above in ("interface_body", "class_body") else None


def _name_ts_enum_member(node: Node, place: SyntaxNodeContext) -> Node | None:
    return node if place.ancestor_type() == "enum_body" else None


def _name_ts_global_block(node: Node, place: SyntaxNodeContext) -> str | None:
    """Returns the symbol name of TypeScript's block `declare global { … }`."""
    return "global" if first_child_of_types(node, "statement_block") is not None else None


_JS_RULES = {
    "function_declaration": SyntaxNodeRule("function", _name_js_default_export),
    "generator_function_declaration": SyntaxNodeRule("function", _name_js_default_export),
    "function_expression": SyntaxNodeRule("function", _name_js_function_expression),
    "generator_function": SyntaxNodeRule("function", _name_js_function_expression),
    "class_declaration": SyntaxNodeRule("class", _name_js_default_export),
    "class": SyntaxNodeRule("class", _name_js_function_expression),
    "method_definition": SyntaxNodeRule("method", _name_js_method),
    "field_definition": SyntaxNodeRule("property", _name_js_field, value_field="value"),
    "variable_declarator": SyntaxNodeRule("variable", _name_js_variable, value_field="value"),
    "assignment_expression": SyntaxNodeRule("function", _name_js_assignment, value_field="right"),
    "pair": SyntaxNodeRule("method", _name_js_property, value_field="value"),
    "call_expression": SyntaxNodeRule("test", _name_js_call),
    "object": SyntaxNodeRule("constant", _name_js_default_object),
}
_JS_ENTERED_NODES = word_set(
    "program export_statement lexical_declaration variable_declaration statement_block class_body "
    "expression_statement if_statement else_clause try_statement finally_clause catch_clause object arrow_function "
    "function_expression class call_expression arguments parenthesized_expression for_statement for_in_statement "
    "while_statement do_statement labeled_statement switch_statement switch_body switch_case switch_default "
    "sequence_expression unary_expression return_statement new_expression array spread_element ternary_expression "
    "binary_expression member_expression await_expression class_static_block with_statement assignment_expression "
    "as_expression satisfies_expression"
)
_JS_MODIFIERS = word_set("async static get set export default")
_TS_MODIFIERS = _JS_MODIFIERS | word_set(
    "declare abstract public private protected readonly override accessor"
)

_TS_RULES = {
    **{kind: rule for kind, rule in _JS_RULES.items() if kind != "field_definition"},
    "abstract_class_declaration": SyntaxNodeRule("class"),
    "interface_declaration": SyntaxNodeRule("interface"),
    "type_alias_declaration": SyntaxNodeRule("type"),
    "enum_declaration": SyntaxNodeRule("enum"),
    "public_field_definition": SyntaxNodeRule("property", _name_js_field, value_field="value"),
    "abstract_method_signature": SyntaxNodeRule("method", is_leaf=True),
    "method_signature": SyntaxNodeRule("method", _name_ts_type_member, is_leaf=True),
    "property_signature": SyntaxNodeRule("property", _name_ts_type_member, is_leaf=True),
    "function_signature": SyntaxNodeRule("function", _name_js_default_export, is_leaf=True),
    "internal_module": SyntaxNodeRule("namespace"),
    "module": SyntaxNodeRule("module"),
    "ambient_declaration": SyntaxNodeRule("module", _name_ts_global_block),
    "enum_assignment": SyntaxNodeRule("enum member"),
    "property_identifier": SyntaxNodeRule("enum member", _name_ts_enum_member, is_leaf=True),
}
_TS_ENTERED_NODES = _JS_ENTERED_NODES | word_set(
    "ambient_declaration interface_body object_type enum_body non_null_expression type_assertion"
)


def _script_language(
    name: str,
    called: str,
    rules: Mapping[str, SyntaxNodeRule],
    *,
    enter: frozenset[str],
    modifiers: frozenset[str],
    parsed_as: str = "",
) -> LanguageDescription:
    return LanguageDescription(
        name=name,
        display_name=called,
        grammar_name=parsed_as,
        node_rules=rules,
        entered_nodes=enter,
        wrapper_nodes=word_set(
            "export_statement ambient_declaration lexical_declaration variable_declaration"
        ),
        import_rules={"import_statement": "source"},
        modifier_words=modifiers,
        definition_filter=_js_definition_filter,
        max_outlined_line_bytes=MAX_OUTLINED_LINE_BYTES_OF_SCRIPTS,
        exporting_modifiers=word_set("export"),
        has_decorators=True,
        attribute_nodes=word_set("decorator"),
        find_routes=find_script_routes,
    )


def _javascript_language(name: str, called: str) -> LanguageDescription:
    return _script_language(
        name, called, _JS_RULES, enter=_JS_ENTERED_NODES, modifiers=_JS_MODIFIERS, parsed_as="javascript"
    )


def _typescript_language(name: str, called: str) -> LanguageDescription:
    return _script_language(name, called, _TS_RULES, enter=_TS_ENTERED_NODES, modifiers=_TS_MODIFIERS)


LANGUAGE_DESCRIPTIONS = (
    _javascript_language("javascript", "JavaScript"),
    _javascript_language("jsx", "JSX"),
    _typescript_language("typescript", "TypeScript"),
    _typescript_language("tsx", "TSX"),
)
