"""Fixtures: a project folder, and a function that calls tools in it as the agent loop does."""

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tools.argument_schema import validate_tool_arguments
from tools.files.output_artifacts import OutputArtifacts
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import Tool, ToolContext, ToolError
from tools.tool_registry import builtin_tools
from tools.tool_result_values import ToolResult

HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def check_result(tool: Tool, arguments: dict[str, Any], result: ToolResult) -> None:
    """Checks what holds for every result: safe text, details that can be stored, a card that can be
    drawn again."""
    stored = msgspec.json.decode(msgspec.json.encode(result.details))
    reopened = ToolResult(content=result.content, details=stored, is_error=result.is_error)
    card = tool.card(arguments, result)
    assert tool.card(arguments, reopened) == card
    drawn = msgspec.json.encode(card).decode()
    for text in (result.text, *strings(stored), *strings(msgspec.json.decode(drawn))):
        assert not HARMFUL.search(text), text
    tool.card({}, None)
    assert "\n" not in card.subject + card.summary + card.title


def strings(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for item in data.values() if isinstance(data, dict) else data:
            yield from strings(item)


class ToolCaller:
    """Calls tools by name, with arguments validated like a model's."""

    def __init__(self, workspace: SessionWorkspace) -> None:
        self.workspace = workspace
        self.cwd = workspace.cwd
        self.progress: list[ToolResult] = []
        self._tools = {tool.name: tool for tool in builtin_tools()}
        self._calls = 0

    def context(self, **changes: Any) -> ToolContext:
        self._calls += 1
        given = {"call_id": f"call{self._calls}", "cwd": self.cwd, "workspace": self.workspace}
        return ToolContext(**{**given, "progress": self.progress.append, **changes})

    async def __call__(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        /,
        *,
        within: ToolContext | None = None,
        **more: Any,
    ) -> ToolResult:
        tool = self._tools[name]
        values = validate_tool_arguments(tool, {**(arguments or {}), **more})
        result = await tool.run(values, within or self.context())
        check_result(tool, {**(arguments or {}), **more}, result)
        return result

    async def text(self, name: str, given: dict[str, Any] | None = None, /, **arguments: Any) -> str:
        return (await self(name, given, **arguments)).text

    async def error(self, name: str, **arguments: Any) -> str:
        """Returns the message of a failure; a call that succeeds fails the test."""
        try:
            result = await self(name, **arguments)
        except ToolError as problem:
            assert not HARMFUL.search(str(problem)), str(problem)
            return str(problem)
        pytest.fail(f"{name} did not fail but said: {result.text[:300]}")


async def until(condition: Callable[[], bool]) -> None:
    """Waits for an effect of another process, which sends no notification."""

    def look() -> None:
        while not condition():
            time.sleep(0.005)

    await asyncio.wait_for(asyncio.to_thread(look), 30)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def workspace(project: Path, tmp_path: Path) -> Iterator[SessionWorkspace]:
    workspace = SessionWorkspace(project, artifacts=OutputArtifacts(tmp_path / "session"))
    yield workspace
    workspace.close()


@pytest.fixture
def hands(workspace: SessionWorkspace) -> ToolCaller:
    return ToolCaller(workspace)
