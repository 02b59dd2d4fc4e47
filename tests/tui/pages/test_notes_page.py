"""`# a line` at the editor."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from app.engine.files.file_commands import undo_files
from app.engine.files.memory_notes import MemoryNoteRefused
from app.engine.permissions.permission_context import Approver, PermissionContext
from app.engine.questions.form_questions import UserFormQuestions
from app.engine.questions.remember_tool import RememberArguments, remember_tool
from app.providers.scripted import say
from app.resources.context_files import appendable_context_files
from app.resources.paths import BayouPaths
from app.tui.features.rules.notes import MemoryNotesPage
from app.tui.prompt.prompt_sender import is_memory_note
from app.undo.content_store import UndoStoreSettings
from app.values.events import Event, QuestionAsked
from app.values.messages import CustomMessage
from tests.agent.scripted_loop import plain
from tests.engine.scripted_session import ScriptedSession
from tests.tui.pages.person import Person, at_the_keyboard
from tools.tool_definition import Tool, ToolError

TODAY = date.today().isoformat()
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.fixture
def paths(tmp_path: Path) -> BayouPaths:
    project = tmp_path / "home" / "project"
    (project / ".git").mkdir(parents=True)
    (project / "AGENTS.md").write_text("# Rules\n\n- Use spaces\n")
    return BayouPaths.from_env({"HOME": str(tmp_path / "home")}, project)


def page_of(harness: ScriptedSession, paths: BayouPaths, person: Person) -> MemoryNotesPage:
    opened: list[Path] = person.copied  # pyright: ignore[reportAssignmentType]

    def edit(path: Path) -> str:
        opened.append(path)
        return ""

    return MemoryNotesPage(
        harness.session,
        lambda: paths,
        lambda: [paths.top / "AGENTS.md"],
        edit,
        person.ask,
        person.say,
        reload=lambda: person.copied.append(("reload", "")),
    )


def session_in(paths: BayouPaths) -> ScriptedSession:
    undo = UndoStoreSettings(store=paths.agent_dir / "undo", home=paths.home, may_ask_git=lambda: True)
    return ScriptedSession(paths.home / "session", say("Hi."), say("Ho."), cwd=paths.cwd, undo=undo)


async def noted(paths: BayouPaths, *keys: str) -> tuple[str, Person]:
    became: list[str] = []
    harness = session_in(paths)

    async def note() -> None:
        became.append(await page_of(harness, paths, person).save_note("# Use tabs"))

    async with at_the_keyboard() as person, person.asked(note()):
        await person.sees_soon("- Use spaces", "+ - Use tabs", "for this project", "for all your projects")
        await person.press(*keys)
    return became[0], person


async def test_the_line_goes_to_the_projects_file(paths: BayouPaths) -> None:
    became, person = await noted(paths, "enter")
    assert became == "noted"
    assert (paths.top / "AGENTS.md").read_text() == f"# Rules\n\n- Use spaces\n- Use tabs ({TODAY})\n"
    assert person.copied == [("reload", "")]


async def test_or_to_ones_own(paths: BayouPaths) -> None:
    became, _ = await noted(paths, "2")
    assert became == "noted"
    assert (paths.agent_dir / "AGENTS.md").read_text() == f"- Use tabs ({TODAY})\n"


async def test_a_note_is_shown_and_undone_by_itself(paths: BayouPaths) -> None:
    harness = session_in(paths)
    project, own = appendable_context_files(paths)
    await harness.prompt("hi")
    for file in (project, own):
        await harness.session.memory.announce_note(
            file, await harness.session.memory.add_note(file, "Use tabs", paths)
        )
    shown = [plain(one) for one in harness.session.messages if isinstance(one, CustomMessage)]
    assert f"- Use tabs ({TODAY})" in shown[0]
    await undo_files(harness.session)
    assert not own.path.exists() and "Use tabs" in project.path.read_text()
    await undo_files(harness.session)
    assert project.path.read_text() == "# Rules\n\n- Use spaces\n"


@pytest.mark.parametrize(
    ("line", "why"),
    [(" ", "one line"), ("x" * 2_001, "one line"), (f"key {SECRET}", "contains a secret")],
    ids=["empty", "long", "secret"],
)
async def test_invalid_notes_are_refused(paths: BayouPaths, line: str, why: str) -> None:
    harness = session_in(paths)
    with pytest.raises(MemoryNoteRefused, match=why):
        await harness.session.memory.add_note(appendable_context_files(paths)[0], line, paths)
    assert (paths.top / "AGENTS.md").read_text() == "# Rules\n\n- Use spaces\n"


async def test_a_binary_notes_file_is_not_changed(paths: BayouPaths) -> None:
    (paths.top / "AGENTS.md").write_bytes(b"\xff\xfe")
    with pytest.raises(MemoryNoteRefused, match="not UTF-8"):
        await session_in(paths).session.memory.add_note(appendable_context_files(paths)[0], "Use tabs", paths)
    assert (paths.top / "AGENTS.md").read_bytes() == b"\xff\xfe"


async def test_a_file_that_leads_out_of_the_project_stays(paths: BayouPaths, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("theirs\n")
    (paths.top / "AGENTS.md").unlink()
    (paths.top / "AGENTS.md").symlink_to(outside)
    with pytest.raises(MemoryNoteRefused, match="was not changed"):
        await session_in(paths).session.memory.add_note(appendable_context_files(paths)[0], "Use tabs", paths)
    assert outside.read_text() == "theirs\n"


async def test_memory_opens_a_file_in_the_editor(paths: BayouPaths) -> None:
    harness = session_in(paths)
    async with at_the_keyboard() as person, person.asked(page_of(harness, paths, person).open()):
        await person.sees_soon("~/project/AGENTS.md", "for this project", "does not exist yet")
        await person.press("enter")
    assert person.copied == [paths.top / "AGENTS.md", ("reload", "")]


def tool_of(harness: ScriptedSession, paths: BayouPaths, asks: Approver) -> Tool:
    standing = PermissionContext(home=paths.home, agent_dir=paths.agent_dir, approver=asks)
    return remember_tool(
        UserFormQuestions(standing, harness.session.events),
        lambda: appendable_context_files(paths),
        lambda file, line: harness.session.memory.add_note(file, line, paths),
    )


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("file", "The user saved it in"),
        ("no", "The user did not save it"),
        ("cancel", "The user did not save it"),
    ],
)
async def test_the_model_proposes_and_the_person_decides(paths: BayouPaths, answer: str, told: str) -> None:
    harness = session_in(paths)
    project, _ = appendable_context_files(paths)
    asked: list[QuestionAsked] = []

    def reply(event: Event) -> None:
        if isinstance(event, QuestionAsked) and event.answer is not None:
            asked.append(event)
            where = {"file": {"where": str(project.path)}, "no": {"where": "no"}, "cancel": None}
            event.answer.set_result(where[answer])

    harness.session.subscribe(reply)
    tool = remember_tool(
        UserFormQuestions(
            PermissionContext(home=paths.home, agent_dir=paths.agent_dir, approver="person"),
            harness.session.events,
        ),
        lambda: appendable_context_files(paths),
        lambda file, line: harness.session.memory.add_note(file, line, paths),
    )
    context: Any = None
    result = await tool.run(RememberArguments(line="Use tabs"), context)
    assert told in result.text and len(asked) == 1
    assert ("Use tabs" in project.path.read_text()) is (answer == "file")


async def test_nothing_is_saved_without_a_user_to_ask(paths: BayouPaths) -> None:
    harness = session_in(paths)
    tool = remember_tool(
        UserFormQuestions(
            PermissionContext(home=paths.home, agent_dir=paths.agent_dir, approver="none"),
            harness.session.events,
        ),
        lambda: appendable_context_files(paths),
        lambda file, line: harness.session.memory.add_note(file, line, paths),
    )
    context: Any = None
    with pytest.raises(ToolError, match="nothing was saved"):
        await tool.run(RememberArguments(line="Use tabs"), context)
    assert "Use tabs" not in (paths.top / "AGENTS.md").read_text()


@pytest.mark.parametrize(("key", "becomes"), [("3", "send"), ("escape", "kept")])
async def test_it_may_be_no_note(paths: BayouPaths, key: str, becomes: str) -> None:
    became, _ = await noted(paths, key)
    assert became == becomes
    assert (paths.top / "AGENTS.md").read_text() == "# Rules\n\n- Use spaces\n"


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("# Use tabs", True),
        ("#Use tabs\n", True),
        ("## Use tabs", False),
        ("# A\nb", False),
        ("#", False),
        ("x", False),
    ],
)
def test_one_line_behind_one_mark_is_a_note(text: str, is_one: bool):
    assert is_memory_note(text) is is_one
