"""How a map is written: as detailed as its budget allows, and never larger than that."""

import json
import re

import pytest
from hypothesis import given, settings
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
        (22, 33, "minimal"),
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
