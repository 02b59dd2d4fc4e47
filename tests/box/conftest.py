"""Fixtures: a home with a project, and a function that runs commands in the sandbox there."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.box.boxed_commands import BoxedCommands
from tests.box.ordinary import forbids_user_namespaces
from tools.box.sandbox_features import system_sandbox_features
from tools.box.sandbox_instructions import CONFINEMENT_METHODS, ConfinementMethod
from tools.protected.user_caches import USER_CACHES


def skip_below(step: ConfinementMethod) -> None:
    has = system_sandbox_features()
    if CONFINEMENT_METHODS.index(has.step) > CONFINEMENT_METHODS.index(step):
        pytest.skip(f"this system has no more than the step '{has.step}': {has.why}")


def skip_without_user_namespaces() -> None:
    problem = forbids_user_namespaces()
    if problem:
        pytest.skip(f"this system forbids ordinary users their own namespaces: {problem}")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that is not below the folder for temporary files, which is writable in the sandbox."""
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text("a key")
    (home / ".cache").mkdir()
    monkeypatch.setenv("HOME", str(home))
    for cache in USER_CACHES:
        monkeypatch.delenv(cache.environment_variable, raising=False)
    return home


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate folder for temporary files, so that the rest of the test's folder does not count as
    one."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("app.engine.sandbox.sandbox_places.temporary_folders", lambda: (str(folder),))
    return folder


@pytest.fixture
def project(home: Path, elsewhere: Path) -> Path:
    folder = home / "project"
    folder.mkdir()
    os.system(f"git init -q {folder}")
    return folder


@pytest.fixture
def boxed(home: Path, project: Path) -> Iterator[Callable[[ConfinementMethod], BoxedCommands]]:
    made: list[BoxedCommands] = []

    def make(step: ConfinementMethod = "namespaces") -> BoxedCommands:
        skip_below(step)
        made.append(BoxedCommands(home, project, step))
        return made[-1]

    yield make
    for hands in made:
        hands.close()
