import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.extensions import time_limits
from app.extensions.extension_registrations import ExtensionSource
from app.extensions.extension_runner import Extensions
from app.extensions.loading.extension_finder import ExtensionSelectionOptions, find_extensions
from app.extensions.time_limits import HookLimits
from app.resources.paths import BayouPaths
from tests.extensions.extension_host import ExtensionHost

QUICK = HookLimits(answer_seconds=0.2, slow_answer_seconds=0.4, block_seconds=0.15, load_seconds=0.5)
"""Short time limits, so that tests can reach them."""


@pytest.fixture(autouse=True)
def little_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limits, "EXTENSION_CLEANUP_SECONDS", 0.1)


@pytest.fixture
def paths(tmp_path: Path) -> BayouPaths:
    project = tmp_path / "home" / "project"
    project.mkdir(parents=True)
    return BayouPaths.from_env({"HOME": str(tmp_path / "home")}, project)


@pytest.fixture
def scene(tmp_path: Path, paths: BayouPaths) -> ExtensionHost:
    return ExtensionHost(tmp_path / "played", paths.cwd)


@pytest.fixture
def write(paths: BayouPaths) -> Callable[[str, str], Path]:
    """Writes an extension of the user."""

    def put(name: str, code: str) -> Path:
        path = paths.agent_dir / "extensions" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(code), encoding="utf-8")
        return path

    return put


def source(function: Callable[..., Any], name: str = "mine") -> ExtensionSource:
    """Returns an extension source that loads a function of the test."""
    return ExtensionSource(name=name, path=f"/x/{name}.py", origin="user", load=lambda extension: function)


@pytest.fixture
def load(scene: ExtensionHost):
    """Loads functions of the test as extensions, in order."""

    async def loaded(*functions: Callable[..., Any], limits: HookLimits = QUICK) -> Extensions:
        extensions = scene.extensions(limits=lambda: limits)
        await extensions.load([source(function, function.__name__) for function in functions])
        return extensions

    return loaded


@pytest.fixture
def load_files(paths: BayouPaths, scene: ExtensionHost):
    """Loads the extensions found on disk."""

    async def loaded(**choice: Any) -> Extensions:
        extensions = scene.extensions(limits=lambda: QUICK)
        await extensions.load(find_extensions(paths, ExtensionSelectionOptions(**choice)).sources)
        return extensions

    return loaded
