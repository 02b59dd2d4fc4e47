"""The table of benchmarks. What the benchmarks measure is not tested: figures are for reading."""

import subprocess
import sys
from pathlib import Path

from bench.__main__ import subjects
from bench.processes import Terminal
from bench.table import Row, lines_of
from tests.architecture.sources import ROOT


def test_subjects_are_the_modules_that_have_rows():
    assert "startup" in subjects()
    assert not {"table", "processes", "__main__"} & set(subjects())


def test_the_table_has_a_line_for_each_row_and_columns_that_line_up():
    rows = [
        (
            "startup",
            Row(name="first paint", figure=412.4, unit="ms", ratio=1.984, reference="import", limit="2.0x"),
        ),
        ("startup", Row(name="memory", figure=49.32, unit="MiB")),
        ("other", Row(name="idle", figure=0.0512, unit="%", ratio=0.5)),
    ]
    header, rule, *lines = lines_of(rows)
    assert len(lines) == 3
    assert "412" in lines[0]
    assert "1.98x" in lines[0]
    assert "49.3" in lines[1]
    assert "0.0512" in lines[2]
    assert header.index("unit") == lines[0].index("ms") == lines[1].index("MiB")
    assert set(rule) == {"-", " "}


def test_an_unknown_subject_is_answered_with_the_known_ones():
    done = subprocess.run(
        [sys.executable, "-m", "bench", "nothing"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "No benchmark is named nothing. There are: " in done.stderr


def test_a_terminal_sees_what_a_program_draws(tmp_path: Path):
    program = "import os, sys; print(os.get_terminal_size()); print(input('name? ').upper())"
    terminal = Terminal([sys.executable, "-c", program], tmp_path, {"PATH": "/usr/bin:/bin"}, (90, 20))
    try:
        terminal.wait_for(b"columns=90, lines=20")
        terminal.wait_for(b"name? ")
        terminal.write(b"bayou\n")
        terminal.wait_for(b"BAYOU")
    finally:
        terminal.close()
