"""Fixtures: a folder, and a function that sends cells to the kernel of its session."""

import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from tests.tools.conftest import ToolCaller
from tools.kernel.kernel_settings import KernelSettings
from tools.session_workspace import SessionWorkspace


def own_python(path: str | None = None) -> Callable[[], KernelSettings]:
    """Returns settings by which cells run with this interpreter, or the tests' own."""

    async def counting() -> tuple[str | None, bool]:
        return path or sys.executable, True

    return lambda: KernelSettings(interpreter_choice=counting)


def hands_in(folder: Path, path: str | None = None) -> ToolCaller:
    return ToolCaller(SessionWorkspace(folder, kernel_settings=own_python(path)))


@pytest.fixture
def hands(tmp_path: Path) -> Iterator[ToolCaller]:
    folder = tmp_path / "project"
    folder.mkdir()
    made = hands_in(folder)
    yield made
    made.workspace.close()


Say = Callable[[str], Awaitable[str]]


@pytest.fixture
def say(hands: ToolCaller) -> Say:
    """Returns a function that runs a cell and returns its output."""

    async def said(code: str) -> str:
        return (await hands("eval", code=code)).text

    return said
