"""Every language has a small sample whose whole map is written down beside it.

After a wanted change: WRITE_GOLDEN=1 writes them anew; read the difference before committing it.
"""

import os
from pathlib import Path

import pytest

from tools.filemap.map import map_file
from tools.filemap.render import render_map

HERE = Path(__file__).parent
SAMPLES = sorted(path for path in (HERE / "samples").iterdir() if path.is_file())


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_the_map_of_a_sample_is_as_written_down(sample: Path) -> None:
    made = render_map(map_file(sample, deadline_seconds=60), level="full").text + "\n"
    golden = HERE / "golden" / (sample.name + ".txt")
    if os.environ.get("WRITE_GOLDEN"):
        golden.write_text(made, encoding="utf-8")
    assert made == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_children_lie_within_the_file_and_know_their_parents(sample: Path) -> None:
    made = map_file(sample, deadline_seconds=60)
    for index, symbol in enumerate(made.symbols):
        assert 1 <= symbol.start_line <= symbol.end_line <= made.total_lines
        assert symbol.parent != index
        if symbol.parent is not None:
            assert 0 <= symbol.parent < len(made.symbols)
