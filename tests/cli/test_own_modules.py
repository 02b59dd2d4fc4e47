"""Bayou's own modules are found as Python would find them, only sooner; those of others are left to Python."""

import os
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from app.own_modules import OwnFinder

ROOT = Path(__file__).parents[2]
NAMES = ("app", "tools", "app.tui", "app.tui.run", "widgets.textual_inside", "tools.box.abilities")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a package of bayou's, and one of others whose name begins alike."""
    for name, text in (
        ("app/__init__.py", ""),
        ("app/told.py", "WORD = 'first'"),
        ("apple/__init__.py", ""),
        ("apple/pie.py", "WORD = 'pie'"),
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def said(home: Path, what: str = "import app.told; print(app.told.WORD)") -> str:
    """What a fresh interpreter prints, in which bayou's modules are those of `home`."""
    program = (
        f"import sys; sys.path[:0] = [{str(home)!r}, {str(ROOT)!r}]\n"
        f"from importlib.util import spec_from_file_location, module_from_spec\n"
        f"spec = spec_from_file_location('own_modules', {str(ROOT / 'app' / 'own_modules.py')!r})\n"
        "own_modules = module_from_spec(spec); spec.loader.exec_module(own_modules)\n"
        f"sys.meta_path.insert(0, own_modules.OwnFinder({str(home)!r}))\n{what}"
    )
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    run = subprocess.run(
        [sys.executable, "-c", program], env=env, cwd=home, capture_output=True, text=True, check=False
    )
    return (run.stdout + run.stderr[-300:]).strip()


@pytest.mark.parametrize("name", NAMES)
def test_a_module_is_what_python_would_find(name: str):
    above = name.rpartition(".")[0].replace(".", "/")
    path = [str(ROOT / above)] if above else None
    found = OwnFinder(str(ROOT)).find_spec(name, path)
    usual = PathFinder.find_spec(name, path or [str(ROOT)])
    assert found is not None
    assert usual is not None
    for what in ("name", "origin", "cached", "parent", "has_location", "submodule_search_locations"):
        assert getattr(found, what) == getattr(usual, what)


def test_modules_of_others_are_left_to_python(home: Path):
    finder = OwnFinder(str(home))
    assert finder.find_spec("json") is None
    assert finder.find_spec("apple.pie", [str(home / "apple")]) is None
    assert finder.find_spec("app.not_there", [str(home / "app")]) is None
    assert finder.find_spec("spread.part", []) is None


def test_what_is_compiled_is_read_until_its_source_changes(home: Path):
    assert said(home) == "first"
    compiled = next((home / "app" / "__pycache__").glob("told.*.pyc"))
    data = compiled.read_bytes()
    compiled.write_bytes(data.replace(b"first", b"again"))
    assert said(home) == "again", "It was compiled anew."
    (home / "app" / "told.py").write_text("WORD = 'second'", encoding="utf-8")
    assert said(home) == "second"


def test_what_is_compiled_and_odd_is_left_to_python(home: Path):
    said(home)
    compiled = next((home / "app" / "__pycache__").glob("told.*.pyc"))
    for data in (b"", b"nonsense", compiled.read_bytes()[:20], b"\0" * 400):
        compiled.write_bytes(data)
        told = said(home)
        assert (
            told == "first" or "EOFError" in told
        )  # as Python does with a header that fits and nothing behind it


def test_a_folder_that_cannot_be_written_to_is_imported_from_all_the_same(home: Path):
    (home / "app").chmod(0o500)
    try:
        assert said(home) == "first"
    finally:
        (home / "app").chmod(0o700)


def test_a_tree_that_was_moved_names_its_files_as_they_are_now(home: Path):
    said(home)
    moved = home.with_name(home.name + "-moved")
    home.rename(moved)
    asked = "import app.told; from importlib.util import find_spec; print(app.told.__file__); " \
        "print(app.told.__spec__.loader.get_code('app.told').co_filename)"  # fmt: skip
    assert said(moved, asked).split() == [str(moved / "app" / "told.py")] * 2
