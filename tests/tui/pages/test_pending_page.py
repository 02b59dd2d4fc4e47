"""`/pending`: what waits is seen, applied and discarded."""

from pathlib import Path

import pytest

from app.engine.files.pending_changes import RequestedFileChange
from app.tui.features.pending.page import StagedChangesPage
from app.tui.features.review.page import ChangeReviewPage
from app.values.user_errors import UserError
from tests.engine.scripted_session import ScriptedSession
from tests.tui.pages.person import Person, at_the_keyboard
from tools.edits.diffs import make_diff_of_texts
from tools.edits.staged_actions import StagedFile
from tools.files.file_changes import hash_file_content
from tools.tool_registry import builtin_tools


def page_of(harness: ScriptedSession, person: Person) -> StagedChangesPage:
    review = ChangeReviewPage(
        harness.session, person.ask, person.say, person.copy, open_in_editor=lambda path, line: "no editor"
    )
    return StagedChangesPage(harness.session, person.ask, person.say, review.open_staged_changes)


async def staged(folder: Path) -> ScriptedSession:
    harness = ScriptedSession(folder, tools=builtin_tools())
    (folder / "a.txt").write_text("one\n")
    await harness.session.pending.stage_changes(
        "first", "mine", [RequestedFileChange(path="a.txt", text="two\n")]
    )
    await harness.session.pending.stage_changes(
        "second", "mine", [RequestedFileChange(path="b.txt", text="new\n")]
    )
    return harness


async def test_without_anything_that_waits_that_is_reported(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        await page_of(ScriptedSession(tmp_path), person).open()
        assert person.heard == ["There are no staged changes."]


async def test_staged_changes_are_applied_or_discarded_by_keys(tmp_path: Path) -> None:
    harness = await staged(tmp_path)
    async with at_the_keyboard() as person, person.asked(page_of(harness, person).open()):
        assert "first" in person.sees and "second" in person.sees
        await person.press("ctrl+s")
        await person.until(lambda: len(harness.session.pending.waiting_actions) == 1)
        assert (tmp_path / "a.txt").read_text() == "two\n"
        await person.press("ctrl+x")
        await person.until(lambda: not harness.session.pending.waiting_actions)
        assert not (tmp_path / "b.txt").exists()
        await person.press("escape")
    assert person.heard == ["Applied: first in 1 file.", "Discarded: second. Reason: "]


async def test_enter_shows_what_would_be_written(tmp_path: Path) -> None:
    harness = await staged(tmp_path)
    async with at_the_keyboard() as person, person.asked(page_of(harness, person).open()):
        await person.press("enter")
        await person.sees_soon("two", "one")
        await person.press("escape")
        await person.sees_soon("second")
        await person.press("escape")
    assert len(harness.session.pending.waiting_actions) == 2


async def test_a_file_that_changed_is_reported_and_left(tmp_path: Path) -> None:
    harness = await staged(tmp_path)
    (tmp_path / "a.txt").write_text("mine\n")
    async with at_the_keyboard() as person, person.asked(page_of(harness, person).open()):
        await person.press("ctrl+s")
        await person.until(lambda: bool(person.warned))
        await person.press("escape")
    assert person.warned == [
        "Discarded: a.txt changed since the preview. Nothing was written. Run mine again."
    ]
    assert (tmp_path / "a.txt").read_text() == "mine\n"


async def test_the_list_follows_what_others_stage_and_answer(tmp_path: Path) -> None:
    harness = await staged(tmp_path)
    async with at_the_keyboard() as person, person.asked(page_of(harness, person).open()):
        await person.sees_soon("second")
        await harness.session.pending.stage_changes(
            "third", "mine", [RequestedFileChange(path="c.txt", text="new\n")]
        )
        await person.sees_soon("third")
        first = harness.session.pending.waiting_actions[0]
        await harness.session.pending.apply_or_discard(first.id, "discard", "mine")
        await person.until(lambda: "first" not in person.sees)
        await person.press("escape")
    assert len(harness.session.pending.waiting_actions) == 2


async def test_a_hunk_that_is_left_out_is_not_written(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, tools=builtin_tools())
    old = "".join(f"line {number}\n" for number in range(40))
    new = old.replace("line 5\n", "five\n").replace("line 30\n", "thirty\n")
    (tmp_path / "a.txt").write_text(old)
    changes = [RequestedFileChange(path="a.txt", text=new), RequestedFileChange(path="b.txt", text="new\n")]
    await harness.session.pending.stage_changes("both", "mine", changes)
    async with at_the_keyboard() as person, person.asked(page_of(harness, person).open()):
        await person.press("enter")
        await person.sees_soon("Staged: both", "hunk 1 of 2")
        await person.press("tab")
        await person.sees_soon("no other comparison")
        await person.press("x", "x", "u", "x")
        await person.sees_soon("› b.txt", "whole file")
        await person.press("x", "u")
        await person.sees_soon("undone")
        await person.press("K", "j", "u")
        await person.sees_soon("undone", "hunk 2 of 2")
        await person.press("escape")
        await person.sees_soon("Staged changes", "both, without what the user left out: a.txt")
        await person.press("ctrl+s")
        await person.until(lambda: not harness.session.pending.waiting_actions)
        await person.press("escape")
    assert (tmp_path / "a.txt").read_text() == old.replace("line 30\n", "thirty\n")
    assert (tmp_path / "b.txt").read_text() == "new\n"
    assert "a.txt line 6" in str(harness.session.messages[-1])


def of_a_helper(harness: ScriptedSession, folder: Path) -> None:
    """Stages two files that a helper has changed in its copy; the person has changed one of them, too."""
    made: list[StagedFile] = []
    for name in ("a.txt", "b.txt"):
        old, new = f"{name}\n", f"{name} of the helper\n"
        (folder / name).write_text(old)
        diff = make_diff_of_texts(name, old, new)
        made.append(
            StagedFile(
                path=str(folder / name),
                display_path=name,
                before_hash=hash_file_content(old.encode()),
                merge_base=old.encode(),
                new_content=new.encode(),
                diff=diff,
            )
        )
    harness.session.tools.workspace.staged_actions.stage_action("general: go", "task", made, is_merged=True)
    (folder / "a.txt").write_text("mine\n")


async def test_files_of_a_helper_are_applied_one_by_one(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, tools=builtin_tools())
    of_a_helper(harness, tmp_path)
    async with at_the_keyboard() as person, person.asked(page_of(harness, person).open()):
        await person.press("enter")
        await person.sees_soon("a.txt of the helper", "apply file")
        await person.press("a")
        await person.sees_soon("<<<<<<< here", "in conflict")
        assert (tmp_path / "a.txt").read_text() == "mine\n"
        await person.press("J", "a")
        await person.until((tmp_path / "b.txt").exists)
        assert (tmp_path / "b.txt").read_text() == "b.txt of the helper\n"
        await person.press("escape")
        await person.sees_soon("Staged changes", "a.txt")
        assert "b.txt" not in person.sees
        await person.press("escape")
    [waits] = harness.session.pending.waiting_actions
    assert [file.display_path for file in waits.files] == ["a.txt"] and "mine" in waits.files[0].conflict_text


async def test_a_file_is_applied_by_a_command(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, tools=builtin_tools())
    of_a_helper(harness, tmp_path)
    async with at_the_keyboard() as person:
        page = page_of(harness, person)
        for words, why in (
            ("apply", "Name a file"),
            ("write b.txt", "Name a file"),
            ("apply c.txt", "has the file c.txt"),
        ):
            with pytest.raises(UserError, match=why):
                await page.apply_staged_file(words)
        await page.apply_staged_file("apply b.txt")
        await page.apply_staged_file("discard a.txt")
        assert person.heard[0] == "Applied: b.txt, of general: go."
    assert (
        tmp_path / "b.txt"
    ).read_text() == "b.txt of the helper\n" and not harness.session.pending.waiting_actions
    assert (tmp_path / "a.txt").read_text() == "mine\n"
