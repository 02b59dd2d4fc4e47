"""The project's own Python files, read once."""

import ast
import gc
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

N = TypeVar("N", bound=ast.AST)

ROOT = Path(__file__).resolve().parent.parent.parent
SHIPPED = ("app", "widgets", "tools")


@cache
def files(*folders: str) -> tuple[Path, ...]:
    return tuple(
        path
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "fixtures" not in path.parts and "__pycache__" not in path.parts
    )


@cache
def tree(path: Path) -> ast.Module:
    # Collecting garbage among the nodes of two thousand trees costs three times what parsing does.
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    finally:
        gc.enable()


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def _by_kind(path: Path) -> Mapping[type[ast.AST], Sequence[Any]]:
    found: defaultdict[type[ast.AST], list[Any]] = defaultdict(list)
    for node in ast.walk(tree(path)):
        found[type(node)].append(node)
    return found


def nodes(path: Path, kind: type[N]) -> Sequence[N]:
    """All of that kind, the outer ones first."""
    return _by_kind(path).get(kind, ())


def functions(path: Path) -> Sequence[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (*nodes(path, ast.FunctionDef), *nodes(path, ast.AsyncFunctionDef))


def classes(path: Path) -> Sequence[ast.ClassDef]:
    return nodes(path, ast.ClassDef)


def imports(path: Path) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    """With each module that is imported."""
    for node in nodes(path, ast.Import):
        yield from ((node, alias.name) for alias in node.names)
    for node in nodes(path, ast.ImportFrom):
        yield node, node.module or ""


@cache
def late_imports(path: Path) -> Sequence[tuple[int, str]]:
    """Line and module of each import inside a function."""
    within = {id(node) for function in functions(path) for node in ast.walk(function)}
    return [(node.lineno, module) for node, module in imports(path) if id(node) in within]
