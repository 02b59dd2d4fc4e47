"""Only `widgets.textual_inside` reaches into Textual (and Rich): what is private there may move with any release."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import rich
import textual

from tests.architecture.sources import SHIPPED, files, name, nodes

INSIDE = "widgets/textual_inside.py"
LIBRARIES = ("textual", "rich")
WITH_WIDGETS = ("widgets/", "app/tui/")
"""Where there are classes with a base of Textual's."""
PUBLIC_ALL_THE_SAME = {"_replace", "_asdict", "_fields", "_make", "_exit"}
"""Of named tuples, and of `os`."""
OF_ANOTHER_LIBRARY = {("widgets/transcript/highlight.py", "_tokens")}
"""Pygments's."""
GENERATED = {"_reactives", "_computes", "_merged_bindings", "_decorated_handlers", "_abc_impl"}
"""Given to each class by Textual itself."""


@cache
def private_names() -> frozenset[str]:
    """Every name with one underscore that occurs in the libraries."""
    return frozenset(
        found
        for library in (textual, rich)
        for path in Path(library.__path__[0]).rglob("*.py")
        for found in re.findall(r"\b_[a-z]\w*", path.read_text(encoding="utf-8"))
    )


def ours() -> list[Path]:
    return [path for path in files(*SHIPPED) if name(path) != INSIDE]


def imports_from_inside(path: Path) -> Iterator[str]:
    for node in nodes(path, ast.ImportFrom):
        if (node.module or "").split(".")[0] in LIBRARIES:
            private = [alias.name for alias in node.names if alias.name.startswith("_")]
            if private or "._" in (node.module or ""):
                yield f"{name(path)}:{node.lineno} imports from {node.module}"


def reaches(path: Path) -> Iterator[str]:
    """`thing._name` of another object, where the module itself has no such name, and the libraries do."""
    own = set(re.findall(r"(?:\bself\.|\bdef |\")(_\w+)", path.read_text(encoding="utf-8")))
    for node in nodes(path, ast.Attribute):
        if not _is_self(node.value) and re.match(r"_[a-z]", node.attr):
            is_theirs = node.attr in private_names() and node.attr not in PUBLIC_ALL_THE_SAME
            if is_theirs and node.attr not in own and (name(path), node.attr) not in OF_ANOTHER_LIBRARY:
                yield f"{name(path)}:{node.lineno} {ast.unparse(node)}"


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def inherited(path: Path) -> Iterator[str]:
    """Private names that a class of ours uses or gives itself, and that its bases in the libraries have."""
    module = importlib.import_module(name(path)[:-3].replace("/", "."))
    for each in vars(module).values():
        if inspect.isclass(each) and each.__module__ == module.__name__:
            theirs = {
                found
                for base in each.__mro__
                if base.__module__.split(".")[0] in LIBRARIES
                for found in (*vars(base), *_on_self(base, sets=True))
            }
            own = {*vars(each), *_on_self(each, sets=False)} - GENERATED
            for found in sorted(own & theirs):
                if re.match(r"_[a-z]", found) and not re.match(r"_(inherit|css_type)_", found):
                    yield f"{name(path)} {each.__name__}.{found}"


@cache
def _on_self(each: type, *, sets: bool) -> frozenset[str]:
    behind = r"(?:: [^=\n]+)? = " if sets else ""
    return frozenset(re.findall(r"\bself\.(_\w+)" + behind, inspect.getsource(each)))


def test_only_one_module_imports_what_is_private():
    assert [found for path in ours() for found in imports_from_inside(path)] == []


def test_only_one_module_reaches_for_what_is_private():
    assert [found for path in ours() for found in reaches(path)] == []


def test_only_one_module_inherits_what_is_private():
    """Nor does a name of our own happen to be one of theirs, which would be worse."""
    found = [each for path in ours() if name(path).startswith(WITH_WIDGETS) for each in inherited(path)]
    assert found == []


def test_a_reach_would_be_seen():
    """The check itself: what is reached in the one module is found when it is looked at."""
    inside = next(path for path in files(*SHIPPED) if name(path) == INSIDE)
    assert len(list(reaches(inside))) > 20
    assert len(list(imports_from_inside(inside))) > 3
    assert len(list(inherited(inside))) > 3
