"""The review desk at the keyboard: files above, hunks below; decisions, comments, other prompts, git, a patch."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from app.providers.scripted import ScriptedAnswer, say
from app.tui.features.review.page import ChangeReviewPage
from app.tui.features.review.screen import ReviewScreen
from app.undo.content_store import UndoStoreSettings
from app.values.content import ToolCall, text_of
from app.values.messages import UserMessage
from app.values.user_errors import UserError
from tests.engine.scripted_session import ScriptedSession
from tests.tui.pages.person import Person, at_the_keyboard
from tests.undo.test_footprints import git
from tools.tool_registry import builtin_tools
from widgets.transcript.view import Transcript

LONG = "".join(f"line {number}\n" for number in range(1, 101))


class Project:
    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.realpath(folder)) / "project"
        self.folder.mkdir()
        place = UndoStoreSettings(store=folder / "agent" / "blobs", home=folder, may_ask_git=lambda: False)
        self.harness = ScriptedSession(folder, tools=builtin_tools(), cwd=self.folder, undo=place)
        self.edited: list[tuple[str, int]] = []
        self.problem = ""

    async def prompt(self, text: str, *calls: tuple[str, dict[str, str]]) -> None:
        blocks = tuple(
            ToolCall(id=f"{text}-{number}", name=name, arguments=arguments)
            for number, (name, arguments) in enumerate(calls)
        )
        self.harness.script.responses += [ScriptedAnswer(blocks=blocks), say("done")]
        await self.harness.prompt(text)

    def page(self, person: Person) -> ChangeReviewPage:
        return ChangeReviewPage(
            self.harness.session, person.ask, person.say, person.copy, open_in_editor=self._edit
        )

    def _edit(self, path: Path, line: int) -> str:
        self.edited.append((path.name, line))
        path.write_text(path.read_text() + "edited\n")
        return self.problem


def write(path: str, content: str) -> tuple[str, dict[str, str]]:
    return "write", {"path": path, "content": content}


@pytest.fixture
async def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    await made.prompt("make both", write("a.txt", LONG), write("b.py", "def b():\n    return 1\n"))
    await made.prompt(
        "change both",
        write("a.txt", LONG.replace("line 50\n", "line fifty\n")),
        write("b.py", "def b():\n    return 2\n"),
        ("bash", {"command": "printf 'c\\n' > c.txt"}),
    )
    return made


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_files_above_and_the_difference_of_one_below(project: Project, size: tuple[int, int]) -> None:
    async with at_the_keyboard(size=size) as person, person.asked(project.page(person).open("prompt")):
        await person.sees_soon("Changed by “change both”", "prompt 2 of 2", "+3 −2", "1 of 3")
        await person.sees_soon("line fifty")
        assert "› a.txt" in person.sees and "bash" in person.sees
        rows = [row for row in person.sees.split("\n") if "line fifty" in row]
        assert ("line 50" in rows[0]) == (size[0] >= 120)  # side by side where there is room
        await person.press("n")
        await person.sees_soon("return 2", "› b.py", "2 of 3")
        await person.press("p", "p")
        await person.sees_soon("this is the first file")
        await person.press("escape")


async def test_paging_goes_on_into_the_next_file(project: Project) -> None:
    async with at_the_keyboard(size=(80, 24)) as person, person.asked(project.page(person).open("session")):
        await person.sees_soon("Changed by this session", "+103", "line 1")
        for _ in range(12):
            await person.press("pagedown")
            if "› b.py" in person.sees:
                break
        await person.sees_soon("› b.py", "return 2")
        await person.press("pageup")
        await person.sees_soon("› a.txt")
        await person.press("escape")


async def test_other_prompts_the_session_and_git(project: Project) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    git(project.folder, "init", "-q")
    git(project.folder, "add", "a.txt", "b.py")
    git(project.folder, "commit", "-qm", "one")
    (project.folder / "b.py").write_text("def b():\n    return 3\n")
    async with at_the_keyboard(size=(100, 30)) as person, person.asked(project.page(person).open("session")):
        await person.sees_soon("Changed by this session", "you changed it since")
        await person.press("n", "tab")
        await person.sees_soon("Changed by “change both”")
        await person.press("less_than_sign")
        await person.sees_soon("Changed by “make both”", "prompt 1 of 2", "new")
        await person.press("comma")
        await person.sees_soon("the first prompt that changed files")
        await person.press("full_stop")
        await person.sees_soon("Changed by “change both”")
        await person.press("tab")
        await person.sees_soon("Changed since the last commit of main", "return 3", "not in git")
        assert "write" not in person.sees  # nothing of the view before
        await person.press("tab")
        await person.sees_soon("Changed by this session")
        await person.press("shift+tab", "shift+tab")
        await person.sees_soon("Changed by “change both”")
        await person.press("escape")


async def test_where_there_is_nothing_it_says_why(tmp_path: Path) -> None:
    project = Project(tmp_path)
    await project.prompt("look", ("bash", {"command": "ls"}))
    async with at_the_keyboard(size=(240, 30)) as person:
        async with person.asked(project.page(person).open("session")):
            await person.sees_soon("This session changed no files.")
            await person.press("n", "e", "y", "Y", "less_than_sign", "tab")
            await person.sees_soon("is not in a git")
            await person.press("n", "e", "y", "Y", "escape")
        assert person.copied == [] and project.edited == []
        with pytest.raises(UserError, match="/diff git"):
            await project.page(person).open("everything")


async def test_a_file_opens_in_the_editor_where_one_looks(project: Project) -> None:
    async with at_the_keyboard(size=(80, 24)) as person, person.asked(project.page(person).open("prompt")):
        await person.sees_soon("line fifty")
        await person.press("E")
        await person.until(lambda: project.edited == [("a.txt", 50)])
        await person.press("tab", "tab")  # git, the session
        await person.sees_soon("you changed it since")
        await person.press(*["down"] * 30)
        await person.press("E")
        await person.until(lambda: len(project.edited) == 2)
        name, line = project.edited[1]
        assert name == "a.txt" and 25 < line < 35
        project.problem = "vi cannot be started: no such file"
        await person.press("E")
        await person.sees_soon("vi cannot be started")
        (project.folder / "a.txt").unlink()
        await person.press("E")
        await person.sees_soon("the file does not exist any more")
        await person.press("escape")


async def test_a_patch_of_one_file_or_of_all(project: Project, tmp_path: Path) -> None:
    async with at_the_keyboard(size=(80, 24)) as person:
        async with person.asked(project.page(person).open("prompt")):
            await person.sees_soon("line fifty")
            await person.press("n", "y")
            await person.sees_soon("copied")
            await person.press("Y")
            await person.sees_soon("copied the patch of all files")
            await person.press("escape")
        (one, what), (every, _) = person.copied
        assert what == "patch of b.py" and one.startswith("diff --git a/b.py b/b.py\n")
        assert every.count("diff --git") == 3
    if shutil.which("patch") is not None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "a.txt").write_text(LONG)
        (elsewhere / "b.py").write_text("def b():\n    return 1\n")
        _apply(elsewhere, every)
        assert (elsewhere / "b.py").read_text().endswith("return 2\n")
        assert (elsewhere / "c.txt").read_text() == "c\n"


async def test_searching_within_a_difference(project: Project) -> None:
    async with at_the_keyboard(size=(80, 16)) as person, person.asked(project.page(person).open("prompt")):
        await person.sees_soon("line fifty")
        await person.press("slash", *"line 4")
        await person.sees_soon("of 3")
        await person.press("enter", "n")
        await person.sees_soon("› a.txt", "2 of 3 ")
        await person.press("escape", "n")
        await person.sees_soon("› b.py")
        await person.press("escape")


async def test_what_has_no_lines_says_why(project: Project) -> None:
    await project.prompt("odd", ("bash", {"command": "printf 'a\\000b' > odd.bin; chmod +x b.py"}))
    async with at_the_keyboard(size=(80, 24)) as person, person.asked(project.page(person).open("prompt")):
        await person.sees_soon("mode 644 → 755")
        await person.press("n")
        await person.sees_soon("no text: 3 B")
        await person.press("y")
        await person.sees_soon("no patch copied: no text: 3 B")
        await person.press("escape")


def hunks_shown(person: Person) -> Transcript:
    return person.terminal.screen.query_one(Transcript)


async def test_free_rows_show_more_lines_around_the_hunks(tmp_path: Path) -> None:
    project = Project(tmp_path)
    await project.prompt("make", write("a.txt", LONG))
    await project.prompt(
        "change", write("a.txt", LONG.replace("line 20\n", "").replace("line 30\n", "thirty\n"))
    )
    async with at_the_keyboard(size=(80, 40)) as person, person.asked(project.page(person).open("prompt")):
        await person.sees_soon("line 12", "line 24", "line 25", "line 38")
        shown = [row for row in person.sees.split("\n") if "│ " in row or "▌ " in row]
        assert len(shown) == len(set(shown))  # lines between two hunks are shown once
        assert hunks_shown(person).column.heights.total >= hunks_shown(person).viewport.height - 3
        await person.press("space")
        await person.sees_soon("kept", "line 12", "line 38")
        await person.resize(80, 24)
        await person.until(lambda: "line 12" not in person.sees)
        await person.sees_soon("hunk 2 of 2")
        await person.press("escape")


@pytest.mark.parametrize("size", [(40, 10), (60, 24), (100, 40)])
async def test_files_below_never_make_the_page_scroll(tmp_path: Path, size: tuple[int, int]) -> None:
    project = Project(tmp_path)
    await project.prompt(
        "make",
        write("a.txt", "short\n"),
        *(
            write(f"{name}.txt", "many words that are wrapped in a narrow terminal, again and again\n" * 30)
            for name in "bc"
        ),
    )
    async with at_the_keyboard(size=size) as person, person.asked(project.page(person).open("prompt")):
        await person.sees_soon("short")
        await person.until(lambda: hunks_shown(person).viewport.height > 0)
        assert hunks_shown(person).column.heights.total <= hunks_shown(person).viewport.height
        assert ("many words" in person.sees) == (size[1] > 10)
        await person.press("escape")


def _apply(folder: Path, patch: str) -> None:
    subprocess.run(["patch", "-p1", "-s"], cwd=folder, input=patch.encode(), check=True)


SOURCE = "".join(f"def f{number}(x):\n    return x + {number}\n\n\n" for number in range(30))
CHANGED = (
    SOURCE.replace("x + 3\n", "x * 3\n").replace("return x + 14", "return x  +  14").replace("+ 22\n", "")
)


async def reviewed(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    await project.prompt(
        "make", write("app.py", SOURCE), write("uv.lock", "a\n"), write("notes.md", "hello\n")
    )
    await project.prompt(
        "change",
        write("app.py", CHANGED),
        write("uv.lock", "b\n"),
        ("bash", {"command": "mv notes.md readme.md"}),
    )
    return project


async def test_each_hunk_takes_one_key_and_half_of_it_can_wait(tmp_path: Path) -> None:
    project = await reviewed(tmp_path)
    place = project.folder / "app.py"
    async with at_the_keyboard(size=(100, 30)) as person:
        async with person.asked(project.page(person).open("prompt")):
            await person.sees_soon("Changed by “change”", "› app.py", "from notes.md", "lock file")
            await person.press("space", "x")  # as fast as one types: each key is for the next hunk
            await person.sees_soon("2/3", "hunk 3 of 3")
            await person.press("escape")
        assert place.read_text() == CHANGED.replace("return x  +  14", "return x + 14")
        assert not person.heard
        async with person.asked(project.page(person).open("prompt")):
            await person.sees_soon("2/3", "hunk 3 of 3")
            await person.press("x")
            await person.sees_soon("› readme.md", "moved from notes.md")
            await person.press("x")
            await person.sees_soon("› uv.lock", "Folded: lock file")
            await person.press("o")
            await person.sees_soon("line 1")
            await person.press("o", "space")
            await person.sees_soon("all hunks are decided")
            assert (project.folder / "notes.md").read_text() == "hello\n"
            assert not (project.folder / "readme.md").exists()
            await person.press("u")
            await person.sees_soon("undone", "› uv.lock")
            await person.press("K", "u")
            await person.sees_soon("undone", "› readme.md")
            await person.press("escape")
    assert (project.folder / "readme.md").exists() and not (project.folder / "notes.md").exists()
    assert place.read_text() == SOURCE.replace("x + 3\n", "x * 3\n")
    told = [str(getattr(message, "content", "")) for message in project.harness.session.messages]
    assert any("took back parts of your changes: app.py line 58" in text for text in told)


async def test_comments_are_sent_as_one_message(tmp_path: Path) -> None:
    project = await reviewed(tmp_path)
    async with at_the_keyboard(size=(100, 30)) as person:
        async with person.asked(project.page(person).open("prompt")):
            await person.sees_soon("› app.py")
            await person.press("c")
            await person.sees_soon("Comment on app.py:14")
            await person.press(*"why?", "enter")
            await person.sees_soon("hunk 2 of 3")
            await person.press("j", "c")
            await person.sees_soon("Comment on app.py:90")
            await person.press(*"no", "enter")
            await person.sees_soon("hunk 2 of 3")
            await person.press("k")
            await person.sees_soon("❯ why?", "comment")
            await person.press("escape")
            await person.sees_soon(
                "2 comments on the changes", "1 Send the comments now", "3 Drop the comments"
            )
            await person.press("2")
        assert "2 comments saved" in person.heard[0]
        project.harness.script.responses.append(say("I see"))
        async with person.asked(project.page(person).open("prompt")):
            await person.sees_soon("hunk 2 of 3")
            await person.press("s")
        await project.harness.session.wait_until_idle()
    message = project.harness.session.messages[-2]
    assert isinstance(message, UserMessage)
    sent = text_of(message.content)
    assert (
        sent.index("app.py:14\n```diff\n@@ ")
        < sent.index("why?")
        < sent.index("app.py:90")
        < sent.index("no")
    )
    assert not project.harness.session.review.decisions.remarks


async def test_the_cursor_stays_on_its_hunk_after_a_search(tmp_path: Path) -> None:
    project = await reviewed(tmp_path)
    async with at_the_keyboard(size=(100, 60)) as person, person.asked(project.page(person).open("prompt")):
        await person.sees_soon("› app.py", "hunk 1 of 3")
        await person.press("ctrl+f", "escape", "j")
        await person.sees_soon("hunk 2 of 3")
        await person.press("escape")


async def test_what_a_person_changed_since_is_shown_and_stays(tmp_path: Path) -> None:
    project = await reviewed(tmp_path)
    place = project.folder / "app.py"
    place.write_text(CHANGED.replace("x * 3\n", "x * 4\n"))
    async with at_the_keyboard(size=(100, 30)) as person, person.asked(project.page(person).open("prompt")):
        await person.sees_soon("you changed these lines since")
        await person.press("x")
        await person.sees_soon("was left unchanged")
        await person.press("w")
        await person.sees_soon("whitespace changes are hidden", "of 2")
        await person.press("j", "x")
        await person.sees_soon("1/3")
        await person.press("escape")
    assert place.read_text() == CHANGED.replace("x * 3\n", "x * 4\n").replace(
        "return x \n", "return x + 22\n\n"
    )


async def test_the_mouse_points_and_presses_hints(tmp_path: Path) -> None:
    project = await reviewed(tmp_path)
    async with at_the_keyboard(size=(100, 40)) as person, person.asked(project.page(person).open("prompt")):
        await person.sees_soon("hunk 1 of 3", "line 58")
        rows = person.sees.split("\n")
        await person.click(6, next(at for at, row in enumerate(rows) if "line 58" in row) + 3)
        await person.sees_soon("hunk 2 of 3")
        hints = rows[-1] if "revert" in rows[-1] else rows[-2]
        await person.click(hints.index("revert"), rows.index(hints))
        await person.sees_soon("reverted", "1/3")
        await person.press("escape")
    assert (project.folder / "app.py").read_text() == CHANGED.replace("return x  +  14", "return x + 14")


async def test_the_lines_of_a_hunk_are_edited_here(tmp_path: Path) -> None:
    project = await reviewed(tmp_path)
    place = project.folder / "app.py"
    async with at_the_keyboard(size=(100, 30)) as person, person.asked(project.page(person).open("prompt")):
        await person.sees_soon("hunk 1 of 3")
        await person.press("e")
        await person.sees_soon("app.py:14", "return x * 3", "ctrl+s save")
        await person.press("end", *" + 1", "escape")
        await person.sees_soon("not saved: escape again discards")
        await person.press("ctrl+s")
        await person.sees_soon("1/3", "hunk 2 of 3")
        assert place.read_text() == CHANGED.replace("x * 3\n", "x * 3 + 1\n")
        await person.press("u")
        await person.sees_soon("undone", "hunk 1 of 3")
        assert place.read_text() == CHANGED
        await person.press("e")
        await person.sees_soon("ctrl+s save")
        place.write_text(CHANGED.replace("x * 3\n", "x * 4\n"))
        await person.press("x", "ctrl+s")
        await person.sees_soon("you changed these lines since")
        assert "x * 4\n" in place.read_text()
        await person.press("J", "e")
        await person.sees_soon("this change has no lines to edit")
        await person.press("escape")
    told = [str(getattr(message, "content", "")) for message in project.harness.session.messages]
    assert sum("edited parts of your changes" in text for text in told) == 1


async def test_the_next_files_stand_below_as_far_as_there_is_room(project: Project) -> None:
    async with at_the_keyboard(size=(120, 40)) as person, person.asked(project.page(person).open("prompt")):
        await person.sees_soon("› a.txt", "line fifty", "return 2")
        assert "1 of 3" in person.sees and person.sees.count("b.py") == 2 and " new · end" not in person.sees
        await person.press("j")
        await person.sees_soon("› b.py", "2 of 3")
        await person.press("k")
        await person.sees_soon("› a.txt", "line fifty", "return 2")
        await person.press("escape")


async def test_of_a_long_file_below_only_what_is_visible_is_drawn(tmp_path: Path) -> None:
    project = Project(tmp_path)
    long = "".join(f"line {number}\n" for number in range(1, 1_001))
    await project.prompt("make", write("a.txt", "short\n"), write("b.txt", long))
    async with at_the_keyboard(size=(100, 30)) as person, person.asked(project.page(person).open("prompt")):
        await person.sees_soon("› a.txt", "short", "line 9")
        screen = person.terminal.screen
        assert isinstance(screen, ReviewScreen)
        assert screen.transcript.column.heights.total < 60
        await person.press("J")
        await person.sees_soon("› b.txt", "2 of 2")
        await person.until(lambda: screen.transcript.column.heights.total > 1_000)
        await person.press("escape")
