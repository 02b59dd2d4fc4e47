"""The project's own Python files, read once."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

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
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def classes(path: Path) -> Iterator[ast.ClassDef]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ClassDef):
            yield node


def late_imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and module of each import inside a function."""
    for function in functions(path):
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.lineno, node.module or ""
