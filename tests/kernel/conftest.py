"""A folder, and hands that send cells to the kernel of its session."""

import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from tests.tools.conftest import Hands
from tools.kernel.settings import KernelSettings
from tools.workspace import Workspace


def own_python(path: str | None = None) -> Callable[[], KernelSettings]:
    """Cells run with this interpreter, or the one that runs the tests."""

    async def counting() -> tuple[str | None, bool]:
        return path or sys.executable, True

    return lambda: KernelSettings(interpreter_choice=counting)


def hands_in(folder: Path, path: str | None = None) -> Hands:
    return Hands(Workspace(folder, kernel_settings=own_python(path)))


@pytest.fixture
def hands(tmp_path: Path) -> Iterator[Hands]:
    folder = tmp_path / "project"
    folder.mkdir()
    made = hands_in(folder)
    yield made
    made.workspace.close()


Say = Callable[[str], Awaitable[str]]


@pytest.fixture
def say(hands: Hands) -> Say:
    """What a cell shows."""

    async def said(code: str) -> str:
        return (await hands("eval", code=code)).text

    return said
