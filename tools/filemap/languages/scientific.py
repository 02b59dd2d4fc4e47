"""R, Julia, Fortran, Zig, Dart and the shells."""

import re

from tree_sitter import Node

from tools.filemap.drafts import ordered, with_methods, without
from tools.filemap.language import (
    FoundSymbol,
    Language,
    Named,
    NodePlace,
    NodeRule,
    child_of,
    deep,
    first_child,
    first_of,
    name_of_function,
    named_or,
    signs,
    words,
)
from tools.filemap.languages.missed import missed_functions
from tools.filemap.watch import Deadline

_R_DEFINERS = words("setClass setMethod setGeneric setRefClass setValidity R6Class test_that describe it")


def _r_assignment(node: Node, place: NodePlace) -> list[Named] | None:
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
        return [Named(left, "function")]
    if right.type == "call" and place.source[right.start_byte : right.start_byte + 7] in (
        b"R6Class",
        b"setRefC",
    ):
        return [Named(left, "class", f"{place.text(left)} {sign} {place.text(right).split('(')[0]}(…)")]
    return [Named(left, "variable")] if place.above() == "program" else None


_R_LISTS = words("list R6Class setRefClass methods")


def _r_member(node: Node, place: NodePlace) -> Node | None:
    """A function in a list; what a call gets to call, such as `error = function(e)`, is no member."""
    name = name_of_function(node, place)
    if name is None:
        return None
    call = node.parent.parent if node.parent is not None else None
    called = call.child_by_field_name("function") if call is not None else None
    return name if called is not None and place.text(called).rsplit(":", 1)[-1] in _R_LISTS else None


def _r_call(node: Node, place: NodePlace) -> list[Named] | None:
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
        Named(place.text(first).strip("\"'"), kinds.get(word, "method"), f"{word} {place.text(first)}"[:120])
    ]


R = Language(
    name="r",
    rules={
        "binary_operator": NodeRule("function", _r_assignment, value="rhs"),
        "call": NodeRule("method", _r_call),
        "argument": NodeRule("method", _r_member, value="value"),
    },
    enter=words("program braced_expression function_definition arguments if_statement"),
)


def _julia_signature(node: Node, place: NodePlace) -> Node | None:
    inner = first_child(node)
    for _ in range(8):
        if inner is None:
            return None
        if inner.type in ("identifier", "field_expression", "operator", "scoped_identifier"):
            return inner
        inner = first_child(inner)
    return None


def _julia_assignment(node: Node, place: NodePlace) -> list[Named] | None:
    left = first_child(node)
    while left is not None and left.type in ("where_expression", "typed_expression"):
        left = first_child(left)
    if left is None:
        return None
    if left.type == "call_expression":
        name = _julia_signature(left, place)
        return [Named(name, "function")] if name is not None else None
    if place.above() == "const_statement" and left.type == "identifier":
        line = place.text(node).split("\n", 1)[0]
        return [Named(left, "constant", " ".join(line.split())[:160].rstrip("= "))]
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
    enter=words(
        "source_file block const_statement macrocall_expression macro_argument_list if_statement let_statement "
        "compound_statement else_clause elseif_clause"
    ),
    wrappers=words("const_statement"),
    comments=words("line_comment block_comment string_literal"),
    imports={
        "using_statement": lambda node, _place: node.named_children,
        "import_statement": lambda node, _place: node.named_children,
    },
)


def _interface(node: Node, place: NodePlace) -> Node | str:
    first = first_child(node)
    found = deep("name")(first, place) if first is not None else None
    return found if isinstance(found, Node) else "interface"


FORTRAN = Language(
    name="fortran",
    rules={
        "module": NodeRule("module", deep("name")),
        "submodule": NodeRule("module", deep("name")),
        "program": NodeRule("program", deep("name")),
        "subroutine": NodeRule("function", deep("name")),
        "function": NodeRule("function", deep("name")),
        "module_procedure": NodeRule("function", deep("name")),
        "derived_type_definition": NodeRule("struct", deep("type_name")),
        "interface": NodeRule("interface", _interface),
    },
    enter=words("translation_unit internal_procedures derived_type_procedures"),
    imports={"use_statement": deep("module_name")},
)


def _zig_variable(node: Node, place: NodePlace) -> list[Named] | None:
    name = node.child_by_field_name("variable_type_function")
    if name is None:
        return None
    text = place.source[name.end_byte : name.end_byte + 120].split(b";", 1)[0]
    for word in ("struct", "enum", "union", "error", "opaque"):
        if word.encode() + b" " in text.split(b"=", 1)[-1][:40] or word.encode() + b"{" in text[:60]:
            return [Named(name, word)]
        if word.encode() + b"(" in text.split(b"=", 1)[-1][:24]:
            return [Named(name, word)]
    if place.nearest("Block", "ContainerDecl") == "Block":  # of a function, and of no container in it
        return None
    before = place.source[max(0, name.start_byte - 6) : name.start_byte]
    return [Named(name, "constant" if before.endswith(b"const ") else "variable")]


_ZIG_BODIES = words("Block Statement AssignExpr IfStatement FieldOrFnCall FnCallArguments BlockExpr")
_ZIG_CONTAINERS = signs(b"struct", b"union", b"enum", b"opaque", b"error{")
"""All that a body can hold: a container that it names, returns or hands on."""


def _zig_test(node: Node, place: NodePlace) -> str:
    first = first_child(node)
    return "test " + place.text(first).strip('"') if first is not None and first.type != "Block" else "test"


def _zig_field(node: Node, place: NodePlace) -> Node | str:
    return node.child_by_field_name("field_member") or place.text(node).split(":")[0].strip()[:40]


def _zig_finish(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """`pub` stands in front of the declaration's node."""
    for draft in drafts:
        if source.endswith(b"pub ", 0, draft.start):
            draft.modifiers = ("exported", "pub", *draft.modifiers)
    return drafts


def _zig_function(node: Node, place: NodePlace) -> Node | None:
    head = child_of(node, "FnProto")
    return head.child_by_field_name("function") if head is not None else None


ZIG = Language(
    name="zig",
    rules={
        "VarDecl": NodeRule("variable", _zig_variable),
        "Decl": NodeRule("function", _zig_function),
        "TestDecl": NodeRule("test", _zig_test, is_leaf=True),
        "ContainerField": NodeRule("field", _zig_field, is_leaf=True),
    },
    enter=words(
        "source_file ErrorUnionExpr SuffixExpr ContainerDecl Block Statement AssignExpr IfStatement FieldOrFnCall "
        "FnCallArguments BlockExpr"
    ),
    worth=lambda here: _ZIG_CONTAINERS if here[0] in _ZIG_BODIES else None,
    comments=words("line_comment doc_comment container_doc_comment"),
    wrappers=words("Decl"),
    modifiers=words("export extern inline comptime threadlocal"),
    exporting=words("export"),
    finish=_zig_finish,
)


def _dart_name(node: Node, place: NodePlace) -> Node | str | None:
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
    """A body stands beside its head: it reaches to the closing brace or the semicolon and owns its functions."""
    drafts = ordered(drafts)
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
    return with_methods(drafts, ("class", "mixin", "extension", "enum"))


_DART_MARK = re.compile(
    rb"//[^\n]*|'{3}(?:[^\\]|\\.)*?(?:'{3}|\Z)|\"{3}(?:[^\\]|\\.)*?(?:\"{3}|\Z)"
    rb"|'(?:[^'\\\n]|\\.)*+['\n]?|\"(?:[^\"\\\n]|\\.)*+[\"\n]?|[({\[;)}\]]",
    re.S,
)
_LONGEST_BODY = 200_000


def _dart_body_rows(source: bytes, start: int) -> int:
    depth, end = 0, min(len(source), start + _LONGEST_BODY)
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


def _as_classes(source: bytes, _watch: Deadline) -> bytes:
    """`extension type Name._(Value it) {` as the class that its members make it."""
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
    prepare=_as_classes,
    rules={
        "class_definition": NodeRule("class"),
        "mixin_declaration": NodeRule("mixin", first_of("identifier")),
        "extension_declaration": NodeRule("extension", named_or("extension")),
        "enum_declaration": NodeRule("enum"),
        "enum_constant": NodeRule("enum member", is_leaf=True),
        "type_alias": NodeRule("type", first_of("type_identifier"), is_leaf=True),
        "method_signature": NodeRule("method", _dart_name, is_leaf=True),
        "function_signature": NodeRule("function", _dart_name, is_leaf=True),
        "constructor_signature": NodeRule("constructor", _dart_name, is_leaf=True),
        "constant_constructor_signature": NodeRule("constructor", _dart_name, is_leaf=True),
        "factory_constructor_signature": NodeRule("constructor", _dart_name, is_leaf=True),
        "redirecting_factory_constructor_signature": NodeRule("constructor", _dart_name, is_leaf=True),
        "getter_signature": NodeRule("property", is_leaf=True),
        "setter_signature": NodeRule("property", is_leaf=True),
        "static_final_declaration": NodeRule("variable", first_of("identifier"), is_leaf=True),
        "initialized_identifier": NodeRule("variable", first_of("identifier"), is_leaf=True),
    },
    enter=words(
        "program class_body extension_body enum_body declaration static_final_declaration_list "
        "initialized_identifier_list function_body block expression_statement selector argument_part arguments "
        "argument named_argument function_expression function_expression_body local_function_declaration "
        "lambda_expression"
    ),
    comments=words("comment documentation_comment"),
    between=words("marker_annotation annotation"),
    has_decorators=True,
    imports={"import_or_export": deep("uri")},
    is_header_whole=True,
    modifiers=words("static final const abstract external late factory covariant"),
    export_rule=lambda draft, _before: not draft.name.startswith("_"),
    finish=_dart_finish,
)


def _bash_variable(node: Node, place: NodePlace) -> Node | None:
    above = place.above()
    if above == "program" or (above == "declaration_command" and place.above(1) == "program"):
        return node.child_by_field_name("name")
    return None


def _bash_alias(node: Node, place: NodePlace) -> list[Named] | None:
    if place.source[node.start_byte : node.start_byte + 6] != b"alias ":
        return None
    return [Named(place.text(node).split(None, 1)[1].split("=")[0], "alias")]


def _bash_finish(drafts: list[FoundSymbol], _source: bytes) -> list[FoundSymbol]:
    """A variable that is set again and again is listed once."""
    variables = [(index, draft.name) for index, draft in enumerate(drafts) if draft.kind == "variable"]
    first = {name: index for index, name in reversed(variables)}
    return without(drafts, {index for index, _ in variables}.difference(first.values()))


_BASH_HEAD = re.compile(
    rb"^(?:function[ \t]+(?=[\w:.-]+[ \t]*[({])|(?=[\w:.-]+[ \t]*\())"
    rb"(?P<name>[\w:.-]+)[ \t]*(?:\(\)[ \t]*)?(?P<rest>\n?\{[^\n]*)$",
    re.M,
)

BASH = Language(
    name="bash",
    called="Shell",
    rules={
        "function_definition": NodeRule("function"),
        "variable_assignment": NodeRule("variable", _bash_variable, is_leaf=True),
        "command": NodeRule("alias", _bash_alias, is_leaf=True),
    },
    enter=words(
        "program compound_statement declaration_command if_statement elif_clause else_clause redirected_statement list "
        "case_statement case_item for_statement while_statement do_group subshell c_style_for_statement pipeline "
        "negated_command"
    ),
    modifiers=words("export readonly local declare"),
    exporting=words("export"),
    recover=missed_functions(_BASH_HEAD),
    finish=_bash_finish,
)

POWERSHELL = Language(
    name="powershell",
    called="PowerShell",
    rules={
        "function_statement": NodeRule("function", first_of("function_name")),
        "class_statement": NodeRule("class", first_of("simple_name")),
        "enum_statement": NodeRule("enum", first_of("simple_name")),
        "enum_member": NodeRule("enum member", first_of("simple_name"), is_leaf=True),
        "class_method_definition": NodeRule("method", first_of("simple_name"), is_leaf=True),
        "class_property_definition": NodeRule("property", first_of("variable"), is_leaf=True),
    },
    enter=words(
        "program statement_list script_block script_block_body if_statement statement_block pipeline pipeline_chain "
        "command command_elements array_literal_expression unary_expression script_block_expression"
    ),
    modifiers=words("static hidden"),
)

LANGUAGES = (R, JULIA, FORTRAN, ZIG, DART, BASH, POWERSHELL)
