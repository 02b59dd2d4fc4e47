"""Describes Go and Rust for maps of files."""

import re

from tree_sitter import Node

from tools.filemap.language_description import (
    FoundSymbol,
    Language,
    NamedNode,
    NodeContext,
    NodeRule,
    definition_words,
    first_of_types,
    word_set,
)
from tools.filemap.languages.routes import go_routes
from tools.filemap.symbol_lists import attach_by_scope, mark_methods

_TYPE_DEFINITION_WORDS = definition_words(b"struct", b"interface")
_GO_RECEIVER_PATTERN = re.compile(rb"func\s*(?P<said>\(\s*(?:\w+\s+)?\*?\s*(?P<type>\w+)[^)]*)")


def _go_declared_names(node: Node, place: NodeContext) -> list[Node] | Node | None:
    first = node.child_by_field_name("name")
    if first is not None:
        end = first.end_byte
        if not place.source[end : end + 8].lstrip().startswith(b","):
            return first if place.source[first.start_byte : end] != b"_" else None
    names = [name for name in node.children_by_field_name("name") if name.type != ","]
    if not names and node.type == "field_declaration":
        kind = node.child_by_field_name("type")
        return [kind] if kind is not None else None
    return [name for name in names if place.text(name) != "_"] or None


_GO_TYPE_KINDS = {"struct_type": "struct", "interface_type": "interface"}


def _go_type(node: Node, _place: NodeContext) -> NamedNode | None:
    name, what = node.child_by_field_name("name"), node.child_by_field_name("type")
    if name is None:
        return None
    return NamedNode(name, _GO_TYPE_KINDS.get(what.type if what is not None else "", "type"))


def _is_exported_in_go(draft: FoundSymbol, _before: bytes) -> bool:
    return draft.name[:1].isupper()


def _finish_go_symbols(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Completes Go symbols: attaches methods to the type of their receiver, wherever it is defined."""
    for draft in drafts:
        kind = draft.kind
        if kind == "method":
            if draft.node_type == "method_declaration":
                receiver = _GO_RECEIVER_PATTERN.match(source, draft.start, draft.start + 200)
                if receiver is not None:
                    draft.scope = receiver["type"].decode("utf-8", "replace")
                    text = " ".join(receiver["said"].decode("utf-8", "replace").split())
                    draft.signature = f"{text}) {draft.signature}"
        elif kind == "constant" or kind == "variable":
            # In a group, modifiers precede the first name only; here each name gets them.
            draft.modifiers = ("exported",) if draft.name[:1].isupper() else ()
    drafts = attach_by_scope(drafts, {"struct", "interface", "type"})
    for draft in drafts:
        if draft.scope and draft.parent < 0:
            # Its type is in another file; the method is named with it.
            draft.name = f"{draft.scope}.{draft.name}"
    return drafts


GO = Language(
    name="go",
    rules={
        "function_declaration": NodeRule("function", is_leaf=True),
        "method_declaration": NodeRule("method", is_leaf=True),
        "type_spec": NodeRule("type", _go_type),
        "type_alias": NodeRule("type"),
        "const_spec": NodeRule("constant", _go_declared_names, is_leaf=True),
        "var_spec": NodeRule("variable", _go_declared_names, is_leaf=True),
        "field_declaration": NodeRule("field", _go_declared_names),
        "method_elem": NodeRule("method", is_leaf=True),
    },
    enter=word_set(
        "source_file type_declaration const_declaration var_declaration var_spec_list struct_type "
        "field_declaration_list interface_type"
    ),
    imports={"import_declaration": lambda node, _place: _go_imports(node)},
    export_rule=_is_exported_in_go,
    wrappers=word_set("type_declaration const_declaration var_declaration"),
    is_wrapper_start=False,
    definition_filter=lambda here: _TYPE_DEFINITION_WORDS if here[0] == "field_declaration" else None,
    finish=_finish_go_symbols,
    routes=go_routes,
)


def _go_imports(node: Node) -> list[Node]:
    specs = [node]
    found: list[Node] = []
    while specs:
        for child in specs.pop().named_children:
            if child.type == "import_spec":
                path = child.child_by_field_name("path")
                if path is not None:
                    found.append(path)
            elif child.type == "import_spec_list":
                specs.append(child)
    return found


def _rust_impl(node: Node, place: NodeContext) -> str | None:
    trait, kind = node.child_by_field_name("trait"), node.child_by_field_name("type")
    if kind is None:
        return None
    return (f"{place.text(trait)} for " if trait is not None else "") + place.text(kind)


def _rust_constant(node: Node, place: NodeContext) -> Node | None:
    """Names a Rust constant; `const _: () = { … }` gets no name, because it only contains other items."""
    name = node.child_by_field_name("name")
    return name if name is not None and place.text(name) != "_" else None


RUST = Language(
    name="rust",
    rules={
        "function_item": NodeRule("function"),
        "function_signature_item": NodeRule("function"),
        "struct_item": NodeRule("struct"),
        "enum_item": NodeRule("enum"),
        "union_item": NodeRule("union"),
        "trait_item": NodeRule("trait"),
        "impl_item": NodeRule("impl", _rust_impl),
        "mod_item": NodeRule("module"),
        "const_item": NodeRule("constant", _rust_constant),
        "static_item": NodeRule("variable", is_leaf=True),
        "type_item": NodeRule("type", is_leaf=True),
        "associated_type": NodeRule("type", is_leaf=True),
        "macro_definition": NodeRule("macro", is_leaf=True),
        "field_declaration": NodeRule("field", is_leaf=True),
        "enum_variant": NodeRule("enum member"),
    },
    enter=word_set(
        "source_file declaration_list field_declaration_list enum_variant_list foreign_mod_item block const_item"
    ),
    between=word_set("attribute_item"),
    imports={"use_declaration": "argument", "extern_crate_declaration": first_of_types("identifier")},
    modifiers=word_set("pub async unsafe const extern default"),
    exporting_modifiers=word_set("pub"),
    finish=lambda drafts, _source: mark_methods(drafts, ("impl", "trait")),
)

LANGUAGES = (GO, RUST)
