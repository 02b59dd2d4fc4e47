"""Every name in the right column of `docs/seeds.md` exists in the table of its kind."""

import functools
import os
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from app.cli.flags import COMMAND_LINE_FLAGS
from app.cli.subcommands import SUBCOMMANDS
from app.engine.commands.command_table import COMMANDS
from app.engine.planning.planning_tools import make_propose_plan_tool, make_todo_tool
from app.extensions.hooks.hook_table import HOOK_DEFINITIONS
from app.modes.rpc.host_tools import set_host_tools
from app.resources.settings.settings import all_setting_keys, setting_choices
from app.tui.feature_register import ARGUMENT_HINT_BY_SLASH_COMMAND
from app.values.events import Event
from tests.tui.keys_pressed import KEYS
from tools.builtin.mermaid import make_mermaid_tool
from tools.tool_definition import Tool
from tools.tool_registry import builtin_tools

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs" / "seeds.md").read_text(encoding="utf-8")
ROWS = [
    line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(("| There", "|---"))
]
BAYOU_CELLS = [row.rstrip(" |").rsplit(" | ", 1)[-1] for row in ROWS]
NAMED = re.compile(r"\b([A-Za-z]+) ((?:`[^`]+`(?:, and |, | and | or )?)+)")


def event_types(union: Any) -> set[str]:
    """The tags of a union of events, nested unions included."""
    members = get_args(getattr(union, "__value__", union))
    if not members:
        return {union.__struct_config__.tag}
    return set().union(*(event_types(member) for member in members))


async def _nothing(*given: Any) -> Any:
    return None


def _tools() -> tuple[Tool, ...]:
    return (
        *builtin_tools(),
        make_todo_tool(tuple, _nothing),
        make_propose_plan_tool(_nothing),
        make_mermaid_tool(),
    )


def _arguments() -> set[str]:
    """The arguments of all tools, undeclared aliases included."""
    fields = (msgspec.structs.fields(tool.arguments) for tool in _tools() if tool.arguments is not None)
    return {field.encode_name for each in fields for field in each}


def _values() -> set[str]:
    """The named values of all settings."""
    found = {str(choice) for key in all_setting_keys() for choice in setting_choices(key)}
    return found | {name for key in all_setting_keys() for name in re.findall(r"'(\w+)'", str(key.type))}


def _methods() -> set[str]:
    """The methods on the page of extensions, which is generated from the code."""
    text = (TOP / "docs" / "extensions.md").read_text(encoding="utf-8")
    return set(re.findall(r"\| `(?:await )?([a-z_.]+)", text))


@functools.cache
def _source() -> str:
    """The text of bayou's own code."""
    files = (
        Path(folder, name)
        for top in ("app", "tools")
        for folder, _, names in os.walk(TOP / top)
        for name in names
    )
    return "\n".join(file.read_text(encoding="utf-8") for file in files if file.suffix == ".py")


class Quoted(Collection[str]):
    """The string literals in bayou's code."""

    def __contains__(self, name: object) -> bool:
        return f'"{name}"' in _source() or f'/{name}"' in _source()

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0


KINDS: dict[str, Callable[[], Collection[str]]] = {
    "tool": lambda: {tool.name for tool in _tools()},
    "argument": _arguments,
    "setting": lambda: {key.name for key in all_setting_keys()},
    "value": _values,
    "RPC": lambda: {*COMMANDS, set_host_tools.name},
    "event": lambda: event_types(Event),
    "hook": lambda: set(HOOK_DEFINITIONS),
    "method": _methods,
    "key": lambda: {str(action) for _, action in KEYS},
    "variable": Quoted,
    "file": Quoted,
}


TYPED = ("/", "--", "bayou ")


def named(cell: str) -> list[tuple[str, str]]:
    """Every name of a cell with its kind; the kind is empty for commands and flags."""
    kinds: dict[str, str] = {}
    for match in NAMED.finditer(cell):
        kind = match[1] if match[1] in KINDS else match[1].removesuffix("s")
        if kind in KINDS:
            kinds.update((name, kind) for name in re.findall(r"`([^`]+)`", match[2]))
    names = re.findall(r"`([^`]+)`", cell)
    return [("" if name.startswith(TYPED) else kinds.get(name, ""), name) for name in names]


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_a_kind_exist(kind: str) -> None:
    found = {name for cell in BAYOU_CELLS for one, name in named(cell) if one == kind}
    known = KINDS[kind]()
    assert found, f"no row names a {kind}: the test of it cannot fail"
    assert {name for name in found if name not in known} == set()


def test_names_without_a_kind_are_commands_or_flags() -> None:
    """A slash command, a flag or a shell command."""
    slash, flags = set(ARGUMENT_HINT_BY_SLASH_COMMAND), {flag.name for flag in COMMAND_LINE_FLAGS}
    for cell in BAYOU_CELLS:
        for kind, name in named(cell):
            if not kind:
                exists = (
                    (name.startswith("/") and (name[1:] in slash or name == "/skill:NAME"))
                    or (name.startswith("--") and name[2:] in flags)
                    or (name.startswith("bayou ") and name[6:].split()[0] in SUBCOMMANDS)
                )
                assert exists, f"“{name}” in: {cell}"


def test_names_are_read_with_their_kinds() -> None:
    assert named("tools `read` and `nothing`, `/plan`; key `a.b`") == [
        ("tool", "read"),
        ("tool", "nothing"),
        ("", "/plan"),
        ("key", "a.b"),
    ]


def test_rows_are_unique_and_not_empty() -> None:
    assert len(ROWS) > 250
    assert all(re.search(r"\w{2}", cell) for cell in BAYOU_CELLS)
    there = [row.split(" | ", 1)[0] for row in ROWS]
    assert {one for one in there if there.count(one) > 1} == set()


def test_linked_pages_exist() -> None:
    for name in re.findall(r"\]\(([\w-]+\.md)", PAGE):
        assert (TOP / "docs" / name).exists(), name
