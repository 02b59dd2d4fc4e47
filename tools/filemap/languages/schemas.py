"""Describes Protobuf, GraphQL, Solidity, Verilog and VHDL for maps of files."""

import re

from tree_sitter import Node

from tools.filemap.deadline import Deadline
from tools.filemap.language_description import (
    FoundSymbol,
    Language,
    NamedNode,
    NameRuleResult,
    NodeContext,
    NodeRule,
    child_name_rule,
    child_of_type,
    descendant_name_rule,
    first_line_of_node,
    first_named_child,
    fixed_name_rule,
    word_set,
)
from tools.filemap.languages.macros import nested_arguments_regex
from tools.filemap.scanners.source_lines import RowCounter
from tools.filemap.symbol_lists import nest_symbols_by_range

PROTO = Language(
    name="proto",
    display_name="Protobuf",
    node_rules={
        "package": NodeRule("package", child_name_rule("full_ident"), is_leaf=True),
        "message": NodeRule("message", child_name_rule("message_name")),
        "enum": NodeRule("enum", child_name_rule("enum_name")),
        "service": NodeRule("service", child_name_rule("service_name")),
        "rpc": NodeRule("method", child_name_rule("rpc_name"), is_leaf=True),
        "field": NodeRule("field", child_name_rule("identifier"), is_leaf=True),
        "map_field": NodeRule("field", child_name_rule("identifier"), is_leaf=True),
        "oneof": NodeRule("oneof", child_name_rule("identifier")),
        "oneof_field": NodeRule("field", child_name_rule("identifier"), is_leaf=True),
        "enum_field": NodeRule("enum member", child_name_rule("identifier"), is_leaf=True),
        "extend": NodeRule("extension", child_name_rule("full_ident")),
    },
    entered_nodes=word_set("source_file message_body enum_body"),
    import_rules={"import": "path"},
    has_type_before_name=True,
)


def _name_graphql_value(node: Node, place: NodeContext) -> NameRuleResult:
    return child_of_type(node, "name") if place.ancestor_type() == "input_fields_definition" else None


def _name_graphql_operation(node: Node, place: NodeContext) -> list[NamedNode]:
    line = first_line_of_node(node, place)
    return [NamedNode(child_of_type(node, "name") or line or "query", "operation", line)]


_SYMBOL_KIND_BY_GRAPHQL_WORD = {
    "object": "type",
    "interface": "interface",
    "input_object": "input",
    "enum": "enum",
    "union": "union",
    "scalar": "scalar",
}
GRAPHQL = Language(
    name="graphql",
    display_name="GraphQL",
    node_rules={
        **{
            f"{word}_type_definition": NodeRule(kind, child_name_rule("name"))
            for word, kind in _SYMBOL_KIND_BY_GRAPHQL_WORD.items()
        },
        **{
            f"{word}_type_extension": NodeRule("extension", child_name_rule("name"))
            for word in _SYMBOL_KIND_BY_GRAPHQL_WORD
        },
        "field_definition": NodeRule("field", child_name_rule("name"), is_leaf=True),
        "input_value_definition": NodeRule("field", _name_graphql_value, is_leaf=True),
        "enum_value_definition": NodeRule("enum member", child_name_rule("enum_value"), is_leaf=True),
        "directive_definition": NodeRule("directive", child_name_rule("name"), is_leaf=True),
        "operation_definition": NodeRule("operation", _name_graphql_operation, is_leaf=True),
        "fragment_definition": NodeRule("fragment", child_name_rule("fragment_name"), is_leaf=True),
        "schema_definition": NodeRule("schema", fixed_name_rule("schema"), is_leaf=True),
    },
    entered_nodes=word_set(
        "source_file document definition type_system_definition type_definition type_system_extension type_extension "
        "executable_definition fields_definition input_fields_definition enum_values_definition"
    ),
)


def _name_solidity_fallback(node: Node, place: NodeContext) -> str:
    return place.text(node).split("(")[0].strip()


SOLIDITY = Language(
    name="solidity",
    node_rules={
        "contract_declaration": NodeRule("contract"),
        "interface_declaration": NodeRule("interface"),
        "library_declaration": NodeRule("library"),
        "function_definition": NodeRule("function", is_leaf=True),
        "modifier_definition": NodeRule("modifier", is_leaf=True),
        "constructor_definition": NodeRule("constructor", fixed_name_rule("constructor"), is_leaf=True),
        "fallback_receive_definition": NodeRule("function", _name_solidity_fallback, is_leaf=True),
        "event_definition": NodeRule("event", is_leaf=True),
        "error_declaration": NodeRule("error", is_leaf=True),
        "struct_declaration": NodeRule("struct"),
        "struct_member": NodeRule("field", is_leaf=True),
        "enum_declaration": NodeRule("enum"),
        "enum_value": NodeRule("enum member", lambda node, _place: node, is_leaf=True),
        "state_variable_declaration": NodeRule("field", is_leaf=True),
        "constant_variable_declaration": NodeRule("constant", is_leaf=True),
        "user_defined_type_definition": NodeRule("type", is_leaf=True),
    },
    entered_nodes=word_set("source_file contract_body struct_body enum_body"),
    import_rules={"import_directive": "source"},
    has_type_before_name=True,
)


def _name_by_first_line(node: Node, place: NodeContext) -> list[NamedNode]:
    line = first_line_of_node(node, place, 60, until="begin")
    return [NamedNode(line, "", line)]


_VERILOG_MODULE_PATTERN = re.compile(
    rb"^[ \t]*(?P<word>module|interface)[ \t]+(?:automatic[ \t]+)?(?P<name>[A-Za-z_]\w*)", re.M
)
_VERILOG_MODULE_END_PATTERN = re.compile(rb"^[ \t]*end(?:module|interface)\b", re.M)


def _add_missed_verilog_modules(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Adds Verilog modules that a syntax error in another module hides, by their first and last lines."""
    known = {draft.start_row: draft for draft in drafts if draft.kind in ("module", "interface")}
    rows = RowCounter(source)
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


_VERILOG_MACRO_CALL_REGEX = rb"`[A-Za-z_]\w*" + nested_arguments_regex(rb"[^()]")
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


def _blank_misread_verilog_macros(source: bytes, watch: Deadline) -> bytes:
    def of_module(match: re.Match[bytes]) -> bytes:
        watch.raise_if_over()
        return _VERILOG_MISREAD_PATTERN.sub(_blank_misread_verilog_macro, match[0])

    return _VERILOG_MODULE_TEXT_PATTERN.sub(of_module, source)


def _name_verilog_members(node: Node, _place: NodeContext) -> list[Node] | None:
    declared = child_of_type(node, "list_of_variable_decl_assignments")
    names = (first_named_child(each) for each in declared.named_children) if declared is not None else ()
    return [name for name in names if name is not None] or None


VERILOG = Language(
    name="verilog",
    node_rules={
        "module_declaration": NodeRule("module", descendant_name_rule("simple_identifier")),
        "interface_declaration": NodeRule("interface", descendant_name_rule("interface_identifier")),
        "package_declaration": NodeRule("package", descendant_name_rule("package_identifier")),
        "program_declaration": NodeRule("program", descendant_name_rule("program_identifier")),
        "class_declaration": NodeRule("class", descendant_name_rule("class_identifier")),
        "function_declaration": NodeRule(
            "function", descendant_name_rule("function_identifier"), is_leaf=True
        ),
        "task_declaration": NodeRule("task", descendant_name_rule("task_identifier"), is_leaf=True),
        "class_constructor_declaration": NodeRule("constructor", fixed_name_rule("new"), is_leaf=True),
        "text_macro_definition": NodeRule(
            "macro", descendant_name_rule("text_macro_identifier"), is_leaf=True
        ),
        "module_instantiation": NodeRule("instance", descendant_name_rule("name_of_instance"), is_leaf=True),
        "interface_instantiation": NodeRule(
            "instance", descendant_name_rule("name_of_instance"), is_leaf=True
        ),
        "program_instantiation": NodeRule("instance", descendant_name_rule("name_of_instance"), is_leaf=True),
        "checker_instantiation": NodeRule("instance", descendant_name_rule("name_of_checker"), is_leaf=True),
        "always_construct": NodeRule("always", _name_by_first_line, is_leaf=True),
        "initial_construct": NodeRule("initial", _name_by_first_line, is_leaf=True),
        "type_declaration": NodeRule("type", descendant_name_rule("simple_identifier")),
        "enum_name_declaration": NodeRule(
            "enum member", descendant_name_rule("simple_identifier"), is_leaf=True
        ),
        "type_assignment": NodeRule("type", child_name_rule("simple_identifier"), is_leaf=True),
        "struct_union_member": NodeRule("field", _name_verilog_members, is_leaf=True),
        "param_assignment": NodeRule("constant", descendant_name_rule("parameter_identifier"), is_leaf=True),
        "modport_declaration": NodeRule("modport", descendant_name_rule("modport_identifier"), is_leaf=True),
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


def _name_vhdl_statement(node: Node, place: NodeContext) -> Node | None:
    """Returns the symbol name of a VHDL statement: the label before it (`name :`), without the colon."""
    found = child_of_type(node, "label")
    return first_named_child(found) if found is not None else None


def _name_vhdl_process(node: Node, place: NodeContext) -> NameRuleResult:
    return _name_vhdl_statement(node, place) or "process"


VHDL = Language(
    name="vhdl",
    display_name="VHDL",
    node_rules={
        "entity_declaration": NodeRule("entity"),
        "architecture_body": NodeRule("architecture"),
        "package_declaration": NodeRule("package"),
        "package_body": NodeRule("package body", "package"),
        "configuration_declaration": NodeRule("configuration"),
        "component_declaration": NodeRule("component", is_leaf=True),
        "function_body": NodeRule(
            "function", descendant_name_rule("identifier", "operator_symbol"), is_leaf=True
        ),
        "function_declaration": NodeRule("function", "designator", is_leaf=True),
        "procedure_body": NodeRule("procedure", descendant_name_rule("identifier"), is_leaf=True),
        "procedure_declaration": NodeRule("procedure", "designator", is_leaf=True),
        "process_statement": NodeRule("process", _name_vhdl_process, is_leaf=True),
        "signal_declaration": NodeRule("signal", descendant_name_rule("identifier"), is_leaf=True),
        "constant_declaration": NodeRule("constant", descendant_name_rule("identifier"), is_leaf=True),
        "full_type_declaration": NodeRule("type", is_leaf=True),
        "component_instantiation_statement": NodeRule("instance", _name_vhdl_statement, is_leaf=True),
        "block_statement": NodeRule("block", _name_vhdl_statement),
        "if_generate_statement": NodeRule("generate", _name_vhdl_statement),
        "for_generate_statement": NodeRule("generate", _name_vhdl_statement),
        "case_generate_statement": NodeRule("generate", _name_vhdl_statement),
    },
    entered_nodes=word_set(
        "design_file design_unit declarative_part concurrent_statement_part if_generate generate_statement_body "
        "elsif_generate else_generate case_generate_alternative"
    ),
    import_rules={"use_clause": descendant_name_rule("selected_name")},
)

LANGUAGES = (PROTO, GRAPHQL, SOLIDITY, VERILOG, VHDL)
