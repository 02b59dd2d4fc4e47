"""R, Julia, Fortran, Zig, Dart and the shells."""

import re

from tree_sitter import Node

from tools.filemap.drafts import in_file_order, mark_methods, without_symbols
from tools.filemap.language import (
    FoundSymbol,
    Language,
    NamedNode,
    NodeContext,
    NodeRule,
    child_of_type,
    definition_words,
    first_child,
    first_descendant,
    first_of_types,
    name_of_function,
    name_or,
    word_set,
)
from tools.filemap.languages.missed import missed_function_finder
from tools.filemap.watch import Deadline

_R_DEFINERS = word_set("setClass setMethod setGeneric setRefClass setValidity R6Class test_that describe it")


def _r_assignment(node: Node, place: NodeContext) -> list[NamedNode] | None:
    operator = node.child_by_field_name("operator")
    left, right = node.child_by_field_name("lhs"), node.child_by_field_name("rhs")
    if operator is None or left is None or right is None:
        return None
    sign = place.text(operator)
    if sign in ("->", "->>"):
        left, right = right, left
    elif sign not in ("<-", "=", "<<-"):
        return None
    if right.type == "function_definition":
        return [NamedNode(left, "function")]
    if right.type == "call" and place.source[right.start_byte : right.start_byte + 7] in (
        b"R6Class",
        b"setRefC",
    ):
        return [NamedNode(left, "class", f"{place.text(left)} {sign} {place.text(right).split('(')[0]}(…)")]
    return [NamedNode(left, "variable")] if place.ancestor_type() == "program" else None


_R_LISTS = word_set("list R6Class setRefClass methods")


def _r_member(node: Node, place: NodeContext) -> Node | None:
    """Matches a function in a list; a callback argument such as `error = function(e)` is no member."""
    name = name_of_function(node, place)
    if name is None:
        return None
    call = node.parent.parent if node.parent is not None else None
    called = call.child_by_field_name("function") if call is not None else None
    return name if called is not None and place.text(called).rsplit(":", 1)[-1] in _R_LISTS else None


def _r_call(node: Node, place: NodeContext) -> list[NamedNode] | None:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None or not arguments.named_child_count:
        return None
    word = place.text(function) if function.end_byte - function.start_byte < 40 else ""
    word = word.rsplit(":", 1)[-1]
    first = first_child(arguments)
    if word not in _R_DEFINERS or first is None or word == "R6Class":
        return None
    kinds = {
        "setClass": "class",
        "setRefClass": "class",
        "test_that": "test",
        "describe": "test",
        "it": "test",
    }
    return [
        NamedNode(
            place.text(first).strip("\"'"), kinds.get(word, "method"), f"{word} {place.text(first)}"[:120]
        )
    ]


R = Language(
    name="r",
    rules={
        "binary_operator": NodeRule("function", _r_assignment, value="rhs"),
        "call": NodeRule("method", _r_call),
        "argument": NodeRule("method", _r_member, value="value"),
    },
    enter=word_set("program braced_expression function_definition arguments if_statement"),
)


def _julia_signature(node: Node, place: NodeContext) -> Node | None:
    inner = first_child(node)
    for _ in range(8):
        if inner is None:
            return None
        if inner.type in ("identifier", "field_expression", "operator", "scoped_identifier"):
            return inner
        inner = first_child(inner)
    return None


def _julia_assignment(node: Node, place: NodeContext) -> list[NamedNode] | None:
    left = first_child(node)
    while left is not None and left.type in ("where_expression", "typed_expression"):
        left = first_child(left)
    if left is None:
        return None
    if left.type == "call_expression":
        name = _julia_signature(left, place)
        return [NamedNode(name, "function")] if name is not None else None
    if place.ancestor_type() == "const_statement" and left.type == "identifier":
        line = place.text(node).split("\n", 1)[0]
        return [NamedNode(left, "constant", " ".join(line.split())[:160].rstrip("= "))]
    return None


JULIA = Language(
    name="julia",
    rules={
        "module_definition": NodeRule("module"),
        "struct_definition": NodeRule("struct", _julia_signature),
        "abstract_definition": NodeRule("type", _julia_signature, is_leaf=True),
        "primitive_definition": NodeRule("type", _julia_signature, is_leaf=True),
        "function_definition": NodeRule("function", _julia_signature, is_leaf=True),
        "macro_definition": NodeRule("macro", _julia_signature, is_leaf=True),
        "assignment": NodeRule("function", _julia_assignment, is_leaf=True),
    },
    enter=word_set(
        "source_file block const_statement macrocall_expression macro_argument_list if_statement let_statement "
        "compound_statement else_clause elseif_clause"
    ),
    wrappers=word_set("const_statement"),
    comments=word_set("line_comment block_comment string_literal"),
    imports={
        "using_statement": lambda node, _place: node.named_children,
        "import_statement": lambda node, _place: node.named_children,
    },
)


def _fortran_interface(node: Node, place: NodeContext) -> Node | str:
    first = first_child(node)
    found = first_descendant("name")(first, place) if first is not None else None
    return found if isinstance(found, Node) else "interface"


FORTRAN = Language(
    name="fortran",
    rules={
        "module": NodeRule("module", first_descendant("name")),
        "submodule": NodeRule("module", first_descendant("name")),
        "program": NodeRule("program", first_descendant("name")),
        "subroutine": NodeRule("function", first_descendant("name")),
        "function": NodeRule("function", first_descendant("name")),
        "module_procedure": NodeRule("function", first_descendant("name")),
        "derived_type_definition": NodeRule("struct", first_descendant("type_name")),
        "interface": NodeRule("interface", _fortran_interface),
    },
    enter=word_set("translation_unit internal_procedures derived_type_procedures"),
    imports={"use_statement": first_descendant("module_name")},
)


def _zig_variable(node: Node, place: NodeContext) -> list[NamedNode] | None:
    name = node.child_by_field_name("variable_type_function")
    if name is None:
        return None
    text = place.source[name.end_byte : name.end_byte + 120].split(b";", 1)[0]
    for word in ("struct", "enum", "union", "error", "opaque"):
        if word.encode() + b" " in text.split(b"=", 1)[-1][:40] or word.encode() + b"{" in text[:60]:
            return [NamedNode(name, word)]
        if word.encode() + b"(" in text.split(b"=", 1)[-1][:24]:
            return [NamedNode(name, word)]
    if (
        place.nearest_ancestor_type("Block", "ContainerDecl") == "Block"
    ):  # of a function, not of a container in it
        return None
    before = place.source[max(0, name.start_byte - 6) : name.start_byte]
    return [NamedNode(name, "constant" if before.endswith(b"const ") else "variable")]


_ZIG_BODIES = word_set("Block Statement AssignExpr IfStatement FieldOrFnCall FnCallArguments BlockExpr")
_ZIG_CONTAINERS = definition_words(b"struct", b"union", b"enum", b"opaque", b"error{")
"""All that a body can define: a container that it names, returns or passes."""


def _zig_test(node: Node, place: NodeContext) -> str:
    first = first_child(node)
    return "test " + place.text(first).strip('"') if first is not None and first.type != "Block" else "test"


def _zig_field(node: Node, place: NodeContext) -> Node | str:
    return node.child_by_field_name("field_member") or place.text(node).split(":")[0].strip()[:40]


def _zig_finish(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Adds the modifier `pub`, which precedes the declaration's node."""
    for draft in drafts:
        if source.endswith(b"pub ", 0, draft.start):
            draft.modifiers = ("exported", "pub", *draft.modifiers)
    return drafts


def _zig_function(node: Node, place: NodeContext) -> Node | None:
    head = child_of_type(node, "FnProto")
    return head.child_by_field_name("function") if head is not None else None


ZIG = Language(
    name="zig",
    rules={
        "VarDecl": NodeRule("variable", _zig_variable),
        "Decl": NodeRule("function", _zig_function),
        "TestDecl": NodeRule("test", _zig_test, is_leaf=True),
        "ContainerField": NodeRule("field", _zig_field, is_leaf=True),
    },
    enter=word_set(
        "source_file ErrorUnionExpr SuffixExpr ContainerDecl Block Statement AssignExpr IfStatement FieldOrFnCall "
        "FnCallArguments BlockExpr"
    ),
    definition_filter=lambda here: _ZIG_CONTAINERS if here[0] in _ZIG_BODIES else None,
    comments=word_set("line_comment doc_comment container_doc_comment"),
    wrappers=word_set("Decl"),
    modifiers=word_set("export extern inline comptime threadlocal"),
    exporting_modifiers=word_set("export"),
    finish=_zig_finish,
)


def _dart_name(node: Node, place: NodeContext) -> Node | str | None:
    name = node.child_by_field_name("name")
    if name is not None and node.type not in ("constructor_signature", "factory_constructor_signature"):
        return name
    for child in node.named_children:
        if child.type.endswith("_signature"):
            return _dart_name(child, place)
    names = [place.text(child) for child in node.named_children if child.type == "identifier"]
    if not names and node.type == "operator_signature":
        return place.text(node).split("(")[0].split("operator", 1)[-1].strip()
    return ".".join(names) or None


def _dart_finish(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Extends a declaration over its body, a sibling node, to the closing brace or semicolon, and attaches its
    functions."""
    drafts = in_file_order(drafts)
    for draft in drafts:
        if draft.node_type.endswith("_signature"):
            draft.end_row = draft.start_row + _dart_body_rows(source, draft.start)
    open_: list[int] = []
    for index, draft in enumerate(drafts):
        while open_ and drafts[open_[-1]].end_row < draft.start_row:
            open_.pop()
        if open_ and drafts[open_[-1]].start_row < draft.start_row:
            draft.parent = open_[-1]
        if draft.node_type.endswith("_signature"):
            open_.append(index)
    return mark_methods(drafts, ("class", "mixin", "extension", "enum"))


_DART_MARK = re.compile(
    rb"//[^\n]*|'{3}(?:[^\\]|\\.)*?(?:'{3}|\Z)|\"{3}(?:[^\\]|\\.)*?(?:\"{3}|\Z)"
    rb"|'(?:[^'\\\n]|\\.)*+['\n]?|\"(?:[^\"\\\n]|\\.)*+[\"\n]?|[({\[;)}\]]",
    re.S,
)
_MAX_BODY = 200_000


def _dart_body_rows(source: bytes, start: int) -> int:
    depth, end = 0, min(len(source), start + _MAX_BODY)
    for match in _DART_MARK.finditer(source, start, end):
        mark = match[0]
        depth += (mark in (b"(", b"{", b"[")) - (mark in (b")", b"}", b"]"))
        if depth <= 0 and mark in (b"}", b";"):
            end = match.start()
            break
    return source.count(b"\n", start, end)


_EXTENSION_TYPE = re.compile(
    rb"^(?P<before>[ \t]*)(?P<word>extension[ \t]+type(?:[ \t]+const)?)(?P<name>[ \t]+[\w$]+(?:<[^{}()>]*>)?)"
    rb"(?P<value>(?:\.\w+)?\((?:[^(){}]|\([^(){}]*\))*\))",
    re.M,
)


def _extension_types_as_classes(source: bytes, _watch: Deadline) -> bytes:
    """Rewrites `extension type Name._(Value it) {` as a class, like its members show."""
    if b"extension type" not in source:
        return source
    return _EXTENSION_TYPE.sub(
        lambda match: (
            match["before"]
            + b"class".ljust(len(match["word"]))
            + match["name"]
            + re.sub(rb"[^\s]", b" ", match["value"])
        ),
        source,
    )


DART = Language(
    name="dart",
    prepare=_extension_types_as_classes,
    rules={
        "class_definition": NodeRule("class"),
        "mixin_declaration": NodeRule("mixin", first_of_types("identifier")),
        "extension_declaration": NodeRule("extension", name_or("extension")),
        "enum_declaration": NodeRule("enum"),
        "enum_constant": NodeRule("enum member", is_leaf=True),
        "type_alias": NodeRule("type", first_of_types("type_identifier"), is_leaf=True),
        "method_signature": NodeRule("method", _dart_name, is_leaf=True),
        "function_signature": NodeRule("function", _dart_name, is_leaf=True),
        "constructor_signature": NodeRule("constructor", _dart_name, is_leaf=True),
        "constant_constructor_signature": NodeRule("constructor", _dart_name, is_leaf=True),
        "factory_constructor_signature": NodeRule("constructor", _dart_name, is_leaf=True),
        "redirecting_factory_constructor_signature": NodeRule("constructor", _dart_name, is_leaf=True),
        "getter_signature": NodeRule("property", is_leaf=True),
        "setter_signature": NodeRule("property", is_leaf=True),
        "static_final_declaration": NodeRule("variable", first_of_types("identifier"), is_leaf=True),
        "initialized_identifier": NodeRule("variable", first_of_types("identifier"), is_leaf=True),
    },
    enter=word_set(
        "program class_body extension_body enum_body declaration static_final_declaration_list "
        "initialized_identifier_list function_body block expression_statement selector argument_part arguments "
        "argument named_argument function_expression function_expression_body local_function_declaration "
        "lambda_expression"
    ),
    comments=word_set("comment documentation_comment"),
    between=word_set("marker_annotation annotation"),
    has_decorators=True,
    imports={"import_or_export": first_descendant("uri")},
    has_type_before_name=True,
    modifiers=word_set("static final const abstract external late factory covariant"),
    export_rule=lambda draft, _before: not draft.name.startswith("_"),
    finish=_dart_finish,
)


def _bash_variable(node: Node, place: NodeContext) -> Node | None:
    above = place.ancestor_type()
    if above == "program" or (above == "declaration_command" and place.ancestor_type(1) == "program"):
        return node.child_by_field_name("name")
    return None


def _bash_alias(node: Node, place: NodeContext) -> list[NamedNode] | None:
    if place.source[node.start_byte : node.start_byte + 6] != b"alias ":
        return None
    return [NamedNode(place.text(node).split(None, 1)[1].split("=")[0], "alias")]


def _bash_finish(drafts: list[FoundSymbol], _source: bytes) -> list[FoundSymbol]:
    """Lists a variable that is set repeatedly once."""
    variables = [(index, draft.name) for index, draft in enumerate(drafts) if draft.kind == "variable"]
    first = {name: index for index, name in reversed(variables)}
    return without_symbols(drafts, {index for index, _ in variables}.difference(first.values()))


_BASH_HEAD = re.compile(
    rb"^(?:function[ \t]+(?=[\w:.-]+[ \t]*[({])|(?=[\w:.-]+[ \t]*\())"
    rb"(?P<name>[\w:.-]+)[ \t]*(?:\(\)[ \t]*)?(?P<rest>\n?\{[^\n]*)$",
    re.M,
)

BASH = Language(
    name="bash",
    display_name="Shell",
    rules={
        "function_definition": NodeRule("function"),
        "variable_assignment": NodeRule("variable", _bash_variable, is_leaf=True),
        "command": NodeRule("alias", _bash_alias, is_leaf=True),
    },
    enter=word_set(
        "program compound_statement declaration_command if_statement elif_clause else_clause redirected_statement list "
        "case_statement case_item for_statement while_statement do_group subshell c_style_for_statement pipeline "
        "negated_command"
    ),
    modifiers=word_set("export readonly local declare"),
    exporting_modifiers=word_set("export"),
    recover=missed_function_finder(_BASH_HEAD),
    finish=_bash_finish,
)

POWERSHELL = Language(
    name="powershell",
    display_name="PowerShell",
    rules={
        "function_statement": NodeRule("function", first_of_types("function_name")),
        "class_statement": NodeRule("class", first_of_types("simple_name")),
        "enum_statement": NodeRule("enum", first_of_types("simple_name")),
        "enum_member": NodeRule("enum member", first_of_types("simple_name"), is_leaf=True),
        "class_method_definition": NodeRule("method", first_of_types("simple_name"), is_leaf=True),
        "class_property_definition": NodeRule("property", first_of_types("variable"), is_leaf=True),
    },
    enter=word_set(
        "program statement_list script_block script_block_body if_statement statement_block pipeline pipeline_chain "
        "command command_elements array_literal_expression unary_expression script_block_expression"
    ),
    modifiers=word_set("static hidden"),
)

LANGUAGES = (R, JULIA, FORTRAN, ZIG, DART, BASH, POWERSHELL)
