"""Generates `app/modes/client_commands.py`: a method of the Python client for each command of the table.

`reference` writes it, formatted as the formatter would.
"""

import ast
import inspect
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from app.engine.commands.base import Command

FILE = "app/modes/client_commands.py"
_HEAD = '''"""A method for every command of a session, made from their table and not written.

python -m app.modes.rpc.reference          makes it anew
"""
'''
_CLASS = '''

class ClientCommands:
    """What a bayou at the other end can be told."""

    def __init__(self, ask: Callable[..., Awaitable[Any]]) -> None:
        """`ask` gets a command's name and what it is given, by its parameters' names; returns its answer."""
        self._ask = ask
'''
_NEEDED = {"Awaitable": "collections.abc", "Callable": "collections.abc", "Any": "typing"}
_STANDARD = ("collections.abc", "typing")
_WIDTH = 110


def source(commands: Iterable[Command[Any, Any]]) -> str:
    """Returns the file's complete text."""
    methods: list[str] = []
    imports = dict(_NEEDED)
    for command in commands:
        [function] = ast.parse(inspect.getsource(command.function)).body
        assert isinstance(function, ast.AsyncFunctionDef) and function.returns is not None
        taken = [
            one for one in function.args.args[1:] if one.arg != "id"
        ]  # the request's own id is not a parameter
        methods.append(_method(command, function, taken))
        known = _imported(command)
        for node in (*taken, function.returns):
            imports |= {name: known[name] for name in _names(node) if name in known}
    return _HEAD + _imports(imports) + _CLASS + "".join(f"\n{method}" for method in methods)


def _method(command: Command[Any, Any], function: ast.AsyncFunctionDef, taken: Sequence[ast.arg]) -> str:
    """Returns a method that sends its parameters under the command's field names."""
    given = function.args
    defaults = dict(zip((one.arg for one in reversed(given.args)), reversed(given.defaults), strict=False))
    written = [
        f"{_text(one)} = {_text(defaults[one.arg])}" if one.arg in defaults else _text(one) for one in taken
    ]
    assert function.returns is not None
    head = _laid_out(4, f"async def {command.name}(", ["self", *written], f") -> {_text(function.returns)}:")
    passed = [f'"{command.name}"', *(f"{one.arg}={one.arg}" for one in taken)]
    return (
        f'{head}        """{command.description}"""\n{_laid_out(8, "return await self._ask(", passed, ")")}'
    )


def _names(node: ast.AST) -> Iterator[str]:
    return (one.id for one in ast.walk(node) if isinstance(one, ast.Name))


def _imported(command: Command[Any, Any]) -> dict[str, str]:
    """Returns the names to import, by the module from which the command's module has them."""
    module = inspect.getmodule(command.function)
    assert module is not None
    return {
        alias.name: node.module
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def _imports(found: dict[str, str]) -> str:
    by_module: dict[str, list[str]] = {}
    for name, module in found.items():
        by_module.setdefault(module, []).append(name)
    lines = {
        module: f"from {module} import {', '.join(sorted(by_module[module]))}\n"
        for module in sorted(by_module)
    }
    standard = "".join(line for module, line in lines.items() if module in _STANDARD)
    own = "".join(line for module, line in lines.items() if module not in _STANDARD)
    return f"\n{standard}\n{own}"


def _text(node: ast.AST) -> str:
    return ast.unparse(node).replace("'", '"')


def _laid_out(indent: int, begin: str, items: list[str], end: str) -> str:
    """Formats a list on one line, or its items on the next, or one item per line."""
    space, deeper, joined = " " * indent, " " * (indent + 4), ", ".join(items)
    if len(line := f"{space}{begin}{joined}{end}\n") <= _WIDTH + 1:
        return line
    if len(line := f"{deeper}{joined}\n") <= _WIDTH + 1:
        return f"{space}{begin}\n{line}{space}{end}\n"
    return f"{space}{begin}\n" + "".join(f"{deeper}{item},\n" for item in items) + f"{space}{end}\n"
