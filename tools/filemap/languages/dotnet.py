"""Describes C# and Swift for maps of files."""

import re

from tree_sitter import Node

from tools.filemap.deadline import Deadline
from tools.filemap.language_description import (
    FoundSymbol,
    Language,
    NamedNode,
    NameRule,
    NodeContext,
    NodeRule,
    first_named_child,
    fixed_name_rule,
    last_named_child,
    method_rule_inside,
    word_set,
)
from tools.filemap.one_line_text import first_doc_line


def _name_csharp_fields(node: Node, place: NodeContext) -> list[Node] | None:
    parts = [part for part in node.named_children if part.type == "variable_declaration"]
    declarators = (
        each for part in parts for each in part.named_children if each.type == "variable_declarator"
    )
    names = (each.child_by_field_name("name") or first_named_child(each) for each in declarators)
    return [name for name in names if name is not None] or None


def _csharp_operator_rule(field: str) -> NameRule:
    def rule(node: Node, place: NodeContext) -> str | None:
        what = node.child_by_field_name(field)
        return f"operator {place.text(what)}" if what is not None else None

    return rule


def _name_csharp_parameter(node: Node, place: NodeContext) -> Node | None:
    """Returns the symbol name of a C# record's parameter, which is a property of the record."""
    is_property = place.ancestor_type(1) == "record_declaration"
    return node.child_by_field_name("name") if is_property else None


_XML_REFERENCE_PATTERN = re.compile(
    rb'<(?:see|paramref|typeparamref)\s+(?:cref|name|langword)="(?:\w:)?([^"]*)"\s*/>'
)
_XML_TAG_PATTERN = re.compile(rb"</?\w[^<>]*>|^[/ \t*]+")


def _finish_csharp_symbols(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Completes C# symbols: takes the text of an XML documentation comment instead of its first tag."""
    for draft in drafts:
        if draft.doc.startswith("<"):
            above = source[max(0, draft.start - 2000) : draft.start].rpartition(b"<summary>")[2]
            above = _XML_REFERENCE_PATTERN.sub(rb"\1", above)
            said = (_XML_TAG_PATTERN.sub(b"", line).strip() for line in above.split(b"\n"))
            draft.doc = first_doc_line(next((line for line in said if line), b"").decode("utf-8", "replace"))
    return drafts


CSHARP = Language(
    name="csharp",
    display_name="C#",
    node_rules={
        "namespace_declaration": NodeRule("namespace"),
        "file_scoped_namespace_declaration": NodeRule("namespace"),
        "class_declaration": NodeRule("class"),
        "interface_declaration": NodeRule("interface"),
        "struct_declaration": NodeRule("struct"),
        "record_declaration": NodeRule("record"),
        "enum_declaration": NodeRule("enum"),
        "enum_member_declaration": NodeRule("enum member", is_leaf=True),
        "delegate_declaration": NodeRule("delegate", is_leaf=True),
        "method_declaration": NodeRule("method", is_leaf=True),
        "constructor_declaration": NodeRule("constructor", is_leaf=True),
        "destructor_declaration": NodeRule("method", is_leaf=True),
        "property_declaration": NodeRule("property", is_leaf=True, body_field="accessors"),
        "event_declaration": NodeRule("event", is_leaf=True, body_field="accessors"),
        "indexer_declaration": NodeRule(
            "property", fixed_name_rule("this[]"), is_leaf=True, body_field="accessors"
        ),
        "operator_declaration": NodeRule("method", _csharp_operator_rule("operator"), is_leaf=True),
        "conversion_operator_declaration": NodeRule("method", _csharp_operator_rule("type"), is_leaf=True),
        "field_declaration": NodeRule("field", _name_csharp_fields, is_leaf=True),
        "event_field_declaration": NodeRule("event", _name_csharp_fields, is_leaf=True),
        "parameter": NodeRule("property", _name_csharp_parameter, is_leaf=True),
        "local_function_statement": NodeRule("function", is_leaf=True),
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


def _name_swift_type(node: Node, place: NodeContext) -> list[NamedNode] | None:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    before = place.source[node.start_byte : name.start_byte].decode("utf-8", "replace")
    found = _SWIFT_KEYWORD_PATTERN.findall(before)
    return [NamedNode(name, found[-1] if found else "class")]


def _name_swift_cases(node: Node, place: NodeContext) -> list[Node] | None:
    return [name for name in node.children_by_field_name("name") if name.type == "simple_identifier"] or None


def _name_swift_property(node: Node, place: NodeContext) -> list[Node] | None:
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


def _blank_swift_unsafe(source: bytes, _watch: Deadline) -> bytes:
    """Blanks out `(unsafe)` of Swift's `nonisolated(unsafe) var`, which the grammar takes for a pattern."""
    return source.replace(b"nonisolated(unsafe)", b"nonisolated        ")


SWIFT = Language(
    name="swift",
    prepare_source=_blank_swift_unsafe,
    node_rules={
        "class_declaration": NodeRule("class", _name_swift_type),
        "protocol_declaration": NodeRule("protocol"),
        "function_declaration": NodeRule(
            "function", method_rule_inside("class_body", "enum_class_body", "protocol_body"), is_leaf=True
        ),
        "protocol_function_declaration": NodeRule("method", is_leaf=True),
        "init_declaration": NodeRule("constructor", fixed_name_rule("init"), is_leaf=True),
        "deinit_declaration": NodeRule("method", fixed_name_rule("deinit"), is_leaf=True),
        "subscript_declaration": NodeRule("method", fixed_name_rule("subscript"), is_leaf=True),
        "property_declaration": NodeRule(
            "property", _name_swift_property, is_leaf=True, body_field="computed_value"
        ),
        "protocol_property_declaration": NodeRule("property", _name_swift_property, is_leaf=True),
        "typealias_declaration": NodeRule("type", is_leaf=True),
        "associatedtype_declaration": NodeRule("type", is_leaf=True),
        "enum_entry": NodeRule("enum member", _name_swift_cases, is_leaf=True),
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

LANGUAGES = (CSHARP, SWIFT)
