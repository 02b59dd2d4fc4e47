"""C, C++ and CUDA."""

import re

from tree_sitter import Node

from tools.filemap.drafts import owned, without
from tools.filemap.language import (
    FoundSymbol,
    Language,
    Named,
    NodePlace,
    NodeRule,
    first_child,
    named_or,
    words,
)
from tools.filemap.languages.macros import without_macros
from tools.filemap.languages.recovery import namespaces_of_macros, recovered, without_surroundings

_NAMES = words(
    "identifier field_identifier type_identifier qualified_identifier destructor_name operator_name operator_cast "
    "template_function structured_binding_declarator primitive_type"
)
_OPERATOR = re.compile(r"(?:^|::)\s*(?P<said>operator\b.*)$", re.S)


def declared(node: Node | None) -> Node | None:
    """The name inside a declarator: `int (*f[3])(void)` declares f."""
    for _ in range(16):
        if node is None or node.type in _NAMES:
            return node
        below = node.child_by_field_name("declarator")
        if below is None:
            below = next(
                (
                    child
                    for child in node.named_children
                    if child.type.endswith("declarator") or child.type in _NAMES
                ),
                None,
            )
        node = below
    return None


def _is_function(node: Node | None) -> bool:
    """Whether a declarator declares a function, such as `(*f(int))(char)`, and no variable or pointer to one."""
    while node is not None:
        if node.type == "function_declarator":
            inner = node.child_by_field_name("declarator")
            if inner is None or inner.type != "parenthesized_declarator":
                return True
            node = first_child(inner)
            if node is not None and node.type in _NAMES:
                return True
            continue
        node = node.child_by_field_name("declarator") or _reference(node)
    return False


def _reference(node: Node) -> Node | None:
    if node.type in ("reference_declarator", "attributed_declarator"):
        return next((child for child in node.named_children if child.type.endswith("declarator")), None)
    return None


def _function(node: Node, place: NodePlace) -> list[Named] | None:
    name = declared(node.child_by_field_name("declarator"))
    if name is None:
        return None
    if name.type == "operator_cast":
        return [Named(_conversion(place.text(name)))]
    if name.type in ("identifier", "field_identifier") and place.text(name) in _NOT_NAMES:
        return None
    if node.child_by_field_name("type") is None and place.nearest(*_BODIES) == "compound_statement":
        return None  # `for_each(item, list) {` in a body: a call of a macro
    return [Named(name)]


_BODIES = words("compound_statement field_declaration_list declaration_list")
_NOT_NAMES = words("if else for while switch do return sizeof defined catch")


_NO_PARAMETERS = re.compile(r"\s*\(\s*(?:void)?\s*\)[\s\w&]*$")


def _conversion(text: str) -> str:
    """`operator Action<R(A)>() const` without its parameters."""
    return " ".join(_NO_PARAMETERS.sub("", text).split())


def _declared_names(node: Node, place: NodePlace, variable: str) -> list[Named] | None:
    found: list[Named] = []
    for declarator in node.children_by_field_name("declarator"):
        name = declared(declarator)
        if name is not None and name.type == "operator_cast":
            found.append(Named(_conversion(place.text(name)), "function"))
        elif name is not None:
            found.append(Named(name, "function" if _is_function(declarator) else variable))
    return found or None


def _declaration(node: Node, place: NodePlace) -> list[Named] | None:
    return None if place.nearest("compound_statement") else _declared_names(node, place, "variable")


def _with_body(node: Node, place: NodePlace) -> list[Named] | None:
    if node.child_by_field_name("body") is None:
        return None
    name = node.child_by_field_name("name")
    if name is None:
        return None if place.above() in ("type_definition", "field_declaration") else [Named("(anonymous)")]
    return [Named(name)]


def _typedef(node: Node, place: NodePlace) -> list[Node] | None:
    declarators = node.children_by_field_name("declarator")
    return [name for each in declarators if (name := declared(each)) is not None] or None


def c_finish(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Members of classes are methods; `A::b` belongs to A where A is in the same file."""
    drafts = namespaces_of_macros(drafts, source)
    for draft in drafts:
        if draft.kind == "function":
            scope, last = _scoped(draft.name)
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
    drafts = owned(without(drafts, _typedef_bodies(drafts)), types)
    for draft in drafts:
        if draft.scope and draft.parent >= 0 and drafts[draft.parent].kind in types:
            draft.name = _scoped(draft.name)[1]
    return drafts


def _scoped(name: str) -> tuple[str, str]:
    """What it belongs to, and its own name; `operator std::string` has a `::` that is no owner."""
    operator = _OPERATOR.search(name)
    if operator is not None:
        said = operator["said"]
        own = " ".join(said.split()) if said.startswith("operator(") else _conversion(said)
        return name[: operator.start()].strip(), own
    scope, _, last = name.rpartition("::")
    return scope, last.strip()


def _typedef_bodies(drafts: list[FoundSymbol]) -> list[int]:
    """`typedef struct x {…} x` is one symbol, called as the type and with the members of the body."""
    removed: list[int] = []
    for index, draft in enumerate(drafts):
        above = drafts[draft.parent] if draft.parent >= 0 else None
        is_body = draft.kind in ("struct", "union", "enum") and above is not None and above.kind == "type"
        if is_body and above is not None and draft.name == above.name:
            above.kind, above.signature = draft.kind, draft.name
            removed.append(index)
    return removed


_C_RULES = {
    "function_definition": NodeRule("function", _function, is_leaf=True),
    "struct_specifier": NodeRule("struct", _with_body),
    "union_specifier": NodeRule("union", _with_body),
    "enum_specifier": NodeRule("enum", _with_body),
    "enumerator": NodeRule("enum member", is_leaf=True),
    "field_declaration": NodeRule("field", lambda node, place: _declared_names(node, place, "field")),
    "type_definition": NodeRule("type", _typedef),
    "preproc_def": NodeRule("macro", is_leaf=True, body="value"),
    "preproc_function_def": NodeRule("macro", is_leaf=True, body="value"),
    "declaration": NodeRule("variable", _declaration),
}
_C_ENTER = words(
    "translation_unit preproc_ifdef preproc_if preproc_else preproc_elif preproc_elifdef field_declaration_list "
    "enumerator_list linkage_specification declaration_list labeled_statement expression_statement compound_statement"
)
_C_MODIFIERS = words("static inline extern const volatile typedef register")

C = Language(
    name="c",
    rules=_C_RULES,
    enter=_C_ENTER,
    imports={"preproc_include": "path"},
    modifiers=_C_MODIFIERS,
    is_header_whole=True,
    prepare=without_macros,
    simplify=without_surroundings,
    finish=c_finish,
)

_CPP_RULES = {
    **_C_RULES,
    "class_specifier": NodeRule("class", _with_body),
    "namespace_definition": NodeRule("namespace", named_or("(anonymous)")),
    "alias_declaration": NodeRule("type", is_leaf=True),
    "concept_definition": NodeRule("concept", is_leaf=True),
}
_CPP_ENTER = _C_ENTER | words("template_declaration access_specifier friend_declaration")
_CPP_MODIFIERS = _C_MODIFIERS | words("virtual explicit constexpr consteval friend mutable thread_local")


def _cpp(name: str, called: str, extra: str = "") -> Language:
    return Language(
        name=name,
        called=called,
        rules=_CPP_RULES,
        enter=_CPP_ENTER,
        wrappers=words("template_declaration"),
        imports={"preproc_include": "path"},
        modifiers=_CPP_MODIFIERS | words(extra),
        is_header_whole=True,
        prepare=without_macros,
        simplify=without_surroundings,
        recover=recovered,
        finish=c_finish,
    )


CPP = _cpp("cpp", "C++")
CUDA = _cpp("cuda", "CUDA", "__global__ __device__ __host__ __shared__ __constant__")

LANGUAGES = (C, CPP, CUDA)
