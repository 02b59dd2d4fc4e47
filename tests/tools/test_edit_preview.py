"""The diffs of a call before it runs, and edits whose old text is not in their file."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.tools.mistakes import MISTAKES, Mistake
from tools.argument_schema import validate_tool_arguments
from tools.builtin.edit import make_edit_tool_for_mode
from tools.builtin.write import make_write_tool
from tools.diff_lines import parse_unified_diff
from tools.edits.dialects.anchored_edits import AnchoredEdit, locate_anchored_edits
from tools.edits.dialects.apply_patch_format import locate_patch_hunks, parse_patch
from tools.edits.dialects.edit_modes import EditMode
from tools.edits.dialects.line_anchors import format_anchored_row
from tools.edits.dialects.old_text_matching import SearchableText
from tools.edits.dialects.old_text_replacement import TextReplacement, locate_replacements
from tools.edits.diffs import make_diff_of_texts
from tools.edits.edit_arguments import EditArguments
from tools.edits.edit_preview import (
    MAX_PREVIEW_LINES,
    CallDiff,
    FileBeforePreviewedCall,
    find_first_unmatched_edit,
    make_diff_details,
)
from tools.edits.editable_text import replace_text_spans, sort_edit_spans
from tools.edits.edited_text import open_editable_text
from tools.edits.shown_lines import LinesShownToModel
from tools.files.shown_file_versions import ShownFileVersionText
from tools.tool_definition import ToolError

TEXT = "".join(f"def name_{number}(a, b):\n    return a + {number} * b\n\n" for number in range(40))


def seen(
    text: str, *, name: str = "a.py", shown: LinesShownToModel | None = None
) -> Callable[[str], FileBeforePreviewedCall]:
    rows = tuple(text.split("\n"))
    version = ShownFileVersionText(lines=rows, shown=frozenset(range(1, len(rows) + 1)))

    def look(path: str) -> FileBeforePreviewedCall:
        if path != name:
            return FileBeforePreviewedCall(
                state="missing", path=path, error=ToolError(f"{path} does not exist.")
            )
        target = open_editable_text(text.encode(), path)
        return FileBeforePreviewedCall(
            state="text",
            path=path,
            text=target,
            shown_lines=shown or LinesShownToModel(),
            shown_versions=(version,),
        )

    return look


def preview(mode: EditMode | None, raw: dict[str, Any], text: str = TEXT) -> tuple[CallDiff, ...]:
    tool = make_write_tool() if mode is None else make_edit_tool_for_mode(mode)
    assert tool.prepare is not None and tool.preview is not None
    return tool.preview(tool.prepare(dict(raw)), seen(text))


def lost(mode: EditMode, raw: dict[str, Any], text: str, shown: LinesShownToModel) -> str | None:
    tool = make_edit_tool_for_mode(mode)
    assert tool.prepare is not None
    found = find_first_unmatched_edit(tool.prepare(json.loads(json.dumps(raw))), seen(text, shown=shown))
    return None if found is None else found.reason


def rows_of(patch: str) -> list[tuple[str, int, int, str]]:
    plain, lines = parse_unified_diff(patch)
    return [(line.kind, line.old_line, line.new_line, plain[line.start : line.end]) for line in lines]


def anchor(number: int) -> str:
    return format_anchored_row(number, TEXT.split("\n")[number - 1]).partition("|")[0]


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
def test_the_preview_is_the_diff_of_the_result(number: int) -> None:
    mode, arguments, after = CALLS[number]
    (diff,) = preview(mode, arguments)
    assert rows_of(diff.patch) == rows_of(make_diff_of_texts("a.py", TEXT, after).patch)


def test_a_patch_previews_new_and_removed_files() -> None:
    patch = "*** Begin Patch\n*** Add File: new.py\n+one\n+two\n*** Delete File: a.py\n*** End Patch"
    added, removed = preview("patch", {"input": patch}, "x = 1\n")
    assert (added.path, added.added, added.removed) == ("new.py", 2, 0)
    assert (removed.path, removed.added, removed.removed) == ("a.py", 0, 1)
    assert [file["path"] for file in make_diff_details((added, removed))["files"]] == ["new.py", "a.py"]


@pytest.mark.parametrize(
    ("mode", "arguments"),
    [
        ("replace", {"path": "a.py", "edits": [{"oldText": "nowhere", "newText": "x"}]}),
        ("replace", {"path": "b.py", "edits": [{"oldText": "a", "newText": "x"}]}),
        ("anchored", {"changes": [{"path": "a.py", "from": "2zz", "lines": []}]}),
        ("patch", {"input": "*** Begin Patch\n*** Update File: a.py\n@@\n-nowhere\n+x\n*** End Patch"}),
        ("patch", {"input": "*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch"}),
        (None, {"path": "new.py", "content": "x"}),
        (None, {"path": "a.py"}),
    ],
)
def test_a_call_that_would_fail_or_makes_a_file_has_no_preview(
    mode: EditMode | None, arguments: dict[str, Any]
) -> None:
    assert preview(mode, arguments) == ()


def test_a_long_preview_says_how_much_it_leaves_out() -> None:
    new = "".join(f"line {number}\n" for number in range(5_000))
    edits = [{"oldText": "    return a + 3 * b\n", "newText": new}]
    (diff,) = preview("replace", {"path": "a.py", "edits": edits})
    assert diff.added == 5_000
    assert diff.patch.count("\n") <= MAX_PREVIEW_LINES + 10
    assert diff.patch.count("\n+") - 1 + diff.omitted_lines >= 5_000


# Old texts that are not there


def finished(mode: EditMode, raw: dict[str, Any], text: str, shown: LinesShownToModel) -> str:
    """Returns the engine's result for the edits. Raises `ToolError`."""
    tool = make_edit_tool_for_mode(mode)
    assert tool.prepare is not None
    arguments = validate_tool_arguments(tool, tool.prepare(raw))
    assert isinstance(arguments, EditArguments)
    target = open_editable_text(text.encode(), "a.py")
    if any(path != "a.py" for path in arguments.named_paths()):
        raise ToolError("There is no such file.")
    if arguments.input:
        placed = locate_patch_hunks(target, parse_patch(arguments.input)[0].hunks, "a.py", shown)
    elif arguments.changes:
        rows = tuple(text.split("\n"))
        version = ShownFileVersionText(lines=rows, shown=frozenset(range(1, len(rows) + 1)))
        edits = [
            AnchoredEdit(
                first_anchor=one.first,
                last_anchor=one.last,
                position=one.place or "replace",
                new_lines=one.lines,
            )
            for one in arguments.changes
        ]
        placed = locate_anchored_edits(target, edits, "a.py", (version,))
    else:
        wanted = [
            TextReplacement(old_text=one.old_text, new_text=one.new_text, replaces_all=bool(one.all))
            for one in arguments.edits
        ]
        placed = locate_replacements(target, wanted, "a.py", shown)
    return replace_text_spans(text, sort_edit_spans(SearchableText(text), placed.spans_by_edit, "a.py"))


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


def test_only_what_the_engine_would_refuse_is_lost() -> None:
    source = random.Random(7)
    found = refused = 0
    for _ in range(500):
        mode, raw = random_call(source)
        shown = LinesShownToModel(lines=dict(enumerate(TEXT.split("\n"), 1)) if source.random() < 0.7 else {})
        why = lost(mode, raw, TEXT, shown)
        try:
            finished(mode, json.loads(json.dumps(raw)), TEXT, shown)
            assert why is None, raw
        except ToolError:
            refused += 1
            found += why is not None
    assert refused > 100
    assert found > refused // 4


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.what)
def test_a_mistake_that_is_understood_is_not_lost(mistake: Mistake) -> None:
    try:
        text = mistake.file.decode()
    except UnicodeDecodeError:
        return
    if mistake.name.endswith(".ipynb"):
        return
    raw = {"path": "a.py", **mistake.arguments()}
    shown = LinesShownToModel(lines=dict(enumerate(text.split("\n"), 1)))
    assert lost("replace", raw, text, shown) is None or mistake.after is None


def test_a_lost_edit_is_refused_in_the_words_of_the_engine() -> None:
    edits = [{"oldText": "name_3(a, b)", "newText": "x"}, {"oldText": "nowhere", "newText": "y"}]
    arguments = {"path": "a.py", "edits": edits}
    with pytest.raises(ToolError) as problem:
        finished("replace", arguments, TEXT, LinesShownToModel())
    assert lost("replace", arguments, TEXT, LinesShownToModel()) == str(problem.value)
