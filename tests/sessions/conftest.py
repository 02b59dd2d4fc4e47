"""Fixtures: sample session files written by pi, copied so that tests may change them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture
def sample(tmp_path: Path) -> Callable[[str], Path]:
    """Copies one sample file for the test."""

    def copy(name: str) -> Path:
        target = tmp_path / "samples" / f"{name}.jsonl"
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(FIXTURES / target.name, target)
        return target

    return copy
