"""What `docs/seeds.md` says is here, is: commands, settings, events, flags and tools are looked up by name."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, get_args

import pytest

from app.cli.flags import FLAGS
from app.engine.commands.table import COMMANDS
from app.engine.plan_tool import plan_tool
from app.engine.todo_tool import todo_tool
from app.resources.settings import keys
from app.tui.slash import BY_NAME
from app.values.events import Event
from tools.builtin.mermaid import mermaid_tool
from tools.registry import builtin_tools

PAGE = (Path(__file__).parents[2] / "docs" / "seeds.md").read_text(encoding="utf-8")
HERE = [line.rsplit(" | ", 1)[-1] for line in PAGE.splitlines() if line.startswith("| ")]


def named(pattern: str) -> set[str]:
    return {name for cell in HERE for name in re.findall(pattern, cell)}


def event_types(union: Any) -> set[str]:
    """The tags of a union of events, of unions within it too."""
    members = get_args(getattr(union, "__value__", union))
    if not members:
        return {union.__struct_config__.tag}
    return set().union(*(event_types(member) for member in members))


async def _nothing(*given: Any) -> Any:
    return None


def tools() -> set[str]:
    own = (todo_tool(tuple, _nothing), plan_tool(_nothing), mermaid_tool())
    return {tool.name for tool in (*builtin_tools(), *own)}


@pytest.mark.parametrize(
    ("pattern", "known", "least"),
    [
        (r"tool `([^`]+)`", tools(), 5),
        (r"setting `([^`]+)`", {key.name for key in keys()}, 15),
        (r"RPC `([^`]+)`", set(COMMANDS), 15),
        (r"event `([^`]+)`", event_types(Event), 5),
        (r"`/([a-z-]+)`", set(BY_NAME), 10),
        (r"`--([a-z-]+)`", {flag.name for flag in FLAGS}, 2),
    ],
    ids=["tools", "settings", "RPC", "events", "slash", "flags"],
)
def test_what_is_named_is_there(pattern: str, known: Collection[str], least: int) -> None:
    found = named(pattern)
    assert len(found) >= least
    assert found - set(known) == set()


def test_each_row_says_something() -> None:
    rows = [cell for cell in HERE if not cell.startswith(("---", "Here"))]
    assert len(rows) > 90
    assert all(re.search(r"\w{2}", cell) for cell in rows)
