"""The feature for settings and themes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, TuiFeature
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.settings.page import SettingsPage, ThemePage


class SettingsFeature(TuiFeature["SettingsPage"]):
    slash_commands: Sequence[SlashCommand["SettingsPage"]] = (
        SlashCommand(name="settings", help="show and change settings", run=lambda page, _: page.open()),
    )

    def page(self, screen: FeatureServices) -> "SettingsPage":
        from app.tui.features.settings.page import SettingsPage  # noqa: PLC0415  (when it is first used)
        from app.tui.features.settings.user_shell_page import UserShellDefinitionsPage  # noqa: PLC0415  (when it is first used)

        own_shell = UserShellDefinitionsPage(screen.session.own_shell, screen.ask)
        return SettingsPage(
            screen.assembled.effective_settings,
            screen.ask,
            {"bash.ownShell": own_shell},
            themes=lambda: screen.current_theme.theme_names(),
        )


class ThemesFeature(TuiFeature["ThemePage"]):
    slash_commands: Sequence[SlashCommand["ThemePage"]] = (
        SlashCommand(
            name="theme", hint="[name]", help="choose a theme", run=lambda page, text: page.choose(text)
        ),
    )

    def page(self, screen: FeatureServices) -> "ThemePage":
        from app.tui.features.settings.page import ThemePage  # noqa: PLC0415  (when it is first used)

        return ThemePage(screen.current_theme, screen.ask, screen.save_default_setting)


SETTINGS_FEATURE = SettingsFeature()
THEMES_FEATURE = ThemesFeature()
TUI_FEATURES = (
    SETTINGS_FEATURE,
    THEMES_FEATURE,
)
