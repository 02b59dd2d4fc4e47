"""Compares maps with a reference: `python -m bench filemap-reference FOLDER`.

`FOLDER` holds source files of any languages. The reference is Universal Ctags; for languages that it does not know or
reads badly, a query on the grammar. Counted are functions, methods, types, modules, macros, members of named types,
and constants and variables outside of functions. Not counted are locals, parameters, imports, labels, ports, wires, and
what belongs to something without a name."""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import msgspec
from tree_sitter import Node, Parser, Query, QueryCursor

from bench.table import Row
from tools.filemap.file_map import FileMap, Symbol
from tools.filemap.file_mapper import make_file_map
from tools.filemap.language_description import word_set
from tools.filemap.language_detection import detect_language
from tools.filemap.languages.language_registry import has_language_description, language_named
from tools.filemap.tree_sitter_parsing import load_tree_sitter_grammar

_CTAGS = ["ctags", "--options=NONE", "--output-format=json", "--fields=NnKeSslE", "--kinds-all=*"]
_CTAGS_NAMES = {"cuda": "C++", "cpp": "C++"}
"""Languages that ctags takes for another one by the file's name."""

_LOCAL = word_set(
    "common local parameter tparam macroparam label heredoc format import include header alias using name "
    "unknown receiver packageName functionVar vector list dataframe nameattr libraries library sources "
    "block instance port net register generic signal process component record subroutineDeclaration using"
)
"""Kinds that are no symbols, or belong to the body of one."""
_SOMETIMES_LOCAL = word_set("variable constant var val property typedef")
"""Kinds that are local inside of a function."""
_UNCOUNTED_BY_LANGUAGE = {
    "powershell": {"variable"},
    "fortran": {"prototype"},
    "vhdl": {"variable"},
    "elm": {"namespace", "function in function"},
    "perl": {"subroutineDeclaration", "package"},
    "java": {"package"},
    "verilog": {"enum", "assert"},
    "go": {"package"},
}
_COUNTED_LINES = {
    "scss": re.compile(r"\s*[$@%]"),
    "objc": re.compile(r"(?!.*\(\^|.*AVAILABLE\(|@interface \w+ \(\)|#if)"),
    "objcpp": re.compile(r"(?!.*\(\^|.*AVAILABLE\(|@interface \w+ \(\)|#if|@property|\w+ ?[\w *]*\()"),
    "lua": re.compile(r"(?!.*= *[\w.:]+\(.*function\b).*\bfunction\b[\w.: ]*\("),
    "java": re.compile(r"(?!\s*\}?[\w.]*\.\w+\(|.*[(,] *\w+(?:\.\w+)+\()"),
    "verilog": re.compile(r"(?!\s*export\b)"),
    "r": re.compile(r"(?!\s+\.?\w+ *<<?-(?! *function))"),
    "fortran": re.compile(r"(?!.*:: *[A-Z]+\()"),
}
"""Lines that ctags reads rightly. It takes keys of maps for variables, parameters of blocks for types, functions of
Objective-C++ for categories, calls of Java for methods, calls with a function in Lua for that function, assignments in
methods of R for variables, and macros of Fortran's preprocessor for names."""
_ANONYMOUS = re.compile(r"__anon\w+|(?i:\w*anonymous\w*)|<lambda>|anonFunc\w+")
_FUNCTION_SCOPES = word_set("function method func subroutine singletonMethod task program")

_SCALA_QUERY = """
(trait_definition name: (identifier) @name) (enum_definition name: (identifier) @name)
(class_definition name: (identifier) @name) (object_definition name: (identifier) @name)
(function_definition name: (_) @name) (function_declaration name: (_) @name)
(val_definition pattern: (identifier) @name) (var_definition pattern: (identifier) @name)
(val_declaration name: (identifier) @name) (var_declaration name: (identifier) @name)
(type_definition name: (type_identifier) @name)
"""
_SWIFT_QUERY = """
(class_declaration name: (_) @name) (protocol_declaration name: (type_identifier) @name)
(function_declaration name: (simple_identifier) @name) (protocol_function_declaration name: (simple_identifier) @name)
(init_declaration "init" @name) (deinit_declaration "deinit" @name) (subscript_declaration "subscript" @name)
(property_declaration name: (pattern (simple_identifier) @name))
(protocol_property_declaration name: (pattern (simple_identifier) @name))
(typealias_declaration name: (type_identifier) @name) (enum_entry name: (simple_identifier) @name)
"""
_DART_QUERY = """
(class_definition name: (identifier) @name) (type_alias (type_identifier) @name)
(mixin_declaration (identifier) @name) (extension_declaration name: (identifier) @name)
(enum_declaration name: (identifier) @name) (enum_constant name: (identifier) @name)
(function_signature name: (identifier) @name) (getter_signature name: (identifier) @name)
(setter_signature name: (identifier) @name)
(constructor_signature name: (identifier) @name) (constant_constructor_signature (identifier) @name)
(initialized_identifier (identifier) @name) (static_final_declaration (identifier) @name)
"""
_SOLIDITY_QUERY = """
(contract_declaration name: (identifier) @name) (interface_declaration name: (identifier) @name)
(library_declaration name: (identifier) @name) (struct_declaration name: (identifier) @name)
(enum_declaration name: (identifier) @name) (event_definition name: (identifier) @name)
(function_definition name: (identifier) @name) (modifier_definition name: (identifier) @name)
(state_variable_declaration name: (identifier) @name) (error_declaration name: (identifier) @name)
"""
_ZIG_QUERY = """
(FnProto function: (IDENTIFIER) @name) (VarDecl variable_type_function: (IDENTIFIER) @name)
(ContainerField field_member: (IDENTIFIER) @name)
"""
_HCL_QUERY = "(config_file (body (block (string_lit (template_literal) @name) . (block_start))))"
_CLOJURE_QUERY = """
(source (list_lit . (sym_lit) @form . (sym_lit (sym_name) @name)) (#match? @form "^(clojure.core/)?(def|ns$)"))
"""
_CSHARP_QUERY = """
(namespace_declaration name: (_) @name) (class_declaration name: (_) @name) (interface_declaration name: (_) @name)
(struct_declaration name: (_) @name) (record_declaration name: (_) @name) (enum_declaration name: (_) @name)
(enum_member_declaration name: (_) @name) (delegate_declaration name: (_) @name) (method_declaration name: (_) @name)
(constructor_declaration name: (_) @name) (property_declaration name: (_) @name) (event_declaration name: (_) @name)
(field_declaration (variable_declaration (variable_declarator name: (_) @name)))
(event_field_declaration (variable_declaration (variable_declarator name: (_) @name)))
"""
_OCAML_QUERY = """
(compilation_unit (value_definition (let_binding pattern: (value_name) @name)))
(structure (value_definition (let_binding pattern: (value_name) @name)))
(type_binding name: (_) @name) (module_binding (module_name) @name) (module_type_definition (module_type_name) @name)
(constructor_declaration (constructor_name) @name) (field_declaration (field_name) @name)
(value_specification (value_name) @name) (external (value_name) @name)
(exception_definition (_ (constructor_name) @name))
(class_binding (class_name) @name) (method_definition (method_name) @name)
"""
_KOTLIN_QUERY = """
(class_declaration (type_identifier) @name) (object_declaration (type_identifier) @name)
(function_declaration (simple_identifier) @name) (type_alias . (type_identifier) @name)
(property_declaration (variable_declaration (simple_identifier) @name)) (enum_entry (simple_identifier) @name)
(class_parameter (binding_pattern_kind) (simple_identifier) @name)
"""
_JAVASCRIPT_QUERY = """
(class_declaration name: (_) @name) (function_declaration name: (_) @name) (method_definition name: (_) @name)
(generator_function_declaration name: (_) @name) (field_definition property: (_) @name)
(variable_declarator name: (identifier) @name)
(assignment_expression left: (member_expression property: (_) @name) right: (function_expression))
"""
_TYPESCRIPT_QUERY = """
(class_declaration name: (_) @name) (abstract_class_declaration name: (_) @name)
(interface_declaration name: (_) @name) (type_alias_declaration name: (_) @name) (enum_declaration name: (_) @name)
(enum_body name: (_) @name) (enum_assignment name: (_) @name) (internal_module name: (_) @name)
(function_declaration name: (_) @name) (function_signature name: (_) @name) (method_definition name: (_) @name)
(abstract_method_signature name: (_) @name) (method_signature name: (_) @name)
(public_field_definition name: (_) @name) (interface_body (property_signature name: (_) @name))
(variable_declarator name: (identifier) @name)
"""
_QUERIES = {
    "scala": _SCALA_QUERY,
    "swift": _SWIFT_QUERY,
    "dart": _DART_QUERY,
    "solidity": _SOLIDITY_QUERY,
    "zig": _ZIG_QUERY,
    "hcl": _HCL_QUERY,
    "clojure": _CLOJURE_QUERY,
    "csharp": _CSHARP_QUERY,
    "ocaml": _OCAML_QUERY,
    "javascript": _JAVASCRIPT_QUERY,
    "kotlin": _KOTLIN_QUERY,
    "typescript": _TYPESCRIPT_QUERY,
}
_BODIES = word_set(
    "block indented_block function_body statements statement_block Block computed_property arguments"
)
"""Nodes in which a variable is local."""
_VARIABLE_NODES = word_set(
    "variable_declaration val_definition "
    "var_definition val_declaration var_declaration property_declaration pattern VarDecl "
    "initialized_identifier variable_declarator static_final_declaration"
)


_LOCAL_FUNCTION_NODES = {
    "scala": {"function_definition"},
    "swift": {"function_declaration"},
    "kotlin": {"function_declaration"},
}
"""Functions of bodies, which ctags would list for no language of this sort."""


class Reference(msgspec.Struct, frozen=True):
    """A symbol of the reference."""

    name: str
    line: int
    kind: str
    is_counted: bool


class Comparison(msgspec.Struct, frozen=True):
    counted: int
    missed: list[Reference]
    rows: int
    unmatched: list[Symbol]
    """Rows of the map that the reference does not have: invented, or missed by the reference."""


def rows(folders: Sequence[str] = ()) -> Iterator[Row]:
    files = (path for folder in folders for path in sorted(Path(folder).rglob("*")) if path.is_file())
    for path in files:
        made = make_file_map(path, deadline_seconds=60)
        found = compare(made, references(path))
        names = ", ".join(each.name for each in found.missed[:6])
        yield Row(
            name=f"{made.language} {path.name}: of {found.counted} symbols, found",
            figure=100 * (1 - len(found.missed) / max(1, found.counted)),
            unit="%",
            reference=f"missed: {names}" if names else "",
            limit="95 %",
        )
        names = ", ".join(each.name for each in found.unmatched[:6])
        yield Row(
            name=f"{made.language} {path.name}: of {found.rows} rows, without a counterpart",
            figure=100 * len(found.unmatched) / max(1, found.rows),
            unit="%",
            reference=f"to look at: {names}" if names else "",
        )


def references(path: Path) -> list[Reference]:
    language = detect_language(path, path.read_bytes()) or ""
    query = _QUERIES.get(language)
    return list(_queried(path, language, query) if query is not None else _tagged(path, language))


def _tagged(path: Path, language: str) -> Iterator[Reference]:
    forced = [f"--language-force={_CTAGS_NAMES[language]}"] if language in _CTAGS_NAMES else []
    command = [*_CTAGS, *forced, "--sort=no", "-f", "-", str(path)]
    told = subprocess.run(command, capture_output=True, check=True)
    uncounted = _UNCOUNTED_BY_LANGUAGE.get(language, set())
    lines = path.read_text("utf-8", "replace").split("\n")
    defining, is_in_text = _COUNTED_LINES.get(language), _text_finder(path, language)
    tags = [json.loads(line) for line in told.stdout.decode("utf-8", "replace").splitlines()]
    spaces = {tag["name"] for tag in tags if tag.get("kind") == "namespace" and "__anon" in tag["name"]}
    functions = {
        "::".join(filter(None, (tag.get("scope"), tag["name"])))
        for tag in tags
        if tag.get("kind") == "function"
    }
    for tag in tags:
        kind, scope, scope_kind = tag.get("kind", ""), tag.get("scope", ""), tag.get("scopeKind", "")
        name, line = tag["name"], tag.get("line", 1)
        owners = set(_ANONYMOUS.findall(f"{name} {scope}"))
        is_inside = scope_kind in _FUNCTION_SCOPES
        if language in ("c", "cpp", "cuda") and any(scope.startswith(f"{each}::") for each in functions):
            continue
        is_local = is_inside and (kind in _SOMETIMES_LOCAL or f"{kind} in {scope_kind}" in uncounted)
        is_macro_call = kind == "prototype" and name.isupper()
        is_counted = not (owners - spaces or is_local or is_macro_call or kind in _LOCAL or kind in uncounted)
        if defining is not None and not defining.match(lines[line - 1]):
            is_counted = False
        if is_counted and is_in_text(line - 1, lines[line - 1], name):
            is_counted = False
        if language == "elm":
            name = name.split()[0]
        yield Reference("(anonymous)" if name in spaces else name, line, kind, is_counted)


def _text_finder(path: Path, language: str) -> Callable[[int, str, str], bool]:
    """Returns a check whether a name in a line belongs to a comment or a string: ctags reads code in them."""
    if not has_language_description(language):
        return lambda _row, _line, _name: False
    root = (
        Parser(load_tree_sitter_grammar(language_named(language).grammar)).parse(path.read_bytes()).root_node
    )

    def is_in_text(row: int, line: str, name: str) -> bool:
        column = len(line[: max(0, line.find(name))].encode())
        node = root.descendant_for_point_range((row, column), (row, column + 1))
        while node is not None and not node.is_error:
            is_text = any(word in node.type for word in ("string", "comment", "heredoc", "quoted_content"))
            if is_text and node.start_point[0] < row:
                return True
            node = node.parent
        return False

    return is_in_text


def _queried(path: Path, language: str, text: str) -> Iterator[Reference]:
    source = path.read_bytes()
    grammar = load_tree_sitter_grammar(language_named(language).grammar)
    tree = Parser(grammar).parse(source)
    for node in QueryCursor(Query(grammar, text)).captures(tree.root_node).get("name", []):
        name = source[node.start_byte : node.end_byte].decode("utf-8", "replace")
        above = node.parent
        is_variable = above is not None and above.type in _VARIABLE_NODES
        is_function = above is not None and above.type in _LOCAL_FUNCTION_NODES.get(language, ())
        is_counted = not ((is_variable or is_function) and _is_in_body(node))
        yield Reference(name, node.start_point[0] + 1, above.type if above is not None else "", is_counted)


def _is_in_body(node: Node) -> bool:
    above = node.parent
    while above is not None and above.type not in _BODIES:
        above = above.parent
    return above is not None


def compare(made: FileMap, told: list[Reference]) -> Comparison:
    """Each row answers one symbol of the reference, or several clauses within its lines."""
    by_name: dict[str, list[int]] = {}
    for index, symbol in enumerate(made.symbols):
        for name in {plain_name(symbol.name), symbol.name, *_CATEGORY.split(symbol.name)}:
            by_name.setdefault(name, []).append(index)
    taken: set[int] = set()
    missed: list[Reference] = []
    seen = Counter[tuple[str, int]]()
    counted = 0
    for each in sorted(told, key=lambda one: (not one.is_counted, one.line)):
        name = plain_name(each.name)
        if each.is_counted and seen[name, each.line]:
            continue
        seen[name, each.line] += 1
        counted += each.is_counted
        near = [
            index
            for index in chain(by_name.get(name, ()), by_name.get(each.name, ()))
            if _begins_near(made.symbols[index], each.line)
        ]
        fresh = [index for index in near if index not in taken]
        if near:
            taken.add((fresh or near)[0])
        elif each.is_counted and not _is_clause(made, by_name.get(name, ()), each.line):
            missed.append(each)
    unmatched = [symbol for index, symbol in enumerate(made.symbols) if index not in taken]
    return Comparison(counted, missed, len(made.symbols), unmatched)


def _begins_near(symbol: Symbol, line: int) -> bool:
    """A declaration may begin lines above its name: modifiers, a template, the type."""
    first = symbol.decorator_line or symbol.start_line
    return first - 1 <= line <= symbol.start_line + 1 or first <= line <= min(symbol.end_line, first + 6)


def _is_clause(made: FileMap, candidates: Sequence[int], line: int) -> bool:
    return any(made.symbols[at].start_line <= line <= made.symbols[at].end_line for at in candidates)


_CATEGORY = re.compile(r" \((?=\w+\)$)|(?<=\w)\)$")
"""Parts `String (Words)`, a category of Objective-C, into both names."""
_GENERIC = re.compile(r"(?<=\w)\s*<.*")


def plain_name(name: str) -> str:
    """The last part of a qualified name, without quotes and arguments of types."""
    name = name.removeprefix("[").removesuffix("]").strip("\"'` ").strip()
    if name.startswith("(") and name.endswith(")"):
        name = name[1:-1].strip()
    name = _GENERIC.sub("", name) or name
    if "operator" in name:
        return "operator" + "".join(name.rpartition("operator")[2].split())
    name = "unquote" if name.startswith("unquote(") else name.rpartition(" for ")[2]
    name = _GENERIC.sub("", name).split("/")[0] if not name.startswith("/") else name
    name = name.rstrip(":").lstrip("$@%&")
    return re.split(r"::|\.|:|->|#", name)[-1].strip() or name
