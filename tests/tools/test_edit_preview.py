"""What an edit of each dialect would make of a file, told before it runs."""

from tools.edits.anchors import row
from tools.edits.preview import anchored_text, edited_text, patched_files, patched_text

TEXT = "a = 1\nb = 2\nc = 3\n"


def anchor(number: int, line: str) -> str:
    return row(number, line).partition("|")[0]


def test_an_edit_by_its_texts():
    edits = [{"oldText": "b = 2", "newText": "b = 4"}]
    assert edited_text({"path": "x", "edits": edits}, TEXT, "x") == "a = 1\nb = 4\nc = 3\n"


def test_changes_by_anchors_fall_where_the_anchors_are():
    changes = [
        {"path": "x", "from": anchor(2, "b = 2"), "lines": ["b = 4", "b += 1"]},
        {"path": "x", "from": anchor(3, "c = 3"), "place": "after", "lines": ["d = 4"]},
    ]
    assert anchored_text(changes, TEXT, "x") == "a = 1\nb = 4\nb += 1\nc = 3\nd = 4\n"


def test_anchors_that_do_not_fit_tell_nothing():
    assert anchored_text([{"path": "x", "from": anchor(2, "other"), "lines": []}], TEXT, "x") is None
    assert anchored_text([{"path": "x", "lines": "b"}], TEXT, "x") is None


def test_a_patch_of_several_files():
    patch = (
        "*** Begin Patch\n*** Update File: x\n@@\n a = 1\n-b = 2\n+b = 5\n*** Add File: y\n+hi\n"
        "*** Delete File: z\n*** End Patch"
    )
    found = patched_files(patch)
    assert [(one.path, patched_text(one, TEXT)) for one in found] == [
        ("x", "a = 1\nb = 5\nc = 3\n"),
        ("y", "hi\n"),
        ("z", ""),
    ]
    assert patched_text(found[0], "nothing of it\n") is None
    assert patched_files("no patch") == ()
