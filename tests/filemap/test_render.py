"""How a map is written: as detailed as its budget allows, and never larger than that."""

import json
import math
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.cli.commands.map_command import file_map_json
from tools.filemap.file_map import FileMap, Symbol
from tools.filemap.file_mapper import make_file_map_of_text
from tools.filemap.rendering.file_map_rendering import (
    MAP_DETAIL_LEVELS,
    MAX_FILE_MAP_BYTES,
    file_map_byte_budget,
    render_file_map,
)

LINES = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=120)
RANGE = re.compile(r"\[\d+(?:-\d+)?\]")


def classes(count: int, methods: int, *, named: str = "Thing") -> FileMap:
    """A file of classes that each have so many methods."""
    source = "".join(
        f"class {named}{number}:\n"
        + "".join(f"    def method_{each}(self, value: int) -> str: ...\n" for each in range(methods))
        for number in range(count)
    )
    return make_file_map_of_text(source.encode(), "things.py", deadline_seconds=60)


def test_a_small_file_is_shown_in_full() -> None:
    source = (
        b'import os\n\n\nclass Cat(Animal):\n    """Purrs."""\n\n'
        b"    async def purr(self, times: int = 1) -> str: ...\n"
    )
    assert render_file_map(make_file_map_of_text(source, "cat.py")).text.splitlines() == [
        "File map: cat.py",
        "7 lines | 102 B | Python | 2 symbols",
        "Level: full | Parser: tree-sitter",
        "",
        "Imports: os",
        "",
        "class Cat(Animal) [4-7] — Purrs.",
        "  method async purr(self, times: int = 1) -> str [7]",
        "",
        "Read a part with offset=LINE and limit=N, or one symbol with symbol=NAME.",
    ]


@pytest.mark.parametrize(
    ("count", "methods", "level"), [(10, 4, "full"), (60, 40, "compact"), (1200, 40, "ranked")]
)
def test_the_more_there_is_the_less_is_said_of_each(count: int, methods: int, level: str) -> None:
    made = classes(count, methods)
    rendered = render_file_map(made)
    assert rendered.level == level
    assert f"Level: {level} | Parser: tree-sitter" in rendered.text
    assert len(rendered.text.encode()) <= MAX_FILE_MAP_BYTES


def test_room_that_is_left_goes_to_signatures() -> None:
    rendered = render_file_map(classes(60, 40))
    assert "method method_0(self, value: int) -> str [" in rendered.text
    assert "method method_39 [" in rendered.text, "of the last ones the names alone"
    assert len(rendered.text) > 0.95 * MAX_FILE_MAP_BYTES


def test_what_has_no_line_of_its_own_is_told_by_kind_and_range_of_names() -> None:
    """As an index does it: not both ends of the file, but what stands where."""
    rendered = render_file_map(classes(5000, 2), budget_bytes=8000)
    told = re.findall(
        r"^… ([\d,]+) class: (Thing\d+) … (Thing\d+) in lines ([\d,]+) to ([\d,]+)$",
        rendered.text,
        re.MULTILINE,
    )
    assert len(told) > 5
    assert (
        sum(int(count.replace(",", "")) for count, *_ in told)
        + len(re.findall(r"^class ", rendered.text, re.MULTILINE))
        == 5000
    )
    assert told[-1][-1] == "15,000"
    assert f"{rendered.shown_symbol_count:,} of 15,000 symbols" in rendered.text


def test_long_symbols_are_chosen_before_short_ones_and_fields_last() -> None:
    source = "".join(f"LIMIT_{number} = {number}\n" for number in range(300))
    source += "".join(f"def short_{number}(): ...\n" for number in range(100))
    source += "def long_one():\n" + "    x()\n" * 50
    text = render_file_map(make_file_map_of_text(source.encode(), "a.py"), budget_bytes=4000).text
    assert "function long_one [401-451]" in text
    assert "function short_99 [400]" in text
    assert re.search(r"… \d+ constant: LIMIT_\d+ … LIMIT_\d+ in lines \d+ to 300", text)


def test_a_chosen_symbol_stands_below_what_it_belongs_to() -> None:
    source = "type T struct{ a int }\n" + "func f() {}\n" * 2000
    source += "func (t T) Long() {\n" + "\tx()\n" * 90 + "}\n"
    lines = render_file_map(
        make_file_map_of_text(source.encode(), "a.go"), budget_bytes=2000
    ).text.splitlines()
    owner = next(number for number, line in enumerate(lines) if line.startswith("struct T [1]"))
    assert any(line.startswith("  method Long [") for line in lines[owner + 1 : owner + 3])


def test_what_the_page_shows_whole_is_not_told_again() -> None:
    source = "".join(f"def function_{number}():\n    pass\n" for number in range(300))
    text = render_file_map(
        make_file_map_of_text(source.encode(), "a.py"), budget_bytes=8000, without=(1, 401)
    ).text
    assert "Note: what lies in lines 1 to 401 is not told again" in text
    assert "function_199" not in text, "lines 399 and 400: whole on the page"
    assert "function function_200" in text, "begins on the page and ends behind it"
    assert "function function_299" in text
    whole = render_file_map(make_file_map_of_text(source.encode(), "a.py"), without=(1, 600)).text
    assert "(no symbols in the other lines)" in whole


def test_every_line_of_a_symbol_is_distinguished_from_the_text() -> None:
    """So that a person can go to what stands there, without the text being read back."""
    rendered = render_file_map(classes(3, 2))
    lines = rendered.text.split("\n")
    for row, shown in enumerate(rendered.lines, rendered.first_symbol_row):
        assert lines[row] == shown.text
        assert lines[row][shown.indent : shown.indent + shown.label_chars].split(" ")[0] in (
            "class",
            "method",
        )


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), min_size=1, max_size=60),
    st.integers(1024, 6000),
    st.integers(0, 6000),
)
def test_more_room_shows_the_same_symbols_and_some_more(
    shape: list[tuple[int, int]], budget: int, more: int
) -> None:
    source = "".join(
        f"class Thing{number}:\n"
        + f"    def method_{number}(self):\n        ...\n" * methods
        + "    x = 1\n" * fields
        for number, (methods, fields) in enumerate(shape)
    )
    made = make_file_map_of_text(source.encode(), "a.py")

    def shown(bytes_: int) -> set[int]:
        return {line.index for line in render_file_map(made, budget_bytes=bytes_).lines if line.index >= 0}

    assert shown(budget) <= shown(budget + more)


def test_the_path_tells_files_of_one_name_apart() -> None:
    made = make_file_map_of_text(b"x = 1\n", "src/deep/" * 40 + "index.py")
    first = render_file_map(made).text.splitlines()[0]
    assert first.startswith("File map: …")
    assert first.endswith("/src/deep/index.py")
    assert len(first) <= 130
    assert render_file_map(make_file_map_of_text(b"x = 1\n", "src/index.py")).text.startswith(
        "File map: src/index.py\n"
    )


@pytest.mark.parametrize("level", MAP_DETAIL_LEVELS[:-1])
def test_a_level_can_be_asked_for(level: str) -> None:
    rendered = render_file_map(classes(3, 2), level=level)
    assert rendered.level == level
    assert ("(self, value: int)" in rendered.text) == (level == "full")
    assert ("method_0" in rendered.text) == (level in ("full", "compact", "minimal"))


def test_a_small_window_gets_a_small_map() -> None:
    assert file_map_byte_budget(1_000_000) == 72_000, "two hundredths of the window"
    assert file_map_byte_budget(200_000, most=8_192) == 8_192
    assert file_map_byte_budget(32_000) == 2_304
    assert file_map_byte_budget(32_000, is_asked=True) == 9_216
    assert file_map_byte_budget(0) == 1024
    assert file_map_byte_budget(None, most=8_192) == 8_192


def test_numbers_in_brackets_are_always_the_lines() -> None:
    """Parsing a map's lines takes the last `[n]` of a label as its range."""
    made = make_file_map_of_text(b"int table[12];\nstruct s { char name[3-1]; };\n", "t.c")
    for line in render_file_map(made).text.splitlines()[4:-2]:
        assert len(RANGE.findall(line)) == 1


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(LINES.filter(bool), max_size=60),
    parents=st.lists(st.integers(0, 59), min_size=60, max_size=60),
    imports=st.lists(LINES.filter(bool), max_size=20),
    notes=st.lists(LINES, max_size=3),
    path=st.text(min_size=1, max_size=200),
    without=st.none() | st.tuples(st.integers(1, 30), st.integers(30, 99)),
    level=st.none() | st.sampled_from(MAP_DETAIL_LEVELS),
    budget=st.integers(0, 3000) | st.integers(0, 40_000),
)
@example(
    names=["f"] * 9,
    parents=[59] * 60,
    imports=["a" * 120] * 12,
    notes=[],
    path="x",
    without=None,
    level=None,
    budget=1200,
)
def test_no_map_exceeds_its_budget(
    names: list[str],
    parents: list[int],
    imports: list[str],
    notes: list[str],
    path: str,
    without: tuple[int, int] | None,
    level: str | None,
    budget: int,
) -> None:
    symbols = tuple(
        Symbol(
            name=name,
            kind="function",
            start_line=number + 1,
            end_line=number + 2,
            parent=parents[number] if parents[number] < number else None,
            signature=name * 3,
            doc=name,
        )
        for number, name in enumerate(names)
    )
    made = FileMap(
        path=path,
        language="Text",
        parser="heuristic",
        total_lines=99,
        total_bytes=99,
        elapsed_ms=1,
        symbols=symbols,
        imports=tuple(imports),
        notes=tuple(notes),
    )
    rendered = render_file_map(made, budget_bytes=budget, without=without, level=level)
    assert len(rendered.text.encode("utf-8", "replace")) <= budget
    rows = rendered.text.split("\n")
    first = rendered.first_symbol_row
    shown = rows[first : first + len(rendered.lines)]
    assert "\n".join(shown) == "\n".join(line.text for line in rendered.lines)


def grown(widths: list[int], name: str) -> FileMap:
    """So many symbols, each with so many children, each of them with so many."""
    rows: list[tuple[int | None, int, int]] = []

    def grow(parent: int | None, depth: int) -> None:
        for _ in range(widths[depth] if depth < len(widths) else 0):
            number = len(rows)
            rows.append((parent, number + 1, 0))
            grow(number, depth + 1)
            rows[number] = (parent, number + 1, len(rows))

    grow(None, 0)
    symbols = tuple(
        Symbol(
            name=f"{name}{first}",
            kind="method",
            start_line=first,
            end_line=last,
            parent=parent,
            signature=f"{name}{first}(self)",
        )
        for parent, first, last in rows
    )
    return FileMap(
        path="grown.py",
        language="Python",
        parser="tree-sitter",
        total_lines=len(rows),
        total_bytes=len(rows) * 9,
        elapsed_ms=1,
        symbols=symbols,
    )


@settings(max_examples=80, deadline=None)
@given(
    widths=st.lists(st.integers(1, 60) | st.integers(60, 2500), min_size=1, max_size=4).filter(
        lambda widths: math.prod(widths) <= 4000
    ),
    name=st.sampled_from(["f", "a_method_with_a_longer_name_", "日本語の名前"]),
    budget=st.integers(1024, MAX_FILE_MAP_BYTES),
)
@example(widths=[1, 2400], name="f", budget=MAX_FILE_MAP_BYTES)
@example(widths=[60, 60], name="f", budget=8_000)
def test_no_symbol_is_left_out_while_there_is_room_for_some(
    widths: list[int], name: str, budget: int
) -> None:
    made = grown(widths, name)
    rendered = render_file_map(made, budget_bytes=budget)
    size = len(rendered.text.encode())
    assert size <= budget
    if rendered.shown_symbol_count == len(made.symbols):
        return
    longest = max(len(line.encode()) for line in rendered.text.splitlines())
    assert size >= budget * 0.75 - 6 * longest, "a fifth at most is kept for groups"
    assert f"{rendered.shown_symbol_count:,} of {len(made.symbols):,} symbols" in rendered.text


def test_a_map_as_json_is_one_line_with_parents_as_indices() -> None:
    line = json.dumps(file_map_json(make_file_map_of_text(b"class A:\n    def b(self): ...\n", "a.py")))
    assert "\n" not in line
    told = json.loads(line)
    assert {"path", "language", "parser", "totalLines", "totalBytes", "elapsedMs", "symbols"} <= told.keys()
    assert [
        (each["name"], each["kind"], each["startLine"], each["endLine"], each["parent"])
        for each in told["symbols"]
    ] == [
        ("A", "class", 1, 2, None),
        ("b", "method", 2, 2, 0),
    ]
    assert told["symbols"][1]["signature"] == "b(self)"
