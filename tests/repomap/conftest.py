"""Fixtures: the repository of boats, with and without an index."""

from pathlib import Path

import pytest

from tests.repomap.boat_repository import FILES, write
from tools.repomap.mapped_repository import MappedRepository


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "boats"
    for name, text in FILES.items():
        write(root, name, text)
    return root


@pytest.fixture
def repository(folder: Path, tmp_path: Path) -> MappedRepository:
    made = MappedRepository(folder, tmp_path / "cache")
    assert made.complete_index(workers=0) == ""
    return made
