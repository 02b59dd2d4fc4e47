"""`/diff` at the keyboard: files above, what is different below; other prompts, git, the editor, a patch."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from app.providers.scripted import ScriptedAnswer, say
from app.tui.features.diff.page import DiffPage
from app.undo.content_store import UndoConfig
from app.values.content import ToolCall
from app.values.user_errors import UserError
from tests.engine.scripted_session import ScriptedSession
from tests.tui.pages.person import Person, at_the_keyboard
from tests.undo.test_footprints import git
from tools.registry import builtin_tools

LONG = "".join(f"line {number}\n" for number in range(1, 101))


class Project:
    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.realpath(folder)) / "project"
        self.folder.mkdir()
        place = UndoConfig(store=folder / "agent" / "blobs", home=folder, may_ask_git=lambda: False)
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

    def page(self, person: Person) -> DiffPage:
        return DiffPage(self.harness.session, person.ask, person.copy, edit=self._edit)

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
    async with at_the_keyboard(size=(80, 24)) as person, person.asked(project.page(person).open()):
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
    async with at_the_keyboard(size=(100, 30)) as person, person.asked(project.page(person).open()):
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
        async with person.asked(project.page(person).open()):
            await person.sees_soon("This session changed no files.")
            await person.press("n", "e", "y", "Y", "less_than_sign", "tab")
            await person.sees_soon("is in no git repository")
            await person.press("n", "e", "y", "Y", "escape")
        assert person.copied == [] and project.edited == []
        with pytest.raises(UserError, match="/diff git"):
            await project.page(person).open("everything")


async def test_a_file_opens_in_the_editor_where_one_looks(project: Project) -> None:
    async with at_the_keyboard(size=(80, 24)) as person, person.asked(project.page(person).open("prompt")):
        await person.sees_soon("line fifty")
        await person.press("e")
        await person.until(lambda: project.edited == [("a.txt", 50)])
        await person.press("tab", "tab")  # git, the session
        await person.sees_soon("you changed it since")
        await person.press(*["down"] * 30)
        await person.press("e")
        await person.until(lambda: len(project.edited) == 2)
        name, line = project.edited[1]
        assert name == "a.txt" and 25 < line < 35
        project.problem = "vi cannot be started: no such file"
        await person.press("e")
        await person.sees_soon("vi cannot be started")
        (project.folder / "a.txt").unlink()
        await person.press("e")
        await person.sees_soon("the file does not exist any more")
        await person.press("escape")


async def test_a_patch_of_one_file_or_of_all(project: Project, tmp_path: Path) -> None:
    async with at_the_keyboard(size=(80, 24)) as person:
        async with person.asked(project.page(person).open("prompt")):
            await person.sees_soon("line fifty")
            await person.press("n", "y")
            await person.sees_soon("copied")
            await person.press("Y")
            await person.sees_soon("copied all files")
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
    async with at_the_keyboard(size=(80, 24)) as person, person.asked(project.page(person).open("prompt")):
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


def _apply(folder: Path, patch: str) -> None:
    subprocess.run(["patch", "-p1", "-s"], cwd=folder, input=patch.encode(), check=True)
