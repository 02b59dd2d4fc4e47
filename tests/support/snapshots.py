"""Where snapshot pictures are stored: `snapshots/<path of the test>/<test>.svg`, beside `tests/`, not in it; and how.

How a screen is made ready to be photographed is in `tests.support.screens`.
"""

import os
import re
from pathlib import Path
from typing import Any

import pytest_textual_snapshot as plugin
from syrupy.location import PyTestLocation

TESTS = Path(__file__).resolve().parent.parent
SNAPSHOTS = TESTS.parent / "snapshots"


class TopLevelPictures(plugin.SVGImageExtension):
    """The plugin's own format, filed in the top-level folder."""

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        return str(folder_of(Path(test_location.filepath)))

    def serialize(self, *args: Any, **kwargs: Any) -> Any:
        return lean(super().serialize(*args, **kwargs))

    def _read_snapshot_data_from_location(self, *args: Any, **kwargs: Any) -> Any:
        stored = super()._read_snapshot_data_from_location(*args, **kwargs)
        return lean(stored) if stored is not None else None


_BLANKS_AT_END = re.compile("(?:&#160;)+</text>")
_ONLY_BLANKS = re.compile(r"<text [^>]*></text>")
_LINE_CLIPS = re.compile(r'<clipPath id="terminal-line-.*?</clipPath>\s*', re.DOTALL)
_CLIPPED = re.compile(r' clip-path="url\(#terminal-line-\d+\)"')
_FONTS = re.compile(r"\s*@font-face \{.*?\n    \}", re.DOTALL)
_LENGTH = re.compile(r' textLength="[\d.]+"')


def lean(svg: str) -> str:
    """The same picture in a third of the bytes: backgrounds are drawn apart, so blanks at a line's end draw nothing.

    Underlined blanks at the end of a piece of text are the exception; nothing of bayou's underlines those.
    And it sends no browser anywhere for a font: one that the machine has will do.
    """
    svg = _FONTS.sub("", _LINE_CLIPS.sub("", _CLIPPED.sub("", _LENGTH.sub("", svg))))
    return _ONLY_BLANKS.sub("", _BLANKS_AT_END.sub("</text>", svg)).replace("&#160;", "\N{NO-BREAK SPACE}")


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
