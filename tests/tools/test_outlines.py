"""`read` with `map` or `symbol` asks the mapper and words its answer. How well it maps is tested with the mapper."""

import json
from pathlib import Path

import pytest

from tests.tools.conftest import ToolCaller
from tools.filemap.rendering.file_map_rendering import file_map_byte_budget

CODE = """\
import os

@wraps
def one(): pass

class two:
    x = 1

    def two(self): return "\x1b"
"""


@pytest.fixture(autouse=True)
def file(project: Path) -> None:
    (project / "a.py").write_text(CODE)


async def test_a_map_is_the_result_itself(hands: ToolCaller) -> None:
    result = await hands("read", path="a.py", map=True)
    assert result.text.startswith("File map: a.py\n9 lines | ")
    assert "\nclass two [6-9]\n  variable x = 1 [7]\n  method two(self) [9]\n" in result.text
    assert result.details == {"outline": True, "totalLines": 9}


async def test_a_map_is_small_for_a_model_with_a_small_window(hands: ToolCaller, project: Path) -> None:
    (project / "b.py").write_text("".join(f"def function_{n}():\n    pass\n" for n in range(4000)))
    large = await hands.text("read", path="b.py", map=True)
    small = await hands.text("read", path="b.py", map=True, within=hands.context(model_window=32_000))
    assert len(small.encode()) <= file_map_byte_budget(32_000, is_asked=True) < len(large.encode())


async def test_maps_are_kept_where_the_workspace_says(
    hands: ToolCaller, project: Path, tmp_path: Path
) -> None:
    hands.workspace.cache_dir = tmp_path / "cache"
    for arguments in ({"map": True}, {"symbol": "one"}, {"symbol": "two"}):
        await hands.text("read", path="a.py", **arguments)
    assert len(list((tmp_path / "cache" / "maps").iterdir())) == 1


async def test_a_symbol_is_read_by_its_lines(hands: ToolCaller) -> None:
    text = await hands.text("read", path="a.py", symbol="one")
    assert text == "@wraps\ndef one(): pass\n\n[Showing lines 3-4 of 9: function one.]"


async def test_several_symbols_are_listed(hands: ToolCaller) -> None:
    text = await hands.text("read", path="a.py", symbol="two")
    assert text == (
        "2 symbols match 'two' in a.py. Read one by its whole name or its lines:\n"
        "two (class) lines 6-9\ntwo.two (method) lines 9-9"
    )


async def test_a_symbol_that_is_not_there_says_how_to_find_out(hands: ToolCaller) -> None:
    assert "Read it with map: true" in await hands.error("read", path="a.py", symbol="three")


async def test_binaries_are_never_mapped(hands: ToolCaller, project: Path) -> None:
    (project / "x.bin").write_bytes(b"\x7fELF\0\0")
    assert "is a binary file" in await hands.error("read", path="x.bin", map=True)


async def test_symbols_of_a_notebook_are_read_from_its_cells(hands: ToolCaller, project: Path) -> None:
    cells = [
        {"cell_type": "code", "source": "def one():\n    return 1"},
        {"cell_type": "code", "source": "def two():\n    return 2"},
    ]
    (project / "n.ipynb").write_text(json.dumps({"cells": cells}))
    outline = await hands.text("read", path="n.ipynb", map=True)
    assert "\n  function two() [6-7]\n" in outline
    assert (await hands.text("read", path="n.ipynb", symbol="two")).startswith("def two():\n    return 2\n")
    assert (await hands.text("read", path="n.ipynb", offset=6, limit=2)).startswith(
        "def two():\n    return 2\n"
    )


async def test_a_long_notebook_wants_a_map_like_any_long_text(hands: ToolCaller, project: Path) -> None:
    cells = [{"cell_type": "code", "source": f"def f{number}():\n    return 1"} for number in range(700)]
    (project / "n.ipynb").write_text(json.dumps({"cells": cells}))
    details = (await hands("read", path="n.ipynb")).details or {}
    assert details["map"] == {
        "path": str(project / "n.ipynb"),
        "firstLine": 1,
        "lastLine": details["lastLine"],
    }
    assert "map" not in ((await hands("read", path="n.ipynb", offset=9)).details or {})


async def test_a_symbol_larger_than_a_page_comes_with_what_is_in_it(hands: ToolCaller, project: Path) -> None:
    methods = "".join(f"    def m{n}(self):\n" + "        x = 1\n" * 99 for n in range(30))
    (project / "big.py").write_text(f"import os\n\n\nclass Big:\n{methods}\n\ndef after(): pass\n")
    result = await hands("read", path="big.py", symbol="Big")
    page, _, inside = result.text.partition("\n\nInside Big:\n")
    assert page.startswith("class Big:\n    def m0(self):\n")
    assert page.endswith(
        "[Showing lines 4-2003 of 3007: class Big. Use offset=2004 and limit=1001 for the rest of it.]"
    )
    lines = inside.split("\n")
    assert (
        lines[0] == "5-104: method m0(self)"
        and lines[-1] == "2905-3004: method m29(self)"
        and len(lines) == 30
    )
    rest = await hands.text("read", path="big.py", offset=2004, limit=1001)
    assert rest.startswith("        x = 1\n") and "def after" not in rest


async def test_methods_of_the_same_name_are_told_apart(hands: ToolCaller, project: Path) -> None:
    (project / "b.py").write_text("class A:\n    def go(self): ...\n\n\nclass B:\n    def go(self): ...\n")
    text = await hands.text("read", path="b.py", symbol="go")
    assert "A.go (method) lines 2-2" in text and "B.go (method) lines 6-6" in text
    one = await hands.text("read", path="b.py", symbol="B.go")
    assert one.endswith("[Showing line 6 of 6: method B.go.]")
