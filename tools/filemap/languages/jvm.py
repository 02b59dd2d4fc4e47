"""Describes Java, Kotlin and Scala for maps of files."""

import re

from tree_sitter import Node

from tools.filemap.language_description import (
    FoundSymbol,
    LanguageDescription,
    SymbolNameNode,
    SymbolNameRule,
    SymbolNameRuleResult,
    SyntaxNodeContext,
    SyntaxNodeRule,
    first_child_of_types,
    first_named_child,
    name_by_child_type,
    name_rule_for_methods_inside,
    name_rule_with_default,
    name_rule_with_fixed_name,
    word_set,
)
from tools.filemap.languages.web_routes import find_spring_routes


def _name_java_declarators(node: Node, place: SyntaxNodeContext) -> list[Node] | None:
    declarators = node.children_by_field_name("declarator")
    return [name for each in declarators if (name := each.child_by_field_name("name")) is not None] or None


JAVA_LANGUAGE = LanguageDescription(
    name="java",
    node_rules={
        "module_declaration": SyntaxNodeRule("module"),
        "class_declaration": SyntaxNodeRule("class"),
        "interface_declaration": SyntaxNodeRule("interface"),
        "enum_declaration": SyntaxNodeRule("enum"),
        "record_declaration": SyntaxNodeRule("record"),
        "annotation_type_declaration": SyntaxNodeRule("annotation"),
        "method_declaration": SyntaxNodeRule("method", is_leaf=True),
        "constructor_declaration": SyntaxNodeRule("constructor", is_leaf=True),
        "compact_constructor_declaration": SyntaxNodeRule("constructor", is_leaf=True),
        "annotation_type_element_declaration": SyntaxNodeRule("method", is_leaf=True),
        "field_declaration": SyntaxNodeRule("field", _name_java_declarators, is_leaf=True),
        "constant_declaration": SyntaxNodeRule("constant", _name_java_declarators, is_leaf=True),
        "enum_constant": SyntaxNodeRule("enum member"),
    },
    entered_nodes=word_set(
        "program class_body interface_body enum_body enum_body_declarations annotation_type_body"
    ),
    import_rules={"import_declaration": lambda node, _place: first_named_child(node)},
    modifier_words=word_set(
        "public private protected static final abstract synchronized native default sealed transient volatile strictfp"
    ),
    exporting_modifiers=word_set("public"),
    has_decorators=True,
    find_routes=find_spring_routes,
    has_type_before_name=True,
)


def _name_kotlin_class(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    name = first_child_of_types(node, "type_identifier", "simple_identifier")
    if name is None:
        return None
    before = place.source[node.start_byte : name.start_byte].decode("utf-8", "replace").split()
    kind = "interface" if "interface" in before else "enum" if "enum" in before else "class"
    return [SymbolNameNode(name, kind)]


def _name_kotlin_property(node: Node, place: SyntaxNodeContext) -> list[Node] | None:
    declared = (child for child in node.named_children if child.type == "variable_declaration")
    return [name for child in declared if (name := first_named_child(child)) is not None] or None


def _name_kotlin_parameter(node: Node, place: SyntaxNodeContext) -> Node | None:
    """Returns the symbol name of a Kotlin constructor parameter such as `val name: Type`, which declares a property
    of the class."""
    is_property = first_child_of_types(node, "binding_pattern_kind") is not None
    return first_child_of_types(node, "simple_identifier") if is_property else None


def _name_kotlin_companion(node: Node, place: SyntaxNodeContext) -> Node | str:
    return first_child_of_types(node, "type_identifier") or "companion"


def _is_public_in_kotlin(_draft: FoundSymbol, before: bytes) -> bool:
    return not {b"private", b"internal", b"protected"} & set(before.split())


KOTLIN_LANGUAGE = LanguageDescription(
    name="kotlin",
    node_rules={
        "class_declaration": SyntaxNodeRule("class", _name_kotlin_class),
        "object_declaration": SyntaxNodeRule("object", name_by_child_type("type_identifier")),
        "companion_object": SyntaxNodeRule("object", _name_kotlin_companion),
        "function_declaration": SyntaxNodeRule(
            "function", name_rule_for_methods_inside("class_body", "enum_class_body"), is_leaf=True
        ),
        "property_declaration": SyntaxNodeRule("property", _name_kotlin_property, is_leaf=True),
        "type_alias": SyntaxNodeRule("type", name_by_child_type("type_identifier"), is_leaf=True),
        "enum_entry": SyntaxNodeRule("enum member", name_by_child_type("simple_identifier")),
        "class_parameter": SyntaxNodeRule("property", _name_kotlin_parameter, is_leaf=True),
        "secondary_constructor": SyntaxNodeRule(
            "constructor", name_rule_with_fixed_name("constructor"), is_leaf=True
        ),
    },
    entered_nodes=word_set(
        "source_file import_list primary_constructor class_body enum_class_body statements"
    ),
    comment_nodes=word_set("line_comment multiline_comment comment"),
    import_rules={"import_header": name_by_child_type("identifier")},
    modifier_words=word_set(
        "public private protected internal open abstract sealed data inner value inline infix operator suspend "
        "override const lateinit tailrec external annotation companion final expect actual vararg"
    ),
    export_rule=_is_public_in_kotlin,
    has_decorators=True,
    find_routes=find_spring_routes,
)


def _name_scala_extension(node: Node, place: SyntaxNodeContext) -> str:
    parameters = node.child_by_field_name("parameters")
    return "extension " + (place.text(parameters) if parameters is not None else "")


def _scala_pattern_rule(field: str) -> SymbolNameRule:
    def rule(node: Node, place: SyntaxNodeContext) -> list[Node] | None:
        if place.ancestor_type() in _SCALA_BLOCK_NODES:
            return None
        names = node.children_by_field_name(field)
        if len(names) == 1 and names[0].type == "identifiers":
            names = names[0].named_children
        return [name for name in names if name.type in ("identifier", "operator_identifier")] or None

    return rule


_SCALA_VALUE_PATTERN = re.compile(rb"(?:@[\w.]+(?:\([^()]*\))?\s+|[a-z]+(?:\[\w+\])?\s+)*?(?:val|var)\s")
_SCALA_CASE_CLASS_PATTERN = re.compile(
    rb"(?:(?:final|sealed|private|protected|abstract)(?:\[\w+\])?\s+)*case\s"
)


def _name_scala_parameter(node: Node, place: SyntaxNodeContext) -> Node | None:
    """Returns the symbol name of a Scala class parameter that is a member: one of a case class, or `val name: Type`."""
    owner = node.parent.parent if node.parent is not None else None
    is_member = _SCALA_VALUE_PATTERN.match(place.source, node.start_byte, node.end_byte) or (
        owner is not None and _SCALA_CASE_CLASS_PATTERN.match(place.source, owner.start_byte, owner.end_byte)
    )
    return node.child_by_field_name("name") if is_member else None


def _name_scala_function(node: Node, place: SyntaxNodeContext) -> SymbolNameRuleResult:
    return None if place.ancestor_type() in _SCALA_BLOCK_NODES else _scala_method_rule(node, place)


_SCALA_BLOCK_NODES = word_set("block indented_block")
_scala_method_rule = name_rule_for_methods_inside("template_body", "with_template_body")
_SCALA_FUNCTION_RULE = SyntaxNodeRule("function", _name_scala_function)
_SCALA_COMMENT_PATTERN = re.compile(rb"[ \t]*(?://|/\*|\*)")


def _finish_scala_symbols(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Completes Scala symbols: a body that only indentation ends stops before the comment of the next declaration."""
    lines: list[bytes] | None = None
    for draft in drafts:
        if draft.node_type not in ("function_definition", "val_definition", "var_definition"):
            continue
        if draft.end_row > draft.start_row:
            lines = lines or source.split(b"\n")
            while draft.end_row > draft.start_row and _is_blank_or_comment(lines[draft.end_row]):
                draft.end_row -= 1
    return drafts


def _is_blank_or_comment(line: bytes) -> bool:
    return not line.strip() or _SCALA_COMMENT_PATTERN.match(line) is not None


SCALA_LANGUAGE = LanguageDescription(
    name="scala",
    node_rules={
        "object_definition": SyntaxNodeRule("object"),
        "package_object": SyntaxNodeRule("object"),
        "class_definition": SyntaxNodeRule("class"),
        "trait_definition": SyntaxNodeRule("trait"),
        "enum_definition": SyntaxNodeRule("enum"),
        "simple_enum_case": SyntaxNodeRule("enum member"),
        "full_enum_case": SyntaxNodeRule("enum member"),
        "function_definition": _SCALA_FUNCTION_RULE,
        "function_declaration": _SCALA_FUNCTION_RULE,
        "val_definition": SyntaxNodeRule("constant", _scala_pattern_rule("pattern"), body_field="value"),
        "val_declaration": SyntaxNodeRule("constant", _scala_pattern_rule("name"), is_leaf=True),
        "var_definition": SyntaxNodeRule(
            "variable", _scala_pattern_rule("pattern"), is_leaf=True, body_field="value"
        ),
        "var_declaration": SyntaxNodeRule("variable", _scala_pattern_rule("name"), is_leaf=True),
        "class_parameter": SyntaxNodeRule("field", _name_scala_parameter, is_leaf=True),
        "type_definition": SyntaxNodeRule("type", is_leaf=True),
        "given_definition": SyntaxNodeRule("given", name_rule_with_default("given")),
        "extension_definition": SyntaxNodeRule("extension", _name_scala_extension),
    },
    entered_nodes=word_set(
        "compilation_unit template_body enum_body enum_case_definitions package_clause with_template_body "
        "instance_expression block indented_block class_parameters"
    ),
    import_rules={"import_declaration": lambda node, place: place.text(node).removeprefix("import")},
    modifier_words=word_set(
        "private protected override implicit lazy final abstract sealed case inline open transparent opaque infix"
    ),
    export_rule=_is_public_in_kotlin,
    has_decorators=True,
    finish_symbols=_finish_scala_symbols,
)

LANGUAGE_DESCRIPTIONS = (JAVA_LANGUAGE, KOTLIN_LANGUAGE, SCALA_LANGUAGE)
