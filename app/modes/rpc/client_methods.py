"""The Python client's methods, a piece of `app/modes/client.py` that is made from the table of commands.

`reference` writes it. It is laid out as the formatter would, so that writing it changes nothing that is up to date.
"""

import ast
import inspect
from collections.abc import Iterable
from typing import Any

from app.engine.commands.base import Command

FILE = "app/modes/client.py"
BEGIN, END = (
    "    # Made by app.modes.rpc.reference: a method for every command\n",
    "    # End of what is made\n",
)
_WIDTH = 110


def with_methods(text: str, commands: Iterable[Command[Any, Any]]) -> str:
    """The file with its methods made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{chr(10).join(_method(command) for command in commands)}\n{END}{after}"


def _method(command: Command[Any, Any]) -> str:
    """With the parameters as they are written in the command, but for its session and the request's own id."""
    [function] = ast.parse(inspect.getsource(command.function)).body
    assert isinstance(function, ast.AsyncFunctionDef) and function.returns is not None
    arguments = function.args.args
    defaults = dict(
        zip((one.arg for one in reversed(arguments)), reversed(function.args.defaults), strict=False)
    )
    taken = [one for one in arguments[1:] if one.arg != "id"]
    written = [
        f"{_text(one)} = {_text(defaults[one.arg])}" if one.arg in defaults else _text(one) for one in taken
    ]
    given = [f'"{command.name}"', *(f"{one.arg}={one.arg}" for one in taken)]
    head = f"async def {command.name}("
    end = f") -> {_text(function.returns)}:"
    words = f'        """{command.told_in_full}"""\n'
    return (
        _laid_out(4, head, ["self", *written], end)
        + words
        + _laid_out(8, "return await self._ask(", given, ")")
    )


def _text(node: ast.AST) -> str:
    return ast.unparse(node).replace("'", '"')


def _laid_out(indent: int, begin: str, items: list[str], end: str) -> str:
    """On one line, or the items on the next, or each on its own."""
    space, deeper, joined = " " * indent, " " * (indent + 4), ", ".join(items)
    if len(line := f"{space}{begin}{joined}{end}\n") <= _WIDTH + 1:
        return line
    if len(line := f"{deeper}{joined}\n") <= _WIDTH + 1:
        return f"{space}{begin}\n{line}{space}{end}\n"
    return f"{space}{begin}\n" + "".join(f"{deeper}{item},\n" for item in items) + f"{space}{end}\n"
