"""bayou stands on what its libraries have promised: no private name or module of theirs, and no trick on imports.

The one exception is `widgets.textual_internals`, which says of each reach into Textual and Rich why it is needed.
"""

import ast
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.sources import SHIPPED, files, name, nodes

INSIDE = "widgets/textual_internals.py"
WITH_WIDGETS = ("widgets/", "app/tui/")
"""Where objects of Textual's are handed on without an import of it."""
PUBLIC_ALL_THE_SAME = {"_replace", "_asdict", "_fields", "_make"}
"""Of named tuples."""
GENERATED = {"_reactives", "_computes", "_merged_bindings", "_decorated_handlers", "_abc_impl"}
"""Given to each class by its library itself."""
OWN_FINDERS = {"app/extensions/loading/extension_import.py", "tools/kernel/inside/_bayou_cells.py"}
"""Extensions' modules are compiled anew and asked for trust one by one; cells draw into pictures."""
OWN_MODULES = OWN_FINDERS
"""Entries of `sys.modules` for modules that they make themselves: an extension, and the cells' `__main__`."""


def is_library(module: str) -> bool:
    top = module.partition(".")[0]
    return bool(top) and top not in (*SHIPPED, "bayou") and top not in sys.stdlib_module_names


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@cache
def private_names(library: str) -> frozenset[str]:
    """Every name with one underscore that occurs in a library."""
    spec = importlib.util.find_spec(library)
    if spec is None or spec.origin is None:  # one that is there for extensions only, or not installed here
        return frozenset()
    folders = spec.submodule_search_locations
    sources = [Path(spec.origin)] if folders is None else Path(folders[0]).rglob("*.py")
    return frozenset(
        found
        for path in sources
        for found in re.findall(r"\b_[a-z]\w*", path.read_text(encoding="utf-8", errors="replace"))
    )


def libraries(path: Path) -> set[str]:
    """Those that a module imports, and Textual's where its widgets are."""
    found = {alias.name for node in nodes(path, ast.Import) for alias in node.names}
    found |= {node.module or "" for node in nodes(path, ast.ImportFrom)}
    out = {module.partition(".")[0] for module in found if is_library(module)}
    return out | {"textual", "rich"} if name(path).startswith(WITH_WIDGETS) else out


def ours() -> list[Path]:
    return [path for path in files(*SHIPPED) if name(path) != INSIDE]


def private_imports(path: Path) -> Iterator[str]:
    for node in nodes(path, ast.Import):
        for alias in node.names:
            # What lies beside the kernel's own modules is bayou's.
            if (
                is_library(alias.name)
                and any(map(is_private, alias.name.split(".")))
                and "_bayou_" not in alias.name
            ):
                yield f"{name(path)}:{node.lineno} imports {alias.name}"
    for node in nodes(path, ast.ImportFrom):
        module = node.module or ""
        names = [*module.split("."), *(alias.name for alias in node.names)]
        if is_library(module) and any(map(is_private, names)):
            yield f"{name(path)}:{node.lineno} imports from {module}"


def reaches(path: Path) -> Iterator[str]:
    """`thing._name` of another object, where the module itself has no such name, and a library has."""
    own = set(re.findall(r"(?:\bself\.|\bdef |\")(_\w+)", path.read_text(encoding="utf-8")))
    theirs = frozenset[str]().union(*map(private_names, libraries(path))) - PUBLIC_ALL_THE_SAME - own
    for node in nodes(path, ast.Attribute):
        is_stdlib = isinstance(node.value, ast.Name) and node.value.id in sys.stdlib_module_names
        if node.attr in theirs and not _is_self(node.value) and not is_stdlib:
            yield f"{name(path)}:{node.lineno} {ast.unparse(node)}"


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def inherited(path: Path) -> Iterator[str]:
    """Private names that a class of ours uses or gives itself, and that its bases in libraries have."""
    try:
        module = importlib.import_module(name(path)[:-3].replace("/", "."))
    except ModuleNotFoundError:  # an extra that is not installed
        return
    for each in vars(module).values():
        if inspect.isclass(each) and each.__module__ == module.__name__:
            theirs = {
                found
                for base in each.__mro__
                if is_library(base.__module__) and base.__module__.partition(".")[0] != "msgspec"
                for found in (*vars(base), *_on_self(base, sets=True))
            }
            own = {*vars(each), *_on_self(each, sets=False)} - GENERATED
            for found in sorted(own & theirs):
                if re.match(r"_[a-z]", found) and not re.match(r"_(inherit|css_type)_", found):
                    yield f"{name(path)} {each.__name__}.{found}"


@cache
def _on_self(each: type, *, sets: bool) -> frozenset[str]:
    behind = r"(?:: [^=\n]+)? = " if sets else ""
    # httpx2 and httpcore2 name themselves as the module of their classes, where no source is found.
    written = [inspect.getsource(part) for part in vars(each).values() if inspect.isfunction(part)]
    return frozenset(re.findall(r"\bself\.(_\w+)" + behind, "\n".join(written)))


def tricks(path: Path) -> Iterator[str]:
    """Changes of `sys.modules` and `sys.meta_path`, and names put into a module of a library."""
    imported = {
        alias.asname or alias.name.partition(".")[0]
        for node in nodes(path, ast.Import)
        for alias in node.names
        if is_library(alias.name)
    }
    for node in nodes(path, ast.Subscript):
        if (
            ast.unparse(node.value) == "sys.modules"
            and not isinstance(node.ctx, ast.Load)
            and name(path) not in OWN_MODULES
        ):
            yield f"{name(path)}:{node.lineno} changes sys.modules"
    for node in nodes(path, ast.Attribute):
        if ast.unparse(node) in ("sys.meta_path", "sys.path_hooks") and name(path) not in OWN_FINDERS:
            yield f"{name(path)}:{node.lineno} has an import finder"
        if (
            not isinstance(node.ctx, ast.Load)
            and isinstance(node.value, ast.Name)
            and node.value.id in imported
        ):
            yield f"{name(path)}:{node.lineno} patches {ast.unparse(node)}"


@pytest.mark.parametrize("seen", [private_imports, reaches, tricks], ids=lambda seen: seen.__name__)
def test_no_module_reaches_into_a_library(seen):
    assert [found for path in ours() for found in seen(path)] == []


def test_no_class_has_a_private_name_of_its_librarys_base():
    """Nor does a name of our own happen to be one of theirs, which would be worse."""
    with_classes = [path for path in ours() if "inside/" not in name(path) and libraries(path)]
    assert [found for path in with_classes for found in inherited(path)] == []


@pytest.mark.parametrize("seen", [private_imports, reaches, inherited], ids=lambda seen: seen.__name__)
def test_a_reach_would_be_seen(seen):
    """What is reached in the one module is found when it is looked at."""
    inside = next(path for path in files(*SHIPPED) if name(path) == INSIDE)
    assert len(list(seen(inside))) > 3


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("import httpx2._client", private_imports),
        ("from mcp.client import _memory", private_imports),
        ("import httpx2\nhttpx2.AsyncClient()._transport", reaches),
        ("import sys\nsys.modules['anyio'] = None", tricks),
        ("import sys\ndel sys.modules['anyio']", tricks),
        ("import sys\nsys.meta_path.insert(0, None)", tricks),
        ("import anyio\nanyio.sleep = None", tricks),
    ],
)  # fmt: skip
def test_each_kind_of_trick_would_be_seen(source: str, seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tests.architecture.sources.ROOT", tmp_path)
    path = tmp_path / "app" / "module.py"
    path.parent.mkdir()
    path.write_text(source)
    assert list(seen(path))
