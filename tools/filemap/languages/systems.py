"""Describes Go and Rust for maps of files."""

import re

from tree_sitter import Node

from tools.filemap.language_description import (
    FoundSymbol,
    LanguageDescription,
    SymbolNameNode,
    SyntaxNodeContext,
    SyntaxNodeRule,
    make_definition_words,
    name_by_child_type,
    word_set,
)
from tools.filemap.languages.web_routes import find_go_routes
from tools.filemap.symbol_list_changes import attach_symbols_to_types_by_scope, turn_functions_into_methods

_GO_TYPE_DEFINITION_WORDS = make_definition_words(b"struct", b"interface")
_GO_RECEIVER_PATTERN = re.compile(rb"func\s*(?P<said>\(\s*(?:\w+\s+)?\*?\s*(?P<type>\w+)[^)]*)")


def _name_go_declaration(node: Node, place: SyntaxNodeContext) -> list[Node] | Node | None:
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


_SYMBOL_KIND_BY_GO_TYPE = {"struct_type": "struct", "interface_type": "interface"}


def _name_go_type(node: Node, _place: SyntaxNodeContext) -> SymbolNameNode | None:
    name, what = node.child_by_field_name("name"), node.child_by_field_name("type")
    if name is None:
        return None
    return SymbolNameNode(name, _SYMBOL_KIND_BY_GO_TYPE.get(what.type if what is not None else "", "type"))


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
    drafts = attach_symbols_to_types_by_scope(drafts, {"struct", "interface", "type"})
    for draft in drafts:
        if draft.scope and draft.parent < 0:
            # Its type is in another file; the method is named with it.
            draft.name = f"{draft.scope}.{draft.name}"
    return drafts


GO_LANGUAGE = LanguageDescription(
    name="go",
    node_rules={
        "function_declaration": SyntaxNodeRule("function", is_leaf=True),
        "method_declaration": SyntaxNodeRule("method", is_leaf=True),
        "type_spec": SyntaxNodeRule("type", _name_go_type),
        "type_alias": SyntaxNodeRule("type"),
        "const_spec": SyntaxNodeRule("constant", _name_go_declaration, is_leaf=True),
        "var_spec": SyntaxNodeRule("variable", _name_go_declaration, is_leaf=True),
        "field_declaration": SyntaxNodeRule("field", _name_go_declaration),
        "method_elem": SyntaxNodeRule("method", is_leaf=True),
    },
    entered_nodes=word_set(
        "source_file type_declaration const_declaration var_declaration var_spec_list struct_type "
        "field_declaration_list interface_type"
    ),
    import_rules={"import_declaration": lambda node, _place: _find_go_imports(node)},
    export_rule=_is_exported_in_go,
    wrapper_nodes=word_set("type_declaration const_declaration var_declaration"),
    starts_at_wrapper=False,
    definition_filter=lambda here: _GO_TYPE_DEFINITION_WORDS if here[0] == "field_declaration" else None,
    finish_symbols=_finish_go_symbols,
    find_routes=find_go_routes,
)


def _find_go_imports(node: Node) -> list[Node]:
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


def _name_rust_impl(node: Node, place: SyntaxNodeContext) -> str | None:
    trait, kind = node.child_by_field_name("trait"), node.child_by_field_name("type")
    if kind is None:
        return None
    return (f"{place.text(trait)} for " if trait is not None else "") + place.text(kind)


def _name_rust_constant(node: Node, place: SyntaxNodeContext) -> Node | None:
    """Returns the symbol name of a Rust constant; none for `const _: () = { … }`, which only contains other items."""
    name = node.child_by_field_name("name")
    return name if name is not None and place.text(name) != "_" else None


RUST_LANGUAGE = LanguageDescription(
    name="rust",
    node_rules={
        "function_item": SyntaxNodeRule("function"),
        "function_signature_item": SyntaxNodeRule("function"),
        "struct_item": SyntaxNodeRule("struct"),
        "enum_item": SyntaxNodeRule("enum"),
        "union_item": SyntaxNodeRule("union"),
        "trait_item": SyntaxNodeRule("trait"),
        "impl_item": SyntaxNodeRule("impl", _name_rust_impl),
        "mod_item": SyntaxNodeRule("module"),
        "const_item": SyntaxNodeRule("constant", _name_rust_constant),
        "static_item": SyntaxNodeRule("variable", is_leaf=True),
        "type_item": SyntaxNodeRule("type", is_leaf=True),
        "associated_type": SyntaxNodeRule("type", is_leaf=True),
        "macro_definition": SyntaxNodeRule("macro", is_leaf=True),
        "field_declaration": SyntaxNodeRule("field", is_leaf=True),
        "enum_variant": SyntaxNodeRule("enum member"),
    },
    entered_nodes=word_set(
        "source_file declaration_list field_declaration_list enum_variant_list foreign_mod_item block const_item"
    ),
    attribute_nodes=word_set("attribute_item"),
    import_rules={
        "use_declaration": "argument",
        "extern_crate_declaration": name_by_child_type("identifier"),
    },
    modifier_words=word_set("pub async unsafe const extern default"),
    exporting_modifiers=word_set("pub"),
    finish_symbols=lambda drafts, _source: turn_functions_into_methods(drafts, ("impl", "trait")),
)

LANGUAGE_DESCRIPTIONS = (GO_LANGUAGE, RUST_LANGUAGE)
