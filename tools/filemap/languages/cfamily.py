"""Describes C, C++ and CUDA for maps of files."""

import re

from tree_sitter import Node

from tools.filemap.language_description import (
    AncestorNodeTypes,
    DefinitionWord,
    FoundSymbol,
    LanguageDescription,
    SymbolNameNode,
    SyntaxNodeContext,
    SyntaxNodeRule,
    first_named_child,
    name_rule_with_default,
    word_set,
)
from tools.filemap.languages.c_macros import blank_c_macros
from tools.filemap.languages.cpp_lost_classes import (
    add_cpp_macro_namespaces,
    blank_cpp_wrappers,
    recover_lost_cpp_classes,
)
from tools.filemap.symbol_list_changes import attach_symbols_to_types_by_scope, remove_symbols

_C_NAME_NODES = word_set(
    "identifier field_identifier type_identifier qualified_identifier destructor_name operator_name operator_cast "
    "template_function structured_binding_declarator primitive_type"
)
_OPERATOR_NAME_PATTERN = re.compile(r"(?:^|::)\s*(?P<said>operator\b.*)$", re.S)


def find_declared_c_name_node(node: Node | None) -> Node | None:
    """Returns the name that a C declarator declares: `f` in `int (*f[3])(void)`."""
    for _ in range(16):
        if node is None or node.type in _C_NAME_NODES:
            return node
        below = node.child_by_field_name("declarator")
        if below is None:
            below = next(
                (
                    child
                    for child in node.named_children
                    if child.type.endswith("declarator") or child.type in _C_NAME_NODES
                ),
                None,
            )
        node = below
    return None


def _declares_c_function(node: Node | None) -> bool:
    """Returns whether a C declarator declares a function, such as `(*f(int))(char)`, and not a variable or a pointer to
    one."""
    while node is not None:
        if node.type == "function_declarator":
            inner = node.child_by_field_name("declarator")
            if inner is None or inner.type != "parenthesized_declarator":
                return True
            node = first_named_child(inner)
            if node is not None and node.type in _C_NAME_NODES:
                return True
            continue
        node = node.child_by_field_name("declarator") or _inner_c_declarator(node)
    return False


def _inner_c_declarator(node: Node) -> Node | None:
    if node.type in ("reference_declarator", "attributed_declarator"):
        return next((child for child in node.named_children if child.type.endswith("declarator")), None)
    return None


def _name_c_function(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    name = find_declared_c_name_node(node.child_by_field_name("declarator"))
    if name is None:
        return None
    if name.type == "operator_cast":
        return [SymbolNameNode(_conversion_operator_name(place.text(name)))]
    if name.type in ("identifier", "field_identifier") and place.text(name) in _C_RESERVED_WORDS:
        return None
    if (
        node.child_by_field_name("type") is None
        and place.nearest_ancestor_type(*_C_BODY_NODES) == "compound_statement"
    ):
        return None  # `for_each(item, list) {` in a body: a macro call
    return [SymbolNameNode(name)]


_C_BODY_NODES = word_set("compound_statement field_declaration_list declaration_list")
_C_RESERVED_WORDS = word_set("if else for while switch do return sizeof defined catch")


_NO_PARAMETERS_PATTERN = re.compile(r"\s*\(\s*(?:void)?\s*\)[\s\w&]*$")


def _conversion_operator_name(text: str) -> str:
    """Returns the name of a C++ conversion operator without its parameters, such as `operator Action<R(A)>() const`."""
    return " ".join(_NO_PARAMETERS_PATTERN.sub("", text).split())


def _name_c_declarators(node: Node, place: SyntaxNodeContext, variable: str) -> list[SymbolNameNode] | None:
    found: list[SymbolNameNode] = []
    for declarator in node.children_by_field_name("declarator"):
        name = find_declared_c_name_node(declarator)
        if name is not None and name.type == "operator_cast":
            found.append(SymbolNameNode(_conversion_operator_name(place.text(name)), "function"))
        elif name is not None and place.text(name) not in _C_RESERVED_WORDS:
            found.append(SymbolNameNode(name, "function" if _declares_c_function(declarator) else variable))
    return found or None


def _name_c_declaration(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    return (
        None
        if place.nearest_ancestor_type("compound_statement")
        else _name_c_declarators(node, place, "variable")
    )


def _name_c_type(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    if node.child_by_field_name("body") is None:
        return None
    name = node.child_by_field_name("name")
    if name is None:
        return (
            None
            if place.ancestor_type() in ("type_definition", "field_declaration")
            else [SymbolNameNode("(anonymous)")]
        )
    return [SymbolNameNode(name)]


def _name_c_typedef(node: Node, place: SyntaxNodeContext) -> list[Node] | None:
    declarators = node.children_by_field_name("declarator")
    return [name for each in declarators if (name := find_declared_c_name_node(each)) is not None] or None


def finish_c_symbols(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Completes the symbols of a C or C++ source: functions of classes become methods; `A::b` is attached to A if A is
    in the same file."""
    drafts = add_cpp_macro_namespaces(drafts, source)
    for draft in drafts:
        if draft.kind == "function":
            scope, last = _split_cpp_scope(draft.name)
            draft.name = draft.name if scope else last
            above = drafts[draft.parent].kind if draft.parent >= 0 else ""
            if scope:
                draft.name = f"{scope}::{last}"
                draft.scope = scope.rsplit("::", 1)[-1].split("<")[0].strip()
                draft.kind = "method"
            elif above in ("class", "struct", "union"):
                draft.kind = "method"
            if last.lstrip().startswith("~") or draft.name == draft.scope + "::" + draft.scope:
                draft.kind = "method"
    types = {"class", "struct", "union"}
    drafts = attach_symbols_to_types_by_scope(remove_symbols(drafts, _merge_typedef_bodies(drafts)), types)
    for draft in drafts:
        if draft.scope and draft.parent >= 0 and drafts[draft.parent].kind in types:
            draft.name = _split_cpp_scope(draft.name)[1]
    return drafts


def _split_cpp_scope(name: str) -> tuple[str, str]:
    """Splits a C++ name into owner and name; the `::` in `operator std::string` separates no owner."""
    operator = _OPERATOR_NAME_PATTERN.search(name)
    if operator is not None:
        said = operator["said"]
        own = " ".join(said.split()) if said.startswith("operator(") else _conversion_operator_name(said)
        return name[: operator.start()].strip(), own
    scope, _, last = name.rpartition("::")
    # After a macro that the grammar takes for the type, the type before the name is part of it.
    return scope, last.strip() if "<" in last else " ".join(last.split()[-1:])


def _merge_typedef_bodies(drafts: list[FoundSymbol]) -> list[int]:
    """Merges `typedef struct x {…} x` into one symbol, with the type's name and the body's members."""
    removed: list[int] = []
    for index, draft in enumerate(drafts):
        above = drafts[draft.parent] if draft.parent >= 0 else None
        is_body = draft.kind in ("struct", "union", "enum") and above is not None and above.kind == "type"
        if is_body and above is not None and draft.name == above.name:
            above.kind, above.signature = draft.kind, draft.name
            removed.append(index)
    return removed


_C_RULES = {
    "function_definition": SyntaxNodeRule("function", _name_c_function),
    "struct_specifier": SyntaxNodeRule("struct", _name_c_type),
    "union_specifier": SyntaxNodeRule("union", _name_c_type),
    "enum_specifier": SyntaxNodeRule("enum", _name_c_type),
    "enumerator": SyntaxNodeRule("enum member", is_leaf=True),
    "field_declaration": SyntaxNodeRule(
        "field", lambda node, place: _name_c_declarators(node, place, "field")
    ),
    "type_definition": SyntaxNodeRule("type", _name_c_typedef),
    "preproc_def": SyntaxNodeRule("macro", is_leaf=True, body_field="value"),
    "preproc_function_def": SyntaxNodeRule("macro", is_leaf=True, body_field="value"),
    "declaration": SyntaxNodeRule("variable", _name_c_declaration),
}
_C_ENTERED_NODES = word_set(
    "translation_unit preproc_ifdef preproc_if preproc_else preproc_elif preproc_elifdef field_declaration_list "
    "enumerator_list linkage_specification declaration_list labeled_statement expression_statement compound_statement"
)
_MACRO_DEFINITION_WORDS = (DefinitionWord(b"define", re.compile(rb"^[ \t]*#[ \t]*define", re.M)),)


def _c_definition_filter(here: AncestorNodeTypes) -> tuple[DefinitionWord, ...] | None:
    """Restricts the search for symbols inside of C functions to macros."""
    is_body = here[0] == "function_definition" or (
        here[1] is not None and "function_definition" in here[1][0]
    )
    return _MACRO_DEFINITION_WORDS if is_body else None


_C_MODIFIERS = word_set("static inline extern const volatile typedef register")

C_LANGUAGE = LanguageDescription(
    name="c",
    node_rules=_C_RULES,
    entered_nodes=_C_ENTERED_NODES,
    import_rules={"preproc_include": "path"},
    modifier_words=_C_MODIFIERS,
    has_type_before_name=True,
    definition_filter=_c_definition_filter,
    prepare_source=blank_c_macros,
    simplify_source=blank_cpp_wrappers,
    finish_symbols=finish_c_symbols,
)

_CPP_RULES = {
    **_C_RULES,
    "class_specifier": SyntaxNodeRule("class", _name_c_type),
    "namespace_definition": SyntaxNodeRule("namespace", name_rule_with_default("(anonymous)")),
    "alias_declaration": SyntaxNodeRule("type", is_leaf=True),
    "concept_definition": SyntaxNodeRule("concept", is_leaf=True),
}
_CPP_ENTERED_NODES = _C_ENTERED_NODES | word_set("template_declaration access_specifier friend_declaration")
_CPP_MODIFIERS = _C_MODIFIERS | word_set("virtual explicit constexpr consteval friend mutable thread_local")


def _cpp_language(name: str, called: str, extra: str = "") -> LanguageDescription:
    return LanguageDescription(
        name=name,
        display_name=called,
        node_rules=_CPP_RULES,
        entered_nodes=_CPP_ENTERED_NODES,
        wrapper_nodes=word_set("template_declaration"),
        import_rules={"preproc_include": "path"},
        modifier_words=_CPP_MODIFIERS | word_set(extra),
        has_type_before_name=True,
        definition_filter=_c_definition_filter,
        prepare_source=blank_c_macros,
        simplify_source=blank_cpp_wrappers,
        recover_symbols=recover_lost_cpp_classes,
        finish_symbols=finish_c_symbols,
    )


CPP_LANGUAGE = _cpp_language("cpp", "C++")
CUDA_LANGUAGE = _cpp_language("cuda", "CUDA", "__global__ __device__ __host__ __shared__ __constant__")

LANGUAGE_DESCRIPTIONS = (C_LANGUAGE, CPP_LANGUAGE, CUDA_LANGUAGE)
