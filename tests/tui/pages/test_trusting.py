"""The question whether a folder's own parts may be used."""

from pathlib import Path

import pytest

from app.resources.paths import BayouPaths
from app.resources.trust.project_trust import TrustQuestion, decide_project_trust
from app.tui.features.extensions.trust import ask_project_trust
from app.tui.features.extensions.trust_screen import TRUST_KEY_GRACE_SECONDS
from tests.tui.pages.person import Person, at_the_keyboard


class Folder:
    """A project with its own settings, and the effect of the answer."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.settings = home / "project" / ".bayou" / "settings.json"
        self.settings.parent.mkdir(parents=True)
        self.settings.write_text('{"interruptMode": "immediate"}')
        self.paths = BayouPaths.from_env({"HOME": str(home)}, home / "project")
        self.answers: list[bool] = []

    @property
    def is_trusted(self) -> bool:
        return decide_project_trust(self.paths, can_ask=False).is_trusted

    async def _apply(self, question: TrustQuestion, is_trusted: bool) -> bool:
        self.answers.append(is_trusted)
        return True

    async def ask(self, person: Person) -> None:
        earlier = decide_project_trust(self.paths, can_ask=False).question
        await ask_project_trust(
            self.paths, earlier, person.ask, person.say, self._apply, home=self.home, clock=person.clock
        )


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


async def test_trusting_has_a_separate_key_and_is_stored(folder: Folder) -> None:
    async with at_the_keyboard() as person:
        async with person.asked(folder.ask(person)):
            assert "Trust this project?" in person.sees and "interruptMode" in person.sees
            person.clock.now += TRUST_KEY_GRACE_SECONDS
            await person.press("ctrl+y")
        assert folder.answers == [True] and folder.is_trusted
        assert "is trusted" in person.heard[0]


async def test_a_file_is_named_once_with_all_that_is_to_be_said_of_it(folder: Folder) -> None:
    (folder.settings.parent / "prompts").mkdir()
    (folder.settings.parent / "prompts" / "sail.md").write_text("Sail.")
    async with at_the_keyboard() as person, person.asked(folder.ask(person)):
        rows = person.sees.split("\n")
        at = next(at for at, row in enumerate(rows) if "settings.json" in row)
        assert [row.removeprefix("▌ ").rstrip() for row in rows[at : at + 4]] == [
            "  settings  .bayou/settings.json",
            "            the project's settings",
            '            interruptMode = "immediate"',
            "  prompt    .bayou/prompts",
        ]
        await person.press("escape")


async def test_no_is_kept_too_and_later_is_not(folder: Folder) -> None:
    async with at_the_keyboard() as person:
        async with person.asked(folder.ask(person)):
            await person.press("2")
        assert folder.answers == [] and person.heard == []
        async with person.asked(folder.ask(person)):
            await person.press("3")
        assert folder.answers == [False] and not folder.is_trusted


async def test_what_changes_while_it_is_read_is_not_trusted(folder: Folder) -> None:
    async with at_the_keyboard() as person:
        async with person.asked(folder.ask(person)):
            folder.settings.write_text('{"shellCommandPrefix": "touch it;"}')
            person.clock.now += TRUST_KEY_GRACE_SECONDS
            await person.press("ctrl+y")
        assert folder.answers == [] and not folder.is_trusted
        assert person.heard == [
            "The folder changed while the question was open, so it is not trusted. /trust asks again."
        ]


async def test_a_folder_without_trusted_content_asks_nothing(folder: Folder) -> None:
    folder.settings.unlink()
    async with at_the_keyboard() as person:
        await folder.ask(person)
        assert person.heard == ["Nothing in this folder needs your trust."]
