"""Texts that name a key name the one in force: they ask for it (`key_label`, `KeyHint`), and have no literal."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.tui.keys.keymap import keys_of
from tests.architecture.sources import SHIPPED, files, name, nodes, tree
from tests.tui.keys_pressed import PLACES
from widgets.key_labels import format_key_name

A_KEY = re.compile(
    r"\b(?:ctrl|alt|shift)\+\S|\b(?:Esc|Escape|Enter|Tab|PgUp|PgDn|esc|pgup|pgdn)\b|\bF\d\b", re.IGNORECASE
)
WORD_OF_ITS_OWN = re.compile(r"\b(?:enter|tab|escape)\b")
"""Written small it may be any word; as a key it has a capital, or stands with others in a hint."""
TELL = {"key_label", "KeyHint", "told"}
"""The usual key is an argument of these."""
KEYS = {"Binding", "Key", "TextKey", "PageKey", "PickerAction", "_key"}
"""Tables of keys."""
NOT_BOUND = {
    "app/package/bayou/__main__.py": "a program that nothing is bound in",
    "app/cli": "the command line, before there are keys",
    "app/modes": "faces without keys",
    "app/providers/offline": "what a model says, which does not know who shows it",
    "app/providers/signin": "pages in a browser",
    "app/resources/settings/settings_agent.py": "the reference of settings, made once for everybody",
    "widgets/screens/common_pickers.py": "the question for a key, which takes any but these two",
    "widgets/emulator/emulator_keys.py": "what keys send",
    "widgets/key_labels.py": "how keys are found in a text",
}
"""Where a key in a text is none of bayou's."""


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Strings that a person may read: sentences, outside of docstrings and of what asks for keys."""
    if isinstance(node, ast.Call) and (called(node).lstrip("_") in TELL or called(node) in KEYS):
        return
    body = getattr(node, "body", None)
    for child in ast.iter_child_nodes(node):
        is_words = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        if is_words and isinstance(body, list) and child in body:
            continue  # a docstring, or what is said of an attribute
        if isinstance(child, ast.Constant) and isinstance(child.value, str) and " " in child.value:
            yield child.lineno, child.value
        yield from texts(child)


def literals(path: Path) -> list[str]:
    return [
        f"{name(path)}:{line} {text!r}"
        for line, text in texts(tree(path))
        if A_KEY.search(WORD_OF_ITS_OWN.sub("", text))
    ]


def is_bound(path: Path) -> bool:
    return not name(path).startswith(tuple(NOT_BOUND))


def test_no_text_names_a_key_literally():
    assert [found for path in files(*SHIPPED) if is_bound(path) for found in literals(path)] == []


@pytest.mark.parametrize(
    "text", ["ctrl+r searches them", "Stop it with Escape.", "n next · Esc ends", "alt+up takes them back"]
)
def test_a_literal_would_be_found(text: str):
    module = ast.parse(f"def say(): tell({text!r})")
    assert [found for _, found in texts(module) if A_KEY.search(WORD_OF_ITS_OWN.sub("", found))] == [text]


def usual_keys() -> list[tuple[str, str, str]]:
    """Each `key_label(action, usual)` of the sources and each row of a table of hints that begins so: where, action,
    usual key."""
    found = []
    for path in files("app/tui", "widgets"):
        for node in nodes(path, ast.Call):
            if called(node).lstrip("_") != "key_label":
                continue
            words = [one.value for one in node.args if isinstance(one, ast.Constant)]
            if len(words) == 2:
                found.append((f"{name(path)}:{node.lineno}", *words))
        for node in nodes(path, ast.Tuple):
            words = [one.value for one in node.elts if isinstance(one, ast.Constant)]
            if len(words) == 3 and str(words[0]).startswith(("app.", "tui.")):
                found.append((f"{name(path)}:{node.lineno}", str(words[0]), str(words[1])))
    return found


def test_what_a_text_calls_the_usual_key_is_the_first_default():
    """Of an action that there is."""
    defaults = {
        binding.id: {format_key_name(key).lower() for key in keys_of(binding, {})}
        for place in PLACES
        for binding in place.bindings
    }
    spelled = {"escape": "esc", "up": "↑"}
    wrong = [
        (where, action, usual)
        for where, action, usual in usual_keys()
        if spelled.get(usual.lower(), usual.lower()) not in defaults.get(action, set()) and usual != "N"
    ]
    assert wrong == []
    assert len(usual_keys()) > 15
