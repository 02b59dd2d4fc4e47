"""Diffs: numbers, changed words, two columns where there is room."""

from pygments.lexers import find_lexer_class_for_filename, get_all_lexers

from tests.widgets.transcript.drawn import rows, styled
from tools.diff_lines import find_changed_words
from widgets.transcript.leaves.diff_leaf import DiffLeaf
from widgets.transcript.leaves.highlight import highlight, language_of_file

DIFF = """--- a/f.py
+++ b/f.py
@@ -9,4 +9,5 @@ def f():
 before
-total = old_name + 1
+total = new_name + 1
+extra = 2
 after
@@ -40,2 +41,2 @@
-gone
+here
"""


def test_lines_have_their_numbers_and_signs() -> None:
    assert rows([DiffLeaf(DIFF, "python")], 60) == [
        " 9   before",
        "10 - total = old_name + 1",
        "10 + total = new_name + 1",
        "11 + extra = 2",
        "12   after",
        "     ⋯",
        "40 - gone",
        "41 + here",
    ]


def test_old_and_new_stand_side_by_side_where_there_is_room() -> None:
    drawn = rows([DiffLeaf(DIFF, "python")], 120)
    half = 58
    assert drawn[1][:half].rstrip() == "10 - total = old_name + 1"
    assert drawn[1][half:] == " │ 10 + total = new_name + 1"
    assert drawn[2][:half].strip() == ""
    assert drawn[2][half:] == " │ 11 + extra = 2"


def test_a_line_that_is_too_wide_for_a_half_is_not_wrapped_but_whole() -> None:
    wide = DIFF.replace("new_name + 1", "new_name + 1" + "  # the oars of the boat are counted here")
    whole = "10 + total = new_name + 1  # the oars of the boat are counted here"
    assert rows([DiffLeaf(wide, "python")], 120)[2] == whole
    assert whole[5:] in rows([DiffLeaf(wide, "python")], 160)[1]


def test_changed_words_stand_out() -> None:
    leaf = DiffLeaf(DIFF, "")
    removed, added = styled([leaf], 60)[1:3]
    assert ("old_name", "text|remove-word") in removed
    assert ("new_name", "text|add-word") in added


def test_lines_without_anything_in_common_are_not_compared_word_by_word() -> None:
    assert find_changed_words("return left", "while True: pass") == ([], [])
    assert find_changed_words("a" * 700, "b" * 700) == ([], [])


def test_what_is_copied_is_the_code_alone() -> None:
    assert DiffLeaf(DIFF, "").plain.split("\n")[:3] == [
        "before",
        "total = old_name + 1",
        "total = new_name + 1",
    ]


def test_a_diff_without_hunks_draws_nothing() -> None:
    assert rows([DiffLeaf("Binary files differ", "")]) == []


def test_the_last_line_of_a_fence_has_its_colour_too() -> None:
    code = "@@ -1 +1 @@\n-old\n+new"
    assert highlight(code, "diff")[-1] == (len(code) - 4, len(code), "syntax-inserted")


def test_the_language_of_a_file_is_that_of_pygments() -> None:
    names = {
        pattern.replace("*", "a")
        for _, _, patterns, _ in get_all_lexers(plugins=False)
        for pattern in patterns
    }
    for name in (*sorted(names)[::7], "a.h", "a.ts", "a.sql", "Makefile", "noext", "A.PY"):
        found = find_lexer_class_for_filename(name)
        assert language_of_file(f"folder/{name}") == (found.aliases[0] if found and found.aliases else ""), (
            name
        )
