"""Classes hold their parts. A class is not cut into base classes to make its file shorter.

Counted are methods and properties of a class together with those it inherits from classes of ours.
"""

import ast
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tests.architecture.sources import SHIPPED, classes, files, name, tree

MOST_METHODS = 25

REASONS: dict[str, tuple[int | None, str]] = {
    "widgets.screens.picker.PickerScreen": (
        34,
        "Six are the frame's (`SheetScreen`), eight are its keys, and the rest is what every selector does in the same "
        "way: rows, filter, count, preview. Eleven selectors stand on it; each of them counts without these.",
    ),
    "widgets.screens.session_tree.TreeScreen": (
        40,
        "A screen of its own beside the picker: two of its keys' ways (the tree's and the search's) are methods, "
        "because Textual calls them by name.",
    ),
    "widgets.completion.popup.CompletionPopup": (
        40,
        "It is a list (25) that asks for its rows; holding the list instead would make two widgets of one overlay.",
    ),
    "app.engine.session.Session": (
        140,
        "The verbs of every face, one or a few lines each; the work is done by parts that it holds and nobody else "
        "reaches.",
    ),
    "app.tui.every_page.Pages": (None, "One property for each page, made when it is first asked for."),
    "app.extensions.ui.EventUi": (28, "What extensions can ask and show, a method each, for programs."),
    "app.tui.extensions.screen_ui.ScreenUi": (28, "The same, on the full screen."),
    "app.extensions.api.ExtensionApi": (
        44,
        "What extensions of third parties call, by the names that they were promised (`public_surface.json`): half of "
        "them register, half act. Each is a few lines over a table or a verb of the session.",
    ),
    "app.extensions.contexts.CommandContext": (
        30,
        "The same promise: seven verbs of a command's own beside those of every context (25), three kinds of which "
        "there are.",
    ),
    "app.sessions.log.SessionLog": (
        44,
        "A session's record by its ids: half are one-line questions to what it holds, the tree (which knows positions "
        "and no ids) and the keeping of its file.",
    ),
    "app.modes.client_commands.ClientCommands": (
        None,
        "One method for each command, made from their table by a program.",
    ),
    "app.engine.hooks.Hooks": (
        None,
        "One method for each question that a session asks, with its default answer.",
    ),
    "app.extensions.session_hooks.ExtensionHooks": (
        None,
        "The same questions, answered; the rest is how several answers at a turn's end are carried out.",
    ),
}
"""Classes that may have more, how many (None: one for each row of a table), and why."""

MADE_BY_A_PROGRAM = {"app.modes.client_commands.ClientCommands"}
"""It stands apart from the class that inherits it because nobody edits it."""


class Class(NamedTuple):
    node: ast.ClassDef
    module: str
    names: dict[str, str]
    """What the module calls by a name: the full name of it."""


def _module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


@cache
def _names(module: str, tree_: ast.Module) -> dict[str, str]:
    found = {node.name: f"{module}.{node.name}" for node in tree_.body if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree_):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.asname or alias.name: alias.name for alias in node.names}
    return found


@cache
def every_class() -> dict[str, Class]:
    return {
        f"{_module(name(path))}.{node.name}": Class(
            node, _module(name(path)), _names(_module(name(path)), tree(path))
        )
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
def methods(key: str) -> frozenset[str]:
    """Without what a base has that was given a reason."""
    own = {
        node.name
        for node in every_class()[key].node.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    return frozenset(own.union(*(methods(base) for base in bases(key) if base not in REASONS)))


@cache
def made() -> frozenset[str]:
    """Classes of which there are instances: called, or handed to somebody who does."""
    found: set[str] = set()
    for path in files(*SHIPPED):
        names = _names(_module(name(path)), tree(path))
        for node in ast.walk(tree(path)):
            found |= {_full(value, names) for value in _values(node)}
    return frozenset(found)


def _values(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call):
        yield node.func
        yield from node.args
        yield from (keyword.value for keyword in node.keywords)
    elif isinstance(node, ast.arguments):
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
    assert only == {}, "Nobody makes it and one class inherits it: let that class hold what it needs."


def test_no_class_has_too_many_methods():
    many = {
        key: count
        for key in every_class()
        if (most := REASONS.get(key, (MOST_METHODS,))[0]) is not None and (count := len(methods(key))) > most
    }
    assert many == {}, f"More than {MOST_METHODS} methods: give it parts that it holds, or the reason here."


def test_what_is_excused_is_there_and_needs_it():
    assert REASONS.keys() - every_class().keys() == set()
    assert {key for key in REASONS if len(methods(key)) <= MOST_METHODS} == set()


def test_classes_are_found_with_what_they_inherit():
    """The check itself."""
    assert "widgets.textual_inside.SheetScreen" in bases("widgets.screens.picker.PickerScreen")
    assert "action_cancel" in methods("widgets.screens.picker.PickerScreen")
    assert "widgets.transcript.keyboard.Keyboard" in made()
