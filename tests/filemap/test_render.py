"""How a map is written: as detailed as its budget allows, and never larger than that."""

import json
import math
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tools.filemap.map import map_text
from tools.filemap.render import (
    LEVELS,
    MAX_MAP_BYTES,
    budget_for_window,
    map_json_line,
    render_map,
)
from tools.filemap.symbols import FileMap, Symbol

RANGE = re.compile(r"\[\d+(?:-\d+)?\]")


def classes(count: int, methods: int, *, named: str = "Thing") -> FileMap:
    """A file of classes that each have so many methods."""
    source = "".join(
        f"class {named}{number}:\n"
        + "".join(f"    def method_{each}(self, value: int) -> str: ...\n" for each in range(methods))
        for number in range(count)
    )
    return map_text(source.encode(), "things.py", deadline_seconds=60)


def test_a_small_file_is_shown_in_full() -> None:
    source = (
        b'import os\n\n\nclass Cat(Animal):\n    """Purrs."""\n\n'
        b"    async def purr(self, times: int = 1) -> str: ...\n"
    )
    assert render_map(map_text(source, "cat.py")).text.splitlines() == [
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
    ("count", "methods", "level"),
    [
        (10, 4, "full"),
        (40, 10, "compact"),
        (27, 33, "minimal"),
        (1200, 40, "outline"),
        (5000, 2, "truncated"),
    ],
)
def test_the_more_there_is_the_less_is_said_of_each(count: int, methods: int, level: str) -> None:
    made = classes(count, methods)
    rendered = render_map(made)
    assert rendered.level == level
    assert f"Level: {level} | Parser: tree-sitter" in rendered.text
    assert len(rendered.text.encode()) <= MAX_MAP_BYTES


def test_room_that_is_left_goes_to_detail() -> None:
    rendered = render_map(classes(40, 10))
    assert rendered.level == "compact"
    assert "method method_0(self, value: int) -> str [" in rendered.text, "signatures where they fit"
    assert len(rendered.text) > 19_000, "the level's budget is used"


def test_a_map_cut_in_the_middle_shows_both_ends_and_says_what_is_missing() -> None:
    rendered = render_map(classes(5000, 2))
    assert "class Thing0 [" in rendered.text
    assert "class Thing4999 [" in rendered.text
    assert re.search(r"… [\d,]+ more symbols in lines [\d,]+ to [\d,]+ …", rendered.text)
    assert f"{rendered.shown:,} of 15,000 symbols" in rendered.text


def test_a_class_with_too_many_methods_shows_its_first_and_its_last() -> None:
    rendered = render_map(classes(1, 4800))
    shown = [line.split(" [")[0].strip() for line in rendered.text.splitlines() if "method_" in line]
    assert len(shown) > 1_000
    assert (shown[0], shown[-1]) == ("method method_0", "method method_4799")
    hidden = re.search(
        r"^  … ([\d,]+) more symbols in lines [\d,]+ to [\d,]+ …$", rendered.text, re.MULTILINE
    )
    assert hidden is not None
    assert int(hidden[1].replace(",", "")) == 4800 - len(shown)
    assert len(rendered.text.encode()) <= MAX_MAP_BYTES / 2


def test_classes_that_have_too_many_methods_share_the_room() -> None:
    text = render_map(classes(3, 1600)).text
    assert all(f"class Thing{number} [" in text for number in range(3))
    assert text.count("method method_0 [") == text.count("method method_1599 [") == 3


def test_the_path_tells_files_of_one_name_apart() -> None:
    made = map_text(b"x = 1\n", "src/deep/" * 40 + "index.py")
    first = render_map(made).text.splitlines()[0]
    assert first.startswith("File map: …")
    assert first.endswith("/src/deep/index.py")
    assert len(first) <= 130
    assert render_map(map_text(b"x = 1\n", "src/index.py")).text.startswith("File map: src/index.py\n")


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_can_be_asked_for(level: str) -> None:
    rendered = render_map(classes(3, 2), level=level)
    assert rendered.level == level
    assert ("(self, value: int)" in rendered.text) == (level == "full")
    assert ("method_0" in rendered.text) == (level in ("full", "compact", "minimal"))


def test_a_small_window_gets_a_small_map() -> None:
    assert (
        budget_for_window(1_000_000) == budget_for_window(200_000)
        or budget_for_window(1_000_000) == MAX_MAP_BYTES
    )
    assert budget_for_window(32_000) == 16_000
    assert budget_for_window(0) == 1024
    made = classes(400, 10)
    assert len(render_map(made, budget_bytes=budget_for_window(8_000)).text.encode()) <= 4_000


def test_numbers_in_brackets_are_always_the_lines() -> None:
    """Whoever reads the lines of a map back takes the last `[n]` of a label for its range."""
    made = map_text(b"int table[12];\nstruct s { char name[3-1]; };\n", "t.c")
    for line in render_map(made).text.splitlines()[4:-2]:
        assert len(RANGE.findall(line)) == 1


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=60),
    parents=st.lists(st.integers(0, 59), min_size=60, max_size=60),
    budget=st.integers(0, 40_000),
)
def test_no_map_exceeds_its_budget_whatever_the_names(
    names: list[str], parents: list[int], budget: int
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
        path="x",
        language="Text",
        parser="heuristic",
        total_lines=99,
        total_bytes=99,
        elapsed_ms=1,
        symbols=symbols,
    )
    rendered = render_map(made, budget_bytes=budget)
    assert len(rendered.text.encode("utf-8", "replace")) <= max(budget, 1024)
    assert rendered.shown <= len(symbols)


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


SHARES = {"compact": 0.2, "minimal": 0.25, "outline": 0.5, "truncated": 1.0}


@settings(max_examples=80, deadline=None)
@given(
    widths=st.lists(st.integers(1, 60) | st.integers(60, 2500), min_size=1, max_size=4).filter(
        lambda widths: math.prod(widths) <= 4000
    ),
    name=st.sampled_from(["f", "a_method_with_a_longer_name_", "日本語の名前"]),
    budget=st.integers(1024, MAX_MAP_BYTES),
)
@example(widths=[1, 2400], name="f", budget=MAX_MAP_BYTES)
@example(widths=[60, 60], name="f", budget=8_000)
def test_no_symbol_is_left_out_while_there_is_room_for_some(
    widths: list[int], name: str, budget: int
) -> None:
    """What a level may take is used up, all but the room of a few lines, before anything is left out."""
    made = grown(widths, name)
    rendered = render_map(made, budget_bytes=budget)
    size = len(rendered.text.encode())
    assert size <= budget
    if rendered.shown == len(made.symbols):
        return
    longest = max(len(line.encode()) for line in rendered.text.splitlines())
    assert size >= budget * SHARES[rendered.level] - 6 * longest
    assert f"{rendered.shown:,} of {len(made.symbols):,} symbols" in rendered.text


@pytest.mark.parametrize("widths", [[1, 2400], [1, 1, 2400], [3, 1000], [3000], [1500, 1], [40, 50]])
def test_whatever_is_left_out_stands_between_a_first_and_a_last(widths: list[int]) -> None:
    """Never the end of a file or of a class alone: who reads the outline sees how far each of them goes."""
    made = grown(widths, "f")
    lines = render_map(made, budget_bytes=16_000).text.splitlines()
    shown = {int(match[1]) for line in lines if (match := re.search(r"method f(\d+)", line))}
    for number, symbol in enumerate(made.symbols):
        children = [each.start_line for each in made.symbols if each.parent == number]
        seen = [child for child in children if child in shown]
        assert not seen or (children[0] in shown and children[-1] in shown)
        assert not seen or symbol.start_line in shown
    gaps = [index for index, line in enumerate(lines) if "more symbols in lines" in line]
    assert len(gaps) >= 1 or len(shown) == len(made.symbols)


def test_a_map_as_json_is_one_line_with_parents_as_indices() -> None:
    line = map_json_line(map_text(b"class A:\n    def b(self): ...\n", "a.py"))
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
