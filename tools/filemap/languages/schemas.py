"""Describes Protobuf, GraphQL, Solidity, Verilog and VHDL for maps of files."""

import re

from tree_sitter import Node

from tools.filemap.language_description import (
    FoundSymbol,
    LanguageDescription,
    SymbolNameNode,
    SymbolNameRuleResult,
    SyntaxNodeContext,
    SyntaxNodeRule,
    first_child_of_types,
    first_line_of_node_without_body,
    first_named_child,
    name_by_child_type,
    name_rule_by_descendant_type,
    name_rule_with_fixed_name,
    word_set,
)
from tools.filemap.languages.c_macros import make_nested_arguments_regex
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.scanners.source_lines import SourceRowCounter
from tools.filemap.symbol_list_changes import nest_symbols_by_range

PROTO_LANGUAGE = LanguageDescription(
    name="proto",
    display_name="Protobuf",
    node_rules={
        "package": SyntaxNodeRule("package", name_by_child_type("full_ident"), is_leaf=True),
        "message": SyntaxNodeRule("message", name_by_child_type("message_name")),
        "enum": SyntaxNodeRule("enum", name_by_child_type("enum_name")),
        "service": SyntaxNodeRule("service", name_by_child_type("service_name")),
        "rpc": SyntaxNodeRule("method", name_by_child_type("rpc_name"), is_leaf=True),
        "field": SyntaxNodeRule("field", name_by_child_type("identifier"), is_leaf=True),
        "map_field": SyntaxNodeRule("field", name_by_child_type("identifier"), is_leaf=True),
        "oneof": SyntaxNodeRule("oneof", name_by_child_type("identifier")),
        "oneof_field": SyntaxNodeRule("field", name_by_child_type("identifier"), is_leaf=True),
        "enum_field": SyntaxNodeRule("enum member", name_by_child_type("identifier"), is_leaf=True),
        "extend": SyntaxNodeRule("extension", name_by_child_type("full_ident")),
    },
    entered_nodes=word_set("source_file message_body enum_body"),
    import_rules={"import": "path"},
    has_type_before_name=True,
)


def _name_graphql_value(node: Node, place: SyntaxNodeContext) -> SymbolNameRuleResult:
    return first_child_of_types(node, "name") if place.ancestor_type() == "input_fields_definition" else None


def _name_graphql_operation(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode]:
    line = first_line_of_node_without_body(node, place)
    return [SymbolNameNode(first_child_of_types(node, "name") or line or "query", "operation", line)]


_SYMBOL_KIND_BY_GRAPHQL_WORD = {
    "object": "type",
    "interface": "interface",
    "input_object": "input",
    "enum": "enum",
    "union": "union",
    "scalar": "scalar",
}
GRAPHQL_LANGUAGE = LanguageDescription(
    name="graphql",
    display_name="GraphQL",
    node_rules={
        **{
            f"{word}_type_definition": SyntaxNodeRule(kind, name_by_child_type("name"))
            for word, kind in _SYMBOL_KIND_BY_GRAPHQL_WORD.items()
        },
        **{
            f"{word}_type_extension": SyntaxNodeRule("extension", name_by_child_type("name"))
            for word in _SYMBOL_KIND_BY_GRAPHQL_WORD
        },
        "field_definition": SyntaxNodeRule("field", name_by_child_type("name"), is_leaf=True),
        "input_value_definition": SyntaxNodeRule("field", _name_graphql_value, is_leaf=True),
        "enum_value_definition": SyntaxNodeRule(
            "enum member", name_by_child_type("enum_value"), is_leaf=True
        ),
        "directive_definition": SyntaxNodeRule("directive", name_by_child_type("name"), is_leaf=True),
        "operation_definition": SyntaxNodeRule("operation", _name_graphql_operation, is_leaf=True),
        "fragment_definition": SyntaxNodeRule("fragment", name_by_child_type("fragment_name"), is_leaf=True),
        "schema_definition": SyntaxNodeRule("schema", name_rule_with_fixed_name("schema"), is_leaf=True),
    },
    entered_nodes=word_set(
        "source_file document definition type_system_definition type_definition type_system_extension type_extension "
        "executable_definition fields_definition input_fields_definition enum_values_definition"
    ),
)


def _name_solidity_fallback(node: Node, place: SyntaxNodeContext) -> str:
    return place.text(node).split("(")[0].strip()


SOLIDITY_LANGUAGE = LanguageDescription(
    name="solidity",
    node_rules={
        "contract_declaration": SyntaxNodeRule("contract"),
        "interface_declaration": SyntaxNodeRule("interface"),
        "library_declaration": SyntaxNodeRule("library"),
        "function_definition": SyntaxNodeRule("function", is_leaf=True),
        "modifier_definition": SyntaxNodeRule("modifier", is_leaf=True),
        "constructor_definition": SyntaxNodeRule(
            "constructor", name_rule_with_fixed_name("constructor"), is_leaf=True
        ),
        "fallback_receive_definition": SyntaxNodeRule("function", _name_solidity_fallback, is_leaf=True),
        "event_definition": SyntaxNodeRule("event", is_leaf=True),
        "error_declaration": SyntaxNodeRule("error", is_leaf=True),
        "struct_declaration": SyntaxNodeRule("struct"),
        "struct_member": SyntaxNodeRule("field", is_leaf=True),
        "enum_declaration": SyntaxNodeRule("enum"),
        "enum_value": SyntaxNodeRule("enum member", lambda node, _place: node, is_leaf=True),
        "state_variable_declaration": SyntaxNodeRule("field", is_leaf=True),
        "constant_variable_declaration": SyntaxNodeRule("constant", is_leaf=True),
        "user_defined_type_definition": SyntaxNodeRule("type", is_leaf=True),
    },
    entered_nodes=word_set("source_file contract_body struct_body enum_body"),
    import_rules={"import_directive": "source"},
    has_type_before_name=True,
)


def _name_by_first_line(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode]:
    line = first_line_of_node_without_body(node, place, 60, until="begin")
    return [SymbolNameNode(line, "", line)]


_VERILOG_MODULE_PATTERN = re.compile(
    rb"^[ \t]*(?P<word>module|interface)[ \t]+(?:automatic[ \t]+)?(?P<name>[A-Za-z_]\w*)", re.M
)
_VERILOG_MODULE_END_PATTERN = re.compile(rb"^[ \t]*end(?:module|interface)\b", re.M)


def _add_missed_verilog_modules(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Adds Verilog modules that a syntax error in another module hides, by their first and last lines."""
    known = {draft.start_row: draft for draft in drafts if draft.kind in ("module", "interface")}
    rows = SourceRowCounter(source)
    for match in _VERILOG_MODULE_PATTERN.finditer(source):
        row = rows.row_of(match.start())
        end = _VERILOG_MODULE_END_PATTERN.search(source, match.end())
        if end is None:
            break
        end_row = row + source.count(b"\n", match.start(), end.start())
        name = match["name"].decode()
        draft = next(
            (known[near] for near in (row, row - 1) if near in known and known[near].name == name), None
        )
        if draft is None:
            draft = FoundSymbol(name, match["word"].decode(), match.start("word"), row, row, signature=name)
            drafts.append(draft)
        draft.start_row, draft.end_row = row, end_row
    return nest_symbols_by_range(drafts)


_VERILOG_MACRO_CALL_REGEX = rb"`[A-Za-z_]\w*" + make_nested_arguments_regex(rb"[^()]")
_VERILOG_MISREAD_PATTERN = re.compile(
    rb"^(?P<kept>[ \t]*`define\b(?:[^\n\\]|\\\r?\n|\\.)*)"
    rb"|^[ \t]*`(?:(?:ifn?def|elsif)[ \t]+\w+|else\b|endif\b)"
    rb"|^[ \t]*`[A-Za-z_]\w*(?=[ \t]+(?:reg|wire|logic)\b)"
    rb"|^[ \t]*" + _VERILOG_MACRO_CALL_REGEX + rb"(?=[ \t]*;?[ \t]*(?://[^\n]*|end)?\r?$)"
    rb"|(?P<value>" + _VERILOG_MACRO_CALL_REGEX + rb")"
    rb"|(?<=[\w\]])(?:\.[A-Za-z_]\w*|\[[^\[\]\n;]*\])+(?=[ \t]*=(?!=))",
    re.M,
)
"""Matches what the grammar cannot place: conditions around a port, `LIB_KEEP reg a`, `` `assert(a);``, `` `MAX(a, b)``,
and the index in `a[1] = 0`."""
_NOT_BLANK_PATTERN = re.compile(rb"\S")


def _blank_misread_verilog_macro(match: re.Match[bytes]) -> bytes:
    if match["kept"] is not None:
        return match[0]
    value = match["value"]
    if value is not None and b"\n" not in value:
        return b"0" * len(value)
    blank = _NOT_BLANK_PATTERN.sub(b" ", match[0])
    return blank if value is None else b"0" + blank[1:]


_VERILOG_MODULE_TEXT_PATTERN = re.compile(
    rb"^[ \t]*(?P<word>module|interface|package)\b.*?^[ \t]*end(?P=word)\b", re.M | re.S
)


def _blank_misread_verilog_macros(source: bytes, watch: MapDeadline) -> bytes:
    def of_module(match: re.Match[bytes]) -> bytes:
        watch.raise_if_deadline_over()
        return _VERILOG_MISREAD_PATTERN.sub(_blank_misread_verilog_macro, match[0])

    return _VERILOG_MODULE_TEXT_PATTERN.sub(of_module, source)


def _name_verilog_members(node: Node, _place: SyntaxNodeContext) -> list[Node] | None:
    declared = first_child_of_types(node, "list_of_variable_decl_assignments")
    names = (first_named_child(each) for each in declared.named_children) if declared is not None else ()
    return [name for name in names if name is not None] or None


VERILOG_LANGUAGE = LanguageDescription(
    name="verilog",
    node_rules={
        "module_declaration": SyntaxNodeRule("module", name_rule_by_descendant_type("simple_identifier")),
        "interface_declaration": SyntaxNodeRule(
            "interface", name_rule_by_descendant_type("interface_identifier")
        ),
        "package_declaration": SyntaxNodeRule("package", name_rule_by_descendant_type("package_identifier")),
        "program_declaration": SyntaxNodeRule("program", name_rule_by_descendant_type("program_identifier")),
        "class_declaration": SyntaxNodeRule("class", name_rule_by_descendant_type("class_identifier")),
        "function_declaration": SyntaxNodeRule(
            "function", name_rule_by_descendant_type("function_identifier"), is_leaf=True
        ),
        "task_declaration": SyntaxNodeRule(
            "task", name_rule_by_descendant_type("task_identifier"), is_leaf=True
        ),
        "class_constructor_declaration": SyntaxNodeRule(
            "constructor", name_rule_with_fixed_name("new"), is_leaf=True
        ),
        "text_macro_definition": SyntaxNodeRule(
            "macro", name_rule_by_descendant_type("text_macro_identifier"), is_leaf=True
        ),
        "module_instantiation": SyntaxNodeRule(
            "instance", name_rule_by_descendant_type("name_of_instance"), is_leaf=True
        ),
        "interface_instantiation": SyntaxNodeRule(
            "instance", name_rule_by_descendant_type("name_of_instance"), is_leaf=True
        ),
        "program_instantiation": SyntaxNodeRule(
            "instance", name_rule_by_descendant_type("name_of_instance"), is_leaf=True
        ),
        "checker_instantiation": SyntaxNodeRule(
            "instance", name_rule_by_descendant_type("name_of_checker"), is_leaf=True
        ),
        "always_construct": SyntaxNodeRule("always", _name_by_first_line, is_leaf=True),
        "initial_construct": SyntaxNodeRule("initial", _name_by_first_line, is_leaf=True),
        "type_declaration": SyntaxNodeRule("type", name_rule_by_descendant_type("simple_identifier")),
        "enum_name_declaration": SyntaxNodeRule(
            "enum member", name_rule_by_descendant_type("simple_identifier"), is_leaf=True
        ),
        "type_assignment": SyntaxNodeRule("type", name_by_child_type("simple_identifier"), is_leaf=True),
        "struct_union_member": SyntaxNodeRule("field", _name_verilog_members, is_leaf=True),
        "param_assignment": SyntaxNodeRule(
            "constant", name_rule_by_descendant_type("parameter_identifier"), is_leaf=True
        ),
        "modport_declaration": SyntaxNodeRule(
            "modport", name_rule_by_descendant_type("modport_identifier"), is_leaf=True
        ),
    },
    entered_nodes=word_set(
        "source_file module_or_generate_item package_or_generate_item_declaration interface_or_generate_item "
        "class_item class_method generate_region data_declaration loop_generate_construct "
        "generate_block if_generate_construct case_generate_construct case_generate_item interface_item "
        "module_ansi_header module_nonansi_header interface_ansi_header parameter_port_list "
        "parameter_port_declaration parameter_declaration "
        "local_parameter_declaration list_of_param_assignments list_of_type_assignments data_type "
        "data_type_or_implicit1"
    ),
    prepare_source=_blank_misread_verilog_macros,
    recover_symbols=_add_missed_verilog_modules,
)


def _name_vhdl_statement(node: Node, place: SyntaxNodeContext) -> Node | None:
    """Returns the symbol name of a VHDL statement: the label before it (`name :`), without the colon."""
    found = first_child_of_types(node, "label")
    return first_named_child(found) if found is not None else None


def _name_vhdl_process(node: Node, place: SyntaxNodeContext) -> SymbolNameRuleResult:
    return _name_vhdl_statement(node, place) or "process"


VHDL_LANGUAGE = LanguageDescription(
    name="vhdl",
    display_name="VHDL",
    node_rules={
        "entity_declaration": SyntaxNodeRule("entity"),
        "architecture_body": SyntaxNodeRule("architecture"),
        "package_declaration": SyntaxNodeRule("package"),
        "package_body": SyntaxNodeRule("package body", "package"),
        "configuration_declaration": SyntaxNodeRule("configuration"),
        "component_declaration": SyntaxNodeRule("component", is_leaf=True),
        "function_body": SyntaxNodeRule(
            "function", name_rule_by_descendant_type("identifier", "operator_symbol"), is_leaf=True
        ),
        "function_declaration": SyntaxNodeRule("function", "designator", is_leaf=True),
        "procedure_body": SyntaxNodeRule(
            "procedure", name_rule_by_descendant_type("identifier"), is_leaf=True
        ),
        "procedure_declaration": SyntaxNodeRule("procedure", "designator", is_leaf=True),
        "process_statement": SyntaxNodeRule("process", _name_vhdl_process, is_leaf=True),
        "signal_declaration": SyntaxNodeRule(
            "signal", name_rule_by_descendant_type("identifier"), is_leaf=True
        ),
        "constant_declaration": SyntaxNodeRule(
            "constant", name_rule_by_descendant_type("identifier"), is_leaf=True
        ),
        "full_type_declaration": SyntaxNodeRule("type", is_leaf=True),
        "component_instantiation_statement": SyntaxNodeRule("instance", _name_vhdl_statement, is_leaf=True),
        "block_statement": SyntaxNodeRule("block", _name_vhdl_statement),
        "if_generate_statement": SyntaxNodeRule("generate", _name_vhdl_statement),
        "for_generate_statement": SyntaxNodeRule("generate", _name_vhdl_statement),
        "case_generate_statement": SyntaxNodeRule("generate", _name_vhdl_statement),
    },
    entered_nodes=word_set(
        "design_file design_unit declarative_part concurrent_statement_part if_generate generate_statement_body "
        "elsif_generate else_generate case_generate_alternative"
    ),
    import_rules={"use_clause": name_rule_by_descendant_type("selected_name")},
)

LANGUAGE_DESCRIPTIONS = (PROTO_LANGUAGE, GRAPHQL_LANGUAGE, SOLIDITY_LANGUAGE, VERILOG_LANGUAGE, VHDL_LANGUAGE)
