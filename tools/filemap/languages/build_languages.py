"""Describes languages of build and configuration files for maps: Dockerfile, Make, CMake, HCL, TOML."""

from tree_sitter import Node

from tools.filemap.language_description import (
    FoundSymbol,
    LanguageDescription,
    SymbolNameNode,
    SyntaxNodeContext,
    SyntaxNodeRule,
    first_child_of_types,
    first_line_of_node_without_body,
    first_named_child,
    last_named_child,
    name_by_child_type,
    word_set,
)
from tools.filemap.symbol_list_changes import sort_symbols_in_file_order


def _name_docker_stage(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode]:
    line = first_line_of_node_without_body(node, place, 120, until="")
    parts = line.split()
    lower = [part.lower() for part in parts]
    name = parts[lower.index("as") + 1] if "as" in lower[:-1] else parts[-1] if len(parts) > 1 else line
    return [SymbolNameNode(name, "stage", line)]


def _name_docker_instruction(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode]:
    line = first_line_of_node_without_body(node, place, 100, until="")
    return [SymbolNameNode(line.split()[0] if line else "", "", line)]


def _finish_docker_symbols(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Ends each build stage of a Dockerfile before the next one, and attaches its instructions."""
    drafts = sort_symbols_in_file_order(drafts)
    last_row = source.rstrip().count(b"\n")
    stage = -1
    for index, draft in enumerate(drafts):
        if draft.kind == "stage":
            if stage >= 0:
                drafts[stage].end_row = draft.start_row - 1
            stage, draft.end_row = index, last_row
        elif stage >= 0:
            draft.parent = stage
    return drafts


DOCKERFILE_LANGUAGE = LanguageDescription(
    name="dockerfile",
    node_rules={
        "from_instruction": SyntaxNodeRule("stage", _name_docker_stage),
        "arg_instruction": SyntaxNodeRule("argument", "name", is_leaf=True),
        "workdir_instruction": SyntaxNodeRule("instruction", _name_docker_instruction, is_leaf=True),
        "copy_instruction": SyntaxNodeRule("instruction", _name_docker_instruction, is_leaf=True),
        "add_instruction": SyntaxNodeRule("instruction", _name_docker_instruction, is_leaf=True),
        "run_instruction": SyntaxNodeRule("instruction", _name_docker_instruction, is_leaf=True),
        "expose_instruction": SyntaxNodeRule("instruction", _name_docker_instruction, is_leaf=True),
        "healthcheck_instruction": SyntaxNodeRule("instruction", _name_docker_instruction, is_leaf=True),
        "entrypoint_instruction": SyntaxNodeRule("entry", _name_docker_instruction, is_leaf=True),
        "cmd_instruction": SyntaxNodeRule("entry", _name_docker_instruction, is_leaf=True),
    },
    entered_nodes=word_set("source_file"),
    finish_symbols=_finish_docker_symbols,
)


def _name_make_targets(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    first = first_named_child(node)
    if first is None:
        return None
    names = place.text(first).split()
    return [
        SymbolNameNode(name, "target", first_line_of_node_without_body(node, place, 120, until=""))
        for name in names
        if name != ".PHONY"
    ][:20] or None


def _finish_make_symbols(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Ends each Make target at the last line of its recipe; later assignments do not belong to it."""
    for draft in drafts:
        if draft.kind == "target":
            draft.end_row = draft.start_row + _count_make_recipe_rows(source, draft.start)
        draft.parent = -1
    return drafts


def _count_make_recipe_rows(source: bytes, start: int) -> int:
    rows, is_continued = 0, True
    for row, line in enumerate(source[start : start + 50_000].split(b"\n")):
        if row and not is_continued and not line.startswith(b"\t"):
            if line.strip() and not line.startswith(b"#"):
                break
        else:
            rows = row
        is_continued = line.endswith(b"\\")
    return rows


MAKE_LANGUAGE = LanguageDescription(
    name="make",
    display_name="Makefile",
    node_rules={
        "rule": SyntaxNodeRule("target", _name_make_targets),
        "variable_assignment": SyntaxNodeRule("variable", is_leaf=True),
        "define_directive": SyntaxNodeRule("macro", is_leaf=True),
    },
    entered_nodes=word_set("makefile conditional else_directive elsif_directive recipe"),
    import_rules={"include_directive": name_by_child_type("list")},
    finish_symbols=_finish_make_symbols,
)

_SYMBOL_KIND_BY_CMAKE_COMMAND = {
    "project": "project", "add_executable": "target", "add_library": "target", "option": "option", "set": "variable",
    "add_subdirectory": "directory", "add_custom_target": "target", "add_test": "test", "find_package": "package",
    "install": "install", "add_custom_command": "command", "fetchcontent_declare": "package", "include": "include",
}  # fmt: skip


def _read_cmake_arguments(node: Node, place: SyntaxNodeContext) -> list[str]:
    found = first_child_of_types(node, "argument_list")
    return [place.text(argument) for argument in found.named_children[:4]] if found is not None else []


def _name_cmake_command(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    first = first_named_child(node)
    word = place.text(first).lower() if first is not None else ""
    kind = _SYMBOL_KIND_BY_CMAKE_COMMAND.get(word)
    arguments = _read_cmake_arguments(node, place)
    if kind is None or not arguments:
        return None
    return [SymbolNameNode(arguments[0], kind, f"{word}({' '.join(arguments)})"[:120])]


def _name_cmake_definition(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    head = first_named_child(node)
    arguments = _read_cmake_arguments(head, place) if head is not None else []
    return (
        [SymbolNameNode(arguments[0], "", f"{arguments[0]}({' '.join(arguments[1:])})")]
        if arguments
        else None
    )


CMAKE_LANGUAGE = LanguageDescription(
    name="cmake",
    display_name="CMake",
    node_rules={
        "function_def": SyntaxNodeRule("function", _name_cmake_definition, is_leaf=True),
        "macro_def": SyntaxNodeRule("macro", _name_cmake_definition, is_leaf=True),
        "normal_command": SyntaxNodeRule("command", _name_cmake_command, is_leaf=True),
    },
    entered_nodes=word_set("source_file if_condition body foreach_loop while_loop block_def"),
    comment_nodes=word_set("line_comment bracket_comment"),
)


_HCL_DECLARATION_BLOCK_TYPES = word_set("variable output")
"""Blocks whose attributes describe them (`type`, `default`) and are no symbols."""


def _is_in_hcl_declaration(node: Node, place: SyntaxNodeContext) -> bool:
    """Returns whether an HCL node is inside of a `variable` or `output` block."""
    above = node.parent
    while above is not None:
        word = first_named_child(above) if above.type == "block" else None
        if word is not None and place.text(word) in _HCL_DECLARATION_BLOCK_TYPES:
            return True
        above = above.parent
    return False


def _name_hcl_attribute(node: Node, place: SyntaxNodeContext) -> Node | None:
    return None if _is_in_hcl_declaration(node, place) else first_child_of_types(node, "identifier")


def _name_hcl_block(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    """Returns the symbol name of a Terraform block, made of its labels as other blocks refer to it: `resource
    aws_s3_bucket.files`."""
    if place.ancestor_type(1) == "block" and _is_in_hcl_declaration(node, place):
        return None
    labels = [
        place.text(child).strip('"')
        for child in node.named_children
        if child.type in ("identifier", "string_lit")
    ]
    kind = labels.pop(0) if len(labels) > 1 else "block"
    name = ".".join(labels)
    return [SymbolNameNode(name, kind, name)]


HCL_LANGUAGE = LanguageDescription(
    name="hcl",
    display_name="HCL",
    node_rules={
        "block": SyntaxNodeRule("block", _name_hcl_block),
        "attribute": SyntaxNodeRule("attribute", _name_hcl_attribute, is_leaf=True),
    },
    entered_nodes=word_set("config_file body"),
)


def _find_toml_key(node: Node) -> Node | None:
    return first_child_of_types(node, "bare_key", "dotted_key", "quoted_key")


def _name_toml_table(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    name = _find_toml_key(node)
    return (
        [SymbolNameNode(name, "", first_line_of_node_without_body(node, place, until="#"))]
        if name is not None
        else None
    )


def _name_toml_pair(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    name, value = _find_toml_key(node), last_named_child(node)
    if name is None or value is None:
        return None
    shown = place.text(name)
    kind = value.type
    about = {"inline_table": "table", "array": "array"}.get(kind, kind)
    if kind == "array":
        about = f"array of {value.named_child_count}"
    elif kind in ("string", "integer", "float", "boolean") and value.end_byte - value.start_byte < 60:
        about = " ".join(place.text(value).split())
    return [SymbolNameNode(name, "key", f"{shown} = {about}")]


def _finish_toml_symbols(drafts: list[FoundSymbol], _source: bytes) -> list[FoundSymbol]:
    """Ends a TOML table at its last key, because its syntax node includes the blank lines and comments below."""
    last: dict[int, int] = {}
    for draft in drafts:
        if draft.kind == "key" and draft.parent >= 0:
            last[draft.parent] = max(last.get(draft.parent, 0), draft.end_row)
    for index, draft in enumerate(drafts):
        if draft.kind == "table":
            draft.end_row = last.get(index, draft.start_row)
    return drafts


TOML_LANGUAGE = LanguageDescription(
    name="toml",
    display_name="TOML",
    node_rules={
        "table": SyntaxNodeRule("table", _name_toml_table),
        "table_array_element": SyntaxNodeRule("table", _name_toml_table),
        "pair": SyntaxNodeRule("key", _name_toml_pair, is_leaf=True),
    },
    entered_nodes=word_set("document"),
    finish_symbols=_finish_toml_symbols,
)

LANGUAGE_DESCRIPTIONS = (DOCKERFILE_LANGUAGE, MAKE_LANGUAGE, CMAKE_LANGUAGE, HCL_LANGUAGE, TOML_LANGUAGE)
