"""The files that a call would leave, and the call that leaves other ones: what a person chose is what is written."""

import random

import pytest

from tests.tools.test_edit_preview import CALLS, NEW, TEXT, seen
from tools.argument_schema import validate_tool_arguments
from tools.builtin.edit import make_edit_tool_for_mode
from tools.builtin.write import make_write_tool
from tools.edits.dialects.edit_modes import EditMode
from tools.edits.edit_preview import FileBeforePreviewedCall
from tools.edits.proposed_files import (
    ProposedFile,
    can_rewrite_arguments,
    compute_proposed_files,
    rewrite_arguments,
)
from tools.edits.shown_lines import LinesShownToModel


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_the_proposed_file_is_what_the_call_leaves(number: int) -> None:
    mode, arguments, after = CALLS[number]
    tool = make_write_tool() if mode is None else make_edit_tool_for_mode(mode)
    assert tool.prepare is not None
    prepared = tool.prepare(dict(arguments))
    (file,) = compute_proposed_files(prepared, seen(TEXT))
    assert (file.path, file.old_text, file.new_text) == ("a.py", TEXT, after)
    assert can_rewrite_arguments(prepared)


ARGUMENTS: dict[EditMode, dict[str, object]] = {
    "replace": {"path": "a.py", "edits": [{"oldText": "a", "newText": "b"}]},
    "anchored": {"changes": [{"path": "a.py", "from": "1aa", "lines": []}]},
    "patch": {"input": "*** Begin Patch\n*** Update File: a.py\n-a\n+b\n*** End Patch"},
}


@pytest.mark.parametrize("mode", ARGUMENTS)
@pytest.mark.parametrize("seed", (*range(40), 69, 81, 297, 391))
def test_a_call_made_anew_leaves_the_wanted_text(seed: int, mode: EditMode) -> None:
    """Also where lines occur often, and at both ends of the file."""
    luck = random.Random(seed)
    lines = [luck.choice(("x\n", "\n", f"line {luck.randrange(9)}\n")) for _ in range(luck.randrange(1, 30))]
    before = "".join(lines).removesuffix("\n" if luck.random() < 0.3 else "")
    for _ in range(luck.randrange(1, 4)):
        at = luck.randrange(len(lines) + 1)
        lines[at : at + luck.randrange(3)] = [f"new {luck.randrange(3)}\n"] * luck.randrange(3)
    wanted = "".join(lines)
    file = ProposedFile(
        path="a.py", sent_path="a.py", real_path="/a.py", old_text=before, new_text="anything"
    )
    made = rewrite_arguments(ARGUMENTS[mode], (file,), {"a.py": wanted})
    if before == wanted:
        assert made is None
        return
    if not before:
        return  # an empty file has no text to replace
    assert made is not None
    validate_tool_arguments(make_edit_tool_for_mode(mode), made)
    shown = LinesShownToModel(lines=dict(enumerate(before.split("\n"), 1)))
    (left,) = compute_proposed_files(made, seen(before, shown=shown))
    assert left.new_text == wanted


def test_a_patch_made_anew_adds_and_removes_only_what_is_left() -> None:
    files = (
        ProposedFile(path="new.py", sent_path="new.py", real_path="/new.py", old_text=None, new_text="one\n"),
        ProposedFile(
            path="other.py", sent_path="other.py", real_path="/other.py", old_text=None, new_text="two\n"
        ),
        ProposedFile(
            path="gone.py", sent_path="gone.py", real_path="/gone.py", old_text="x = 1\n", new_text=None
        ),
        ProposedFile(path="a.py", sent_path="a.py", real_path="/a.py", old_text=TEXT, new_text=NEW),
    )
    made = rewrite_arguments(ARGUMENTS["patch"], files, {"new.py": "edited\n", "other.py": None})
    assert made is not None
    validate_tool_arguments(make_edit_tool_for_mode("patch"), made)
    texts = {"gone.py": "x = 1\n", "a.py": TEXT}

    def look(path: str) -> FileBeforePreviewedCall:
        return seen(texts.get(path, ""), name=path if path in texts else "")(path)

    left = {one.sent_path: one.new_text for one in compute_proposed_files(made, look)}
    assert left == {"new.py": "edited\n", "gone.py": None, "a.py": NEW}


def test_a_written_file_takes_the_text_as_it_is() -> None:
    arguments = {"path": "a.py", "content": NEW}
    (file,) = compute_proposed_files(arguments, seen(TEXT))
    assert rewrite_arguments(arguments, (file,), {"a.py": "mine"}) == {"path": "a.py", "content": "mine"}
    assert rewrite_arguments(arguments, (file,), {"a.py": TEXT}) is None
    (new,) = compute_proposed_files({"path": "b.py", "content": "x"}, seen(TEXT))
    assert (new.old_text, new.new_text) == (None, "x")


def test_a_call_that_has_no_place_proposes_nothing() -> None:
    assert (
        compute_proposed_files({"path": "a.py", "edits": [{"oldText": "no", "newText": ""}]}, seen(TEXT))
        == ()
    )
    assert (
        compute_proposed_files({"path": "b.py", "edits": [{"oldText": "no", "newText": ""}]}, seen(TEXT))
        == ()
    )
    assert compute_proposed_files({"path": 3, "content": "x"}, seen(TEXT)) == ()
