"""What a tool says that its call touches is what it is judged by: no tool is known by its name."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.providers.scripted import call, say
from tests.permits.test_gate import gated_session, results
from tools.call_effects import Effects
from tools.files.path_arguments import resolve_path_arguments
from tools.tool_definition import Tool, ToolContext
from tools.tool_registry import builtin_tools
from tools.tool_result_values import ToolResult, text_result

SECRET = "hunter2hunter2hunter2"
_WRITTEN: Mapping[str, str] = {
    "command": "cat .env",
    "code": "print(open('.env').read())",
    "input": "*** Begin Patch\n*** Update File: .env\n*** Move to: plain.txt\n-PASSWORD\n+PASS\n*** End Patch",
}
"""Arguments that are written in a language."""


def filled(node: Mapping[str, Any], name: str = "") -> Any:
    """A value of this schema that names the file wherever there is room for a text."""
    if "enum" in node:
        return node["enum"][0]
    match node.get("type"):
        case "string":
            return _WRITTEN.get(name, ".env")
        case "array":
            return [filled(node["items"], name)]
        case "object":
            wanted = {"path", "paths", "glob", *node.get("required", ())}
            return {key: filled(one, key) for key, one in node.get("properties", {}).items() if key in wanted}
        case _:
            return 1


def own_tools() -> dict[str, Tool]:
    return {tool.name: tool for tool in builtin_tools()}


@pytest.mark.parametrize("name", sorted(own_tools()))
async def test_every_tool_that_is_given_a_secret_file_is_stopped_or_masked(tmp_path: Path, name: str) -> None:
    tool = own_tools()[name]
    harness = gated_session(tmp_path, call(name, **filled(tool.schema)), say("ok"), asks="none", mode="full")
    harness.session.tools.set_active_tools([*own_tools()])
    secret = harness.session.cwd / ".env"
    secret.write_text(f"PASSWORD={SECRET}\n")
    await harness.prompt("go")
    (result,) = results(harness)
    assert SECRET not in result
    moved = [one for one in harness.session.cwd.rglob("*") if one != secret and one.is_file()]
    assert not any(SECRET in one.read_text(errors="replace") for one in moved)
    await harness.session.close()


class StatArguments(msgspec.Struct, frozen=True, kw_only=True):
    path: str


def stat_tool(**more: Any) -> Tool:
    """It tells the first line of a file, and that is all that bayou knows of it."""

    async def run(arguments: StatArguments, context: ToolContext) -> ToolResult:
        text = await asyncio.to_thread((context.cwd / arguments.path).read_text)
        return text_result(text)

    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    return Tool(
        name="stat",
        description="x",
        schema=schema,
        run=run,
        arguments=StatArguments,
        is_read_only=True,
        **more,
    )


def declared(arguments: StatArguments, context: ToolContext) -> Effects:
    return Effects(reads=resolve_path_arguments(context, arguments.path))


async def told(folder: Path, tool: Tool, path: str, mode: str, text: str = f"PASSWORD={SECRET}\n") -> str:
    harness = gated_session(folder, call("stat", path=path), say("ok"), asks="none", mode=mode)
    harness.session.tools.register_tool(tool, owner="test")
    (harness.session.cwd / path).write_text(text)
    await harness.prompt("go")
    (result,) = results(harness)
    await harness.session.close()
    return result


@pytest.mark.parametrize("mode", ["read-only", "ask", "auto-edit", "full"])
async def test_a_tool_that_only_declares_its_path_is_stopped_as_read_is(tmp_path: Path, mode: str) -> None:
    said = await told(tmp_path, stat_tool(effects=declared), ".env", mode)
    assert SECRET not in said and "contains secrets" in said


async def test_a_tool_that_declares_its_path_reads_what_is_no_secret(tmp_path: Path) -> None:
    assert await told(tmp_path, stat_tool(effects=declared), "a.txt", "read-only", "plain\n") == "plain\n"


@pytest.mark.parametrize("mode", ["read-only", "ask", "auto-edit"])
async def test_a_tool_that_declares_nothing_may_do_anything(tmp_path: Path, mode: str) -> None:
    said = await told(tmp_path, stat_tool(), "a.txt", mode, "plain\n")
    assert "a tool that may do anything" in said and "plain" not in said


@pytest.mark.parametrize(
    "path", [".env", "sub/../.env", "$HOME/.ssh/id_rsa", "file:///home/me/project/.env", "link"]
)
async def test_a_tool_that_declares_nothing_is_stopped_when_any_argument_names_a_secret(
    tmp_path: Path, path: str
) -> None:
    """Also in `full`, and where a rule lets the tool run."""
    arguments = {"path": "a.txt", "more": {"files": [{"where": path}]}}
    harness = gated_session(tmp_path, call("stat", **arguments), say("ok"), asks="none", mode="full")
    ran: list[str] = []

    async def run(arguments: Any, context: ToolContext) -> ToolResult:
        ran.append("stat")
        return text_result("done")

    harness.session.tools.register_tool(
        msgspec.structs.replace(stat_tool(), run=run, arguments=None), owner="test"
    )
    harness.session.permissions.rules.add_allow_rule("tool: stat")
    (harness.session.cwd / ".env").write_text(f"PASSWORD={SECRET}\n")
    (harness.session.cwd / "link").symlink_to(".env")
    await harness.prompt("go")
    (result,) = results(harness)
    await harness.session.close()
    assert not ran and "Needs approval" in result


async def test_a_call_whose_effects_cannot_be_told_does_not_run(tmp_path: Path) -> None:
    def broken(arguments: Any, context: Any) -> Effects:
        raise LookupError("no table")

    said = await told(tmp_path, stat_tool(effects=broken), "a.txt", "full", "plain\n")
    assert said == "What the call of stat touches could not be told: LookupError: no table"


async def test_a_deny_rule_for_a_path_holds_for_every_tool_that_reads_or_changes_it(tmp_path: Path) -> None:
    harness = gated_session(
        tmp_path,
        call("stat", path="a.txt")
        + call("write", path="a.txt", content="x")
        + call("read", path="a.txt:1-1"),
        say("ok"),
        asks="none",
        mode="full",
    )
    harness.session.tools.register_tool(stat_tool(effects=declared), owner="test")
    (harness.session.cwd / "a.txt").write_text("plain\n")
    harness.effective_settings.set("permissions.deny", ("read: a.txt",))
    await harness.prompt("go")
    assert all("This was refused by deny" in text for text in results(harness))
    assert (harness.session.cwd / "a.txt").read_text() == "plain\n"
    await harness.session.close()
