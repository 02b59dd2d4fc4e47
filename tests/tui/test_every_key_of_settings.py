"""The keys of the settings, and of what came of one."""

from app.tui.features.settings.screen import SettingRow, SettingsScreen
from app.tui.features.settings.user_shell_page import UserShellDefinitionsScreen
from tests.tui.keys_pressed import keys
from tests.tui.test_every_key_of_screens import Screens, until


async def test_the_settings() -> None:
    row = SettingRow(id="a", value="two", default="one", choices=("one", "two", "three"))
    want = {"app.settings.next": "three", "app.settings.previous": "one", "app.settings.reset": None}
    app = Screens()
    async with app.run_test(size=(100, 30)) as pilot:
        for action, value in want.items():
            for key in keys("settings", action):
                await app.shows(SettingsScreen([row]))
                await pilot.press(key)
                await until(pilot, lambda value=value: app.noted == [("a", value)])


async def test_what_came_of_a_setting() -> None:
    rows = [SettingRow(id="a", value="on", details_label="look"), SettingRow(id="b", value="on")]
    app = Screens()
    async with app.run_test(size=(100, 30)) as pilot:
        for key in keys("settings", "app.settings.look"):
            await app.shows(SettingsScreen(rows))
            await pilot.press("down", key, "up", key)  # of the second there is nothing to see
            await until(pilot, lambda: app.noted == ["look at a"])
        for key in keys("imported shell definitions", "app.ownShell.again"):
            await app.shows(UserShellDefinitionsScreen("Your shell", []))
            await pilot.press(key)
            await until(pilot, lambda: app.noted == ["app.ownShell.again"])
