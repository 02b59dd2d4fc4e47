"""A change of files that is asked about, on the review desk: seen, answered, edited, commented on before it is made."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from app.providers.scripted import QueuedResponse, call, say
from tests.tui.scripted_app import ScriptedApp, wait_for_runs
from tests.tui.test_approvals import asked, asking_app, result, wait
from tests.tui.test_staged import asked as asked_about_staged
from tests.tui.test_staged import staging_app
from widgets.status.input_guard import TYPING_PAUSE_SECONDS

OLD = "".join(f"line {number}\n" for number in range(1, 31))
EDITS = [
    {"oldText": "line 5\n", "newText": "five\n"},
    {"oldText": "line 25\n", "newText": "twenty-five\n"},
]


def editing_app(home: Path, *calls: QueuedResponse) -> ScriptedApp:
    app = asking_app(home, *(calls or (call("edit", path="a.txt", edits=EDITS),)), say("ok"))
    (home / "project" / "a.txt").write_text(OLD)
    return app


async def opened(app: ScriptedApp, pilot: Pilot[int], *words: str) -> None:
    await asked(app, pilot)
    wait(app, TYPING_PAUSE_SECONDS + 0.1)
    await pilot.press("alt+v")
    await sees(app, pilot, *(words or ("Change a.txt?", "hunk 1 of 2")))


async def sees(app: ScriptedApp, pilot: Pilot[int], *words: str) -> None:
    await app.settling_until(pilot, lambda: all(word in app.screen_text for word in words))
    await pilot.pause()


async def test_a_hunk_is_left_out_and_another_edited_before_the_call_runs(tmp_path: Path) -> None:
    app = editing_app(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot, "y allow", "a always", "n deny", "five")
        await pilot.press("x")
        await sees(app, pilot, "1/2", "hunk 2 of 2")
        await pilot.press("e")
        await sees(app, pilot, "ctrl+s save", "twenty-five")
        await pilot.press("end", *" or so", "ctrl+s")
        await sees(app, pilot, "twenty-five or so", "all hunks are decided")
        await pilot.press("escape")
        await app.settling_until(pilot, lambda: len(app.screen_stack) == 1)
        await sees(app, pilot, "twenty-five or so")  # the card shows what is left
        assert "+ five" not in app.screen_text
        await pilot.press("alt+v")
        await sees(app, pilot, "reverted")
        wait(app, TYPING_PAUSE_SECONDS + 0.1)
        await pilot.press("y")
        await wait_for_runs(app, pilot)
        assert len(app.screen_stack) == 1 and app.approval_bar.asked is None
    assert (tmp_path / "project" / "a.txt").read_text() == OLD.replace("line 25\n", "twenty-five or so\n")
    assert "The user changed this call before allowing it" in result(app)


async def test_a_comment_denies_the_call_with_its_words(tmp_path: Path) -> None:
    app = editing_app(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        await pilot.press("c")
        await sees(app, pilot, "Comment on a.txt:5")
        await pilot.press(*"why any?", "enter")
        await sees(app, pilot, "hunk 2 of 2")
        wait(app, TYPING_PAUSE_SECONDS + 0.1)
        await pilot.press("n")
        await wait_for_runs(app, pilot)
    assert (tmp_path / "project" / "a.txt").read_text() == OLD
    assert "The user denied it" in result(app)
    assert "a.txt:5\n```diff\n" in result(app) and "why any?" in result(app)


async def test_every_answer_is_possible_on_the_desk_once_it_was_seen(tmp_path: Path) -> None:
    app = editing_app(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        await pilot.press("slash", "y", "escape")  # a letter of the search is no answer
        await pilot.press("x", "x")
        await sees(app, pilot, "all hunks are decided")
        wait(app, TYPING_PAUSE_SECONDS + 0.1)
        await pilot.press("y")
        await sees(app, pilot, "all changes of this call are excluded")
        await pilot.press("u", "u")
        await sees(app, pilot, "undone")
        wait(app, TYPING_PAUSE_SECONDS + 0.1)
        await pilot.press("a")
        await app.settling_until(
            pilot, lambda: len(app.screen_stack) == 1 and app.approval_bar.has_approval_card_focus
        )
        await sees(app, pilot, "this session")
        wait(app, TYPING_PAUSE_SECONDS + 0.1)
        await pilot.press("enter")
        await wait_for_runs(app, pilot)
    assert "five\n" in (tmp_path / "project" / "a.txt").read_text()
    assert "The user changed" not in result(app)


async def test_a_file_that_changed_meanwhile_is_shown_and_stays(tmp_path: Path) -> None:
    app = editing_app(tmp_path)
    place = tmp_path / "project" / "a.txt"
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        place.write_text(OLD.replace("line 5\n", "mine\n"))
        await pilot.press("x")
        await sees(app, pilot, "the file was changed since")
        await pilot.press("e")
        await sees(app, pilot, "the file was changed since")
        wait(app, TYPING_PAUSE_SECONDS + 0.1)
        await pilot.press("y")
        await wait_for_runs(app, pilot)
    assert place.read_text() == OLD.replace("line 5\n", "mine\n")
    assert "oldText was not found" in result(app)


async def test_a_call_that_was_edited_for_another_text_of_the_file_is_not_allowed(tmp_path: Path) -> None:
    app = editing_app(tmp_path, call("write", path="a.txt", content=OLD.replace("line 5", "five")))
    place = tmp_path / "project" / "a.txt"
    mine = OLD.replace("line 20\n", "mine\n")
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot, "Change a.txt?", "five")
        await pilot.press("e")
        await sees(app, pilot, "ctrl+s save")
        await pilot.press("end", "x", "ctrl+s")
        await sees(app, pilot, "fivex")
        place.write_text(mine)
        wait(app, TYPING_PAUSE_SECONDS + 0.1)
        await pilot.press("y")
        await sees(app, pilot, "a.txt changed after you edited the call")
        assert app.approval_bar.asked is not None and place.read_text() == mine
        wait(app, TYPING_PAUSE_SECONDS + 0.1)
        await pilot.press("alt+x")
        await wait_for_runs(app, pilot)
    assert place.read_text() == mine


@pytest.mark.parametrize("name", ["gone.txt", "link.txt", "binary.dat", "deep/new.txt"])
async def test_other_kinds_of_files(tmp_path: Path, name: str) -> None:
    """A new file, a link, and a binary file that is replaced: each is shown or said to have nothing to show."""
    app = editing_app(tmp_path, call("write", path=name, content="new\n"))
    project = tmp_path / "project"
    (project / "link.txt").symlink_to("a.txt")
    (project / "binary.dat").write_bytes(b"\0\1\2")
    async with app.run_test(size=(100, 30)) as pilot:
        shown = {"link.txt": "- line 1", "binary.dat": "content: new"}.get(name, "+ new")
        verb = "Create" if name in ("gone.txt", "deep/new.txt") else "Change"
        await opened(app, pilot, f"{verb} {name}?", shown, "y allow")
        if name.endswith("new.txt"):
            await pilot.press("e")
            await sees(app, pilot, "ctrl+s save")
            await pilot.press("end", *"er", "ctrl+s")
            await sees(app, pilot, "newer")
        wait(app, TYPING_PAUSE_SECONDS + 0.1)
        await pilot.press("y")
        await wait_for_runs(app, pilot)
    assert (project / name).read_text() == ("newer\n" if name.endswith("new.txt") else "new\n")


async def test_staged_changes_are_answered_on_the_desk(tmp_path: Path) -> None:
    app = staging_app(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await asked_about_staged(app, pilot)
        wait(app, TYPING_PAUSE_SECONDS + 0.1)
        await pilot.press("alt+v")
        await sees(app, pilot, "Apply the changes staged by ast_edit?", "y apply", "n discard", "new(1)")
        await pilot.press("e")
        await sees(app, pilot, "ctrl+s save")
        await pilot.press("end", *"  # mine", "ctrl+s")
        await sees(app, pilot, "new(1)  # mine")
        await app.settling_until(pilot, lambda: app.approval_bar.asked is not None)
        wait(app, TYPING_PAUSE_SECONDS + 0.1)
        await pilot.press("y")
        await app.settling_until(pilot, lambda: not app.session.pending.waiting_actions)
    assert (tmp_path / "project" / "a.py").read_text() == "new(1)  # mine\n"


@pytest.mark.parametrize("becomes", ["mine\n", b"\0\1", None, "link"])
async def test_a_staged_file_that_became_another_one_stays(
    tmp_path: Path, becomes: str | bytes | None
) -> None:
    """It was changed, replaced by no text or by a link, or deleted before the staged change was answered."""
    app = staging_app(tmp_path)
    place = tmp_path / "project" / "a.py"
    async with app.run_test(size=(100, 30)) as pilot:
        await asked_about_staged(app, pilot)
        wait(app, TYPING_PAUSE_SECONDS + 0.1)
        place.unlink()
        if becomes == "link":
            place.symlink_to("elsewhere")
        elif becomes is not None:
            place.write_bytes(becomes.encode() if isinstance(becomes, str) else becomes)
        await pilot.press("alt+v")
        await sees(app, pilot, "Apply the changes staged by ast_edit?", "a.py")
        await pilot.press("x", "e", "space", "c")
        await sees(app, pilot, "no changes to keep or revert here")
        wait(app, TYPING_PAUSE_SECONDS + 0.1)
        await pilot.press("y")
        await app.settling_until(pilot, lambda: not app.session.pending.waiting_actions)
    if becomes == "link":
        assert place.is_symlink() and not place.exists()
    elif becomes is None:
        assert not place.exists()
    else:
        assert place.read_bytes() == (becomes.encode() if isinstance(becomes, str) else becomes)
