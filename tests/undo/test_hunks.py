"""A review by hunks: what is taken back is exactly that, whatever the change is and whoever works beside it."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from app.undo.change_lists import ChangedFileListBuilder
from app.undo.review.hunks import ChangedText, hunks_of_text_change, new_text_of_hunk, text_without_hunks
from app.undo.review.reviewed_files import HunkLinesChanged, ReviewedChanges, ReviewedFile, ReviewedFileOnDisk
from app.values.user_errors import UserError
from tests.undo.undo_session import LIMIT, UndoSession

OLD = "".join(f"line {number}\n" for number in range(1, 61))
NEW = OLD.replace("line 10\n", "ten\n").replace("line 30\n", "").replace("line 50\n", "line 50\nmore\n")


class Review:
    """A session with a review of everything that it changed."""

    def __init__(self, folder: Path) -> None:
        self.session = UndoSession(folder)
        self.root = self.session.root

    def changes(self) -> ReviewedChanges:
        return ReviewedChanges(
            ChangedFileListBuilder(self.session.log, self.session.recorder).session_differences()
        )

    def file(self, path: str) -> ReviewedFile:
        file = self.changes().file(path)
        assert file is not None
        return file

    def now(self, path: str) -> ReviewedFileOnDisk:
        return ReviewedFileOnDisk(self.file(path), self.root, LIMIT)

    def toggle(self, path: str, *numbers: int) -> None:
        file = self.file(path)
        keys = frozenset(file.hunks[number].key for number in numbers)
        plan = self.session.restores.plan_hunk_toggle(file, keys)
        assert self.session.restore(plan).total

    def conflicts(self, path: str) -> list[str]:
        now = self.now(path)
        return [now.hunk_conflict_reason(hunk) for hunk in now.file.hunks]


def test_wider_hunks_share_the_lines_between_them(review: Review) -> None:
    """However much context is asked for, the hunks together are a patch of the whole file."""
    wide = review.file("a.txt").patches_with_context(1_000)
    lines = [line for patch in wide.values() for line in patch.splitlines() if not line.startswith("@")]
    assert len(wide) == 3
    assert [line[1:] for line in lines if line[0] in " -"] == OLD.splitlines()
    assert [line[1:] for line in lines if line[0] in " +"] == NEW.splitlines()


@pytest.fixture
def review(tmp_path: Path) -> Review:
    made = Review(tmp_path)
    made.session.prompt("change it")
    (made.root / "a.txt").write_text(OLD)
    made.session.record(made.session.write("a.txt", NEW))
    return made


def test_one_hunk_is_taken_back_and_put_back(review: Review) -> None:
    assert [(hunk.first_line, hunk.added, hunk.removed) for hunk in review.file("a.txt").hunks] == [
        (10, 1, 1),
        (30, 0, 1),
        (50, 1, 0),
    ]
    review.toggle("a.txt", 1)
    place = review.root / "a.txt"
    assert place.read_text() == NEW.replace("line 29\n", "line 29\nline 30\n")
    assert review.file("a.txt").taken_back_hunks == {review.file("a.txt").hunks[1].key}
    review.toggle("a.txt", 1)
    assert place.read_text() == NEW and not review.file("a.txt").taken_back_hunks


def test_the_rest_of_the_prompt_is_undone_afterwards_and_a_hunk_is_redone(review: Review) -> None:
    review.toggle("a.txt", 0, 2)
    place = review.root / "a.txt"
    left = place.read_text()
    review.session.restore(review.session.undo())
    assert place.read_text() == OLD
    review.session.restore(review.session.redo())
    assert place.read_text() == left
    review.session.restore(review.session.redo())
    assert place.read_text() == NEW and len(review.file("a.txt").hunks) == 3


def test_redo_puts_a_hunk_back(review: Review) -> None:
    review.toggle("a.txt", 0)
    review.session.restore(review.session.redo())
    assert (review.root / "a.txt").read_text() == NEW and not review.file("a.txt").taken_back_hunks


def test_what_a_person_changed_elsewhere_stays(review: Review) -> None:
    place = review.root / "a.txt"
    place.write_text("mine\n" + NEW.replace("line 45\n", "LINE 45\n").replace("ten\n", "ten of mine\n"))
    assert review.conflicts("a.txt") == ["you changed these lines since", "", ""]
    review.toggle("a.txt", 1, 2)
    assert place.read_text() == "mine\n" + OLD.replace("line 45\n", "LINE 45\n").replace(
        "line 10\n", "ten of mine\n"
    )
    with pytest.raises(HunkLinesChanged, match=r"a\.txt: you changed these lines since"):
        review.toggle("a.txt", 0)
    assert "ten of mine\n" in place.read_text()


def test_a_file_that_changes_between_the_plan_and_the_restore_is_left_alone(review: Review) -> None:
    file = review.file("a.txt")
    plan = review.session.restores.plan_hunk_toggle(file, frozenset((file.hunks[0].key,)))
    (review.root / "a.txt").write_text("mine\n")
    data = review.session.restores.carry_out_restore_plan(plan, {})
    assert not data.total and data.kept[0].why == "it changed during the restore"
    assert (review.root / "a.txt").read_text() == "mine\n"


def test_new_removed_and_moved_files(tmp_path: Path) -> None:
    review = Review(tmp_path)
    session, root = review.session, review.root
    session.prompt("move it")
    for name, text in (("old.txt", OLD), ("gone.txt", "gone\n")):
        (root / name).write_text(text)
    (root / "data.bin").write_bytes(b"\0one")
    session.record(
        session.write("old.txt", None),
        session.write("sub/new.txt", NEW),
        session.write("gone.txt", None),
        session.write("added.txt", "added\n"),
        session.write("data.bin", b"\0two"),
    )
    changes = review.changes()
    assert {one.difference.path: (one.difference.deed, one.origin) for one in changes.files} == {
        "added.txt": ("new", ""),
        "data.bin": ("changed", ""),
        "gone.txt": ("removed", ""),
        "sub/new.txt": ("moved", "old.txt"),
    }
    assert [hunk.kind for hunk in review.file("sub/new.txt").hunks] == ["move", "lines", "lines", "lines"]
    assert review.file("data.bin").hunks[0].note == "no text: 4 B → 4 B"
    for name in ("added.txt", "gone.txt", "data.bin"):
        review.toggle(name, 0)
    assert not (root / "added.txt").exists() and (root / "gone.txt").read_text() == "gone\n"
    assert (root / "data.bin").read_bytes() == b"\0one"
    review.toggle("sub/new.txt", 1)  # a hunk first, then the move, and the hunk back at the old place
    review.toggle("sub/new.txt", 0)
    assert (root / "old.txt").read_text() == NEW.replace("ten\n", "line 10\n")
    assert not (root / "sub/new.txt").exists()
    review.toggle("sub/new.txt", 1)
    assert (root / "old.txt").read_text() == NEW
    (root / "sub").mkdir(exist_ok=True)
    (root / "sub/new.txt").write_text("mine\n")
    with pytest.raises(UserError, match=r"sub/new\.txt: "):
        review.toggle("sub/new.txt", 0)
    assert (root / "sub/new.txt").read_text() == "mine\n" and (root / "old.txt").read_text() == NEW


def test_modes_links_and_deleted_files(review: Review) -> None:
    session, root = review.session, review.root
    session.record(session.write("a.txt", NEW, 0o755))
    hunks = review.file("a.txt").hunks
    assert [hunk.kind for hunk in hunks] == ["mode", "lines", "lines", "lines"]
    review.toggle("a.txt", 0)
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o644 and (root / "a.txt").read_text() == NEW
    (root / "a.txt").unlink()
    assert set(review.conflicts("a.txt")) == {"you deleted it since"}
    with pytest.raises(HunkLinesChanged):
        review.toggle("a.txt", 1)
    (root / "a.txt").symlink_to("elsewhere")
    assert set(review.conflicts("a.txt")) == {"you changed it since"}


def test_spacing_is_known_and_equal_hunks_differ() -> None:
    old = "def a():\n    x = 1\n" + "\n" * 9 + "pass\n" * 9 + "x = 1\n" + "pass\n" * 9 + "x = 1\n"
    new = old.replace("    x = 1\n", "        x = 1\n").replace("pass\nx = 1\n", "pass\nx = 2\n")
    hunks = hunks_of_text_change("a.py", old, new)
    assert [hunk.is_spacing for hunk in hunks] == [True, False, False]
    assert len({hunk.key for hunk in hunks}) == 3
    assert hunks_of_text_change("b.py", old, new)[0].key != hunks[0].key


def _text(luck: random.Random) -> str:
    lines = [luck.choice(("", "x", "}", f"line {luck.randrange(40)}")) for _ in range(luck.randrange(60))]
    return "\n".join(lines) + luck.choice(("\n", ""))


def _changed(text: str, luck: random.Random) -> str:
    lines = text.split("\n")
    for _ in range(luck.randrange(1, 7)):
        at = luck.randrange(len(lines) + 1)
        lines[at : at + luck.randrange(3)] = [f"new {luck.randrange(9)}"] * luck.randrange(3)
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(30))
def test_a_random_choice_of_hunks_equals_the_same_patch_applied_backwards(seed: int, tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    luck = random.Random(seed)
    old = _text(luck)
    new = _changed(old, luck)
    hunks = hunks_of_text_change("a", old, new)
    chosen = [hunk for hunk in hunks if luck.random() < 0.5]
    assert text_without_hunks(new, hunks) == old
    place = tmp_path / "a"
    place.write_text(new)
    if chosen:
        patch = "--- a/a\n+++ b/a\n" + "".join(hunk.patch for hunk in chosen)
        command = ("git", "apply", "-R", "--unidiff-zero", "--recount", "-")
        subprocess.run(command, cwd=tmp_path, input=patch.encode(), check=True, capture_output=True)
    assert text_without_hunks(new, chosen) == place.read_text()


@pytest.mark.parametrize("seed", range(30))
def test_an_edited_hunk_changes_its_lines_and_nothing_else(seed: int) -> None:
    """With other hunks taken back, a person's changes elsewhere, and either end of lines."""
    luck = random.Random(seed)
    end = luck.choice(("\n", "\r\n"))
    old, new = _two_texts(luck, end)
    hunks = hunks_of_text_change("a", old, new)
    if not hunks:
        return
    edited = luck.choice(hunks)
    taken = [one for one in hunks if one is not edited and luck.random() < 0.4]
    left = text_without_hunks(new, taken)
    now = f"mine{end}{left}" if left and luck.random() < 0.5 else left
    moved = ChangedText(hunks, frozenset(one.key for one in taken), left, now)
    if not (moved.is_hunk_unchanged(edited.key) and moved.can_replace_hunk(edited.key)):
        return
    shown = new_text_of_hunk(new, edited).replace("\r\n", "\n")
    assert (
        moved.text_with_hunk_replaced(edited.key, shown) == now or not shown
    )  # as it was, so nothing changes
    text = "\n".join(f"typed {number}" for number in range(luck.randrange(4)))
    found = moved.text_with_hunk_replaced(edited.key, text).split("\n")
    expected = now.split("\n")
    kept = [line for line in found if not line.startswith("typed")]
    lines = new_text_of_hunk(new, edited).split("\n")
    assert [line.rstrip("\r") for line in found if line.startswith("typed")] == text.split("\n") * bool(text)
    assert len(kept) >= len(expected) - len(lines) - 1
    assert end not in now or end == "\n" or all(line.endswith("\r") for line in found[:-1])


def _two_texts(luck: random.Random, end: str) -> tuple[str, str]:
    old = _text(luck)
    return old.replace("\n", end), _changed(old, luck).replace("\n", end)


def test_thousands_of_scattered_changes_are_found_line_by_line() -> None:
    old = [f"value_{number} = {number}\n" for number in range(6_000)]
    new = [line.replace("value", "name") if number % 20 == 0 else line for number, line in enumerate(old)]
    hunks = hunks_of_text_change("a.py", "".join(old), "".join(new))
    assert [(hunk.added, hunk.removed) for hunk in hunks] == [(1, 1)] * 300
    assert text_without_hunks("".join(new), hunks) == "".join(old)


def test_hunks_taken_back_earlier_are_listed_after_further_changes(review: Review) -> None:
    """And can be put back, with what changed since."""
    review.toggle("a.txt", 0, 1)
    left = (review.root / "a.txt").read_text()
    review.session.prompt("and more")
    review.session.record(review.session.write("a.txt", "first\n" + left.replace("line 40\n", "forty\n")))
    file = review.file("a.txt")
    assert [hunk.key in file.taken_back_hunks for hunk in file.hunks] == [False, True, True, False, False]
    assert not any(review.conflicts("a.txt"))
    review.toggle("a.txt", 1)
    now = "first\n" + NEW.replace("line 40\n", "forty\n").replace("line 29\n", "line 29\nline 30\n")
    assert (review.root / "a.txt").read_text() == now
    file = review.file("a.txt")
    assert [hunk.key in file.taken_back_hunks for hunk in file.hunks] == [False, False, True, False, False]
    review.toggle("a.txt", 0, 3)
    file = review.file("a.txt")
    assert [hunk.key in file.taken_back_hunks for hunk in file.hunks] == [True, False, True, True, False]
    review.session.record(review.session.write("a.txt", (review.root / "a.txt").read_text() + "last\n"))
    file = review.file("a.txt")
    assert [hunk.key in file.taken_back_hunks for hunk in file.hunks] == [
        True,
        False,
        True,
        True,
        False,
        False,
    ]


def test_a_hunk_taken_back_whose_lines_changed_since_is_not_listed(review: Review) -> None:
    review.toggle("a.txt", 0, 1)
    left = (review.root / "a.txt").read_text()
    review.session.record(review.session.write("a.txt", left.replace("line 10\n", "TEN\n")))
    file = review.file("a.txt")
    assert [hunk.key in file.taken_back_hunks for hunk in file.hunks] == [False, True, False]
    review.session.record(review.session.write("a.txt", None))
    assert review.file("a.txt").taken_back_hunks == frozenset()
