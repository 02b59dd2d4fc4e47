from pathlib import Path

import pytest

from app.resources.paths import BayouPaths


@pytest.fixture
def paths(tmp_path: Path) -> BayouPaths:
    """The paths of a user's home with an empty project."""
    project = tmp_path / "home" / "project"
    project.mkdir(parents=True)
    return BayouPaths.from_env({"HOME": str(tmp_path / "home")}, project)


@pytest.fixture
def put(tmp_path: Path):
    """Writes a file, folders included."""

    def write(path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write
