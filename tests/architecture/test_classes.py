"""Classes hold their parts: none is cut into base classes to make its file shorter, and none only forwards."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.architecture.sources import SHIPPED, classes, files, name, nodes, tree

MADE_BY_A_PROGRAM = {"app.package.bayou.client_commands.ClientCommands"}
"""It is separate from the class that inherits it because it is generated."""


FORWARDED = 3
"""A class with fewer methods may be the adapter of an interface."""
ADAPTERS: dict[str, str] = {
    "app.assembly.helper_sessions.HelperHooks": "the guards of a session, without its other hooks, for its helpers"
}
"""Classes that give another form to one part, and for whom."""


class Class(NamedTuple):
    node: ast.ClassDef
    module: str
    names: dict[str, str]
    """What the module calls by a name: the full name of it."""


def _module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


@cache
def _names(path: Path) -> dict[str, str]:
    module = _module(name(path))
    found = {node.name: f"{module}.{node.name}" for node in tree(path).body if isinstance(node, ast.ClassDef)}
    for node in nodes(path, ast.ImportFrom):
        if node.module:
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in nodes(path, ast.Import):
        found |= {alias.asname or alias.name: alias.name for alias in node.names}
    return found


@cache
def every_class() -> dict[str, Class]:
    return {
        f"{_module(name(path))}.{node.name}": Class(node, _module(name(path)), _names(path))
        for path in files(*SHIPPED)
        for node in classes(path)
    }


def _full(expression: ast.expr, names: dict[str, str]) -> str:
    match expression:
        case ast.Subscript():
            return _full(expression.value, names)
        case ast.Name():
            return names.get(expression.id, expression.id)
        case ast.Attribute():
            return f"{_full(expression.value, names)}.{expression.attr}"
        case _:
            return ""


def bases(key: str) -> list[str]:
    """Those of a class that are ours."""
    each = every_class()[key]
    found = (_full(base, each.names) for base in each.node.bases)
    return [base for base in found if base in every_class()]


@cache
def made() -> frozenset[str]:
    """Classes that are instantiated: called, or passed as an argument."""
    found: set[str] = set()
    for path in files(*SHIPPED):
        names = _names(path)
        for node in (*nodes(path, ast.Call), *nodes(path, ast.arguments)):
            found |= {_full(value, names) for value in _values(node)}
    return frozenset(found)


def _values(node: ast.Call | ast.arguments) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call):
        yield node.func
        yield from node.args
        yield from (keyword.value for keyword in node.keywords)
    else:
        yield from node.defaults
        yield from (default for default in node.kw_defaults if default is not None)


def test_no_class_is_only_the_base_of_one_other():
    children: dict[str, list[str]] = {}
    for key in every_class():
        for base in bases(key):
            children.setdefault(base, []).append(key)
    only = {
        base: below[0]
        for base, below in children.items()
        if len(below) == 1 and base not in made() | MADE_BY_A_PROGRAM
    }
    assert only == {}, "It is never instantiated and one class inherits it: move its members there."


def _public_methods(node: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [
        each
        for each in node.body
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and not each.name.startswith("_")
    ]


def _forwards(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it only calls, or reads, something of a part with the arguments that it was given itself."""
    statements = [
        each
        for each in method.body
        if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
    ]
    if len(statements) != 1 or not isinstance(statements[0], ast.Return | ast.Expr):
        return False
    value = statements[0].value
    if isinstance(value, ast.Await):
        value = value.value
    if isinstance(value, ast.Call):
        given = [*value.args, *(keyword.value for keyword in value.keywords)]
        if not all(isinstance(each, ast.Name) for each in given):
            return False
        value = value.func
    parts = 0
    while isinstance(value, ast.Attribute):
        value, parts = value.value, parts + 1
    return isinstance(value, ast.Name) and value.id == "self" and parts >= 2


def test_no_class_only_forwards_to_its_parts():
    found = [
        key
        for key, each in every_class().items()
        if key not in ADAPTERS
        and len(own := _public_methods(each.node)) >= FORWARDED
        and all(_forwards(method) for method in own)
    ]
    assert found == [], "Let callers hold the part itself."


def test_classes_are_found_with_what_they_inherit():
    """The check itself."""
    assert "widgets.textual_internals.ClosableModalScreen" in bases("widgets.screens.picker.PickerScreen")
    assert "widgets.transcript.transcript_keyboard.TranscriptKeyboard" in made()
