"""A project folder and hands that call tools in it as the agent loop does."""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.base import ToolContext, ToolError
from tools.registry import builtin_tools
from tools.results import ToolResult
from tools.schema import validate_arguments
from tools.workspace import Workspace


class Hands:
    """Calls tools by name, arguments validated like a model's."""

    def __init__(self, workspace: Workspace) -> None:
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
        values = validate_arguments(tool, {**(arguments or {}), **more})
        return await tool.run(values, within or self.context())

    async def text(self, name: str, **arguments: Any) -> str:
        return (await self(name, **arguments)).text

    async def error(self, name: str, **arguments: Any) -> str:
        """The words of a failure; a call that succeeds fails the test."""
        try:
            result = await self(name, **arguments)
        except ToolError as problem:
            return str(problem)
        pytest.fail(f"{name} did not fail but said: {result.text[:300]}")


async def until(condition: Callable[[], bool]) -> None:
    """Waits for something that other processes do and tell nobody of."""

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
def workspace(project: Path, tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace(project, artifacts_folder=tmp_path / "session")
    yield workspace
    workspace.close()


@pytest.fixture
def hands(workspace: Workspace) -> Hands:
    return Hands(workspace)
