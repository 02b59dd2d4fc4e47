"""Finds the sentences that a program makes of texts which it hands on: to a function, or to the catcher of an error."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from tests.string_texts import (
    Function,
    Module,
    Scope,
    Value,
    bind,
    called_name,
    error_texts,
    function_of,
    literals,
    parts,
    texts,
    unwrap,
    values,
)

_MAX_CALLS = 3
"""Calls and names that are followed from a use to a literal."""


class Program:
    """The modules of a program, and which of their texts only complete other ones."""

    def __init__(self, modules: Iterable[Module], errors: Iterable[str]) -> None:
        self._modules = list(modules)
        self.errors = frozenset(errors)

    @cached_property
    def completing(self) -> frozenset[int]:
        """The literals that only complete other texts."""
        inside, outside = set[int](), set[int]()
        for module in self._modules:
            within = {id(unwrap(part)) for node in module.nodes for part in parts(node)}
            for node in module.nodes:
                is_use = isinstance(node, ast.Call | ast.Subscript | ast.Attribute) or (
                    isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
                )
                if is_use and (id(node) in within or id(node) not in module.assigned_values):
                    found = inside if id(node) in within else outside
                    found |= _reached_literals(node, module.scope(node))
        return frozenset(inside - outside)

    @cached_property
    def _handlers(self) -> Mapping[tuple[str, str], tuple[ast.expr, Scope, str]]:
        """The sentence that is made of an error where its package catches it, by the error's class and the folder."""
        found: dict[tuple[str, str], tuple[ast.expr, Scope, str]] = {}
        for module in self._modules:
            for handler in (one for one in module.nodes if isinstance(one, ast.ExceptHandler) and one.name):
                caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
                name = handler.name or ""
                for node in ast.walk(handler):
                    if isinstance(node, ast.expr) and _has_part(node, name):
                        made = (node, module.scope(node), name)
                        for one in caught:
                            if isinstance(one, ast.Name):
                                found.setdefault((one.id, module.file.rpartition("/")[0]), made)
        return found

    def _handler(self, error: str, module: Module) -> tuple[ast.expr, Scope, str] | None:
        return self._handlers.get((error, module.file.rpartition("/")[0])) if error in self.errors else None

    def caught_texts(self, error: str, text: str, module: Module) -> list[str]:
        """The sentence in which a person reads an error that is only a part of one."""
        found = self._handler(error, module)
        if found is None or not _is_part(text):
            return []
        node, scope, name = found
        return texts(node, scope._replace(arguments={name: Value(ast.Constant(text), scope)}))

    def sinks(self, call: ast.Call, scope: Scope) -> dict[int, list[str]]:
        """The sentences that a called function makes of texts that it is given, by the id of the argument."""
        found: dict[int, list[str]] = {}
        for sink, inside, argument in self._sinks(call, scope):
            if isinstance(sink, ast.Call) and called_name(sink) in self.errors:
                found[id(argument)] = error_texts(sink, inside)
            else:
                found[id(argument)] = texts(sink, inside)
        return found

    def _sinks(self, call: ast.Call, scope: Scope) -> Iterator[tuple[ast.expr, Scope, ast.expr]]:
        called = function_of(call, scope)
        if called is None:
            return
        inside = bind(called[0], call, scope, called[1])
        for name, value in inside.arguments.items():
            if value.scope is scope and literals(value.node) and texts(value.node, scope):
                sink = self._sink_of(called[0], name)
                if sink is not None:
                    yield sink, inside, value.node

    @cached_property
    def consumed(self) -> frozenset[int]:
        """The sentences that are listed with the texts that calls give them, and not alone."""
        found = set[int]()
        for module in self._modules:
            for node in module.nodes:
                if isinstance(node, ast.Call):
                    found |= {id(sink) for sink, _, _ in self._sinks(node, module.scope(node))}
                    handler = self._handler(called_name(node), module)
                    if handler and any(map(_is_part, error_texts(node, module.scope(node)))):
                        found.add(id(handler[0]))
        return frozenset(found)

    def _sink_of(self, function: Function, name: str) -> ast.expr | None:
        found = [one for one in ast.walk(function) if isinstance(one, ast.expr) and _has_part(one, name)]
        for error in ast.walk(function):
            if isinstance(error, ast.Call) and called_name(error) in self.errors:
                below = {id(one) for one in ast.walk(error)}
                is_argument = any(isinstance(one, ast.Name) and one.id == name for one in error.args)
                if is_argument or any(id(one) in below for one in found):
                    return error
        return found[0] if found else None


def _reached_literals(node: ast.AST, scope: Scope, depth: int = 0) -> set[int]:
    """The literals that a name or a call has as its value, also by other names and calls."""
    found = set[int]()
    for value in values(node, scope) if depth < _MAX_CALLS else ():
        found |= {id(one) for one in literals(value.node)} or _reached_literals(
            unwrap(value.node), value.scope, depth + 1
        )
    return found


def _is_part(text: str) -> bool:
    """Tells whether the text of an error is only the end of a sentence."""
    return text[:1].islower() and not text.endswith(".")


def _has_part(node: ast.expr, name: str) -> bool:
    return any(isinstance(inner := unwrap(part), ast.Name) and inner.id == name for part in parts(node))
