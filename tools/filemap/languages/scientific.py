"""Describes R, Julia, Fortran, Zig, Dart, Bash and PowerShell for maps of files."""

import re
from itertools import islice

from tree_sitter import Node

from tools.filemap.language_description import (
    FoundSymbol,
    LanguageDescription,
    SymbolNameNode,
    SyntaxNodeContext,
    SyntaxNodeRule,
    first_child_of_types,
    first_named_child,
    make_definition_words,
    name_assigned_function,
    name_by_child_type,
    name_rule_by_descendant_type,
    name_rule_with_default,
    word_set,
)
from tools.filemap.languages.functions_lost_by_grammar import make_finder_of_lost_functions
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.one_line_text import MAX_SIGNATURE_CHARS, first_doc_comment_line, shorten_to_one_line
from tools.filemap.symbol_list_changes import (
    remove_symbols,
    sort_symbols_in_file_order,
    turn_functions_into_methods,
)

_R_DEFINING_CALLS = word_set(
    "setClass setMethod setGeneric setRefClass setValidity R6Class test_that describe it"
)


def _name_r_assignment(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
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
        return [SymbolNameNode(left, "function")]
    if right.type == "call" and place.source[right.start_byte : right.start_byte + 7] in (
        b"R6Class",
        b"setRefC",
    ):
        return [
            SymbolNameNode(left, "class", f"{place.text(left)} {sign} {place.text(right).split('(')[0]}(…)")
        ]
    return [SymbolNameNode(left, "variable")] if place.ancestor_type() == "program" else None


_R_MEMBER_LISTS = word_set("list R6Class setRefClass methods")


_R_FIELD_LISTS = word_set("public private fields")


def _find_enclosing_r_call(node: Node, place: SyntaxNodeContext) -> tuple[Node | None, str]:
    """Returns the R call that an argument belongs to, and the name of the called function."""
    call = node.parent.parent if node.parent is not None else None
    called = call.child_by_field_name("function") if call is not None else None
    return call, place.text(called).rsplit(":", 1)[-1] if called is not None else ""


def _name_r_member(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    """Returns the symbol name of a function in an R list, or of a field of an R class; a callback argument such as
    `error = function(e)` is no member."""
    call, called = _find_enclosing_r_call(node, place)
    if called not in _R_MEMBER_LISTS:
        return None
    name = name_assigned_function(node, place)
    if name is not None:
        return [SymbolNameNode(name)]
    name, owner = node.child_by_field_name("name"), call.parent if call is not None else None
    listed = owner.child_by_field_name("name") if owner is not None and owner.type == "argument" else None
    if name is None or owner is None or listed is None or place.text(listed) not in _R_FIELD_LISTS:
        return None
    is_class = _find_enclosing_r_call(owner, place)[1] in ("R6Class", "setRefClass")
    return [SymbolNameNode(name, "field")] if is_class else None


def _name_r_call(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None or not arguments.named_child_count:
        return None
    word = place.text(function) if function.end_byte - function.start_byte < 40 else ""
    word = word.rsplit(":", 1)[-1]
    first = first_named_child(arguments)
    if word not in _R_DEFINING_CALLS or first is None or word == "R6Class":
        return None
    kinds = {
        "setClass": "class",
        "setRefClass": "class",
        "test_that": "test",
        "describe": "test",
        "it": "test",
    }
    return [
        SymbolNameNode(
            place.text(first).strip("\"'"), kinds.get(word, "method"), f"{word} {place.text(first)}"[:120]
        )
    ]


R_LANGUAGE = LanguageDescription(
    name="r",
    node_rules={
        "binary_operator": SyntaxNodeRule("function", _name_r_assignment, value_field="rhs"),
        "call": SyntaxNodeRule("method", _name_r_call),
        "argument": SyntaxNodeRule("method", _name_r_member, value_field="value"),
    },
    entered_nodes=word_set("program braced_expression function_definition arguments if_statement"),
)


def _name_julia_function(node: Node, place: SyntaxNodeContext) -> Node | None:
    inner = first_named_child(node)
    for _ in range(8):
        if inner is None:
            return None
        if inner.type in ("identifier", "field_expression", "operator", "scoped_identifier"):
            return inner
        inner = first_named_child(inner)
    return None


def _name_julia_assignment(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    left = first_named_child(node)
    field = _name_julia_field(left, place) if left is not None else None
    if field is not None:
        return [SymbolNameNode(field, "field")]
    while left is not None and left.type in ("where_expression", "typed_expression"):
        left = first_named_child(left)
    if left is None:
        return None
    if left.type == "call_expression":
        name = _name_julia_function(left, place)
        return [SymbolNameNode(name, "function")] if name is not None else None
    if place.ancestor_type() == "const_statement" and left.type == "identifier":
        line = place.text(node).split("\n", 1)[0]
        return [SymbolNameNode(left, "constant", " ".join(line.split())[:160].rstrip("= "))]
    return None


def _name_julia_field(node: Node, place: SyntaxNodeContext) -> Node | None:
    """Returns the symbol name of a Julia struct's field: `name` or `name::Type`."""
    if place.ancestor_type() == "const_statement":
        is_field = (place.ancestor_type(1), place.ancestor_type(2)) == ("block", "struct_definition")
    else:
        is_field = (place.ancestor_type(), place.ancestor_type(1)) == ("block", "struct_definition")
    if not is_field:
        return None
    if node.type == "typed_expression":
        return first_child_of_types(node, "identifier")
    return node if node.type == "identifier" else None


JULIA_LANGUAGE = LanguageDescription(
    name="julia",
    node_rules={
        "module_definition": SyntaxNodeRule("module"),
        "struct_definition": SyntaxNodeRule("struct", _name_julia_function),
        "abstract_definition": SyntaxNodeRule("type", _name_julia_function, is_leaf=True),
        "primitive_definition": SyntaxNodeRule("type", _name_julia_function, is_leaf=True),
        "function_definition": SyntaxNodeRule("function", _name_julia_function, is_leaf=True),
        "macro_definition": SyntaxNodeRule("macro", _name_julia_function, is_leaf=True),
        "assignment": SyntaxNodeRule("function", _name_julia_assignment, is_leaf=True),
        "identifier": SyntaxNodeRule("field", _name_julia_field, is_leaf=True),
        "typed_expression": SyntaxNodeRule("field", _name_julia_field, is_leaf=True),
    },
    entered_nodes=word_set(
        "source_file block const_statement macrocall_expression macro_argument_list if_statement let_statement "
        "compound_statement else_clause elseif_clause"
    ),
    wrapper_nodes=word_set("const_statement"),
    comment_nodes=word_set("line_comment block_comment string_literal"),
    import_rules={
        "using_statement": lambda node, _place: node.named_children,
        "import_statement": lambda node, _place: node.named_children,
    },
)


def _name_fortran_interface(node: Node, place: SyntaxNodeContext) -> Node | str:
    """Returns the symbol name of a generic Fortran interface, its name or operator; other interfaces only declare
    procedures."""
    first = first_named_child(node)
    found = (
        name_rule_by_descendant_type("name", "operator_name", "assignment")(first, place)
        if first is not None
        else None
    )
    return found if isinstance(found, Node) else "interface"


_SYMBOL_KIND_BY_FORTRAN_OWNER = {
    "derived_type_definition": "field",
    "module": "variable",
    "submodule": "variable",
}


def _name_fortran_variables(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    """Returns the symbol names of components of Fortran types and of variables of modules, but not of those of
    procedures."""
    kind = _SYMBOL_KIND_BY_FORTRAN_OWNER.get(
        place.nearest_ancestor_type(*_SYMBOL_KIND_BY_FORTRAN_OWNER, "function", "subroutine", "program")
    )
    if kind is None:
        return None
    is_constant = any(
        child.type == "type_qualifier" and place.text(child).lower() == "parameter"
        for child in node.named_children
    )
    names = [_find_fortran_declared_name(each) for each in node.children_by_field_name("declarator")]
    return [
        SymbolNameNode(name, "constant" if is_constant else kind) for name in names if name is not None
    ] or None


def _find_fortran_declared_name(node: Node | None) -> Node | None:
    while node is not None and node.type != "identifier":
        node = node.child_by_field_name("left") or first_named_child(node)
    return node


_FORTRAN_OPERATOR_PATTERN = re.compile(r"operator\s*\(\s*(\S+)\s*\)", re.I)


def _name_fortran_binding(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    """Returns the symbol names of procedures of a Fortran type: `procedure :: name => implementation`, `procedure
    :: name, other`."""
    if place.nearest_ancestor_type("derived_type_procedures", "interface") != "derived_type_procedures":
        return None
    declared = node.children_by_field_name("declarator")
    bound = [each for each in declared if each.type == "binding"]
    names = (first_named_child(each) or each for each in bound or declared)
    return [SymbolNameNode(_FORTRAN_OPERATOR_PATTERN.sub(r"\1", place.text(name))) for name in names] or None


def _name_fortran_enumerators(node: Node, _place: SyntaxNodeContext) -> list[Node] | None:
    names = [_find_fortran_declared_name(each) for each in node.children_by_field_name("declarator")]
    return [name for name in names if name is not None] or None


_FORTRAN_PROCEDURE_PATTERN = re.compile(
    rb"^[ \t]*(?:generic|procedure)\b[^\n]*(?:&[ \t]*(?:![^\n]*)?\r?\n[^\n]*)*", re.M | re.I
)
_FORTRAN_NAME_MACRO_PATTERN = re.compile(rb"\b(?P<macro>[A-Z][A-Z0-9_]+\()(?P<name>\w+)\)")


_FIXED_FORM_COMMENT_PATTERN = re.compile(rb"^[*cC](?![A-Za-z_])[^\n]*$", re.M)
_FREE_FORM_CONTINUATION_PATTERN = re.compile(rb"&[ \t]*(?:![^\n]*)?\r?$", re.M)
_MIN_FIXED_FORM_COMMENTS = 5
_FIXED_FORM_UNIT_PATTERN = re.compile(
    rb"^(?P<head>[ \t]{6,}(?:[a-z][a-z0-9*() \t]*[ \t])?(?:program|subroutine|function|block[ \t]*data|module)"
    rb"[ \t]+(?!procedure\b)[a-z]\w*)(?P<rest>[ \t]*(?:\([^\n]*)?)\r?$"
    rb"|^(?P<end>[ \t]{6,}end(?:[ \t]*(?:program|subroutine|function|module)\b[^\n]*)?[ \t]*)\r?$",
    re.M | re.I,
)
_NOT_BLANK_PATTERN = re.compile(rb"\S")


def _keep_fixed_form_units(source: bytes) -> bytes:
    """Returns a Fortran source in fixed form with only the first and last lines of its programs and procedures, because
    the grammar knows free form only."""
    kept = bytearray(_NOT_BLANK_PATTERN.sub(b" ", source))
    for match in _FIXED_FORM_UNIT_PATTERN.finditer(source):
        start, end = match.span("head" if match["head"] is not None else "end")
        kept[start:end] = source[start:end]
        if match["rest"] and match["rest"].strip():
            opening = match.start("rest") + match["rest"].index(b"(")
            kept[opening : opening + 2] = b"()" if source[opening + 1 : opening + 2] != b"\n" else b"  "
    return bytes(kept)


def _prepare_fortran_source(source: bytes, watch: MapDeadline) -> bytes:
    comments = sum(1 for _ in islice(_FIXED_FORM_COMMENT_PATTERN.finditer(source), _MIN_FIXED_FORM_COMMENTS))
    if comments == _MIN_FIXED_FORM_COMMENTS and not _FREE_FORM_CONTINUATION_PATTERN.search(source):
        return _keep_fixed_form_units(source)
    return _blank_fortran_procedure_macros(source, watch)


def _blank_fortran_procedure_macros(source: bytes, _watch: MapDeadline) -> bytes:
    """Blanks out preprocessor macros around Fortran names: leaves `name` of `procedure :: LIB_NAMED(name)`."""

    def inner(match: re.Match[bytes]) -> bytes:
        return b" " * len(match["macro"]) + match["name"] + b" "

    return _FORTRAN_PROCEDURE_PATTERN.sub(
        lambda match: _FORTRAN_NAME_MACRO_PATTERN.sub(inner, match[0]), source
    )


FORTRAN_LANGUAGE = LanguageDescription(
    name="fortran",
    prepare_source=_prepare_fortran_source,
    node_rules={
        "module": SyntaxNodeRule("module", name_rule_by_descendant_type("name")),
        "submodule": SyntaxNodeRule("module", name_rule_by_descendant_type("name")),
        "program": SyntaxNodeRule("program", name_rule_by_descendant_type("name")),
        "subroutine": SyntaxNodeRule("function", name_rule_by_descendant_type("name")),
        "function": SyntaxNodeRule("function", name_rule_by_descendant_type("name")),
        "module_procedure": SyntaxNodeRule("function", name_rule_by_descendant_type("name")),
        "derived_type_definition": SyntaxNodeRule("struct", name_rule_by_descendant_type("type_name")),
        "interface": SyntaxNodeRule("interface", _name_fortran_interface),
        "variable_declaration": SyntaxNodeRule("variable", _name_fortran_variables, is_leaf=True),
        "procedure_statement": SyntaxNodeRule("method", _name_fortran_binding, is_leaf=True),
        "enumerator_statement": SyntaxNodeRule("enum member", _name_fortran_enumerators, is_leaf=True),
    },
    entered_nodes=word_set(
        "translation_unit internal_procedures derived_type_procedures enum preproc_if preproc_ifdef preproc_else "
        "preproc_elif preproc_elifdef"
    ),
    import_rules={"use_statement": name_rule_by_descendant_type("module_name")},
)


_ZIG_CONTAINER_PATTERN = re.compile(rb"\b(?P<word>struct|enum|union|error|opaque)[ {(]")


def _name_zig_variable(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    name = node.child_by_field_name("variable_type_function")
    if name is None:
        return None
    text = place.source[name.end_byte : name.end_byte + 120].split(b";", 1)[0]
    container = _ZIG_CONTAINER_PATTERN.search(text.split(b"=", 1)[-1][:40])
    if container is not None:
        return [SymbolNameNode(name, container["word"].decode())]
    if (
        place.nearest_ancestor_type("Block", "ContainerDecl") == "Block"
    ):  # of a function, not of a container in it
        return None
    before = place.source[max(0, name.start_byte - 6) : name.start_byte]
    return [SymbolNameNode(name, "constant" if before.endswith(b"const ") else "variable")]


_ZIG_BODY_NODES = word_set(
    "ContainerField Block Statement AssignExpr IfStatement FieldOrFnCall FnCallArguments BlockExpr"
)
_ZIG_CONTAINER_WORDS = make_definition_words(b"struct", b"union", b"enum", b"opaque", b"error{")
"""The words of all that a Zig body can define: a container type that it names, returns or passes."""


def _name_zig_test(node: Node, place: SyntaxNodeContext) -> str:
    first = first_named_child(node)
    return "test " + place.text(first).strip('"') if first is not None and first.type != "Block" else "test"


def _name_zig_field(node: Node, place: SyntaxNodeContext) -> SymbolNameNode | None:
    member = node.child_by_field_name("field_member")
    found = member or name_rule_by_descendant_type("IDENTIFIER")(node, place)
    if not isinstance(found, Node) or place.text(found) == "_":  # `_` says that an enum has further values
        return None
    head = place.source_between(found.start_byte, node.end_byte).split("{")[0].split("=")[0]
    return SymbolNameNode(found, "", shorten_to_one_line(head.rstrip(" ,\n"), MAX_SIGNATURE_CHARS))


_ZIG_DOC_LINES_PATTERN = re.compile(rb"(?:///[^\n]*\n\s*)+")


def _finish_zig_symbols(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Completes Zig symbols: adds the modifier `pub`, which precedes the declaration's node, and begins a field behind
    its comment."""
    for draft in drafts:
        above = _ZIG_DOC_LINES_PATTERN.match(source, draft.start) if draft.kind == "field" else None
        if above is not None:
            draft.doc = first_doc_comment_line(above[0].split(b"\n", 1)[0].decode("utf-8", "replace"))
            draft.start, draft.start_row = above.end(), draft.start_row + above[0].count(b"\n")
        if source.endswith(b"pub ", 0, draft.start):
            draft.modifiers = ("exported", "pub", *draft.modifiers)
    return drafts


def _name_zig_function(node: Node, place: SyntaxNodeContext) -> Node | None:
    head = first_child_of_types(node, "FnProto")
    return head.child_by_field_name("function") if head is not None else None


ZIG_LANGUAGE = LanguageDescription(
    name="zig",
    node_rules={
        "VarDecl": SyntaxNodeRule("variable", _name_zig_variable),
        "Decl": SyntaxNodeRule("function", _name_zig_function),
        "TestDecl": SyntaxNodeRule("test", _name_zig_test, is_leaf=True),
        "ContainerField": SyntaxNodeRule("field", _name_zig_field),
    },
    entered_nodes=word_set(
        "source_file ErrorUnionExpr SuffixExpr ContainerDecl Block Statement AssignExpr IfStatement FieldOrFnCall "
        "FnCallArguments BlockExpr"
    ),
    definition_filter=lambda here: _ZIG_CONTAINER_WORDS if here[0] in _ZIG_BODY_NODES else None,
    comment_nodes=word_set("line_comment doc_comment container_doc_comment"),
    wrapper_nodes=word_set("Decl"),
    modifier_words=word_set("export extern inline comptime threadlocal"),
    exporting_modifiers=word_set("export"),
    finish_symbols=_finish_zig_symbols,
)


def _name_dart_declaration(node: Node, place: SyntaxNodeContext) -> Node | str | None:
    name = node.child_by_field_name("name")
    if name is not None and node.type not in ("constructor_signature", "factory_constructor_signature"):
        return name
    for child in node.named_children:
        if child.type.endswith("_signature"):
            return _name_dart_declaration(child, place)
    names = [place.text(child) for child in node.named_children if child.type == "identifier"]
    if not names and node.type == "operator_signature":
        return place.text(node).split("(")[0].split("operator", 1)[-1].strip()
    return ".".join(names) or None


def _finish_dart_symbols(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Completes Dart symbols: extends a declaration over its body, a sibling node, to the closing brace or semicolon,
    and attaches its functions."""
    drafts = sort_symbols_in_file_order(drafts)
    for draft in drafts:
        if draft.node_type.endswith("_signature"):
            draft.end_row = draft.start_row + _count_dart_body_rows(source, draft.start)
    open_: list[int] = []
    for index, draft in enumerate(drafts):
        while open_ and drafts[open_[-1]].end_row < draft.start_row:
            open_.pop()
        if open_ and drafts[open_[-1]].start_row < draft.start_row:
            draft.parent = open_[-1]
        if draft.node_type.endswith("_signature"):
            open_.append(index)
    return turn_functions_into_methods(drafts, ("class", "mixin", "extension", "enum"))


_DART_BRACKET_OR_STRING_PATTERN = re.compile(
    rb"//[^\n]*|'{3}(?:[^\\]|\\.)*?(?:'{3}|\Z)|\"{3}(?:[^\\]|\\.)*?(?:\"{3}|\Z)"
    rb"|'(?:[^'\\\n]|\\.)*+['\n]?|\"(?:[^\"\\\n]|\\.)*+[\"\n]?|[({\[;)}\]]",
    re.S,
)
_MAX_DART_BODY_BYTES = 200_000


def _count_dart_body_rows(source: bytes, start: int) -> int:
    depth, end = 0, min(len(source), start + _MAX_DART_BODY_BYTES)
    for match in _DART_BRACKET_OR_STRING_PATTERN.finditer(source, start, end):
        mark = match[0]
        depth += (mark in (b"(", b"{", b"[")) - (mark in (b")", b"}", b"]"))
        if depth <= 0 and mark in (b"}", b";"):
            end = match.start()
            break
    return source.count(b"\n", start, end)


_DART_EXTENSION_TYPE_PATTERN = re.compile(
    rb"^(?P<before>[ \t]*)(?P<word>extension[ \t]+type(?:[ \t]+const)?)(?P<name>[ \t]+[\w$]+(?:<[^{}()>]*>)?)"
    rb"(?P<value>(?:\.\w+)?\((?:[^(){}]|\([^(){}]*\))*\))",
    re.M,
)


def _rewrite_dart_extension_types(source: bytes, _watch: MapDeadline) -> bytes:
    """Rewrites Dart's `extension type Name._(Value it) {` as a class, because the grammar does not know extension
    types."""
    if b"extension type" not in source:
        return source
    return _DART_EXTENSION_TYPE_PATTERN.sub(
        lambda match: (
            match["before"]
            + b"class".ljust(len(match["word"]))
            + match["name"]
            + re.sub(rb"[^\s]", b" ", match["value"])
        ),
        source,
    )


DART_LANGUAGE = LanguageDescription(
    name="dart",
    prepare_source=_rewrite_dart_extension_types,
    node_rules={
        "class_definition": SyntaxNodeRule("class"),
        "mixin_declaration": SyntaxNodeRule("mixin", name_by_child_type("identifier")),
        "extension_declaration": SyntaxNodeRule("extension", name_rule_with_default("extension")),
        "enum_declaration": SyntaxNodeRule("enum"),
        "enum_constant": SyntaxNodeRule("enum member", is_leaf=True),
        "type_alias": SyntaxNodeRule("type", name_by_child_type("type_identifier"), is_leaf=True),
        "method_signature": SyntaxNodeRule("method", _name_dart_declaration, is_leaf=True),
        "function_signature": SyntaxNodeRule("function", _name_dart_declaration, is_leaf=True),
        "constructor_signature": SyntaxNodeRule("constructor", _name_dart_declaration, is_leaf=True),
        "constant_constructor_signature": SyntaxNodeRule("constructor", _name_dart_declaration, is_leaf=True),
        "factory_constructor_signature": SyntaxNodeRule("constructor", _name_dart_declaration, is_leaf=True),
        "redirecting_factory_constructor_signature": SyntaxNodeRule(
            "constructor", _name_dart_declaration, is_leaf=True
        ),
        "getter_signature": SyntaxNodeRule("property", is_leaf=True),
        "setter_signature": SyntaxNodeRule("property", is_leaf=True),
        "static_final_declaration": SyntaxNodeRule(
            "variable", name_by_child_type("identifier"), is_leaf=True
        ),
        "initialized_identifier": SyntaxNodeRule("variable", name_by_child_type("identifier"), is_leaf=True),
    },
    entered_nodes=word_set(
        "program class_body extension_body enum_body declaration static_final_declaration_list "
        "initialized_identifier_list function_body block expression_statement selector argument_part arguments "
        "argument named_argument function_expression function_expression_body local_function_declaration "
        "lambda_expression"
    ),
    comment_nodes=word_set("comment documentation_comment"),
    attribute_nodes=word_set("marker_annotation annotation"),
    has_decorators=True,
    import_rules={"import_or_export": name_rule_by_descendant_type("uri")},
    has_type_before_name=True,
    modifier_words=word_set("static final const abstract external late factory covariant"),
    export_rule=lambda draft, _before: not draft.name.startswith("_"),
    finish_symbols=_finish_dart_symbols,
)


def _name_bash_variable(node: Node, place: SyntaxNodeContext) -> Node | None:
    above = place.ancestor_type()
    if above == "program" or (above == "declaration_command" and place.ancestor_type(1) == "program"):
        return node.child_by_field_name("name")
    return None


def _name_bash_alias(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    if place.source[node.start_byte : node.start_byte + 6] != b"alias ":
        return None
    return [SymbolNameNode(place.text(node).split(None, 1)[1].split("=")[0], "alias")]


def _finish_bash_symbols(drafts: list[FoundSymbol], _source: bytes) -> list[FoundSymbol]:
    """Completes Bash symbols: a variable that is set repeatedly is listed once."""
    variables = [(index, draft.name) for index, draft in enumerate(drafts) if draft.kind == "variable"]
    first = {name: index for index, name in reversed(variables)}
    return remove_symbols(drafts, {index for index, _ in variables}.difference(first.values()))


_BASH_FUNCTION_HEAD_PATTERN = re.compile(
    rb"^(?:function[ \t]+(?=[\w:.-]+[ \t]*[({])|(?=[\w:.-]+[ \t]*\())"
    rb"(?P<name>[\w:.-]+)[ \t]*(?:\(\)[ \t]*)?(?P<rest>\n?\{[^\n]*)$",
    re.M,
)

BASH_LANGUAGE = LanguageDescription(
    name="bash",
    display_name="Shell",
    node_rules={
        "function_definition": SyntaxNodeRule("function"),
        "variable_assignment": SyntaxNodeRule("variable", _name_bash_variable, is_leaf=True),
        "command": SyntaxNodeRule("alias", _name_bash_alias, is_leaf=True),
    },
    entered_nodes=word_set(
        "program compound_statement declaration_command if_statement elif_clause else_clause redirected_statement list "
        "case_statement case_item for_statement while_statement do_group subshell c_style_for_statement pipeline "
        "negated_command"
    ),
    modifier_words=word_set("export readonly local declare"),
    exporting_modifiers=word_set("export"),
    recover_symbols=make_finder_of_lost_functions(_BASH_FUNCTION_HEAD_PATTERN),
    finish_symbols=_finish_bash_symbols,
)

_POWERSHELL_FUNCTION_HEAD_PATTERN = re.compile(
    rb"^(?i:function|filter)[ \t]+(?P<name>[\w:-]+)(?P<rest>[ \t]*(?:\([^\n]*\)[ \t]*)?\r?\n?\{[^\n]*)$", re.M
)

POWERSHELL_LANGUAGE = LanguageDescription(
    name="powershell",
    display_name="PowerShell",
    recover_symbols=make_finder_of_lost_functions(_POWERSHELL_FUNCTION_HEAD_PATTERN),
    node_rules={
        "function_statement": SyntaxNodeRule("function", name_by_child_type("function_name")),
        "class_statement": SyntaxNodeRule("class", name_by_child_type("simple_name")),
        "enum_statement": SyntaxNodeRule("enum", name_by_child_type("simple_name")),
        "enum_member": SyntaxNodeRule("enum member", name_by_child_type("simple_name"), is_leaf=True),
        "class_method_definition": SyntaxNodeRule("method", name_by_child_type("simple_name"), is_leaf=True),
        "class_property_definition": SyntaxNodeRule("property", name_by_child_type("variable"), is_leaf=True),
    },
    entered_nodes=word_set(
        "program statement_list script_block script_block_body if_statement statement_block pipeline pipeline_chain "
        "command command_elements array_literal_expression unary_expression script_block_expression"
    ),
    modifier_words=word_set("static hidden"),
)

LANGUAGE_DESCRIPTIONS = (
    R_LANGUAGE,
    JULIA_LANGUAGE,
    FORTRAN_LANGUAGE,
    ZIG_LANGUAGE,
    DART_LANGUAGE,
    BASH_LANGUAGE,
    POWERSHELL_LANGUAGE,
)
