"""Stores snapshot pictures in `snapshots/<path of the test>/<test>.svg`, outside of `tests/`, and
compares them.

`tests.support.screens` prepares the screens; differences are saved for `tests.review`."""

import inspect
import os
import re
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.base import AbstractSyrupyExtension
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation

from tests.review.drawing import CELL_WIDTH, read_drawing
from tests.review.runs import Run, without_reviewer

TESTS = Path(__file__).resolve().parent.parent
SNAPSHOTS = TESTS.parent / "snapshots"
RUNS = TESTS.parent / "build" / "pictures"
PLUGIN_FOLDER = "TEXTUAL_SNAPSHOT_TEMPDIR"
"""The variable with the folder in which the picture plugin collects data for its report."""
RUN_ID = "BAYOU_PICTURES_RUN"
"""The variable with the id of the run, set by the process that starts the others."""


class TopLevelPictures(SingleFileSnapshotExtension):
    """Stores each picture in a file of the top-level folder. Two pictures are equal if each cell is."""

    _file_extension = "svg"
    _write_mode = WriteMode.TEXT

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        return str(folder_of(Path(test_location.filepath)))

    def serialize(self, data: Any, **kwargs: Any) -> str:
        return lean(data)

    def matches(self, *, serialized_data: Any, snapshot_data: Any) -> bool:
        if serialized_data == without_reviewer(snapshot_data):
            return True
        made, stored = read_drawing(serialized_data), read_drawing(snapshot_data)
        return stored.is_whole and made == stored


class PictureAssertion(SnapshotAssertion):
    """Compares with `TopLevelPictures`, even if the plugin's `snap_compare` names another storage."""

    def use_extension(
        self, extension_class: type[AbstractSyrupyExtension] | None = None
    ) -> SnapshotAssertion:
        return self


def assertion(before: SnapshotAssertion) -> PictureAssertion:
    return PictureAssertion(
        session=before.session,
        extension_class=TopLevelPictures,
        test_location=before.test_location,
        update_snapshots=before.update_snapshots,
    )


def forget_report() -> None:
    """Deletes the data that the plugin collected for its report, which contains the environment and
    needs a network."""
    if folder := os.environ.get(PLUGIN_FOLDER):
        for path in Path(folder).iterdir():
            path.unlink()


class Pictures:
    """Compares the pictures of one test with the stored ones, and saves differences for the review."""

    def __init__(self, snapshot: SnapshotAssertion, node: pytest.Item, run: Run) -> None:
        self._snapshot = snapshot
        self._node = node
        self._run = run

    def is_as_stored(self, svg: str, name: str | None = None) -> bool:
        return self.noted((self._snapshot(name=name) if name else self._snapshot) == svg)

    def noted(self, is_same: bool) -> bool:
        """Records the result of the last comparison."""
        self._run.looked()
        done = self._snapshot.executions[self._snapshot.num_executions - 1]
        if not is_same:
            stored = Path(done.snapshot_location).resolve()
            words = inspect.getdoc(getattr(self._node, "function", None)) or ""
            self._run.keep(
                stored.relative_to(SNAPSHOTS).as_posix(),
                str(done.asserted_data),
                stored.read_text("utf-8") if stored.exists() else None,
                self._node.nodeid,
                words,
            )
        return is_same


def this_run() -> Run:
    return Run(RUNS, os.environ[RUN_ID])


_BLANKS_AT_END = re.compile(r"<text ([^>]*)>([^<]*?)((?:&#160;|\u00a0)*)</text>")
_LENGTH = re.compile(r'textLength="([\d.]+)"')
_LINE_CLIPS = re.compile(r'<clipPath id="terminal-line-.*?</clipPath>\s*', re.DOTALL)
_CLIPPED = re.compile(r' clip-path="url\(#terminal-line-\d+\)"')
_FONTS = re.compile(r"\s*@font-face \{.*?\n    \}", re.DOTALL)
_LINE_CLIP_NAMES = re.compile(r"terminal-(\d+)-")


def lean(svg: str) -> str:
    """Returns the same picture at half the size: backgrounds are separate, so trailing blanks draw
    nothing.

    Underlined trailing blanks would be an exception, which bayou does not use. Each piece of text
    keeps its length, so that every font keeps the grid. No fonts are loaded from the network."""
    svg = _LINE_CLIP_NAMES.sub("terminal-", svg)
    svg = _FONTS.sub("", _LINE_CLIPS.sub("", _CLIPPED.sub("", svg)))
    return _BLANKS_AT_END.sub(_without_blanks, svg).replace("&#160;", "\N{NO-BREAK SPACE}")


def _without_blanks(match: re.Match[str]) -> str:
    attributes, text, blanks = match.groups()
    if not text:
        return ""
    count = blanks.replace("&#160;", "\N{NO-BREAK SPACE}").count("\N{NO-BREAK SPACE}")
    return f"<text {_LENGTH.sub(lambda found: _shorter(found, count), attributes)}>{text}</text>"


def _shorter(length: re.Match[str], cells: int) -> str:
    return f'textLength="{round(float(length[1]) - cells * CELL_WIDTH, 1):g}"'


def folder_of(test_file: Path) -> Path:
    """Returns the folder of a test module's pictures, as a path *through* the folder of the test.

    syrupy decides which pictures belong to `pytest some/test_file.py::test_one` by asking whether
    the test's folder occurs in the picture's path. With a plain absolute path it would not, and a
    run of one test would report its neighbours' pictures as unused (and delete them under
    --snapshot-update)."""
    here = test_file.resolve().parent
    target = SNAPSHOTS / here.relative_to(TESTS) / test_file.stem
    return here / os.path.relpath(target, here)
