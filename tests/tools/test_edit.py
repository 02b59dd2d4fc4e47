"""`edit` replaces exactly the intended text, or explains the failure and changes nothing."""

import json
import os
from pathlib import Path

import pytest

from tests.tools.conftest import ToolCaller

CODE = "def f(a):\n    if a:\n        return 1\n    return 2\n"


def put(project: Path, name: str, data: str | bytes) -> Path:
    path = project / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


async def edit(hands: ToolCaller, path: Path, *pairs: tuple[str, str]) -> list[str]:
    """Edits and answers the strategies used."""
    result = await hands(
        "edit", path=path.name, edits=[{"oldText": old, "newText": new} for old, new in pairs]
    )
    assert result.details is not None
    return result.details["strategies"]


async def test_several_edits_match_the_original_in_one_pass(hands: ToolCaller, project: Path) -> None:
    path = put(project, "a.txt", "one two three\n")
    result = await hands(
        "edit",
        path="a.txt",
        edits=[{"oldText": "one", "newText": "two"}, {"oldText": "two", "newText": "one"}],
    )
    assert path.read_text() == "two one three\n"
    assert result.text == "Successfully replaced 2 block(s) in a.txt."
    assert result.details is not None
    assert result.details["firstChangedLine"] == 1
    assert result.details["strategies"] == ["exact", "exact"]
    assert result.details["diff"] == "-1 one two three\n+1 two one three"
    assert result.details["patch"] == (
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-one two three\n+two one three\n"
    )


async def test_one_edit_that_fails_undoes_none_because_none_was_made(
    hands: ToolCaller, project: Path
) -> None:
    path = put(project, "a.txt", "one\ntwo\n")
    words = await hands.error(
        "edit",
        path="a.txt",
        edits=[{"oldText": "one", "newText": "1"}, {"oldText": "three", "newText": "3"}],
    )
    assert path.read_text() == "one\ntwo\n"
    assert words.startswith("Edit 2 of 2: oldText was not found in a.txt. Nothing was changed.")


async def test_white_space_at_line_ends_is_forgiven(hands: ToolCaller, project: Path) -> None:
    path = put(project, "a.txt", "alpha  \nbeta\t\ngamma\n")
    assert await edit(hands, path, ("alpha\nbeta\n", "alpha\nBETA\n")) == ["trailing-whitespace"]
    assert path.read_text() == "alpha  \nBETA\ngamma\n"  # the line that was not changed keeps its own


async def test_a_uniform_shift_of_indentation_is_forgiven(hands: ToolCaller, project: Path) -> None:
    path = put(project, "a.py", "class A:\n" + "".join(f"    {line}\n" for line in CODE.splitlines()))
    await hands("read", path="a.py")
    assert await edit(hands, path, (CODE, CODE.replace("1", "one()"))) == ["indentation"]
    assert path.read_text() == "class A:\n" + "".join(
        f"    {line}\n" for line in CODE.replace("1", "one()").splitlines()
    )


async def test_too_much_indentation_is_forgiven(hands: ToolCaller, project: Path) -> None:
    path = put(project, "a.py", CODE)
    await hands("read", path="a.py")
    old = "          if a:\n              return 1\n"
    assert await edit(hands, path, (old, old.replace("1", "9"))) == ["indentation"]
    assert path.read_text() == CODE.replace("1", "9")


async def test_spaces_for_tabs_are_forgiven_and_tabs_stay(hands: ToolCaller, project: Path) -> None:
    path = put(project, "a.go", "func f() {\n\tif a {\n\t\treturn 1\n\t}\n}\n")
    await hands("read", path="a.go")
    old = "    if a {\n        return 1\n    }\n"
    new = "    if a {\n        b()\n        return 1\n    }\n"
    assert await edit(hands, path, (old, new)) == ["indentation"]
    assert path.read_text() == "func f() {\n\tif a {\n\t\tb()\n\t\treturn 1\n\t}\n}\n"


async def test_a_shift_that_is_not_uniform_is_not_forgiven(hands: ToolCaller, project: Path) -> None:
    path = put(project, "a.py", CODE)
    await hands.error("edit", path="a.py", oldText="  if a:\n          return 1\n", newText="x\n")
    assert path.read_text() == CODE


async def test_look_alikes_are_forgiven(hands: ToolCaller, project: Path) -> None:
    path = put(project, "a.md", "He said “it’s 5 – 6” here.\nNext\n")
    assert await edit(hands, path, ('"it\'s 5 - 6"', "nothing")) == ["look-alikes"]
    assert path.read_text() == "He said nothing here.\nNext\n"


async def test_lines_that_an_edit_keeps_keep_their_own_characters(hands: ToolCaller, project: Path) -> None:
    path = put(project, "a.md", "“quoted”\nold – line\nlast\n")
    assert await edit(hands, path, ('"quoted"\nold - line\n', '"quoted"\nnew - line\n')) == ["look-alikes"]
    assert path.read_text() == "“quoted”\nnew - line\nlast\n"


async def test_what_read_shows_of_a_control_character_can_be_edited(hands: ToolCaller, project: Path) -> None:
    path = put(project, "a.sh", "printf '\x1b[31m'\n")
    shown = await hands.text("read", path="a.sh")
    assert await edit(hands, path, (shown, "printf red")) == ["look-alikes"]
    assert path.read_text() == "printf red\n"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"one\r\ntwo\r\nthree\r\n", "one\ntwo", "one\n1.5\ntwo", b"one\r\n1.5\r\ntwo\r\nthree\r\n"),
        (b"one\ntwo\n", "one\r\ntwo", "1\r\n2", b"1\n2\n"),
        (b"a\r\nb\nc\r\nd", "b\nc", "B\nC\nnew", b"a\r\nB\nC\nnew\r\nd"),
        (b"a\rb\rc", "a\nb", "a\nx\nb", b"a\rx\rb\rc"),
        (b"no end", "end", "start", b"no start"),
        (b"\xef\xbb\xbfone\r\n", "one", "two", b"\xef\xbb\xbftwo\r\n"),
        ("één\n".encode("utf-16"), "één", "twee", "twee\n".encode("utf-16")),
        (
            "Привет, мир, это проверка\n".encode("cp1251"),
            "мир",
            "дом",
            "Привет, дом, это проверка\n".encode("cp1251"),
        ),
        (
            "日本語のテキストです。\n".encode("shift_jis"),
            "テキスト",
            "本",
            "日本語の本です。\n".encode("shift_jis"),
        ),
        (b"caf\xe9 one\n", "one", "two", b"caf\xe9 two\n"),
        (
            b"good \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 bad \xff one\n",
            "one",
            "two",
            b"good \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 bad \xff two\n",
        ),
    ],
)
async def test_bytes_that_an_edit_does_not_mean_stay(
    hands: ToolCaller, project: Path, before: bytes, old: str, new: str, after: bytes
) -> None:
    path = put(project, "file", before)
    await edit(hands, path, (old, new))
    assert path.read_bytes() == after


async def test_a_character_that_the_encoding_lacks_is_refused(hands: ToolCaller, project: Path) -> None:
    path = put(project, "file", b"caf\xe9\n")
    assert "has no '漢'" in await hands.error("edit", path="file", oldText="caf", newText="漢")
    assert path.read_bytes() == b"caf\xe9\n"


async def test_an_ambiguous_text_names_its_places(hands: ToolCaller, project: Path) -> None:
    put(project, "a.txt", "x\ny\nx\n")
    words = await hands.error("edit", path="a.txt", oldText="x", newText="z")
    assert "oldText occurs 2 times in a.txt, at lines 1, 3." in words
    put(project, "b.txt", "x \ny\n\nx\t\ny\n")
    words = await hands.error("edit", path="b.txt", oldText="x\ny\n", newText="z")
    assert "2 times in b.txt (ignoring trailing whitespace), at lines 1, 4." in words


async def test_a_miss_shows_the_nearest_text_with_its_white_space(hands: ToolCaller, project: Path) -> None:
    put(project, "a.py", "import os\n\ndef f(a):\n\tx = 1 \n\treturn x\n")
    words = await hands.error("edit", path="a.py", oldText="def f(a):\n    x = 2\n", newText="")
    assert "Nearest text, lines 3-4" in words
    assert "≠ 4: →x = 1·" in words
    assert "Line 2 of oldText is: ····x = 2" in words


async def test_a_miss_finds_a_line_that_is_only_similar(hands: ToolCaller, project: Path) -> None:
    put(project, "a.py", "first\ndef calculate_total(items):\nlast\n")
    words = await hands.error("edit", path="a.py", oldText="def calculate_totals(items):", newText="x")
    assert "≠ 2: def calculate_total(items):" in words


async def test_a_stale_edit_is_explained(hands: ToolCaller, project: Path) -> None:
    path = put(project, "a.py", "a = 1\nb = 2\nc = 3\n")
    await hands("read", path="a.py")
    path.write_text("a = 1\nb = 20\nc = 3\n")
    words = await hands.error("edit", path="a.py", oldText="b = 2\n", newText="b = 4\n")
    assert "The file has changed since you read it: this text was at lines 2-2." in words


async def test_a_file_deleted_between_read_and_edit_is_reported(hands: ToolCaller, project: Path) -> None:
    path = put(project, "gone.py", "a\n")
    await hands("read", path="gone.py")
    path.unlink()
    words = await hands.error("edit", path="gone.py", oldText="a", newText="b")
    assert "it does not exist" in words and not path.exists()


async def test_the_model_may_edit_again_what_it_has_just_edited(hands: ToolCaller, project: Path) -> None:
    path = put(project, "a.py", "a = 1\n")
    await edit(hands, path, ("1", "2"))
    await edit(hands, path, ("a = 2", "a = 3"))
    assert path.read_text() == "a = 3\n"


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([("", "x")], "oldText is empty"),
        ([("one two", "x"), ("two three", "y")], "Edits 1 and 2 overlap in a.txt (line 1)"),
        ([("ZZZ QQQ XXX", "x")], "Nothing like it is in the file"),
    ],
)
async def test_senseless_edits_are_refused(
    hands: ToolCaller, project: Path, pairs: list[tuple[str, str]], words: str
) -> None:
    path = put(project, "a.txt", "one two three\n")
    edits = [{"oldText": old, "newText": new} for old, new in pairs]
    assert words in await hands.error("edit", path="a.txt", edits=edits)
    assert path.read_text() == "one two three\n"


async def test_edits_that_touch_do_not_overlap(hands: ToolCaller, project: Path) -> None:
    path = put(project, "a.txt", "ab\n")
    await edit(hands, path, ("a", "1"), ("b", "2"))
    assert path.read_text() == "12\n"


@pytest.mark.parametrize(
    "arguments",
    [
        {"oldText": "one", "newText": "1"},
        {"old_string": "one", "new_string": "1"},
        {"edits": '[{"oldText": "one", "newText": "1"}]'},
        {"edits": {"old_text": "one", "new_text": "1"}},
    ],
)
async def test_other_spellings_of_the_arguments_are_understood(
    hands: ToolCaller, project: Path, arguments: dict[str, object]
) -> None:
    path = put(project, "a.txt", "one\n")
    await hands("edit", {"file_path": "a.txt", **arguments})
    assert path.read_text() == "1\n"


async def test_mode_and_symlink_survive(hands: ToolCaller, project: Path) -> None:
    path = put(project, "script.sh", "echo one\n")
    path.chmod(0o755)
    (project / "link.sh").symlink_to("script.sh")
    await hands("edit", path="link.sh", oldText="one", newText="two")
    assert (project / "link.sh").is_symlink()
    assert path.read_text() == "echo two\n"
    assert path.stat().st_mode & 0o777 == 0o755


async def test_a_hard_link_stays_one_file(hands: ToolCaller, project: Path) -> None:
    path = put(project, "a", "one\n")
    os.link(path, project / "b")
    await hands("edit", path="b", oldText="one", newText="a much longer text")
    assert path.read_text() == "a much longer text\n"
    assert path.stat().st_ino == (project / "b").stat().st_ino


async def test_binary_files_are_refused(hands: ToolCaller, project: Path) -> None:
    put(project, "x.bin", b"\x7fELF\0\0\0one")
    assert "is a binary file" in await hands.error("edit", path="x.bin", oldText="one", newText="two")


# The last line, bad bytes, everywhere, notebooks


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("a\nb", "b\n", "c\n", "a\nc"),
        ("a\nb", "a\nb\n", "x\ny\n", "x\ny"),
        ("a\nb", "b\n", "", "a\n"),
        ("a\n  b", "b\n", "c\n", "a\n  c"),
        ("a\r\nb", "b\r\n", "c\r\n", "a\r\nc"),
        ("b\nb", "b\n", "c\n", "c\nb"),
    ],
)
async def test_a_last_line_without_a_line_feed_is_found_and_stays_without(
    hands: ToolCaller, project: Path, before: str, old: str, new: str, after: str
) -> None:
    (project / "f").write_bytes(before.encode())
    await hands("read", path="f")
    await hands("edit", path="f", edits=[{"oldText": old, "newText": new}])
    assert (project / "f").read_bytes() == after.encode()


@pytest.mark.parametrize("around", ["naïve café", "日本語のテスト", "–", "x é y"])
async def test_one_bad_byte_leaves_the_other_characters_alone(
    hands: ToolCaller, project: Path, around: str
) -> None:
    data = f"{around}\nvalue = 1\n".encode() + b"broken \xff byte\n"
    (project / "f").write_bytes(data)
    text = await hands.text("read", path="f")
    assert around in text and "broken \ufffd byte" in text
    await hands("edit", path="f", edits=[{"oldText": around, "newText": f"{around}, ünd"}])
    assert (project / "f").read_bytes() == data.replace(around.encode(), f"{around}, ünd".encode())


async def test_a_text_is_replaced_wherever_it_is(hands: ToolCaller, project: Path) -> None:
    (project / "f").write_text("one two one\none\n")
    assert "or set all" in await hands.error("edit", path="f", edits=[{"oldText": "one", "newText": "1"}])
    said = await hands.text(
        "edit",
        path="f",
        edits=[
            {"oldText": "one", "newText": "one one", "replaceAll": True},
            {"oldText": "two", "newText": "2"},
        ],
    )
    assert said == ("Successfully replaced 4 block(s) in f. Edit 1 of 2: replaced 3 times, at lines 1, 2.")
    assert (project / "f").read_text() == "one one 2 one one\none one\n"
    await hands("edit", path="f", old_string="one one", new_string="1", replace_all=True)
    assert (project / "f").read_text() == "1 2 1\n1\n"
    overlap = [{"oldText": "1", "newText": "x", "replaceAll": True}, {"oldText": "1 2", "newText": "y"}]
    assert "Edits 1 and 2 overlap" in await hands.error("edit", path="f", edits=overlap)


NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "id": "m1", "metadata": {}, "source": ["# Títle\n", "\n", "text\n"]},
        {
            "cell_type": "code",
            "execution_count": 1,
            "metadata": {"tags": []},
            "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}],
            "source": ["def f():\n", "    return 1\n", "\n", "f()"],
        },
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": "x = 1"},
    ],
    "metadata": {"kernelspec": {"language": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


@pytest.mark.parametrize("indent", [1, 2, None])
async def test_notebooks_are_edited_as_they_are_read(
    hands: ToolCaller, project: Path, indent: int | None
) -> None:
    path = project / "n.ipynb"
    path.write_text(json.dumps(NOTEBOOK, indent=indent, ensure_ascii=False) + "\n")
    shown = await hands.text("read", path="n.ipynb")
    assert "def f():\n    return 1\n\nf()" in shown
    edits = [
        {"oldText": "    return 1\n\nf()", "newText": "    a = 2\n    return a\n\nf()\n"},
        {"oldText": "# Títle\n", "newText": "# Title\n"},
        {"oldText": "x = 1", "newText": "x = 2"},
    ]
    result = await hands("edit", path="n.ipynb", edits=edits)
    assert result.details is not None and "+    return a" in result.details["patch"]
    wanted = json.loads(json.dumps(NOTEBOOK))
    wanted["cells"][0]["source"][0] = "# Title\n"
    wanted["cells"][1]["source"] = ["def f():\n", "    a = 2\n", "    return a\n", "\n", "f()\n"]
    wanted["cells"][2]["source"] = "x = 2"
    assert path.read_text() == json.dumps(wanted, indent=indent, ensure_ascii=False) + "\n"
    again = await hands.text("read", path="n.ipynb")
    assert "    return a\n\nf()" in again


async def test_only_sources_of_a_notebook_can_be_edited(hands: ToolCaller, project: Path) -> None:
    path = project / "n.ipynb"
    path.write_text(json.dumps(NOTEBOOK, indent=1))
    before = path.read_bytes()
    for old in ("--- cell 2 [code] ---", "--- output ---\n1", "f()\n--- output ---"):
        said = await hands.error("edit", path="n.ipynb", edits=[{"oldText": old, "newText": "x"}])
        assert "only the sources of its cells can be edited" in said
    assert "was not found" in await hands.error(
        "edit", path="n.ipynb", edits=[{"oldText": "nowhere", "newText": "x"}]
    )
    assert path.read_bytes() == before
    raw = [{"oldText": '"nbformat_minor": 5', "newText": '"nbformat_minor": 4'}]
    await hands("edit", path="n.ipynb", edits=raw)
    assert path.read_bytes() == before.replace(b'"nbformat_minor": 5', b'"nbformat_minor": 4')
