"""Calls that change files while their arguments arrive: what is read, the diff that grows, and what is hopeless."""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools.mistakes import MISTAKES, Mistake
from tools.base import ToolError
from tools.builtin.edit import edit_tool_for
from tools.builtin.write import write_tool
from tools.diff_lines import read
from tools.edits.anchored import AnchoredEdit, anchored
from tools.edits.anchors import row
from tools.edits.arriving import ArrivingEdit, Hopeless
from tools.edits.arriving_file import MOST_LINES, ArrivingDiff, NoSuchFile, Sight
from tools.edits.call import EditArguments
from tools.edits.diffs import Region, diff_texts
from tools.edits.editing import editable
from tools.edits.growing import GrowingLines, bounded_diff
from tools.edits.matching import Document
from tools.edits.modes import EditMode
from tools.edits.patching import patched, read_patch
from tools.edits.replacing import Edit, replaced
from tools.edits.shown import ShownLines
from tools.edits.texts import in_order, spliced
from tools.files.snapshots import Snapshot
from tools.schema import validate_arguments
from tools.streamed import StreamedObject

TEXT = "".join(f"def name_{number}(a, b):\n    return a + {number} * b\n\n" for number in range(40))

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def pieces(text: str, source: random.Random, most: int = 40) -> Iterator[str]:
    at = 0
    while at < len(text):
        size = source.randint(1, most)
        yield text[at : at + size]
        at += size


# What is read


@settings(max_examples=300)
@given(
    st.dictionaries(st.text(max_size=4), JSON, max_size=5), st.booleans(), st.randoms(use_true_random=False)
)
def test_an_object_in_pieces_is_the_object(
    value: dict[str, Any], is_ascii: bool, source: random.Random
) -> None:
    streamed = StreamedObject()
    seen = 0
    for piece in pieces(json.dumps(value, ensure_ascii=is_ascii), source, 9):
        streamed.feed(piece)
        assert set(streamed.so_far()) <= set(value)
        whole = streamed.whole()
        for name, one in whole.items():
            wanted = value[name]
            assert one == wanted or (isinstance(wanted, list) and one == wanted[: len(one)])
        assert len(whole) >= seen
        seen = len([name for name in whole if whole[name] == value[name]])
    assert streamed.is_over
    assert streamed.is_plain
    assert streamed.so_far() == streamed.whole() == value


@pytest.mark.parametrize(
    "text", ["[1]", "nonsense", '{"a" 1}', '{"a": tru, "b": 1}', "{,}", '{"a": [}', "{" + '"a":[' * 999]
)
def test_what_is_no_object_is_given_up(text: str) -> None:
    streamed = StreamedObject()
    for piece in text:
        streamed.feed(piece)
    assert streamed.is_lost
    streamed.feed("more")
    assert not streamed.is_over


def test_controls_and_escapes_that_do_not_exist_stand_for_themselves() -> None:
    streamed = StreamedObject()
    for piece in '{"a": "one\ntwo \\d \\u00e9 \\ud83d\\ude00 \\ud83d."}':
        streamed.feed(piece)
    assert streamed.so_far() == {"a": "one\ntwo \\d é 😀 \ufffd."}
    assert not streamed.is_plain


def test_json_within_json_is_text() -> None:
    value = {"edits": json.dumps([{"oldText": "a\\ud83d é😀 \\\\"}])}
    for size in range(1, 12):
        text = json.dumps(value)
        streamed = StreamedObject()
        for at in range(0, len(text), size):
            streamed.feed(text[at : at + size])
        assert streamed.so_far() == value
        assert streamed.is_plain


def test_each_character_is_read_once() -> None:
    """Ten times the text in pieces of the same size is ten times the work: counted, not timed."""
    counted = {}
    for lines in (200, 2_000):
        streamed = StreamedObject()
        fed = 0
        for piece in pieces(json.dumps({"content": "a line\n" * lines}), random.Random(1)):
            streamed.feed(piece)
            fed += len(piece)
            assert len(streamed._rest) < 20
        counted[lines] = fed
        assert streamed.so_far() == {"content": "a line\n" * lines}


# What grows


@settings(max_examples=300)
@given(st.data())
def test_lines_that_grow_take_nothing_back_and_give_the_new_text(data: st.DataObject) -> None:
    line = st.sampled_from(["a long line\n", "another one\n", "}\n", "\n", "x\n", "y = 1\n"])
    old = data.draw(st.lists(line, max_size=14))
    new = data.draw(st.lists(line, max_size=14))
    growing = GrowingLines(old, 0)
    added: list[str] = []
    for count, one in enumerate(new, 1):
        growing.take([one])
        regions = growing.regions
        made: list[str] = []
        at = 0
        for region in regions:
            assert list(region.old) == old[region.old_first : region.old_first + len(region.old)]
            made += [*old[at : region.old_first], *region.new]
            at = region.old_first + len(region.old)
        assert made == new[:count][: len(made)]
        rest = new[len(made) : count]
        assert all(line in old[at:] for line in rest)  # they stay as they were, or may yet
        now = [one for region in regions for one in region.new]
        assert now[: len(added)] == added
        added = now


def test_a_diff_that_is_bounded_says_how_much_it_leaves_out() -> None:
    lines = [f"old {number}" for number in range(1000)]
    new = tuple(f"new {number}\n" for number in range(900))
    made = bounded_diff("a", lines, [Region(old_first=500, new_first=500, old=(), new=new)], 100)
    assert made.patch.count("\n+") == 97 + 1
    assert made.more == 900 + 6 - 100
    assert (made.added, made.removed) == (900, 0)


# The diff of a call


def sight(text: str, *, name: str = "a.py", shown: ShownLines | None = None) -> Callable[[str], Sight]:
    rows = tuple(text.split("\n"))
    version = Snapshot(lines=rows, shown=frozenset(range(1, len(rows) + 1)))

    def look(path: str) -> Sight:
        if path != name:
            return Sight(what="missing", path=path, why=NoSuchFile(f"{path} does not exist."))
        target = editable(text.encode(), path)
        return Sight(what="text", path=path, text=target, shown=shown or ShownLines(), versions=(version,))

    return look


def stream(
    mode: EditMode | None,
    arguments: dict[str, Any],
    look: Callable[[str], Sight],
    source: random.Random,
    most: int = 40,
) -> Iterator[tuple[tuple[ArrivingDiff, ...], Hopeless | None]]:
    tool = write_tool() if mode is None else edit_tool_for(mode)
    arriving = ArrivingEdit(tool.prepare, look, kind="write" if mode is None else "edit")
    for piece in pieces(json.dumps(arguments), source, most):
        arriving.feed(piece)
        yield arriving.diffs(), arriving.refusal


def signs(patch: str) -> list[tuple[str, int, int, str]]:
    plain, lines = read(patch)
    return [(line.kind, line.old, line.new, plain[line.start : line.end]) for line in lines]


def anchor(number: int) -> str:
    return row(number, TEXT.split("\n")[number - 1]).partition("|")[0]


NEW = TEXT.replace("a + 3 * b", "a - 3 * b").replace("name_9", "other").replace("    return a + 30 * b\n", "")
CALLS: list[tuple[EditMode | None, dict[str, Any], str]] = [
    (
        "replace",
        {
            "path": "a.py",
            "edits": [
                {"oldText": "    return a + 3 * b\n", "newText": "    return a - 3 * b\n"},
                {"oldText": "name_9", "newText": "other"},
                {"oldText": "    return a + 30 * b\n", "newText": ""},
            ],
        },
        NEW,
    ),
    (
        "replace",
        {"edits": [{"new_string": "a - 3 * b", "old_string": "a + 3 * b"}], "file_path": "a.py"},
        TEXT.replace("a + 3 * b", "a - 3 * b"),
    ),
    (
        "anchored",
        {
            "changes": [
                {"path": "a.py", "from": anchor(11), "lines": ["    return a - 3 * b"]},
                {"path": "a.py", "from": anchor(28), "lines": ["def other(a, b):"]},
                {"path": "a.py", "from": anchor(92), "lines": []},
            ]
        },
        NEW,
    ),
    (
        "anchored",
        {
            "changes": [
                {"path": "a.py", "from": anchor(2), "place": "after", "lines": ["    x = 1", "    y = 2"]}
            ]
        },
        TEXT.replace("a + 0 * b\n", "a + 0 * b\n    x = 1\n    y = 2\n"),
    ),
    (
        "patch",
        {
            "input": "*** Begin Patch\n*** Update File: a.py\n@@ def name_3(a, b):\n-    return a + 3 * b\n"
            "+    return a - 3 * b\n@@\n-def name_9(a, b):\n+def other(a, b):\n     return a + 9 * b\n"
            "@@\n def name_30(a, b):\n-    return a + 30 * b\n \n*** End Patch"
        },
        NEW,
    ),
    (None, {"path": "a.py", "content": NEW}, NEW),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
@pytest.mark.parametrize("seed", range(3))
def test_in_the_end_it_is_the_diff_of_the_result(number: int, seed: int) -> None:
    mode, arguments, after = CALLS[number]
    seen = list(stream(mode, arguments, sight(TEXT), random.Random(seed)))
    diffs, refusal = seen[-1]
    assert refusal is None
    assert signs(diffs[0].diff.patch) == signs(diff_texts("a.py", TEXT, after).patch)
    counts = [sum(one.diff.added for one in diffs) for diffs, _ in seen]
    assert counts[-1] >= 1
    assert counts == sorted(counts)


def test_a_new_file_of_a_patch_grows() -> None:
    lines = "".join(f"+line {number}\n" for number in range(30))
    patch = f"*** Begin Patch\n*** Add File: new.py\n{lines}*** End Patch"
    seen = [diffs for diffs, _ in stream("patch", {"input": patch}, sight(TEXT), random.Random(2))]
    counts = [diffs[0].diff.added for diffs in seen if diffs]
    assert counts == sorted(counts)
    assert counts[-1] == 30
    assert len(set(counts)) > 5


def test_however_long_it_is_a_bounded_number_of_lines_is_drawn() -> None:
    new = "".join(f"line {number}\n" for number in range(5_000))
    edits = [{"oldText": "    return a + 3 * b\n", "newText": new}]
    source = random.Random(3)
    tool = edit_tool_for("replace")
    arriving = ArrivingEdit(tool.prepare, sight(TEXT), kind="edit")
    for piece in pieces(json.dumps({"path": "a.py", "edits": edits}), source, 4_000):
        arriving.feed(piece)
        for one in arriving.diffs():
            assert one.diff.patch.count("\n") <= MOST_LINES + 10
            shown = one.diff.patch.count("\n+") - 1
            assert one.diff.more == 0 or shown + one.diff.more >= one.diff.added
    assert arriving.diffs()[0].diff.added == 5_000
    assert len(str(arriving.arguments())) < 30_000


# What is hopeless


def finished(mode: EditMode, raw: dict[str, Any], text: str, shown: ShownLines) -> str:
    """What the engine makes of it. Raises `ToolError`."""
    tool = edit_tool_for(mode)
    assert tool.prepare is not None
    arguments = validate_arguments(tool, tool.prepare(raw))
    assert isinstance(arguments, EditArguments)
    target = editable(text.encode(), "a.py")
    if any(path != "a.py" for path in arguments.paths()):
        raise ToolError("There is no such file.")
    if arguments.input:
        placed = patched(target, read_patch(arguments.input)[0].hunks, "a.py", shown)
    elif arguments.changes:
        rows = tuple(text.split("\n"))
        version = Snapshot(lines=rows, shown=frozenset(range(1, len(rows) + 1)))
        edits = [
            AnchoredEdit(first=one.first, last=one.last, place=one.place or "replace", lines=one.lines)
            for one in arguments.changes
        ]
        placed = anchored(target, edits, "a.py", (version,))
    else:
        wanted = [
            Edit(old_text=one.old_text, new_text=one.new_text, replaces_all=bool(one.all))
            for one in arguments.edits
        ]
        placed = replaced(target, wanted, "a.py", shown)
    return spliced(text, in_order(Document(text), placed.found, "a.py"))


def random_call(source: random.Random) -> tuple[EditMode, dict[str, Any]]:
    mode: EditMode = source.choice(["replace", "replace", "replace", "anchored", "patch"])
    lines = TEXT.split("\n")

    def block() -> list[str]:
        at, size = source.randrange(len(lines) - 4), source.randint(1, 4)
        return lines[at : at + size]

    def mistaken(found: list[str]) -> list[str]:
        how = source.randrange(8)
        if how == 0:
            return [f"    {line}" for line in found]
        if how == 1:
            return [f"{line}  " for line in found]
        if how == 2:
            return [f"{number}: {line}" for number, line in enumerate(found, source.randrange(1, 100))]
        if how == 3:
            return [line.replace("return", "yield") for line in found]
        if how == 4:
            return [line.replace("(", "&#40;").replace("+", "−") for line in found]
        if how == 5:
            return ["...", *found]
        return found

    if mode == "replace":
        edits: list[dict[str, Any]] = []
        for _ in range(source.randint(1, 5)):
            old = "\n".join(mistaken(block())) + source.choice(["", "\n"])
            if edits and source.random() < 0.2:
                old = source.choice(edits)["newText"] or old
            new = old.replace("a", source.choice(["a", "z"]), 1) + source.choice(["", "more\n"])
            edits.append({"oldText": old, "newText": new})
            if source.random() < 0.2:
                edits[-1]["all"] = True
        path = "a.py" if source.random() < 0.9 else "b.py"
        raw: dict[str, Any] = {"path": path, "edits": edits}
        if source.random() < 0.2:
            raw = {"edits": edits, "path": path}
        if source.random() < 0.1:
            raw["replace_all"] = True
        return mode, raw
    if mode == "anchored":
        changes: list[dict[str, Any]] = []
        for _ in range(source.randint(1, 4)):
            number = source.randrange(1, len(lines))
            name = anchor(number) if source.random() < 0.8 else f"{number}zy"
            changes.append({"path": "a.py", "from": name, "lines": block()})
        return mode, {"changes": changes}
    body = ["*** Begin Patch", "*** Update File: a.py"]
    for _ in range(source.randint(1, 4)):
        body.append(source.choice(["@@", f"@@ {source.choice(lines)}"]))
        old = mistaken(block())
        body += [
            f" {old[0]}",
            *(f"-{line}" for line in old[1:]),
            "+new",
            *(f" {line}" for line in block()[:1]),
        ]
    return mode, {"input": "\n".join([*body, "*** End Patch"])}


def test_only_what_the_engine_would_refuse_is_hopeless() -> None:
    source = random.Random(7)
    stopped = refused = 0
    for _ in range(500):
        mode, raw = random_call(source)
        shown = ShownLines(lines=dict(enumerate(TEXT.split("\n"), 1)) if source.random() < 0.7 else {})
        found = [
            one for _, one in stream(mode, raw, sight(TEXT, shown=shown), source, 120) if one is not None
        ]
        try:
            finished(mode, json.loads(json.dumps(raw)), TEXT, shown)
            assert not found, raw
        except ToolError:
            refused += 1
            stopped += bool(found)
    assert refused > 100
    assert stopped > refused // 3


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.what)
def test_no_mistake_that_is_understood_is_hopeless(mistake: Mistake) -> None:
    try:
        text = mistake.file.decode()
    except UnicodeDecodeError:
        return
    if mistake.name.endswith(".ipynb"):
        return
    rows = dict(enumerate(text.split("\n"), 1))
    raw = {"path": "a.py", **mistake.arguments()}
    for _, refusal in stream("replace", raw, sight(text, shown=ShownLines(lines=rows)), random.Random(5)):
        assert refusal is None or mistake.after is None


def test_where_the_old_text_is_written_last_nothing_is_said_before() -> None:
    edits = [{"newText": "x", "oldText": "    return a + 3 * b"}]
    for diffs, refusal in stream("replace", {"edits": edits, "path": "a.py"}, sight(TEXT), random.Random(1)):
        assert refusal is None
        assert sum(one.diff.added for one in diffs) <= 1


def test_words_of_a_refusal_are_the_engines() -> None:
    edits = [{"oldText": "name_3(a, b)", "newText": "x"}, {"oldText": "nowhere", "newText": "x" * 4000}]
    arguments = {"path": "a.py", "edits": [*edits, {"oldText": "name_4", "newText": "y" * 4000}]}
    found = [one for _, one in stream("replace", arguments, sight(TEXT), random.Random(1)) if one is not None]
    assert found[0].arguments == {"path": "a.py", "edits": edits}
    with pytest.raises(ToolError) as problem:
        finished("replace", dict(found[0].arguments), TEXT, ShownLines())
    assert found[0].why == str(problem.value)
