"""Files that go back on the full screen: previewed, selected one by one, done; from the prompt and from the tree."""

from pathlib import Path

import pytest

from app.engine.files.file_restorer import RestoreFilesToEntry
from app.providers.scripted import ScriptedAnswer, say
from app.resources.settings.effective_settings import EffectiveSettings
from app.tui.features.review.page import ChangeReviewPage
from app.tui.features.tree.page import SessionTreePage
from app.tui.features.undo.page import FileRestorePage
from app.undo.content_store import UndoStoreSettings
from app.values.content import ToolCall
from app.values.user_errors import UserError
from tests.engine.scripted_session import ScriptedSession
from tests.tui.pages.person import Person, at_the_keyboard
from tools.tool_registry import builtin_tools

SIZE = (120, 40)


class Project:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        place = UndoStoreSettings(store=folder / "agent" / "blobs", home=folder, may_ask_git=lambda: False)
        self.harness = ScriptedSession(folder, tools=builtin_tools(), cwd=self.folder, undo=place)

    async def prompt(self, text: str, **files: str) -> None:
        calls = tuple(
            ToolCall(
                id=f"{text}-{name}",
                name="write",
                arguments={"path": name.replace("_", "."), "content": content},
            )
            for name, content in files.items()
        )
        self.harness.script.responses += [ScriptedAnswer(blocks=calls), say("done")]
        await self.harness.prompt(text)

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in sorted(self.folder.iterdir())}


@pytest.fixture
async def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    await made.prompt("make both", a_txt="a1\n", b_txt="b1\n")
    await made.prompt("change both", a_txt="a2\n", b_txt="b2\n", c_txt="c\n")
    return made


def page_of(project: Project, person: Person) -> FileRestorePage:
    return FileRestorePage(project.harness.session, person.ask, person.say)


def tree_of(project: Project, person: Person) -> SessionTreePage:
    return SessionTreePage(
        project.harness.session,
        person.ask,
        person.say,
        person.write,
        person.copy,
        files=page_of(project, person),
        review=ChangeReviewPage(
            project.harness.session, person.ask, person.say, person.copy, open_in_editor=lambda path, line: ""
        ).open,
        show_progress=person.show_progress.append,
        settings=lambda: project.harness.effective_settings.settings,
        clock=person.clock,
    )


async def test_nothing_happens_before_enter(project: Project) -> None:
    async with at_the_keyboard(size=SIZE) as person:
        async with person.asked(page_of(project, person).undo()):
            assert "Restore to before “change both”" in person.sees and "3 files +2 −3" in person.sees
            await person.sees_soon("1 - a2", "1 + a1")
            await person.press("escape")
        assert project.files() == {"a.txt": "a2\n", "b.txt": "b2\n", "c.txt": "c\n"}
        assert person.heard == []


async def test_enter_puts_back_and_redo_takes_that_back(project: Project) -> None:
    async with at_the_keyboard(size=SIZE) as person:
        async with person.asked(page_of(project, person).undo()):
            await person.press("enter")
        assert project.files() == {"a.txt": "a1\n", "b.txt": "b1\n"}
        async with person.asked(page_of(project, person).redo()):
            assert "Redo of the last restore" in person.sees
            await person.press("enter")
        assert project.files() == {"a.txt": "a2\n", "b.txt": "b2\n", "c.txt": "c\n"}
        assert person.heard == [], "the turn says how to reverse it"


async def test_a_restore_below_which_the_last_turn_changed_nothing_says_how_to_reverse_it(
    project: Project,
) -> None:
    await project.prompt("talk", d_txt="d\n")
    async with at_the_keyboard(size=SIZE) as person:
        for expected in (
            [],
            ["/redo reverses this restore."],
        ):  # the last turn says it; a turn further up does
            async with person.asked(page_of(project, person).undo()):
                await person.press("enter")
            assert person.heard == expected
        async with person.asked(page_of(project, person).redo()):
            await person.press("enter")
        assert person.heard[1:] == ["/undo reverses this redo."]


async def test_single_files_are_chosen(project: Project) -> None:
    async with at_the_keyboard(size=SIZE) as person:
        async with person.asked(page_of(project, person).undo()):
            assert "3 of 3 selected" in person.sees
            await person.press("a")
            assert "0 of 3 selected" in person.sees
            await person.press("enter")
            assert "no files are selected" in person.sees
            await person.press("down", "space")
            assert "1 of 3 selected" in person.sees
            await person.press("enter")
        assert project.files() == {"a.txt": "a2\n", "b.txt": "b1\n", "c.txt": "c\n"}


async def test_what_a_person_changed_stays_unless_it_is_taken_or_merged(project: Project) -> None:
    (project.folder / "a.txt").write_text("a2\nmine\n")
    (project.folder / "b.txt").write_text("mine\n")
    (project.folder / "c.txt").write_text("")
    async with at_the_keyboard(size=SIZE) as person:
        async with person.asked(page_of(project, person).undo()):
            assert "you changed it since" in person.sees and "0 of 3 selected" in person.sees
            await person.press("m")
            assert "it cannot be merged" in person.sees
            await person.press("down", "t")
            assert "goes back" in person.sees
            await person.press("down", "t", "k")
            assert "1 of 3 selected" in person.sees
            await person.press("enter")
        assert project.files() == {"a.txt": "a2\nmine\n", "b.txt": "b1\n", "c.txt": ""}
        assert person.heard == ["Not changed:\n  a.txt: you changed it since\n  c.txt: you changed it since"]


async def test_changes_of_both_are_merged_and_seen_before(project: Project) -> None:
    await project.prompt("more", a_txt="1\n2\n3\n4\n")
    await project.prompt("and more", **{"a_txt": "1\n2\n3\nfour\n"})
    (project.folder / "a.txt").write_text("one\n2\n3\nfour\n")
    async with at_the_keyboard(size=SIZE) as person:
        async with person.asked(page_of(project, person).undo()):
            await person.press("m")
            await person.sees_soon("is merged", "4 - four", "4 + 4")
            assert "1 +" not in person.sees
            await person.press("enter")
        assert project.files()["a.txt"] == "one\n2\n3\n4\n"


async def test_a_number_of_prompts(project: Project) -> None:
    async with at_the_keyboard(size=SIZE) as person:
        with pytest.raises(UserError, match="takes a number"):
            await page_of(project, person).undo("all")
        async with person.asked(page_of(project, person).undo("2")):
            assert "before “make both”" in person.sees
            await person.press("enter")
        assert project.files() == {}
        with pytest.raises(UserError, match="Nothing to undo on this branch"):
            await page_of(project, person).undo()


async def test_the_tree_puts_files_back_and_the_conversation_stays(project: Project) -> None:
    leaf = project.harness.session.state.leaf_id
    async with at_the_keyboard(size=SIZE) as person:
        async with person.asked(tree_of(project, person).open()):
            assert "± a.txt +1 −1" in person.sees and "± 3 files +3 −2" in person.sees
            await person.press("home", "z")
            await person.sees_soon("Restore to the beginning")
            await person.press("enter")
            await person.sees_soon("Session tree")
            await person.press("escape")
        assert project.files() == {}
        path = [entry.id for entry in project.harness.session.log.path_to()]
        assert leaf in path


async def first_prompt(project: Project) -> str:
    return next(entry.id for entry in project.harness.session.log.entries if "change both" in str(entry))


@pytest.mark.parametrize("answer", ["keep", "restore", "stay"])
async def test_moving_in_the_tree_asks_what_becomes_of_files(project: Project, answer: str) -> None:
    before, leaf = project.files(), project.harness.session.state.leaf_id
    project.harness.effective_settings.set("branchSummary.skipPrompt", True)
    async with at_the_keyboard(size=SIZE) as person:
        async with person.asked(tree_of(project, person).move_to_entry(await first_prompt(project))):
            assert "Files have changed since that point" in person.sees
            if answer == "keep":
                await person.press("enter")
            elif answer == "restore":
                await person.press("down", "enter")
                await person.sees_soon("Restore to after “make both”")
                await person.press("enter")
            else:
                await person.press("escape")
        moved = project.harness.session.state.leaf_id != leaf
        assert moved == (answer != "stay")
        assert person.written == (["change both"] if moved else [])
        now = {"a.txt": "a1\n", "b.txt": "b1\n"} if answer == "restore" else before
        assert project.files() == now


async def test_without_the_branch_question_the_restore_is_previewed(project: Project) -> None:
    project.harness.effective_settings.set("branchSummary.skipPrompt", True)
    project.harness.effective_settings.set("undo.onTreeMove", "restore")
    async with at_the_keyboard(size=SIZE) as person:
        async with person.asked(tree_of(project, person).move_to_entry(await first_prompt(project))):
            assert "Restore to after" in person.sees
            await person.press("enter")
        assert project.files() == {"a.txt": "a1\n", "b.txt": "b1\n"}


async def test_where_files_are_as_they_were_nothing_is_asked(project: Project) -> None:
    effective_settings: EffectiveSettings = project.harness.effective_settings
    effective_settings.set("branchSummary.skipPrompt", True)
    entry = await first_prompt(project)
    plan = await project.harness.session.file_restorer.plan_restore(RestoreFilesToEntry(entry_id=entry))
    await project.harness.session.file_restorer.carry_out_restore(plan)
    async with at_the_keyboard(size=SIZE) as person:
        await tree_of(project, person).move_to_entry(entry)
        assert person.written == ["change both"]


async def test_changes_since_a_point_of_the_tree_are_reviewed(project: Project) -> None:
    async with at_the_keyboard() as person, person.asked(tree_of(project, person).open()):
        await person.press("home", "v")
        await person.sees_soon("Changed since “make both”", "keep")
        await person.press("escape")
        await person.sees_soon("Session tree")
        await person.press("escape")
