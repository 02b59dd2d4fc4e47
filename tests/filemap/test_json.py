"""JSON is outlined without a tree: what is said of it is what the grammar's tree says, however it is laid out."""

import json
import random

import pytest
from tree_sitter import Node, Parser

from tools.filemap.file_map import FileMap
from tools.filemap.file_mapper import make_file_map_of_text
from tools.filemap.map_deadline import FileMapTimeLimitReached, MapDeadline
from tools.filemap.scanners.json import outline_json
from tools.filemap.scanners.scan_result import OUTLINE_TIME_LIMIT_NOTE
from tools.filemap.tree_sitter_parsing import load_tree_sitter_grammar

WORDS = ('"', "\\", "{", "}]", "a,b", "// no comment", "é…", "it's", "", "x" * 40, "/* nor this */", ": 1")


def keys_of(made: FileMap) -> list[tuple[int, int, str]]:
    return sorted(
        (each.start_line, each.end_line, each.signature) for each in made.symbols if each.kind == "key"
    )


def keys_of_tree(source: bytes) -> list[tuple[int, int, str]]:
    """The same from the grammar, of all depths."""
    found = []
    pending = [Parser(load_tree_sitter_grammar("json")).parse(source).root_node]
    while pending:
        node = pending.pop()
        pending.extend(node.named_children)
        if node.type == "pair":
            value = node.child_by_field_name("value")
            assert value is not None
            found.append((node.start_point[0] + 1, node.end_point[0] + 1, shape_of(value)))
    return sorted(found)


def shape_of(value: Node) -> str:
    words = {"true": "boolean", "false": "boolean"}
    inside = [child for child in value.named_children if child.type != "comment"]
    match value.type:
        case "object":
            return f"object of {len(inside)}"
        case "array":
            kinds = [words.get(child.type, child.type) for child in inside]
            return f"list of {len(kinds)} {kinds[0] if kinds else ''}{'s' * (len(kinds) > 1)}".strip()
        case simple:
            return words.get(simple, simple)


def value_of(rng: random.Random, depth: int) -> object:
    kind = rng.randrange(8 if depth else 6)
    if kind == 6:
        return {rng.choice(WORDS) + str(n): value_of(rng, depth - 1) for n in range(rng.randrange(5))}
    if kind == 7:
        return [value_of(rng, depth - 1) for _ in range(rng.randrange(5))]
    return (None, True, False, rng.randrange(10**6), rng.random() * 1e9, rng.choice(WORDS) * 2)[kind]


@pytest.mark.parametrize("seed", range(60))
def test_keys_have_the_lines_and_shapes_that_the_grammar_gives_them(seed: int) -> None:
    rng = random.Random(seed)
    data = {f"key {n}": value_of(rng, 4) for n in range(6)}
    text = json.dumps(data, indent=rng.choice([None, 0, 2, 4]), ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.5:
        text = text.replace("\n", "\n// said, {[\"'\n", 2)
    source = text.encode()
    made = make_file_map_of_text(source, "a.json")
    assert [key for key in keys_of(made) if key not in keys_of_tree(source)] == []
    if not any(
        isinstance(each, list) and any(isinstance(one, list) for one in each) for each in walked(data)
    ):
        # Lists directly in lists are counted only; the tree has all keys.
        assert keys_of(made) == keys_of_tree(source)
    assert made.parser == "line scanner"
    assert made.notes == ()


def walked(value: object) -> list[object]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [value, *(below for each in inside for below in walked(each))]


def test_huge_json_is_counted_with_correct_lines() -> None:
    items = ",\n".join(
        json.dumps({"id": n, "deep": [[[[[[n]]]]]], "text": 'a "b" ' * 9}) for n in range(3_000)
    )
    long = '\\"' + "x" * 200_000
    text = f'{{"long": "{long}",\n"items": [\n{items}\n],\n"matrix": [{"[1, 2], " * 40_000}[3]],\n"last": {{}}}}\n'
    made = make_file_map_of_text(text.encode(), "a.json")
    assert [(each.name, each.start_line, each.end_line, each.signature) for each in made.symbols] == [
        ("long", 1, 1, "string"),
        ("items", 2, 3003, "list of 3,000 objects"),
        ("#0", 3, 3, "object of 3"),
        ("id", 3, 3, "number"),
        ("deep", 3, 3, "list of 1 array"),
        ("text", 3, 3, "string"),
        ("matrix", 3004, 3004, "list of 40,001 arrays"),
        ("last", 3005, 3005, "object of 0"),
    ]


@pytest.mark.parametrize(
    "text, names",
    [
        ('{"a": 1,\n "b": {"c": [1, 2\n', ["a", "b", "c"]),
        ('{"a": "no end,\n "b": 2}', ["a", "b"]),
        ('{"a": 1]\n{"b": 2}', ["a", "b"]),
        ('{"a": }, {"b": 2}', ["b"]),
        ("[[[[[[[[" * 20_000, ["list of 1 array"]),
        ('{"a":' * 20_000, ["a"] * 8),
    ],
)
def test_what_is_broken_still_gives_its_keys_and_says_so(text: str, names: list[str]) -> None:
    made = make_file_map_of_text(text.encode(), "a.json")
    assert [each.name for each in made.symbols][:8] == names
    assert made.notes == ("it has syntax errors; keys near them may be missing",)


def test_names_and_quotes_of_json5_are_taken() -> None:
    made = make_file_map_of_text(
        b"{\n  // why\n  name: 'it\"s',\n  limits: {a: +1, b: Infinity,},\n}\n", "a.json5"
    )
    assert [(each.name, each.start_line, each.signature) for each in made.symbols] == [
        ("name", 3, "string"),
        ("limits", 4, "object of 2"),
        ("a", 4, "number"),
        ("b", 4, "number"),
    ]
    assert made.notes == ()


class _EndsSoon(MapDeadline):
    """Time is over when it was asked so often."""

    def __init__(self, checks: int) -> None:
        super().__init__(60)
        self._left = checks

    def raise_if_deadline_over(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise FileMapTimeLimitReached


@pytest.mark.parametrize("indent", [None, 1])
def test_what_was_found_before_the_time_was_over_is_reported(indent: int | None) -> None:
    source = json.dumps(
        {"name": "a", "items": [{"id": n, "tags": [1]} for n in range(50_000)]}, indent=indent
    )
    scanned = outline_json(source.encode(), _EndsSoon(20))
    assert [draft.name for draft in scanned.symbols][:2] == ["name", "items"]
    assert scanned.symbols[1].signature.startswith("list of at least ")
    assert scanned.notes == (OUTLINE_TIME_LIMIT_NOTE,)
    whole = outline_json(source.encode(), MapDeadline(60))
    assert whole.symbols[1].signature == "list of 50,000 objects"
