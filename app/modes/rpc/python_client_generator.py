"""Generates two modules of the Python client: `client_commands`, a method for each command of the table, and
`values`, the definitions that these and the events need, so that the client needs nothing else of bayou.

`reference` writes them, formatted as the formatter would.
"""

import ast
import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from app.engine.commands import response_data
from app.engine.commands.session_command import SessionCommandDefinition
from app.package.closure import Closure, Module

PROJECT_ROOT = Path(__file__).resolve().parents[3]
CLIENT_COMMANDS_FILE = "app/package/bayou/client_commands.py"
CLIENT_VALUES_FILE = "app/package/bayou/values.py"
_CLIENT_COMMANDS_FILE_HEAD = '''"""Generated from the table of session commands: a client method for each command.

python -m app.modes.rpc.reference          generates it again
"""
'''
_CLIENT_COMMANDS_CLASS_SOURCE = '''

class ClientCommands:
    """Sends every session command to a bayou process: one method for each command."""

    def __init__(self, ask: Callable[..., Awaitable[Any]]) -> None:
        """`ask` gets a command's name, the type and the field of its answer, and the command's fields."""
        self._ask = ask
'''
_CLIENT_VALUES_FILE_HEAD = '''\
"""Generated from bayou's own definitions: the events, messages and all other values of the client.

python -m app.modes.rpc.reference          generates it again
"""
'''
_DEFINITIONS_ALWAYS_COPIED = (
    ("app.values.events", "Event"),
    ("app.values.content", "text_of"),
    ("app.values.wire", "from_wire"),
    ("app.values.wire", "to_wire"),
    ("app.values.codec", "encode_json"),
    ("app.values.codec", "decode_json"),
)
"""What the client itself uses, and its users need for content."""
_MODULE_BY_IMPORTED_NAME = {"Awaitable": "collections.abc", "Callable": "collections.abc", "Any": "typing"}
_STANDARD_LIBRARY_MODULES = ("collections.abc", "typing")
_GENERATED_LINE_WIDTH = 110


def client_commands_source(commands: Iterable[SessionCommandDefinition[Any, Any]]) -> str:
    """Returns the complete text of `client_commands`."""
    methods: list[str] = []
    imports = dict(_MODULE_BY_IMPORTED_NAME)
    for command in commands:
        function, taken, returned = _read_signature(command)
        methods.append(_method_source(command, function, taken, returned))
        known = _names_to_import(command)
        for node in (*taken, returned):
            for name in _names_used(node):
                if name in known:
                    imports[name] = (
                        known[name] if known[name] in _STANDARD_LIBRARY_MODULES else "bayou.values"
                    )
    return (
        _CLIENT_COMMANDS_FILE_HEAD
        + _import_lines(imports)
        + _CLIENT_COMMANDS_CLASS_SOURCE
        + "".join(f"\n{method}" for method in methods)
    )


def client_values_source(commands: Iterable[SessionCommandDefinition[Any, Any]]) -> str:
    """Returns the complete text of `values`."""
    closure = Closure(PROJECT_ROOT)
    for module, name in _DEFINITIONS_ALWAYS_COPIED:
        closure.add(module, [name])
    for command in commands:
        _, taken, returned = _read_signature(command)
        home = inspect.getmodule(command.function)
        assert home is not None
        for node in (*taken, returned):
            closure.add(home.__name__, (one.id for one in ast.walk(node) if isinstance(one, ast.Name)))
            for one in ast.walk(node):
                if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
                    closure.add(f"app.engine.commands.{one.value.id}", [one.attr])
    modules = [closure.module(name) for name in closure.ordered_modules()]
    defined = [name for module in modules for name in closure.needed[module.name]]
    twice = {name for name in defined if defined.count(name) > 1}
    if twice:
        raise ValueError(f"two modules define {', '.join(sorted(twice))}: give one of them another name")
    texts = [text for module in modules for text in _definitions(module, closure.needed[module.name])]
    definitions = re.sub(r"\n{4,}", "\n\n\n", "".join(texts)).strip()
    return f"{_CLIENT_VALUES_FILE_HEAD}{_foreign_imports(modules, closure)}\n{definitions}\n"


def _definitions(module: Module, wanted: set[str]) -> Iterator[str]:
    """Returns the source of the wanted definitions, in their order."""
    chosen = {id(node): node for name in wanted for node in module.definitions[name]}
    for node in sorted(chosen.values(), key=lambda one: one.lineno):
        decorators = getattr(node, "decorator_list", [])
        first = decorators[0].lineno if decorators else node.lineno
        text = "".join(module.lines[first - 1 : node.end_lineno])
        is_large = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        is_described = isinstance(node, ast.Expr)
        yield f"\n\n{text}\n\n" if is_large else text if is_described else f"\n{text}"


def _foreign_imports(modules: Sequence[Module], closure: Closure) -> str:
    """Returns the imports that the definitions need from other packages."""
    plain: set[str] = set()
    names: dict[str, set[str]] = {}
    for module in modules:
        used = {
            one.id
            for name in closure.needed[module.name]
            for node in module.definitions[name]
            for one in ast.walk(node)
            if isinstance(one, ast.Name)
        }
        for name in used & set(module.imports):
            origin, original = module.imports[name]
            if closure.defining_place(module, name) is not None:
                continue
            if original:
                names.setdefault(origin, set()).add(original)
            else:
                plain.add(origin)
    standard = [f"import {name}\n" for name in sorted(plain - {"msgspec"})]
    standard += [_import_line(origin, names[origin]) for origin in sorted(names)]
    return "\n" + "".join(standard) + "\nimport msgspec\n"


def _read_signature(
    command: SessionCommandDefinition[Any, Any],
) -> tuple[ast.AsyncFunctionDef, list[ast.arg], ast.expr]:
    """Returns a command's function, its parameters without the session and the request's own id, and its type."""
    [function] = ast.parse(inspect.getsource(command.function)).body
    assert isinstance(function, ast.AsyncFunctionDef) and function.returns is not None
    return function, [one for one in function.args.args[1:] if one.arg != "id"], function.returns


def _method_source(
    command: SessionCommandDefinition[Any, Any],
    function: ast.AsyncFunctionDef,
    taken: Sequence[ast.arg],
    returned: ast.expr,
) -> str:
    """Returns a method that sends its parameters under the command's field names."""
    given = function.args
    defaults = dict(zip((one.arg for one in reversed(given.args)), reversed(given.defaults), strict=False))
    written = [
        f"{_node_source(one)} = {_node_source(defaults[one.arg])}"
        if one.arg in defaults
        else _node_source(one)
        for one in taken
    ]
    head = _format_list(
        4, f"async def {command.name}(", ["self", *written], f") -> {_node_source(returned)}:"
    )
    fields = {field.name: field.encode_name for field in structs.fields(command.parameters_struct)}
    passed = [
        f'"{command.name}"',
        _node_source(returned),
        f'"{command.answer}"',
        *(f"{fields[one.arg]}={one.arg}" for one in taken),
    ]
    return f'{head}        """{command.description}"""\n{_format_list(8, "return await self._ask(", passed, ")")}'


def _names_used(node: ast.AST) -> Iterator[str]:
    return (one.id for one in ast.walk(_LocalNames().visit(node)) if isinstance(one, ast.Name))


def _names_to_import(command: SessionCommandDefinition[Any, Any]) -> dict[str, str]:
    """Returns the names to import, by the module from which the command's module has them."""
    module = inspect.getmodule(command.function)
    assert module is not None
    found = {
        alias.name: node.module
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    return {name: response_data.__name__ for name in vars(response_data) if not name.startswith("_")} | found


def _import_lines(found: dict[str, str]) -> str:
    by_module: dict[str, list[str]] = {}
    for name, module in found.items():
        by_module.setdefault(module, []).append(name)
    lines = {module: _import_line(module, names) for module, names in sorted(by_module.items())}
    standard = "".join(line for module, line in lines.items() if module in _STANDARD_LIBRARY_MODULES)
    own = "".join(line for module, line in lines.items() if module not in _STANDARD_LIBRARY_MODULES)
    return f"\n{standard}\n{own}"


def _import_line(module: str, names: Iterable[str]) -> str:
    """Returns an import as the formatter sorts it: constants, classes, then the others."""
    ordered = sorted(names, key=lambda name: (not name.isupper(), name[0].islower(), name.lower()))
    if len(line := f"from {module} import {', '.join(ordered)}\n") <= _GENERATED_LINE_WIDTH + 1:
        return line
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in ordered) + ")\n"


def _node_source(node: ast.AST) -> str:
    """Returns the source of a type annotation, without the names of modules, since `values` defines all types."""
    return ast.unparse(_LocalNames().visit(node)).replace("'", '"')


class _LocalNames(ast.NodeTransformer):
    """Replaces `results.Name` by `Name`."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return ast.Name(node.attr) if isinstance(node.value, ast.Name) else self.generic_visit(node)


def _format_list(indent: int, begin: str, items: list[str], end: str) -> str:
    """Formats a list on one line, or its items on the next, or one item per line."""
    space, deeper, joined = " " * indent, " " * (indent + 4), ", ".join(items)
    if len(line := f"{space}{begin}{joined}{end}\n") <= _GENERATED_LINE_WIDTH + 1:
        return line
    if len(line := f"{deeper}{joined}\n") <= _GENERATED_LINE_WIDTH + 1:
        return f"{space}{begin}\n{line}{space}{end}\n"
    return f"{space}{begin}\n" + "".join(f"{deeper}{item},\n" for item in items) + f"{space}{end}\n"
