"""Pictures and tests belong together. (A run of the tests itself finds pictures of tests that are gone, but not
those of a folder whose last test is gone.)"""

from pathlib import Path

from tests.architecture.sources import ROOT
from tests.support.snapshots import SNAPSHOTS, TESTS, folder_of


def test_every_picture_belongs_to_a_test():
    homes = {folder_of(path).resolve() for path in TESTS.rglob("test_*.py")}
    lost = [
        path.relative_to(ROOT).as_posix()
        for path in SNAPSHOTS.rglob("*")
        if path.is_file() and path.parent not in homes and path.name != "review.json"
    ]
    assert lost == [], "Delete them, or bring their test back."


def test_pictures_are_svg_and_screens_of_a_terminal_text():
    suffixes = {path.suffix for path in SNAPSHOTS.rglob("*") if path.is_file() and path.name != "review.json"}
    assert suffixes <= {".svg", ".txt"}


def test_pictures_name_no_place_of_this_machine():
    here = str(ROOT)
    assert [path.name for path in SNAPSHOTS.rglob("*.svg") if here in path.read_text(encoding="utf-8")] == []


def test_pictures_load_no_font_from_elsewhere():
    assert [path.name for path in SNAPSHOTS.rglob("*.svg") if "url(" in _without_inner(path)] == []


def _without_inner(path: Path) -> str:
    return path.read_text(encoding="utf-8").replace("url(#", "")
