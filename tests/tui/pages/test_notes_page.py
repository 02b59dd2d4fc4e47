"""`# a line` at the editor."""

from pathlib import Path

import pytest

from app.resources.paths import Paths
from app.tui.features.rules.notes import NotesPage
from app.tui.prompt.sending import is_note
from tests.tui.pages.person import Person, at_the_keyboard


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    project = tmp_path / "home" / "project"
    (project / ".git").mkdir(parents=True)
    (project / "AGENTS.md").write_text("# Rules\n\n- Use spaces\n")
    return Paths.from_env({"HOME": str(tmp_path / "home")}, project)


def page_of(paths: Paths, person: Person) -> NotesPage:
    return NotesPage(
        lambda: paths, person.ask, person.say, reload=lambda: person.copied.append(("reload", ""))
    )


async def noted(paths: Paths, *keys: str) -> tuple[str, Person]:
    became: list[str] = []

    async def note() -> None:
        became.append(await page_of(paths, person).note("# Use tabs"))

    async with at_the_keyboard() as person, person.asked(note()):
        await person.sees_soon("- Use spaces", "+ - Use tabs", "this project's", "yours, in every project")
        await person.press(*keys)
    return became[0], person


async def test_the_line_goes_to_the_projects_file(paths: Paths) -> None:
    became, person = await noted(paths, "enter")
    assert became == "noted"
    assert (paths.top / "AGENTS.md").read_text() == "# Rules\n\n- Use spaces\n- Use tabs\n"
    assert person.heard == ["Saved in ~/project/AGENTS.md; it applies from the next request."]
    assert person.copied == [("reload", "")]


async def test_or_to_ones_own(paths: Paths) -> None:
    became, _ = await noted(paths, "2")
    assert became == "noted"
    assert (paths.agent_dir / "AGENTS.md").read_text() == "- Use tabs\n"


@pytest.mark.parametrize(("key", "becomes"), [("3", "send"), ("escape", "kept")])
async def test_it_may_be_no_note(paths: Paths, key: str, becomes: str) -> None:
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
    assert is_note(text) is is_one
