"""Describes C# and Swift for maps of files."""

import re

from tree_sitter import Node

from tools.filemap.language_description import (
    FoundSymbol,
    LanguageDescription,
    SymbolNameNode,
    SymbolNameRule,
    SyntaxNodeContext,
    SyntaxNodeRule,
    first_named_child,
    last_named_child,
    name_rule_for_methods_inside,
    name_rule_with_fixed_name,
    word_set,
)
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.one_line_text import first_doc_comment_line


def _name_csharp_fields(node: Node, place: SyntaxNodeContext) -> list[Node] | None:
    parts = [part for part in node.named_children if part.type == "variable_declaration"]
    declarators = (
        each for part in parts for each in part.named_children if each.type == "variable_declarator"
    )
    names = (each.child_by_field_name("name") or first_named_child(each) for each in declarators)
    return [name for name in names if name is not None] or None


def _csharp_operator_rule(field: str) -> SymbolNameRule:
    def rule(node: Node, place: SyntaxNodeContext) -> str | None:
        what = node.child_by_field_name(field)
        return f"operator {place.text(what)}" if what is not None else None

    return rule


def _name_csharp_parameter(node: Node, place: SyntaxNodeContext) -> Node | None:
    """Returns the symbol name of a C# record's parameter, which is a property of the record."""
    is_property = place.ancestor_type(1) == "record_declaration"
    return node.child_by_field_name("name") if is_property else None


_XML_REFERENCE_PATTERN = re.compile(
    rb'<(?:see|paramref|typeparamref)\s+(?:cref|name|langword)="(?:\w:)?([^"]*)"\s*/>'
)
_XML_DOC_TAG_PATTERN = re.compile(rb"</?\w[^<>]*>|^[/ \t*]+")


def _finish_csharp_symbols(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Completes C# symbols: takes the text of an XML documentation comment instead of its first tag."""
    for draft in drafts:
        if draft.doc.startswith("<"):
            above = source[max(0, draft.start - 2000) : draft.start].rpartition(b"<summary>")[2]
            above = _XML_REFERENCE_PATTERN.sub(rb"\1", above)
            said = (_XML_DOC_TAG_PATTERN.sub(b"", line).strip() for line in above.split(b"\n"))
            draft.doc = first_doc_comment_line(
                next((line for line in said if line), b"").decode("utf-8", "replace")
            )
    return drafts


CSHARP_LANGUAGE = LanguageDescription(
    name="csharp",
    display_name="C#",
    node_rules={
        "namespace_declaration": SyntaxNodeRule("namespace"),
        "file_scoped_namespace_declaration": SyntaxNodeRule("namespace"),
        "class_declaration": SyntaxNodeRule("class"),
        "interface_declaration": SyntaxNodeRule("interface"),
        "struct_declaration": SyntaxNodeRule("struct"),
        "record_declaration": SyntaxNodeRule("record"),
        "enum_declaration": SyntaxNodeRule("enum"),
        "enum_member_declaration": SyntaxNodeRule("enum member", is_leaf=True),
        "delegate_declaration": SyntaxNodeRule("delegate", is_leaf=True),
        "method_declaration": SyntaxNodeRule("method", is_leaf=True),
        "constructor_declaration": SyntaxNodeRule("constructor", is_leaf=True),
        "destructor_declaration": SyntaxNodeRule("method", is_leaf=True),
        "property_declaration": SyntaxNodeRule("property", is_leaf=True, body_field="accessors"),
        "event_declaration": SyntaxNodeRule("event", is_leaf=True, body_field="accessors"),
        "indexer_declaration": SyntaxNodeRule(
            "property", name_rule_with_fixed_name("this[]"), is_leaf=True, body_field="accessors"
        ),
        "operator_declaration": SyntaxNodeRule("method", _csharp_operator_rule("operator"), is_leaf=True),
        "conversion_operator_declaration": SyntaxNodeRule(
            "method", _csharp_operator_rule("type"), is_leaf=True
        ),
        "field_declaration": SyntaxNodeRule("field", _name_csharp_fields, is_leaf=True),
        "event_field_declaration": SyntaxNodeRule("event", _name_csharp_fields, is_leaf=True),
        "parameter": SyntaxNodeRule("property", _name_csharp_parameter, is_leaf=True),
        "local_function_statement": SyntaxNodeRule("function", is_leaf=True),
    },
    entered_nodes=word_set(
        "compilation_unit declaration_list enum_member_declaration_list preproc_if preproc_else preproc_elif "
        "global_statement parameter_list"
    ),
    import_rules={"using_directive": lambda node, _place: last_named_child(node)},
    modifier_words=word_set(
        "public private protected internal static abstract sealed virtual override async partial readonly const extern "
        "unsafe new required volatile"
    ),
    exporting_modifiers=word_set("public"),
    has_type_before_name=True,
    finish_symbols=_finish_csharp_symbols,
)

_SWIFT_KEYWORD_PATTERN = re.compile(r"\b(class|struct|enum|extension|actor)\b")


def _name_swift_type(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    before = place.source[node.start_byte : name.start_byte].decode("utf-8", "replace")
    found = _SWIFT_KEYWORD_PATTERN.findall(before)
    return [SymbolNameNode(name, found[-1] if found else "class")]


def _name_swift_cases(node: Node, place: SyntaxNodeContext) -> list[Node] | None:
    return [name for name in node.children_by_field_name("name") if name.type == "simple_identifier"] or None


def _name_swift_property(node: Node, place: SyntaxNodeContext) -> list[Node] | None:
    """Returns the names that a Swift property declares; in a protocol, `var` belongs to the pattern that has the
    name."""
    names = node.children_by_field_name("name")
    return [name.child_by_field_name("bound_identifier") or name for name in names] or None


def _is_public_in_swift(_draft: FoundSymbol, before: bytes) -> bool:
    return bool({b"public", b"open", b"package"} & set(before.split()))


def _finish_swift_symbols(drafts: list[FoundSymbol], _source: bytes) -> list[FoundSymbol]:
    """Completes Swift symbols: keeps the modifier `class` for functions, where it means a type method, and drops it for
    classes."""
    for draft in drafts:
        if draft.kind == "class":
            draft.modifiers = tuple(word for word in draft.modifiers if word != "class")
    return drafts


def _blank_swift_unsafe(source: bytes, _watch: MapDeadline) -> bytes:
    """Blanks out `(unsafe)` of Swift's `nonisolated(unsafe) var`, which the grammar takes for a pattern."""
    return source.replace(b"nonisolated(unsafe)", b"nonisolated        ")


SWIFT_LANGUAGE = LanguageDescription(
    name="swift",
    prepare_source=_blank_swift_unsafe,
    node_rules={
        "class_declaration": SyntaxNodeRule("class", _name_swift_type),
        "protocol_declaration": SyntaxNodeRule("protocol"),
        "function_declaration": SyntaxNodeRule(
            "function",
            name_rule_for_methods_inside("class_body", "enum_class_body", "protocol_body"),
            is_leaf=True,
        ),
        "protocol_function_declaration": SyntaxNodeRule("method", is_leaf=True),
        "init_declaration": SyntaxNodeRule("constructor", name_rule_with_fixed_name("init"), is_leaf=True),
        "deinit_declaration": SyntaxNodeRule("method", name_rule_with_fixed_name("deinit"), is_leaf=True),
        "subscript_declaration": SyntaxNodeRule(
            "method", name_rule_with_fixed_name("subscript"), is_leaf=True
        ),
        "property_declaration": SyntaxNodeRule(
            "property", _name_swift_property, is_leaf=True, body_field="computed_value"
        ),
        "protocol_property_declaration": SyntaxNodeRule("property", _name_swift_property, is_leaf=True),
        "typealias_declaration": SyntaxNodeRule("type", is_leaf=True),
        "associatedtype_declaration": SyntaxNodeRule("type", is_leaf=True),
        "enum_entry": SyntaxNodeRule("enum member", _name_swift_cases, is_leaf=True),
    },
    entered_nodes=word_set("source_file class_body enum_class_body protocol_body statements"),
    comment_nodes=word_set("comment multiline_comment"),
    import_rules={"import_declaration": lambda node, _place: last_named_child(node)},
    modifier_words=word_set(
        "public private fileprivate internal open package static class final override mutating nonmutating lazy weak "
        "required convenience indirect async throws nonisolated dynamic"
    ),
    export_rule=_is_public_in_swift,
    has_decorators=True,
    finish_symbols=_finish_swift_symbols,
)

LANGUAGE_DESCRIPTIONS = (CSHARP_LANGUAGE, SWIFT_LANGUAGE)
