"""Sample files that pi wrote, copied so that a test may write them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture
def sample(tmp_path: Path) -> Callable[[str], Path]:
    """A private copy of one sample file."""

    def copy(name: str) -> Path:
        target = tmp_path / "samples" / f"{name}.jsonl"
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(FIXTURES / target.name, target)
        return target

    return copy
