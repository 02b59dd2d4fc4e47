"""Every language has a small sample, and nearly every one a real file, whose whole map is written down in `golden`.

After a wanted change: WRITE_GOLDEN=1 writes them anew; read the difference before committing it.
"""

import os
from pathlib import Path

import pytest
from msgspec import structs

from tools.filemap.file_mapper import make_file_map
from tools.filemap.rendering.file_map_rendering import render_file_map

HERE = Path(__file__).parent
FOLDER = HERE / "samples"
SAMPLES = sorted(path for path in FOLDER.rglob("*") if path.is_file() and path.name != "SOURCES.md")


def name_of(sample: Path) -> str:
    return sample.relative_to(FOLDER).as_posix()


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_the_map_of_a_sample_is_as_written_down(sample: Path) -> None:
    outline = structs.replace(make_file_map(sample, deadline_seconds=60), path=sample.name)
    made = render_file_map(outline, level="full").text + "\n"
    golden = HERE / "golden" / (name_of(sample) + ".txt")
    if os.environ.get("WRITE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(made, encoding="utf-8")
    assert made == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_children_lie_within_the_file_and_know_their_parents(sample: Path) -> None:
    made = make_file_map(sample, deadline_seconds=60)
    for index, symbol in enumerate(made.symbols):
        assert 1 <= symbol.start_line <= symbol.end_line <= made.total_lines
        assert symbol.parent != index
        if symbol.parent is not None:
            assert 0 <= symbol.parent < len(made.symbols)
