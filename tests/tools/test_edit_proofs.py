"""Loose matches need proof: no place is edited or skipped because it is merely likely."""

from pathlib import Path

import pytest

from tests.tools.conftest import ToolCaller
from tests.tools.test_edit import edit, put

TWINS = """class A:
    def size(self):
        return 1


class B:
    class Inner:
        def size(self):
            return 1
"""
SIZE = "    def size(self):\n        return 1\n"


async def test_an_edit_sent_again_leaves_a_deeper_twin_alone(hands: ToolCaller, project: Path) -> None:
    path = put(project, "a.py", TWINS)
    await hands("read", path="a.py")
    for new in ("    def size(self):\n        return 2\n", ""):
        path.write_text(TWINS)
        await edit(hands, path, (SIZE, new))
        once = path.read_text()
        assert "Nothing to do" in await hands.text("edit", path="a.py", oldText=SIZE, newText=new)
        assert path.read_text() == once


async def test_a_line_within_deeper_indentation_is_another_line(hands: ToolCaller, project: Path) -> None:
    path = put(project, "a.py", "if a:\n    x = 1\n    if b:\n        x = 1\n")
    await hands("read", path="a.py")
    assert await edit(hands, path, ("    x = 1\n", "    x = 2\n")) == ["exact"]
    assert path.read_text() == "if a:\n    x = 2\n    if b:\n        x = 1\n"
    said = await hands.text("edit", path="a.py", oldText="    x = 1\n", newText="    x = 2\n")
    assert said == "Nothing to do: line 2 already reads like the new text."


async def test_other_indentation_is_no_way_to_lines_that_were_not_read(
    hands: ToolCaller, project: Path
) -> None:
    path = put(project, "a.py", TWINS)
    words = await hands.error("edit", path="a.py", oldText="def size(self):\n    return 1\n", newText="")
    assert "2 times in a.py (ignoring indentation)" in words
    path.write_text(TWINS[: TWINS.index("class B")])
    words = await hands.error("edit", path="a.py", oldText="def size(self):\n    return 1\n", newText="")
    assert "With other indentation it is at line 2, which you have not read." in words
    assert "·def size(self):" in words
    await hands("read", path="a.py", limit=2)
    await hands.error("edit", path="a.py", oldText="def size(self):\n    return 1\n", newText="")
    await hands("read", path="a.py", offset=3)
    assert await edit(hands, path, ("def size(self):\n    return 1\n", "")) == ["indentation"]


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("say `x` now\n", "say 'x' now", "say y"),
        ("y = x⁵\n", "y = x5", "y = 1"),
        ("f(ｘ)\n", "f(x)", "f()"),
        ("wait … what\n", "wait ... what", "go"),
        ("a « b\n", 'a " b', "c"),
    ],
)
async def test_what_changes_a_program_is_no_look_alike(
    hands: ToolCaller, project: Path, file: str, old: str, new: str
) -> None:
    path = put(project, "a.txt", file)
    await hands("read", path="a.txt")
    assert "was not found" in await hands.error("edit", path="a.txt", oldText=old, newText=new)
    assert path.read_text() == file


async def test_decomposed_letters_lead_to_their_own_place(hands: ToolCaller, project: Path) -> None:
    path = put(
        project, "a.md", "한글 “a” 한글\nx “a” y\n".replace("한글", "\u1112\u1161\u11ab\u1100\u1173\u11af", 1)
    )
    assert await edit(hands, path, ('x "a" y', "z")) == ["look-alikes"]
    assert path.read_text().endswith("한글\nz\n")


@pytest.mark.parametrize(
    ("name", "before", "old", "new"),
    [
        ("list.yaml", "phone: 1\n", "phone: 1\n", "+ 4930\n+ 4940\n"),
        ("notes.md", "text\n", "text\n", "```\nls\n```\n"),
        ("a.py", 'X = """\na\n"""\n', "a\n", "+ one\n+ two\n"),
        ("a.js", "const n = 1;\n", "const n = 1;\n", "+a;\n+b;\n"),
        ("recipe.txt", "flour\n", "flour\n", "+ eggs\n"),
    ],
)
async def test_signs_that_a_file_means_stay(
    hands: ToolCaller, project: Path, name: str, before: str, old: str, new: str
) -> None:
    path = put(project, name, before)
    await edit(hands, path, (old, new))
    assert path.read_text() == before.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2:two\n3:three\n", "x\n"),  # they stand one line higher, and never stood there
        ("1:one\n3:two\n", "x\n"),
        ("1:one\nthree\n", "x\n"),
    ],
)
async def test_numbers_that_do_not_agree_are_no_numbers(
    hands: ToolCaller, project: Path, old: str, new: str
) -> None:
    path = put(project, "a.txt", "one\ntwo\nthree\n".replace("one\n", "one\nzero\n"))
    assert "was not found" in await hands.error("edit", path="a.txt", oldText=old, newText=new)
    assert path.read_text() == "one\nzero\ntwo\nthree\n"


async def test_numbers_of_kept_lines_alone_are_taken_off(hands: ToolCaller, project: Path) -> None:
    path = put(project, "a.py", "d = {\n    1: 2,\n}\n")
    old = "1→d = {\n2→    1: 2,\n3→}\n"
    assert await edit(hands, path, (old, "1→d = {\n    1: 2,\n    3: 4,\n3→}\n")) == ["line-numbers"]
    assert path.read_text() == "d = {\n    1: 2,\n    3: 4,\n}\n"


async def test_escapes_are_undone_one_level_and_only_where_code_comes_of_it(
    hands: ToolCaller, project: Path
) -> None:
    path = put(project, "a.js", 'f("a\\n");\ng();\n')
    assert await edit(hands, path, ('f(\\"a\\\\n\\");\\ng();', 'h(\\"b\\\\n\\");')) == ["escapes"]
    assert path.read_text() == 'h("b\\n");\n'
    path.write_text("f(1);\ng();\n")
    words = await hands.error("edit", path="a.js", oldText="f(1);\\ng();", newText='f(\\"a\\n\\");\\ng(')
    assert "only with its escapes undone" in words
    assert path.read_text() == "f(1);\ng();\n"


@pytest.mark.parametrize(
    ("name", "new", "is_refused"),
    [
        ("a.js", "function f() {\n  ...\n}\n", True),
        ("a.js", "function f() {\n  // ... existing code ...\n}\n", True),
        ("a.js", "f(\n  ...args\n);\n", False),
        ("a.py", "def f():\n    ...\n", False),
        ("a.py", "def f():\n    # ... rest of the function\n    pass\n", True),
        ("a.txt", "and so on\n...\n", False),
    ],
)
async def test_dots_for_code_left_out_are_refused_in_the_new_text(
    hands: ToolCaller, project: Path, name: str, new: str, is_refused: bool
) -> None:
    path = put(project, name, "old = 1\n")
    if is_refused:
        assert "a placeholder" in await hands.error("edit", path=name, oldText="old = 1\n", newText=new)
        assert path.read_text() == "old = 1\n"
    else:
        await edit(hands, path, ("old = 1\n", new))
        assert path.read_text() == new


async def test_places_are_counted_and_not_guessed(hands: ToolCaller, project: Path) -> None:
    put(project, "a.txt", "x\n" * 512)
    assert "oldText occurs 512 times in a.txt" in await hands.error(
        "edit", path="a.txt", oldText="x", newText="y"
    )


async def test_several_files_change_together_or_not_at_all(hands: ToolCaller, project: Path) -> None:
    one, two = put(project, "one.txt", "1\n"), put(project, "two.txt", "2\n")
    edits = [{"oldText": "1", "newText": "one"}, {"path": "two.txt", "oldText": "3", "newText": "two"}]
    assert "not found in two.txt" in await hands.error("edit", path="one.txt", edits=edits)
    assert (one.read_text(), two.read_text()) == ("1\n", "2\n")
    edits[1]["oldText"] = "2"
    result = await hands("edit", path="one.txt", edits=edits)
    assert result.text == "Successfully replaced 2 block(s) in one.txt, two.txt."
    assert (one.read_text(), two.read_text()) == ("one\n", "two\n")
    assert result.details is not None and [file["path"] for file in result.details["files"]] == [
        "one.txt",
        "two.txt",
    ]
    two.chmod(0o444)
    edits = [{"oldText": "one", "newText": "1"}, {"path": "two.txt", "oldText": "two", "newText": "2"}]
    await hands.error("edit", path="one.txt", edits=edits)
    assert (one.read_text(), two.read_text()) == ("one\n", "two\n")
