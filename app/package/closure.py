"""Finds the definitions that given names need, across modules, by reading source and running none of it.

The wheel's type stubs and the values of the Python client are made from it. Only the standard library is
imported, because the stubs are made while a wheel is built.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

OWN = ("app", "tools", "widgets")
"""The packages whose source is followed; names of all others are imported as they are."""


class Module:
    """The top-level definitions and imports of one source file."""

    def __init__(self, root: Path, name: str) -> None:
        self.name = name
        path = root.joinpath(*name.split("."))
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        self.source = file.read_text(encoding="utf-8")
        self.tree = ast.parse(self.source)
        self.lines = self.source.splitlines(keepends=True)
        self.imports: dict[str, tuple[str, str]] = {}
        """For each imported name its module and its name there; an empty name stands for the module."""
        self.definitions: dict[str, list[ast.stmt]] = {}
        """The statements that define each name, in their order: overloads and docstrings of constants too."""
        self._read(self.tree.body)

    def _read(self, body: list[ast.stmt]) -> None:
        previous: list[str] = []
        for node in body:
            names: list[str] = []
            match node:
                case ast.ImportFrom(module=str(module)):
                    for alias in node.names:
                        self.imports[alias.asname or alias.name] = (module, alias.name)
                case ast.Import():
                    for alias in node.names:
                        self.imports[alias.asname or alias.name.split(".")[0]] = (alias.name, "")
                case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    names = [node.name]
                case ast.Assign():
                    names = [one.id for target in node.targets for one in _stored(target)]
                case ast.AnnAssign(target=ast.Name(id=name)):
                    names = [name]
                case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                    self._read(node.body)
                case ast.Expr(value=ast.Constant(value=str())) if previous:
                    names = previous  # what stands behind a constant describes it
            for name in names:
                self.definitions.setdefault(name, []).append(node)
            previous = names if isinstance(node, ast.Assign | ast.AnnAssign) else []


def _stored(target: ast.expr) -> Iterator[ast.Name]:
    return (
        node for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


class Closure:
    """The definitions that some names need, by module."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.needed: dict[str, set[str]] = {}
        """The names to define, by module."""
        self.module = cache(lambda name: Module(root, name))

    def is_module(self, name: str) -> bool:
        path = self.root.joinpath(*name.split("."))
        return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()

    def defining_place(self, module: Module, name: str) -> tuple[str, str] | None:
        """The module that defines a name, and its name there; None for names that are not ours."""
        if name in module.definitions:
            return module.name, name
        if name not in module.imports:
            return None
        origin, original = module.imports[name]
        if origin.split(".")[0] not in OWN:
            return None
        if self.is_module(f"{origin}.{original}"):
            return f"{origin}.{original}", ""
        return self.defining_place(self.module(origin), original)

    def add(self, module_name: str, names: Iterable[str]) -> None:
        """Adds names of a module, and all that they need."""
        module = self.module(module_name)
        for name in names:
            found = self.defining_place(module, name)
            if found is None:
                continue
            home, own = found
            if not own or own in self.needed.setdefault(home, set()):
                continue
            self.needed[home].add(own)
            owner = self.module(home)
            for node in owner.definitions[own]:
                self._add_references(owner, self.wanted_part(node))

    def _add_references(self, module: Module, node: ast.AST) -> None:
        for one in references(node):
            match one:
                case ast.Name(id=name):
                    self.add(module.name, [name])
                case ast.Attribute(value=ast.Name(id=base), attr=attribute):
                    found = self.defining_place(module, base)
                    if found is not None and not found[1]:
                        self.add(found[0], [attribute])

    def wanted_part(self, node: ast.stmt) -> ast.stmt:
        """The part of a definition that is wanted: here all of it."""
        return node

    def ordered_modules(self) -> list[str]:
        """The modules, each behind those that it imports."""
        done: list[str] = []

        def visit(name: str, path: tuple[str, ...]) -> None:
            if name in done or name in path:
                return
            module = self.module(name)
            for origin, original in module.imports.values():
                for other in (origin, f"{origin}.{original}"):
                    if other in self.needed:
                        visit(other, (*path, name))
            done.append(name)

        for name in sorted(self.needed):
            visit(name, ())
        return [name for name in done if self.needed[name]]


def references(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below one, with those of annotations that are written as strings."""
    for one in ast.walk(node):
        yield one
        for annotation in _annotations(one):
            if isinstance(annotation, ast.AST):
                for constant in ast.walk(annotation):
                    if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                        yield from _parsed(constant.value)


def _annotations(node: ast.AST) -> list[ast.expr | None]:
    match node:
        case ast.arg() | ast.AnnAssign():
            return [node.annotation]
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return [node.returns]
        case ast.ClassDef():
            return list(node.bases)
        case _:
            return []


def _parsed(text: str) -> Iterator[ast.AST]:
    try:
        yield from ast.walk(ast.parse(text, mode="eval"))
    except SyntaxError:
        return  # a text that is no type
