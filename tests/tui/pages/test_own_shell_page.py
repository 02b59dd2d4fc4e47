"""What commands have of the person's shell: shown at its setting and on a page, and taken anew."""

from pathlib import Path

import pytest

from app.engine.user_runs.shell_snapshot import ShellSnapshotSource
from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from app.tui.features.settings.page import SettingsPage
from app.tui.features.settings.user_shell_page import UserShellDefinitionsPage
from tests.tui.pages.person import Person, at_the_keyboard
from tools.running.shell_settings import ShellSettings
from tools.running.user_shell.shell_snapshot import UserShellSnapshotCache
from tools.session_workspace import SessionWorkspace


@pytest.fixture
def verbs(tmp_path: Path) -> ShellSnapshotSource:
    settings = ShellSettings(
        shell_path="/bin/bash", user_shell=UserShellSnapshotCache(tmp_path / "kept", tmp_path)
    )
    return ShellSnapshotSource(SessionWorkspace(tmp_path, shell=lambda: settings))


def _page(verbs: ShellSnapshotSource, person: Person) -> UserShellDefinitionsPage:
    return UserShellDefinitionsPage(
        verbs, person.ask, clock=lambda: (seen.taken_at if (seen := verbs.current_snapshot()) else 0.0) + 190
    )


async def test_the_page_shows_the_shells_definitions_and_reloads_them(
    verbs: ShellSnapshotSource, tmp_path: Path
) -> None:
    start_up = tmp_path / ".bashrc"
    start_up.write_text(
        "alias ll='ls -l'\ngreet() { echo hello; }\nshopt -s extglob\nK=1; alias k='API_KEY=abcdef0123456789 x'\n"
    )
    async with at_the_keyboard() as person:
        page = _page(verbs, person)
        assert (
            page.one_line_summary() == "Not imported yet: the first command reads your shell's startup files."
        )
        async with person.asked(page.open()):
            await person.sees_soon(
                "Aliases (1)", "ls -l", "Functions (1)", "greet", "extglob", "1 of its definitions"
            )
            await person.press(*"greet", "enter")
            await person.sees_soon("echo hello")
            await person.press("escape")
            start_up.write_text("alias other='true'\n")
            await person.press("ctrl+r")
            await person.until(lambda: "other" in person.sees and "greet" not in person.sees)
            assert "Not imported" not in person.sees
            await person.press("escape")
        assert page.one_line_summary() == "Imported from /bin/bash 3 m ago: 1 alias, 0 functions, 0 options."


async def test_its_setting_leads_there(verbs: ShellSnapshotSource, tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("alias ll='ls -l'\n")
    (tmp_path / "project").mkdir()
    effective_settings = EffectiveSettings(BayouPaths.from_env({"HOME": str(tmp_path)}, tmp_path / "project"))
    async with at_the_keyboard(size=(200, 40)) as person:
        page = SettingsPage(effective_settings, person.ask, {"bash.ownShell": _page(verbs, person)})
        async with person.asked(page.open()):
            await person.press(*"ownShell")
            await person.sees_soon("Not imported yet")
            await person.press("ctrl+o")
            await person.sees_soon("Imported shell definitions", "ls -l")
            await person.press("escape")
            await person.sees_soon("Imported from /bin/bash 3 m ago: 1 alias")
            await person.press("escape")


async def test_where_it_is_not_wanted_there_is_nothing_to_see(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        page = UserShellDefinitionsPage(ShellSnapshotSource(SessionWorkspace(tmp_path)), person.ask)
        assert page.one_line_summary() == ""
