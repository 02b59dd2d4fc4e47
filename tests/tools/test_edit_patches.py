"""Patches: all files or none, hunks where their context stands and nowhere else."""

import json
from pathlib import Path

import pytest

from tests.tools.conftest import ToolCaller
from tools.edits.files_named_by_edits import find_patch_in_command

CODE = "class A:\n    def f(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 1\n"


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


async def test_files_are_added_changed_moved_and_removed_in_one_patch(
    hands: ToolCaller, project: Path
) -> None:
    (project / "a.py").write_text(CODE)
    (project / "b.txt").write_text("one\ntwo\n")
    (project / "c.txt").write_text("gone\n")
    text = patch(
        "*** Add File: new/d.txt",
        "+first",
        "+",
        "+third",
        "*** Update File: a.py",
        "@@ class B:",
        "     def f(self):",
        "-        return 1",
        "+        return 2",
        "*** Update File: b.txt",
        "*** Move to: moved.txt",
        " one",
        "-two",
        "+2",
        "*** Delete File: c.txt",
    )
    result = await hands("apply_patch", input=text)
    assert result.text == (
        "Added new/d.txt. Changed a.py in 1 place. Moved b.txt to moved.txt. Added moved.txt. Removed c.txt."
    )
    assert (project / "new/d.txt").read_text() == "first\n\nthird\n"
    assert (project / "a.py").read_text() == CODE[:-2] + "2\n"
    assert (project / "moved.txt").read_text() == "one\n2\n"
    assert not (project / "b.txt").exists() and not (project / "c.txt").exists()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            ("*** Update File: a.py", "     def f(self):", "-        return 1"),
            "2 times in a.py, at lines 2, 7",
        ),
        (("*** Update File: a.py", "-        return 9"), "its context was not found in a.py"),
        (
            ("*** Update File: a.py", "@@ class C:", "-        return 1"),
            'the line "class C:" after "@@" is not in',
        ),
        (("*** Update File: no.py", "-x"), "it does not exist"),
        (("*** Add File: a.py", "+x"), "a.py already exists"),
        (("*** Delete File: no.py",), "it does not exist"),
        (("*** Update File: a.py", "what is this"), 'lines of a hunk begin with a space, "+" or "-"'),
        (("*** Upd File: a.py",), "lines of a hunk begin with"),
        (
            ("*** Update File: a.py", "*** Move to: b.py", "@@ class B:", "-        return 1"),
            "b.py already exists",
        ),
        (("*** Update File: a.py", "-class A:", "*** Update File: ./a.py", "-class B:"), "more than once"),
    ],
)
async def test_what_does_not_fit_changes_nothing(
    hands: ToolCaller, project: Path, lines: tuple[str, ...], words: str
) -> None:
    (project / "a.py").write_text(CODE)
    (project / "b.py").write_text("x\n")
    said = await hands.error("apply_patch", input=patch("*** Update File: b.py", "-x", "+y", *lines))
    assert words in said or "more than once" in said
    assert (project / "a.py").read_text() == CODE and (project / "b.py").read_text() == "x\n"


@pytest.mark.parametrize(
    ("before", "lines", "after"),
    [
        ("a\nb", ("-b", "+c"), "a\nc"),
        ("a\r\nb\r\n", (" a", "-b", "+c"), "a\r\nc\r\n"),
        ("a  \nb\n", (" a", "-b", "+c"), "a  \nc\n"),
        ("“a”\nb\n", (' "a"', "-b", "+c"), "“a”\nc\n"),
        ("x\nb\nx\n", ("-x", "+y", "*** End of File"), "x\nb\ny\n"),
        ("x\nb\nc\n", ("-x", "+y", "*** End of File"), "y\nb\nc\n"),
        ("a\nb\n", ("@@ a", "+new"), "a\nnew\nb\n"),
        ("a\nb", ("+new",), "a\nb\nnew"),
        ("x = 1\nx = 1\ny\nx = 1\n", (" y", "-x = 1", "+x = 2"), "x = 1\nx = 1\ny\nx = 2\n"),
        ("a\nx\nb\nx\n", ("-a", "+A", "@@", "-b", "+B", "@@", "-x", "+X"), None),
        ("a\nb\nx\n", ("@@ -1,2 +1,2 @@", "-a", "+A"), "A\nb\nx\n"),
    ],
)
async def test_hunks_go_where_their_context_is(
    hands: ToolCaller, project: Path, before: str, lines: tuple[str, ...], after: str | None
) -> None:
    path = project / "f.txt"
    path.write_bytes(before.encode())
    if after is None:  # the last hunk stands behind the others, and there it is once
        await hands("apply_patch", input=patch("*** Update File: f.txt", *lines))
        assert path.read_text() == "A\nx\nB\nX\n"
        return
    await hands("apply_patch", input=patch("*** Update File: f.txt", *lines))
    assert path.read_bytes() == after.encode()


async def test_indentation_is_ignored_only_where_it_was_read(hands: ToolCaller, project: Path) -> None:
    path = project / "a.py"
    path.write_text("class A:\n    x = 1\n")
    text = patch("*** Update File: a.py", "-x = 1", "-", "+x = 2", "+")
    await hands.error("apply_patch", input=patch("*** Update File: a.py", "-  x = 1", "+  x = 2"))
    assert text and path.read_text() == "class A:\n    x = 1\n"
    await hands("read", path="a.py")
    await hands("apply_patch", input=patch("*** Update File: a.py", "-  x = 1", "+  x = 2"))
    assert path.read_text() == "class A:\n    x = 2\n"


async def test_other_dialects_are_understood_by_either_tool(hands: ToolCaller, project: Path) -> None:
    path = project / "a.txt"
    path.write_text("one\n")
    await hands("apply_patch", path="a.txt", edits=[{"oldText": "one", "newText": "two"}])
    await hands("apply_patch", old_string="two", new_string="three", file_path="a.txt")
    await hands("edit", patch=patch("*** Update File: a.txt", "-three", "+four"))
    await hands(
        "edit",
        path="a.txt",
        edits=[{"oldText": patch("*** Update File: a.txt", "-four", "+five"), "newText": ""}],
    )
    assert path.read_text() == "five\n"


PATCH = "*** Begin Patch\n*** Update File: a.txt\n-one\n+two\n*** End Patch"


@pytest.mark.parametrize(
    ("command", "is_patch"),
    [
        (f"apply_patch <<'EOF'\n{PATCH}\nEOF", True),
        (f'apply_patch <<"PATCH"\n{PATCH}\nPATCH\n', True),
        (f"apply_patch <<EOF\n{PATCH}\nEOF\necho more", False),
        (f"echo; apply_patch <<EOF\n{PATCH}\nEOF", False),
        ("apply_patch file", False),
    ],
)
async def test_a_command_that_is_only_a_patch_is_carried_out_as_one(
    hands: ToolCaller, project: Path, command: str, is_patch: bool
) -> None:
    (project / "a.txt").write_text("one\n")
    assert (find_patch_in_command({"command": command, "timeout": None}) == PATCH) is is_patch
    if is_patch:
        assert await hands.text("bash", command=command) == "Changed a.txt in 1 place."
        assert (project / "a.txt").read_text() == "two\n"
    assert find_patch_in_command({"command": command, "cwd": "elsewhere"}) is None


async def test_a_notebook_is_patched_as_it_is_read(hands: ToolCaller, project: Path) -> None:
    cells = [
        {
            "cell_type": "code",
            "id": "a",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": ["x = 1\n", "y = 2"],
        }
    ]
    whole = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path = project / "n.ipynb"
    path.write_text(json.dumps(whole, indent=1) + "\n")
    await hands("read", path="n.ipynb")
    await hands("edit", input=patch("*** Update File: n.ipynb", "@@", " x = 1", "-y = 2", "+y = 3", "+z = 4"))
    cells[0]["source"] = ["x = 1\n", "y = 3\n", "z = 4"]
    assert path.read_text() == json.dumps(whole, indent=1) + "\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
async def test_how_a_file_is_encoded_stays(hands: ToolCaller, project: Path, encoding: str) -> None:
    path = project / "a.txt"
    path.write_bytes("één\r\ntwee\r\n".encode(encoding))
    await hands("edit", input=patch("*** Update File: a.txt", "@@", "-één", "+drie", " twee"))
    assert path.read_bytes() == "drie\r\ntwee\r\n".encode(encoding)


async def test_a_file_of_five_megabytes_is_patched(hands: ToolCaller, project: Path) -> None:
    path = project / "big.txt"
    text = "".join(f"line {number}\n" for number in range(480_000))
    assert len(text) > 5_000_000
    path.write_text(text)
    await hands(
        "edit", input=patch("*** Update File: big.txt", "@@", " line 399999", "-line 400000", "+mine")
    )
    assert path.read_text() == text.replace("line 400000\n", "mine\n")


async def test_added_lines_without_a_place_are_said_to_be_at_the_end(
    hands: ToolCaller, project: Path
) -> None:
    (project / "a.py").write_text("first\n")
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n+last\n*** End Patch"
    told = await hands.text("apply_patch", input=patch)
    assert "only adds lines and names no place: they are at the end of a.py" in told
    assert (project / "a.py").read_text() == "first\nlast\n"
    named = "*** Begin Patch\n*** Update File: a.py\n@@ first\n+second\n*** End Patch"
    assert "names no place" not in await hands.text("apply_patch", input=named)
    assert (project / "a.py").read_text() == "first\nsecond\nlast\n"
