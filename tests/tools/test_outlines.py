"""`read` with `map` or `symbol` asks the mapper and words its answer. How well it maps is tested with the mapper."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.tools.conftest import Hands
from tools.filemap.symbols import FileMap, Symbol

OUTLINE = FileMap(
    path="a.py",
    language="Python",
    parser="tree-sitter",
    total_lines=9,
    total_bytes=63,
    elapsed_ms=1.0,
    symbols=(
        Symbol(name="one", kind="function", start_line=3, end_line=3, lead_line=2),
        Symbol(name="two", kind="class", start_line=5, end_line=6),
        Symbol(name="two", kind="function", start_line=8, end_line=8),
    ),
)


@pytest.fixture(autouse=True)
def mapper(monkeypatch: pytest.MonkeyPatch) -> None:
    class Rendered:
        text = "outline \x1b of it"

    mapping: Any = ModuleType("tools.filemap.map")
    mapping.map_file = lambda path, *, deadline_seconds, cancel: OUTLINE
    rendering: Any = ModuleType("tools.filemap.render")
    rendering.render_map = lambda outline, *, budget_bytes: Rendered()
    monkeypatch.setitem(sys.modules, "tools.filemap.map", mapping)
    monkeypatch.setitem(sys.modules, "tools.filemap.render", rendering)


@pytest.fixture(autouse=True)
def file(project: Path) -> None:
    (project / "a.py").write_text("".join(f"line {number}\n" for number in range(1, 10)))


async def test_a_map_is_the_result_itself(hands: Hands) -> None:
    result = await hands("read", path="a.py", map=True)
    assert result.text == "outline ␛ of it"
    assert result.details == {"outline": True, "totalLines": 9}


async def test_a_symbol_is_read_by_its_lines(hands: Hands) -> None:
    text = await hands.text("read", path="a.py", symbol="one")
    assert text == "line 2\nline 3\n\n[6 more lines in file. Use offset=4 to continue.]"


async def test_several_symbols_are_listed(hands: Hands) -> None:
    text = await hands.text("read", path="a.py", symbol="two")
    assert text == (
        "2 symbols match 'two' in a.py. Read one by its lines:\ntwo (class) lines 5-6\ntwo (function) lines 8-8"
    )


async def test_a_symbol_that_is_not_there_says_how_to_find_out(hands: Hands) -> None:
    assert "Read it with map: true" in await hands.error("read", path="a.py", symbol="three")


async def test_binaries_are_never_mapped(hands: Hands, project: Path) -> None:
    (project / "x.bin").write_bytes(b"\x7fELF\0\0")
    assert "is a binary file" in await hands.error("read", path="x.bin", map=True)
