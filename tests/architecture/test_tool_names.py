"""What a call does is what its tool says of it (`tools.call_effects`), and not what its tool is called.

So a new tool is judged, masked, ordered and boxed as all others are, without a row in any table.
"""

import ast
from collections.abc import Iterable, Iterator

from tests.architecture.sources import SHIPPED, files, name, nodes

PROGRAMS = ("app/permits/programs/", "app/permits/shell/simple_command.py")
"""There a call is of a program, by its name."""
PLAYS_A_MODEL = "app/providers/offline/"
"""It calls tools, as a model does."""


def is_tools_name(node: ast.expr) -> bool:
    match node:
        case ast.Name(id="tool_name") | ast.Attribute(attr="tool_name"):
            return True
        case ast.Attribute(attr="name", value=ast.Name(id="tool" | "call" | "block")):
            return True
        case ast.Attribute(attr="name", value=ast.Attribute(attr="tool" | "call")):
            return True
    return False


def is_fixed(node: ast.expr) -> bool:
    """A text, several of them, or a constant of the module."""
    match node:
        case ast.Constant(value=str()):
            return True
        case ast.Tuple(elts=elts) | ast.Set(elts=elts) | ast.List(elts=elts):
            return all(map(is_fixed, elts))
        case ast.Name(id=written):
            return written.isupper()
    return False


def compared(found: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """Where the name of a tool is compared with names that are written down."""
    for node in found:
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(is_tools_name, sides)) and any(map(is_fixed, sides)):
                yield node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            asks = node.func.attr in ("startswith", "removeprefix")
            yield from [node] if asks and is_tools_name(node.func.value) else []


def test_no_other_module_knows_a_tool_by_its_name() -> None:
    found = [
        name(path)
        for path in files(*SHIPPED)
        if not name(path).startswith((*PROGRAMS, PLAYS_A_MODEL))
        and any(compared((*nodes(path, ast.Compare), *nodes(path, ast.Call))))
    ]
    assert not found


def test_a_comparison_would_be_found() -> None:
    for line in ('tool.name == "read"', "call.name in _READS", 'event.tool_name in ("a", "b")'):
        assert any(compared(ast.walk(ast.parse(line)))), line
    assert not any(compared(ast.walk(ast.parse("tool.name == name"))))
