"""Where snapshot pictures are stored: `snapshots/<path of the test>/<test>.svg`, beside `tests/`, not in it.

How a screen is made ready to be photographed is in `tests.support.screens`.
"""

import os
from pathlib import Path

import pytest_textual_snapshot as plugin
from syrupy.location import PyTestLocation

TESTS = Path(__file__).resolve().parent.parent
SNAPSHOTS = TESTS.parent / "snapshots"


class TopLevelPictures(plugin.SVGImageExtension):
    """The plugin's own format, filed in the top-level folder."""

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        return str(folder_of(Path(test_location.filepath)))


def folder_of(test_file: Path) -> Path:
    """The folder of a test module's pictures, written as a way *through* the folder of the test.

    syrupy decides which pictures belong to `pytest some/test_file.py::test_one` by asking whether the test's
    folder occurs in the picture's path. With a plain absolute path it would not, and a run of one test would
    call its neighbours' pictures unused (and delete them under --snapshot-update).
    """
    here = test_file.resolve().parent
    target = SNAPSHOTS / here.relative_to(TESTS) / test_file.stem
    return here / os.path.relpath(target, here)


def store_at_top_level() -> None:
    """From now on `snap_compare` reads and writes there."""
    plugin.SVGImageExtension = TopLevelPictures
