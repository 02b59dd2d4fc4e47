from collections.abc import Callable
from pathlib import Path

import pytest

from app.resources.paths import BayouPaths


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A hostile project folder on the user's disk."""
    place = tmp_path / "home" / "clone"
    place.mkdir(parents=True)
    return place


@pytest.fixture
def paths(folder: Path) -> BayouPaths:
    return BayouPaths.from_env({"HOME": str(folder.parent)}, folder)


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """A file that exists once the attack has worked."""
    return tmp_path / "it-ran"


@pytest.fixture
def trap(tmp_path: Path, mark: Path) -> Path:
    """A program that creates the mark."""
    return program(tmp_path / "trap", f"touch '{mark}'\ncat 2>/dev/null || true")


Put = Callable[[Path, str], Path]


@pytest.fixture
def put() -> Put:
    """Writes a file, folders included."""

    def write(path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


def program(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path
