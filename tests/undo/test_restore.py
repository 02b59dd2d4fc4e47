"""Going back and forth over a session's changes: the files follow, and what a person did stays."""

import os
from pathlib import Path

import msgspec
import pytest

from app.undo.change_records import (
    FILE_CHANGES_ENTRY_TYPE,
    FileChangesData,
    FileWithoutStoredContent,
    RecordedFileChange,
    file_data_to_entry_data,
)
from app.undo.session_undo import NothingToRestore
from app.values.entries import CustomEntry
from app.values.user_errors import UserError
from tests.undo.undo_session import UndoSession
from tools.edits.three_way_merge import merge_three_way


@pytest.fixture
def stage(tmp_path: Path) -> UndoSession:
    return UndoSession(tmp_path)


def two_prompts(stage: UndoSession) -> None:
    stage.prompt("first")
    stage.record(stage.write("a.txt", "one\n"))
    stage.prompt("second")
    stage.record(stage.write("a.txt", "two\n"), stage.write("b.txt", "new\n"))


def test_undo_takes_the_last_prompt_back_and_the_next_one_the_prompt_before(stage: UndoSession) -> None:
    two_prompts(stage)
    plan = stage.undo()
    assert plan.target.title == "second"
    assert {(row.path, row.deed, row.choice) for row in plan.rows} == {
        ("a.txt", "changes", "restore"),
        ("b.txt", "is removed", "restore"),
    }
    stage.restore(plan)
    assert stage.files() == {"a.txt": "one\n"}
    stage.restore(stage.undo())
    assert stage.files() == {}
    with pytest.raises(NothingToRestore, match="Nothing to undo on this branch"):
        stage.undo()


def test_redo_takes_restores_back_one_after_the_other(stage: UndoSession) -> None:
    two_prompts(stage)
    after = stage.write("a.txt", "two\n", mode=0o755)
    stage.record(after)
    final = stage.files()
    stage.restore(stage.undo())
    stage.restore(stage.undo())
    stage.restore(stage.redo())
    assert stage.files() == {"a.txt": "one\n"}
    stage.restore(stage.redo())
    assert stage.files() == final
    with pytest.raises(NothingToRestore):
        stage.redo()
    stage.restore(stage.undo())
    assert stage.files() == {"a.txt": "one\n"}


def test_undo_of_two_prompts_at_once(stage: UndoSession) -> None:
    two_prompts(stage)
    stage.restore(stage.undo(2))
    assert stage.files() == {}
    stage.restore(stage.redo())
    assert stage.files() == {"a.txt": "two\n", "b.txt": "new\n"}


def test_a_prompt_that_changed_nothing_is_passed_over(stage: UndoSession) -> None:
    two_prompts(stage)
    stage.prompt("thanks")
    assert stage.undo().target.title == "second"


def test_sideways_takes_one_branch_back_and_does_the_other(stage: UndoSession) -> None:
    stage.prompt("base")
    base = stage.record(stage.write("shared", "base\n"))
    left = stage.record(stage.write("shared", "left\n"), stage.write("only-left", "l\n"))
    stage.log.move_leaf(base)
    (stage.root / "shared").write_text("base\n")
    (stage.root / "only-left").unlink()
    stage.record(stage.write("shared", "right\n"), stage.write("deep/only-right", "r\n"))
    stage.restore(stage.restores.plan_restore_to_entry(left))
    assert stage.files() == {"shared": "left\n", "only-left": "l\n"}


def test_what_a_person_changed_since_is_kept_unless_chosen(stage: UndoSession) -> None:
    stage.prompt("do")
    stage.record(stage.write("a", "1\n2\n3\n4\n5\n"))
    stage.prompt("again")
    stage.record(stage.write("a", "1\n2\n3\n4\nfive\n"))
    (stage.root / "a").write_text("one\n2\n3\n4\nfive\n")
    plan = stage.undo()
    (row,) = plan.rows
    assert (row.state, row.choice, row.why, row.can_merge) == (
        "conflict",
        "keep",
        "you changed it since",
        True,
    )
    done = stage.restore(plan)
    assert done.changes == () and tuple(done.kept) == (
        FileWithoutStoredContent(path="a", why="you changed it since"),
    )
    assert stage.files() == {"a": "one\n2\n3\n4\nfive\n"}
    stage.restore(stage.restores.plan_restore(plan.target), {"a": "merge"})
    assert stage.files() == {"a": "one\n2\n3\n4\n5\n"}
    stage.restore(stage.redo())
    assert stage.files() == {"a": "one\n2\n3\n4\nfive\n"}
    stage.restore(stage.restores.plan_restore(plan.target), {"a": "restore"})
    assert stage.files() == {"a": "1\n2\n3\n4\n5\n"}


def test_what_a_person_changed_between_two_changes_is_a_conflict_too(stage: UndoSession) -> None:
    stage.prompt("do")
    stage.record(stage.write("a", "1\n\n2\n\n3\n"))
    stage.prompt("again")
    stage.record(stage.write("a", "one\n\n2\n\n3\n"))
    (stage.root / "a").write_text("one\n\nmine\n\n3\n")
    stage.record(stage.write("a", "one\n\nmine\n\nthree\n"))
    plan = stage.undo()
    assert [(row.state, row.why, row.can_merge) for row in plan.rows] == [
        ("conflict", "you changed it in between", True)
    ]
    stage.restore(plan, {"a": "merge"})
    assert stage.files() == {"a": "1\n\nmine\n\n3\n"}


def test_a_file_that_changes_behind_the_plan_is_left_alone(stage: UndoSession) -> None:
    two_prompts(stage)
    plan = stage.undo()
    (stage.root / "a.txt").write_text("mine")
    done = stage.restore(plan)
    assert [one.why for one in done.kept] == ["it changed during the restore"]
    assert stage.files() == {"a.txt": "mine"}


def test_links_are_put_back_and_never_followed(stage: UndoSession, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("theirs")
    stage.prompt("link")
    stage.record(stage.write("sub/file", "mine"))
    stage.prompt("change")
    stage.record(stage.write("sub/file", "changed"))
    (stage.root / "sub/file").unlink()
    (stage.root / "sub").rmdir()
    (stage.root / "sub").symlink_to(outside)
    (row,) = stage.undo().rows
    assert (row.state, row.why) == ("refused", "its folder is now a link to another one")
    with pytest.raises(UserError, match="its folder is now a link"):
        stage.restore(stage.undo(), {"sub/file": "restore"})
    stage.restore(stage.undo())
    assert (outside / "file").read_text() == "theirs"


def test_a_file_comes_back_where_a_folder_is_going_forward_too(stage: UndoSession) -> None:
    stage.prompt("make")
    stage.record(stage.write("a", "a file"))
    first = stage.prompt("a folder")
    gone = stage.write("a", None)
    made = msgspec.structs.replace(stage.write("a/in", "in"), folders=(str(stage.root / "a"),))
    folder = stage.record(gone, made, tool="bash")
    stage.restore(stage.restores.plan_restore_to_entry(first))
    file_again = stage.log.leaf_id
    stage.restore(stage.redo())
    stage.log.move_leaf(folder)
    stage.restore(stage.restores.plan_restore_to_entry(file_again))
    assert stage.files() == {"a": "a file"}


def test_a_file_with_two_names_stays_one_file(stage: UndoSession) -> None:
    stage.prompt("do")
    stage.write_through("a", "old")
    os.link(stage.root / "a", stage.root / "b")
    stage.prompt("change")
    stage.write_through("a", "new")
    plan = stage.undo()
    assert [row.path for row in plan.rows] == ["a", "b"]
    stage.restore(plan)
    assert (stage.root / "b").read_text() == "old"
    assert (stage.root / "a").stat().st_ino == (stage.root / "b").stat().st_ino
    stage.restore(stage.redo())
    assert stage.files() == {"a": "new", "b": "new"}


def test_a_name_outside_of_the_folder_goes_back_with_its_file(stage: UndoSession, tmp_path: Path) -> None:
    stage.prompt("do")
    stage.write_through("a", "old")
    os.link(stage.root / "a", tmp_path / "elsewhere")
    stage.prompt("change")
    stage.write_through("a", "new")
    stage.restore(stage.undo())
    assert (tmp_path / "elsewhere").read_text() == "old"


def test_one_of_two_hard_links_may_be_kept_unchanged(stage: UndoSession) -> None:
    stage.prompt("do")
    stage.write_through("a", "old")
    os.link(stage.root / "a", stage.root / "b")
    stage.prompt("change")
    stage.write_through("a", "new")
    stage.restore(stage.undo(), {"b": "keep"})
    assert stage.files() == {"a": "old", "b": "new"}


def test_names_that_were_given_to_one_file_are_two_files_again(stage: UndoSession) -> None:
    stage.prompt("do")
    stage.write_through("a", "")
    before = stage.prompt("link")
    stage.record(stage.write("a", "one"), stage.write("b", "two"))
    stage.prompt("link")
    old = [stage.write(name, text) for name, text in (("a", "one"), ("b", "two"))]
    (stage.root / "b").unlink()
    os.link(stage.root / "a", stage.root / "b")
    one = old[0].after
    stage.record(RecordedFileChange(path="b", before=old[1].after, after=one, by="command"), tool="bash")
    stage.restore(stage.restores.plan_restore_to_entry(before))
    assert stage.files() == {"a": ""}
    stage.restore(stage.redo())
    assert stage.files() == {"a": "one", "b": "one"}


def test_a_name_that_a_command_gave_to_another_file_leaves_that_one_alone(stage: UndoSession) -> None:
    stage.prompt("do")
    stage.record(stage.write("a", "a"), stage.write("b", "b"))
    stage.prompt("ln")
    (before,) = (stage.write("b", "b").after,)
    (stage.root / "b").unlink()
    os.link(stage.root / "a", stage.root / "b")
    after = stage.write("a", "a").after
    stage.record(RecordedFileChange(path="b", before=before, after=after, by="command"), tool="bash")
    stage.restore(stage.undo())
    assert stage.files() == {"a": "a", "b": "b"}


def test_only_the_mode(stage: UndoSession) -> None:
    stage.prompt("do")
    stage.record(stage.write("run", "x", mode=0o644))
    stage.prompt("chmod")
    stage.record(stage.write("run", "x", mode=0o755))
    before = (stage.root / "run").stat()
    (row,) = stage.undo().rows
    assert row.deed == "mode 755 → 644"
    stage.restore(stage.undo())
    now = (stage.root / "run").stat()
    assert (now.st_mode & 0o777, now.st_ino, now.st_mtime_ns) == (0o644, before.st_ino, before.st_mtime_ns)


def test_a_crafted_mode_gives_a_file_no_rights_of_its_owner(stage: UndoSession) -> None:
    stage.prompt("do")
    stage.record(stage.write("run", "x"))
    stage.prompt("change")
    change = stage.write("run", "y")
    assert change.before is not None
    before = msgspec.structs.replace(change.before, mode=0o6777)
    stage.record(msgspec.structs.replace(change, before=before))
    stage.restore(stage.undo())
    assert (stage.root / "run").read_text() == "x"
    assert (stage.root / "run").stat().st_mode & 0o7777 == 0o777


def test_missing_and_damaged_contents_are_named_and_the_rest_is_restored(stage: UndoSession) -> None:
    stage.prompt("do")
    stage.record(stage.write("a", "a" * 9), stage.write("b", "b" * 9), stage.write("c", "c" * 9))
    stage.prompt("change")
    changes = [stage.write(name, "x") for name in "abc"]
    stage.record(*changes)
    gone, damaged = (change.before.hash for change in changes[:2] if change.before)
    folder = stage.contents.store.folder
    (folder / gone[:2] / gone).unlink()
    (folder / damaged[:2] / damaged).write_text("something else")
    done = stage.restore(stage.undo())
    assert {one.path: one.why for one in done.kept} == {
        "a": "its content is no longer stored",
        "b": "its stored content is damaged",
    }
    assert stage.files() == {"a": "x", "b": "x", "c": "c" * 9}


def test_names_that_are_no_text(stage: UndoSession) -> None:
    name = os.fsdecode(b"caf\xe9\n.txt")
    stage.prompt("do")
    stage.record(stage.write(name, "one"))
    stage.prompt("change")
    stage.record(stage.write(name, "two"))
    (row,) = stage.undo().rows
    assert row.path == "caf\ufffd\n.txt"
    stage.restore(stage.undo())
    assert (stage.root / name).read_text() == "one"


def test_a_file_that_became_a_folder_comes_back_where_the_folder_goes(stage: UndoSession) -> None:
    stage.prompt("do")
    stage.record(stage.write("a", "1"), stage.write("b", "1"))
    stage.prompt("change")
    gone = [stage.write("a", None), stage.write("b", None)]
    made = []
    for name in ("a", "b"):
        change = stage.write(f"{name}/within", "w")
        made.append(msgspec.structs.replace(change, folders=(str(stage.root / name),)))
    stage.record(*gone, *made, tool="bash")
    (stage.root / "b/mine").write_text("m")
    done = stage.restore(stage.undo())
    assert {one.path: one.why for one in done.kept} == {"b": "is a folder now"}
    assert stage.files() == {"a": "1", "b/mine": "m"}


def test_what_is_not_known_in_between_is_a_conflict(stage: UndoSession) -> None:
    stage.prompt("do")
    stage.record(stage.write("a", "1"))
    first = stage.log.leaf_id
    stage.prompt("a command")
    data = FileChangesData(
        call_id="c", tool="bash", uncovered=(FileWithoutStoredContent(path="a", why="larger than 4 MB"),)
    )
    stage.log.append(
        CustomEntry(parent_id=None, custom_type=FILE_CHANGES_ENTRY_TYPE, data=file_data_to_entry_data(data))
    )
    (stage.root / "a").unlink()
    stage.prompt("write it")
    stage.record(stage.write("a", "2"))
    plan = stage.restores.plan_restore_to_entry(first)
    (row,) = plan.rows
    assert (row.state, row.choice) == ("conflict", "keep")
    assert row.why == "some of its changes are not recorded: larger than 4 MB"
    stage.restore(plan)
    assert stage.files() == {"a": "2"}


def test_files_that_became_too_large_are_not_restored(stage: UndoSession) -> None:
    stage.prompt("do")
    stage.record(stage.write("a", "1"))
    with (stage.root / "a").open("r+b") as file:
        file.truncate(4 << 30)  # sparse
    (row,) = stage.undo().rows
    assert (row.state, row.why) == ("refused", "is larger than 32 MB")


def test_what_has_become_a_folder_or_a_pipe_is_left_alone(stage: UndoSession) -> None:
    stage.prompt("do")
    stage.record(stage.write("a", "1"), stage.write("b", "1"))
    stage.prompt("change")
    stage.record(stage.write("a", "2"), stage.write("b", "2"))
    (stage.root / "a").unlink()
    (stage.root / "a").mkdir()
    (stage.root / "b").unlink()
    os.mkfifo(stage.root / "b")
    assert [(row.state, row.why) for row in stage.undo().rows] == [
        ("refused", "is a folder now"),
        ("refused", "is not a file (a device, a pipe or a socket)"),
    ]


@pytest.mark.parametrize(
    ("mine", "other", "together"),
    [
        ("A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"),
        ("A\nb\nc\n", "X\nb\nc\n", None),
        ("a\nb\nc\nd\n", "z\na\nb\nc\n", "z\na\nb\nc\nd\n"),
        ("a\nc\n", "a\nc\n", "a\nc\n"),
        ("a\nX\nb\nc\n", "a\nY\nb\nc\n", None),
        ("a\nb\nc", "A\nb\nc\n", "A\nb\nc"),
    ],
)
def test_merging_lines(mine: str, other: str, together: str | None) -> None:
    assert merge_three_way("a\nb\nc\n", mine, other) == together
    assert merge_three_way("a\nb\nc\n", other, mine) == together


def test_a_file_outside_goes_back_only_if_a_session_here_changed_it(tmp_path: Path) -> None:
    stage = UndoSession(tmp_path)
    changed, crafted = (Path(os.path.realpath(tmp_path)) / name for name in ("changed", "crafted"))
    for path in (changed, crafted):
        path.write_text("before\n")
    stage.prompt("one")
    stage.write_through(str(changed), "after\n")
    stage.record(stage.write(str(crafted), "after\n"))
    plan = stage.undo()
    assert {row.path: row.state for row in plan.rows} == {str(changed): "ready", str(crafted): "refused"}
    stage.restore(plan)
    assert changed.read_text() == "before\n" and crafted.read_text() == "after\n"


def test_a_file_that_runs_later_goes_back_only_if_a_session_here_changed_it(tmp_path: Path) -> None:
    stage = UndoSession(tmp_path)
    for name in (".envrc", "sub/.envrc"):
        (stage.root / name).parent.mkdir(exist_ok=True)
        (stage.root / name).write_text("before\n")
    stage.prompt("one")
    stage.write_through(".envrc", "after\n")
    stage.record(stage.write("sub/.envrc", "after\n"))
    plan = stage.undo()
    assert {row.path: row.state for row in plan.rows} == {".envrc": "ready", "sub/.envrc": "refused"}
    stage.restore(plan)
    assert stage.files() == {".envrc": "before\n", "sub/.envrc": "after\n"}


@pytest.mark.parametrize("is_above", [False, True])
def test_a_link_that_comes_between_the_plan_and_the_restore_leads_nowhere(
    stage: UndoSession, tmp_path: Path, is_above: bool
) -> None:
    stage.prompt("first")
    stage.record(stage.write("sub/a.txt", "one\n"))
    stage.prompt("second")
    stage.record(stage.write("sub/a.txt", "two\n"))
    plan = stage.undo()
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("two\n")
    place = stage.root / "sub"
    if is_above:
        place.rename(stage.root / "moved")
        place.symlink_to(other)
    else:
        (place / "a.txt").unlink()
        (place / "a.txt").symlink_to(other / "a.txt")
    stage.restore(plan)
    assert (other / "a.txt").read_text() == "two\n"
