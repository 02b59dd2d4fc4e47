"""Describes Python for maps of files."""

import re

from tree_sitter import Node

from tools.filemap.language_description import (
    AncestorNodeTypes,
    DefinitionWord,
    FoundSymbol,
    LanguageDescription,
    SyntaxNodeContext,
    SyntaxNodeRule,
    make_definition_words,
    word_set,
)
from tools.filemap.languages.web_routes import find_python_routes
from tools.filemap.symbol_list_changes import remove_symbols, turn_functions_into_methods

_PYTHON_DEFINITION_WORDS = make_definition_words(b"def ", b"def\t", b"class ", b"class\t")
_PYTHON_STRING_OPENING_PATTERN = re.compile(rb"[rRuUbBfF]{0,2}(?P<quote>\"{3}|'{3}|\"|')")
_STATEMENT_END_PATTERN = re.compile(rb"[ \t]*(?:[\r\n;#]|\Z)")


def _python_definition_filter(here: AncestorNodeTypes) -> tuple[DefinitionWord, ...] | None:
    """Restricts the search for symbols inside of Python functions to definitions."""
    return _PYTHON_DEFINITION_WORDS if here[0] == "function_definition" else None


def _name_python_assignment(node: Node, place: SyntaxNodeContext) -> Node | None:
    """Returns the names that a Python statement assigns in a module or a class, not in a function."""
    left = node.child_by_field_name("left")
    if left is None or left.type != "identifier":
        return None
    around = place.nearest_ancestor_type("function_definition", "module", "class_definition")
    return left if around in ("module", "class_definition") else None


def _find_python_docstring(source: bytes, body: int) -> str:
    opening = _PYTHON_STRING_OPENING_PATTERN.match(source, body)
    if opening is None:
        return ""
    end = source.find(opening["quote"], opening.end(), opening.end() + 400)
    if end < 0:
        end = opening.end() + 400
    elif not _STATEMENT_END_PATTERN.match(source, end + len(opening["quote"])):
        return ""
    return source[opening.end() : end].decode("utf-8", "replace")


def _is_exported_in_python(draft: FoundSymbol, _before: bytes) -> bool:
    return not draft.name.startswith("_")


def _finish_python_symbols(drafts: list[FoundSymbol], _source: bytes) -> list[FoundSymbol]:
    """Completes Python symbols: functions of classes become methods, names in capitals constants; repeated assignments
    are merged."""
    drafts = turn_functions_into_methods(drafts, ("class",))
    seen: set[tuple[int, str]] = set()
    removed: set[int] = set()
    variables = [index for index, draft in enumerate(drafts) if draft.kind == "variable"]
    for index in sorted(variables, key=lambda index: drafts[index].start):
        draft = drafts[index]
        if (draft.parent, draft.name) in seen:
            removed.add(index)
        seen.add((draft.parent, draft.name))
        draft.kind = "constant" if draft.name.isupper() else "variable"
    return remove_symbols(drafts, removed)


def _name_python_imports(node: Node, place: SyntaxNodeContext) -> list[Node]:
    return node.children_by_field_name("name")


PYTHON_LANGUAGE = LanguageDescription(
    name="python",
    node_rules={
        "class_definition": SyntaxNodeRule("class"),
        "function_definition": SyntaxNodeRule("function"),
        "assignment": SyntaxNodeRule("variable", _name_python_assignment, is_leaf=True),
    },
    entered_nodes=word_set(
        "module block decorated_definition if_statement elif_clause else_clause try_statement "
        "except_clause finally_clause with_statement for_statement while_statement "
        "match_statement case_clause"
    ),
    wrapper_nodes=word_set("decorated_definition"),
    starts_at_wrapper=False,
    import_rules={"import_statement": _name_python_imports, "import_from_statement": "module_name"},
    modifier_words=word_set("async"),
    export_rule=_is_exported_in_python,
    has_decorators=True,
    find_inner_doc=_find_python_docstring,
    definition_filter=_python_definition_filter,
    finish_symbols=_finish_python_symbols,
    find_routes=find_python_routes,
)

LANGUAGE_DESCRIPTIONS = (PYTHON_LANGUAGE,)
