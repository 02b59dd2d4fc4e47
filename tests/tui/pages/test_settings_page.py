"""`/settings` and `/theme`."""

import json
from pathlib import Path

import pytest

from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from app.tui.features.settings.page import SettingsPage, ThemePage
from app.values.user_errors import UserError
from tests.tui.pages.person import Person, at_the_keyboard


@pytest.fixture
def paths(tmp_path: Path) -> BayouPaths:
    (tmp_path / "project").mkdir()
    return BayouPaths.from_env({"HOME": str(tmp_path)}, tmp_path / "project")


def said(paths: BayouPaths) -> dict[str, object]:
    return json.loads(paths.settings_file.read_text())


async def changed(effective_settings: EffectiveSettings, name: str, *keys: str, sees: str) -> None:
    async with at_the_keyboard() as person, person.asked(SettingsPage(effective_settings, person.ask).open()):
        await person.press(*name, *keys)
        await person.sees_soon(sees)
        await person.press("escape")


async def test_a_choice_goes_to_the_next_value_in_the_persons_own_file_and_at_once(paths: BayouPaths) -> None:
    effective_settings = EffectiveSettings(paths)
    await changed(effective_settings, "interruptMode", "enter", sees="saved")
    assert said(paths) == {"interruptMode": "immediate"}
    assert effective_settings.settings.interaction.interrupt_mode == "immediate"


async def test_the_theme_is_chosen_among_the_installed_ones(paths: BayouPaths) -> None:
    effective_settings = EffectiveSettings(paths)
    async with at_the_keyboard() as person:
        page = SettingsPage(effective_settings, person.ask, themes=lambda: ("day", "night"))
        async with person.asked(page.open()):
            await person.press(*"theme name", "enter")
            await person.sees_soon("one of: system, day, night")
            await person.press("enter")
            await person.press("escape")
    assert said(paths) == {"theme": "night"}


async def test_delete_is_about_the_row_where_the_filter_has_nothing_to_delete(paths: BayouPaths) -> None:
    effective_settings = EffectiveSettings(paths)
    await changed(effective_settings, "interruptMode", "enter", sees="immediate")
    await changed(effective_settings, "interruptMode", "home", "delete", sees="› nterruptMode")
    assert said(paths) == {"interruptMode": "immediate"}
    await changed(effective_settings, "interruptMode", "delete", sees="reset to the default")
    assert said(paths) == {}


async def test_a_changed_value_is_marked_with_its_default_and_one_key_sets_it_back(paths: BayouPaths) -> None:
    async with (
        at_the_keyboard(size=(120, 30)) as person,
        person.asked(SettingsPage(EffectiveSettings(paths), person.ask).open()),
    ):
        await person.press(*"interruptMode")
        await person.sees_soon("  wait", "default", "interruptMode")
        assert "•" not in person.sees and "reset to default" not in person.sees
        await person.press("enter")
        await person.sees_soon("• immediate", "user")
        assert "default: wait" in person.sees and "del reset to default" in person.sees
        await person.press("delete")
        await person.sees_soon("reset to the default")
        assert "•" not in person.sees and "reset to default" not in person.sees
        await person.press("escape")
    assert said(paths) == {}


async def test_the_arrows_are_named_only_while_they_change_values(paths: BayouPaths) -> None:
    async with (
        at_the_keyboard(size=(120, 30)) as person,
        person.asked(SettingsPage(EffectiveSettings(paths), person.ask).open()),
    ):
        assert "switch value" in person.sees
        await person.press(*"vi mode")
        await person.until(lambda: "switch value" not in person.sees)
        await person.press("escape")


async def test_what_does_not_fit_is_reported_and_not_written(paths: BayouPaths) -> None:
    effective_settings = EffectiveSettings(paths)
    async with at_the_keyboard() as person, person.asked(SettingsPage(effective_settings, person.ask).open()):
        await person.press(*"keepRecentTokens", "enter")
        await person.press("ctrl+u", *"many", "enter")
        await person.sees_soon("many")
        assert not paths.settings_file.exists()
        await person.press("escape", "escape")


async def test_what_the_project_says_otherwise_counts_for_this_session(paths: BayouPaths) -> None:
    own = paths.cwd / ".bayou" / "settings.json"
    own.parent.mkdir()
    own.write_text('{"interruptMode": "wait"}')
    effective_settings = EffectiveSettings(paths)
    effective_settings.set_trusted(True)
    await changed(
        effective_settings, "interruptMode", "enter", sees="the project or the command line overrides it"
    )
    assert said(paths) == {"interruptMode": "immediate"}


async def test_ignored_parts_of_a_value_are_shown_beside_it(paths: BayouPaths) -> None:
    paths.settings_file.parent.mkdir(parents=True)
    paths.settings_file.write_text(
        '{"bash": {"interceptor": {"rules": [{"pattern": "(", "tool": "bash", "message": "never"}]}}}'
    )
    effective_settings = EffectiveSettings(paths)
    async with (
        at_the_keyboard(size=(200, 40)) as person,
        person.asked(SettingsPage(effective_settings, person.ask).open()),
    ):
        await person.press(*"interceptor.rules")
        await person.sees_soon("error in file")
        told = "the pattern of rule 1 is not a valid regular expression: missing ) at position 1."
        await person.until(lambda: told in " ".join(person.sees.split()))  # behind a place of any length
        await person.press("escape")


class Looks:
    """Two themes, of which one is broken."""

    def __init__(self) -> None:
        self.name = "day"

    def theme_names(self) -> list[str]:
        return ["day", "night", "broken"]

    def apply_theme(self, name: str) -> str | None:
        if name not in ("day", "night"):
            return f"{name} cannot be read."
        self.name = name
        return None


def themes(person: Person) -> tuple[Looks, ThemePage]:
    looks = Looks()
    return looks, ThemePage(looks, person.ask, person.keep)


async def test_a_theme_is_seen_while_the_cursor_is_on_it(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        looks, page = themes(person)
        async with person.asked(page.choose()):
            await person.press("down")
            assert looks.name == "night"
            await person.press("escape")
        assert looks.name == "day" and person.kept == {}
        async with person.asked(page.choose()):
            await person.press(*"night", "ctrl+s")
        assert looks.name == "night" and person.kept == {"theme": "night"}


async def test_a_named_theme_counts_or_says_why_it_cannot(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        looks, page = themes(person)
        await page.choose("night")
        assert looks.name == "night"
        with pytest.raises(UserError, match=r"broken cannot be read\."):
            await page.choose("broken")
        assert looks.name == "night"
