"""A review of changes in a whole session: recorded on its branch, told to the model, there again after a restart."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.engine.commands.command_table import COMMANDS
from app.engine.files.session_files import (
    EntryDiffRequest,
    GitDiffRequest,
    PromptDiffRequest,
    SessionDiffRequest,
)
from app.undo.review.review_records import REVIEW_ENTRY_TYPE
from app.values.entries import CustomMessageEntry, MessageEntry
from app.values.messages import UserMessage
from app.values.user_errors import UserError
from tests.compaction.project_session import ProjectSession
from tests.undo.test_footprints import git, needs_git
from tests.undo.test_in_sessions import Page, write

OLD = "".join(f"line {number}\n" for number in range(1, 41))
NEW = OLD.replace("line 5\n", "five\n").replace("line 30\n", "thirty\n")


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[Page]:
    scene = await ProjectSession(tmp_path).open()
    made = Page(scene)
    await made.prompt("make", write("a.txt", OLD))
    await made.prompt("change", write("a.txt", NEW, 2), write("b.txt", "b\n"))
    yield made
    await made.session.close()


async def keys(page: Page, path: str = "a.txt") -> list[str]:
    changes = await page.session.review.changes(PromptDiffRequest())
    file = changes.file(path)
    assert file is not None
    return [hunk.key for hunk in file.hunks]


async def test_decisions_are_there_after_a_restart_and_only_on_their_branch(page: Page) -> None:
    session = page.session
    review = session.review
    changes = await review.changes(PromptDiffRequest())
    first, second = await keys(page)
    prompt = session.log.leaf_id
    await review.change_hunks(changes, "a.txt", frozenset((first,)))
    review.keep_hunks(frozenset((second,)))
    file = changes.file("a.txt")
    assert file is not None and file.taken_back_hunks == {first}
    await review.add_remark(file, file.hunks[1], "why not 30?")
    assert page.read("a.txt") == OLD.replace("line 30\n", "thirty\n")
    await review.report_to_model()
    told = [one for one in session.log.entries if isinstance(one, CustomMessageEntry)]
    assert str(told[-1].content) == (
        "The user reviewed and took back parts of your changes: a.txt line 5. Read the file again before "
        "you edit it."
    )
    path = session.log.path
    assert path is not None
    await session.close()
    again = Page(await page.scene.open(session=str(path)))
    decided = again.session.review.decisions
    assert decided.kept == {second} and [one.text for one in decided.remarks] == ["why not 30?"]
    assert "a.txt:30\n```diff\n@@ " in again.session.review.message()
    for of in (PromptDiffRequest(), SessionDiffRequest()):
        changes = await again.session.review.changes(of)
        file = changes.file("a.txt")
        assert file is not None and file.taken_back_hunks == (
            {first} if of == PromptDiffRequest() else frozenset()
        )
    again.session.review.close_remarks(frozenset(one.id for one in decided.remarks))
    assert not again.session.review.message()
    assert prompt is not None
    await again.session.branches.go_to_entry(prompt)
    assert again.session.review.decisions.kept == frozenset()
    page.scene.assembled = again.scene.assembled


def told_of_hunks(page: Page) -> list[str]:
    entries = page.session.log.entries
    return [str(one.content) for one in entries if isinstance(one, CustomMessageEntry)]


async def test_several_hunks_are_one_message_also_after_a_restart(page: Page) -> None:
    """Taken back and put back is nothing to tell; what was not told before bayou ended goes with the next prompt."""
    changes = await page.session.review.changes(PromptDiffRequest())
    first, second = (frozenset((key,)) for key in await keys(page))
    for one in (first, second, first):
        await page.session.review.change_hunks(changes, "a.txt", one)
    await page.session.review.change_hunks(changes, "b.txt", frozenset(await keys(page, "b.txt")))
    assert told_of_hunks(page) == []
    path = page.session.log.path
    assert path is not None
    await page.session.close()
    again = Page(await page.scene.open(session=str(path)))
    await again.prompt("go on")
    await again.session.review.report_to_model()
    assert told_of_hunks(again) == [
        "The user reviewed and took back parts of your changes: a.txt line 30, b.txt. "
        "Read these files again before you edit them."
    ]
    page.scene.assembled = again.scene.assembled


@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_an_edited_hunk_is_recorded_told_and_undone(page: Page, end: str) -> None:
    place = page.project / "a.txt"
    await page.prompt("ends", write("a.txt", NEW.replace("\n", end), 4))
    await page.prompt("again", write("a.txt", NEW.replace("\n", end).replace("thirty", "30"), 5))
    review, source = page.session.review, PromptDiffRequest()
    place.write_bytes(b"mine" + end.encode() + place.read_bytes())
    changes = await review.changes(source)
    (key,) = [one.key for one in changes.file("a.txt").hunks]  # type: ignore[union-attr]
    assert await review.edit_hunk(changes, "a.txt", key, "30 oars\n\tand a sail") == "30"
    edited = NEW.replace("thirty\n", "30 oars\n\tand a sail\n").replace("\n", end)
    assert place.read_bytes() == f"mine{end}{edited}".encode()
    await review.report_to_model()
    assert "edited parts of your changes: a.txt line 30." in told_of_hunks(page)[-1]
    await page.redo()
    assert place.read_bytes() == f"mine{end}{edited}".encode().replace(
        f"30 oars{end}\tand a sail".encode(), b"30"
    )


async def test_an_edit_never_overwrites_what_a_person_wrote(page: Page) -> None:
    review = page.session.review
    changes = await review.changes(PromptDiffRequest())
    first, _ = await keys(page)
    theirs = NEW.replace("five\n", "5\n")
    (page.project / "a.txt").write_text(theirs)
    with pytest.raises(UserError, match="you changed these lines since, so it was left unchanged"):
        await review.edit_hunk(changes, "a.txt", first, "V")
    assert page.read("a.txt") == theirs
    (page.project / "a.txt").unlink()
    with pytest.raises(UserError, match="you deleted it since"):
        await review.edit_hunk(changes, "a.txt", first, "V")
    assert page.read("a.txt") is None and told_of_hunks(page) == []


async def test_changes_since_an_entry_and_while_the_agent_works(page: Page) -> None:
    prompts = [
        entry.id
        for entry in page.session.log.entries
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)
    ]
    for entry_id, count in ((prompts[0], 1), (prompts[1], 2)):
        changes = await page.session.review.changes(EntryDiffRequest(entry_id=entry_id))
        file = changes.file("a.txt")
        assert file is not None and len(file.hunks) == count
    with pytest.raises(UserError, match="not on this branch"):
        await page.session.review.changes(EntryDiffRequest(entry_id="missing"))


@needs_git
async def test_hunks_since_the_last_commit(page: Page) -> None:
    git(page.project, "init", "-q")
    git(page.project, "add", "-A")
    git(page.project, "commit", "-qm", "one")
    (page.project / "a.txt").write_text(NEW.replace("line 15\n", ""))
    (page.project / "b.txt").unlink()
    (page.project / "moved.txt").write_text("b\n")
    changes = await page.session.review.changes(GitDiffRequest())
    assert [(one.difference.path, one.origin) for one in changes.files] == [
        ("a.txt", ""),
        ("moved.txt", "b.txt"),
    ]
    for path in ("a.txt", "moved.txt"):
        file = changes.file(path)
        assert file is not None
        await page.session.review.change_hunks(changes, path, frozenset((file.hunks[0].key,)))
    assert page.read("a.txt") == NEW and page.read("b.txt") == "b\n" and page.read("moved.txt") is None
    assert (await page.session.review.changes(GitDiffRequest())).files == ()


async def test_the_commands_of_all_faces(page: Page) -> None:
    found = await COMMANDS["review_changes"](page.session)
    rows = {file["path"]: [hunk["state"] for hunk in file["hunks"]] for file in found["files"]}
    assert rows == {"a.txt": ["open", "open"], "b.txt": ["open"]}
    (page.project / "a.txt").write_text("mine\n" + NEW.replace("thirty\n", "mine\n"))
    first, second = await keys(page)
    done = await COMMANDS["take_back_hunks"](page.session, hunks=[first, second, *await keys(page, "b.txt")])
    assert done["restored"] == 1 and [one["path"] for one in done["kept"]] == ["a.txt"]
    assert page.read("b.txt") is None and "mine" in (page.read("a.txt") or "")
    done = await COMMANDS["take_back_hunks"](page.session, hunks=[first])
    assert (page.read("a.txt") or "").startswith("mine\nline 1\nline 2\nline 3\nline 4\nline 5\n")
    found = await COMMANDS["review_changes"](page.session, patch=False)
    rows = {file["path"]: [hunk["state"] for hunk in file["hunks"]] for file in found["files"]}
    assert rows == {"a.txt": ["taken_back", "conflict"], "b.txt": ["taken_back"]}
    await COMMANDS["take_back_hunks"](page.session, hunks=[first], put_back=True)
    assert "five\n" in (page.read("a.txt") or "")
    with pytest.raises(UserError, match="no hunks nonsense"):
        await COMMANDS["take_back_hunks"](page.session, hunks=["nonsense"])


async def test_a_secret_in_commented_lines_is_stored_and_sent_masked(page: Page) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    await page.prompt("add", write("keys.py", f"KEY = '{token}'\n", 3))
    changes = await page.session.review.changes(PromptDiffRequest())
    file = changes.file("keys.py")
    assert file is not None and token in file.hunks[0].patch
    await page.session.review.add_remark(file, file.hunks[0], f"not {token}")
    assert token not in page.session.review.message()
    path = page.session.log.path
    assert path is not None and REVIEW_ENTRY_TYPE in path.read_text()
    lines = [line for line in path.read_text().split("\n") if REVIEW_ENTRY_TYPE in line]
    assert lines and not any(token in line for line in lines)
