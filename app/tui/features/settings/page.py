"""The page for `/settings`: every setting as a row; changes are written to the user's file and take effect at once if
possible. Also the page for themes."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from app.resources.settings.effective_settings import EffectiveSettings, SettingOrigin
from app.resources.settings.setting_value_checks import setting_value_problem
from app.resources.settings.settings import (
    SettingKey,
    SettingRefused,
    SettingUnit,
    all_setting_keys,
    find_setting_key,
    setting_choices,
    setting_value_at,
)
from app.tui.features.settings.screen import NO_VALUE_TEXT, SettingRow, SettingsScreen
from app.tui.page_protocols import AskOnScreen, SaveDefault
from app.values.usage import format_dollars
from app.values.user_errors import UserError
from tools.number_formatting import format_byte_count, format_seconds, format_token_count
from widgets.lists.list_rows import ListRow
from widgets.screens.common_pickers import ThemePickerScreen
from widgets.screens.picker import PickerResult

SYSTEM_THEME_NAME = "system"
"""The theme that follows the background of the terminal."""
_OVERRIDDEN_LATER_TEXT = "the project or the command line overrides it in later sessions"
_SETTING_OVERRIDDEN_TEXTS: dict[SettingOrigin, str] = {
    "project": "reset; the project's settings override it",
    "flags": "reset; the command line overrides it",
}


_SETTING_ORIGIN_LABELS: dict[SettingOrigin | None, str] = {
    None: "default",
    "global": "user",
    "project": "project",
    "flags": "command line",
    "session": "session",
}


def settings_list_rows(
    effective_settings: EffectiveSettings,
    setting_details: Mapping[str, "SettingDetailsPage"] | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
) -> list[SettingRow]:
    """Returns a row for each setting. `setting_details`: details by the setting's name. `names`: what is offered for
    settings that name something installed, such as themes."""
    settings = effective_settings.settings
    problems: dict[str, list[str]] = {}
    for problem in effective_settings.problems:
        problems.setdefault(problem.key, []).append(str(problem))
    told = {name: one for name, one in (setting_details or {}).items() if one.one_line_summary()}
    return [
        SettingRow(
            id=key.name,
            label=key.label,
            group=key.group,
            value=format_setting_value(setting_value_at(settings, key)),
            default=format_setting_value(key.default),
            value_with_unit=format_setting_number(key, setting_value_at(settings, key)),
            default_with_unit=format_setting_number(key, key.default),
            unit=_SETTING_UNIT_NAMES.get(key.unit, ""),
            choices=tuple(
                format_setting_value(choice)
                for choice in setting_choices(key) or (names or {}).get(key.name, ())
            ),
            help=key.description.replace("null:", f"{NO_VALUE_TEXT}:"),
            origin=_SETTING_ORIGIN_LABELS[effective_settings.origin(key.name)],
            problems=tuple(problems.get(key.name, ())),
            effects=(told[key.name].one_line_summary(),) if key.name in told else (),
            details_label="show imported" if key.name in told else "",
        )
        for key in all_setting_keys()
    ]


def format_setting_value(value: Any) -> str:
    """Formats a setting's value for display and editing: texts plainly, nothing as empty, everything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_SETTING_UNIT_NAMES: dict[SettingUnit, str] = {
    "ms": "milliseconds",
    "s": "seconds",
    "min": "minutes",
    "B": "bytes",
    "$": "US dollars",
    "days": "days",
    "MB": "MB",
    "tokens": "tokens",
}
_SECONDS_PER_UNIT: dict[SettingUnit, float] = {"ms": 0.001, "s": 1, "min": 60, "days": 86_400}


def format_setting_number(key: SettingKey, value: Any) -> str:
    """Formats a setting's number with its unit as figures are everywhere; empty for a setting without a unit."""
    if not isinstance(value, int | float):
        return ""
    match key.unit:
        case "ms" | "s" | "min" | "days":
            return format_seconds(value * _SECONDS_PER_UNIT[key.unit]) or "0 s"
        case "B":
            return format_byte_count(round(value))
        case "MB":
            return f"{value:,} MB"
        case "tokens":
            return format_token_count(round(value))
        case "$":
            return format_dollars(value)
        case "":
            return ""


def parse_typed_setting_value(key: SettingKey, text: str) -> Any:
    """Parses the value that the user typed for a setting: text for text settings, else JSON."""
    if not text and setting_value_problem(key, None) is None:
        return None
    if setting_value_problem(key, text) is None:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


class SettingDetailsPage(Protocol):
    """The protocol of a page with details of a setting, and of the one-line summary in its row."""

    def one_line_summary(self) -> str:
        """Returns the setting's effect in one line; empty if there is none yet."""
        ...

    async def open(self) -> None: ...


class SettingsPage(msgspec.Struct, frozen=True):
    """Shows and changes the user's settings."""

    effective_settings: EffectiveSettings
    ask: AskOnScreen
    setting_details: Mapping[str, SettingDetailsPage] = {}
    """Details of settings, by the setting's name."""
    themes: Callable[[], Sequence[str]] = tuple
    """Returns the names of the installed themes."""

    async def open(self) -> None:
        by_name = {key.name: key for key in all_setting_keys()}

        def check(name: str, text: str) -> str:
            return setting_value_problem(by_name[name], parse_typed_setting_value(by_name[name], text)) or ""

        await self.ask(SettingsScreen(self._rows_with_themes(), check=check), on_request=self._handle_request)

    def _rows_with_themes(self) -> list[SettingRow]:
        chosen = self.effective_settings.settings.display.theme
        themes = dict.fromkeys((SYSTEM_THEME_NAME, *self.themes(), chosen))
        return settings_list_rows(self.effective_settings, self.setting_details, {"theme": tuple(themes)})

    async def _handle_request(
        self, request: SettingsScreen.Changed | SettingsScreen.DetailsRequested
    ) -> None:
        if isinstance(request, SettingsScreen.Changed):
            self._change_setting(request)
        else:
            await self.setting_details[request.key].open()
            request.screen.show_settings(self._rows_with_themes())

    def _change_setting(self, request: SettingsScreen.Changed) -> None:
        """Writes the value that the user chose for a setting, which takes effect at once, and updates the screen."""
        key = find_setting_key(request.key)
        value = None if request.value is None else parse_typed_setting_value(key, request.value)
        try:
            told = self._write_setting(key.name, value, is_default=request.value is None)
        except SettingRefused as problem:
            told = str(problem)
        request.screen.show_settings(self._rows_with_themes(), told)

    def save_default_setting(self, name: str, value: Any) -> None:
        """Saves a value that a screen offers as the default. Raises `SettingRefused`."""
        self._write_setting(name, value, is_default=value is None)

    def _write_setting(self, name: str, value: Any, *, is_default: bool) -> str:
        """Writes a setting to the user's file, or removes it for the default; returns the outcome as text. Raises
        `SettingRefused`."""
        if is_default:
            self.effective_settings.reset(name)
            return _SETTING_OVERRIDDEN_TEXTS.get(
                self.effective_settings.origin(name) or "global", "reset to the default"
            )
        self.effective_settings.save_value(name, value)
        return (
            "saved"
            if self.effective_settings.origin(name) == "global"
            else f"saved; {_OVERRIDDEN_LATER_TEXT}"
        )


class ThemeSelector(Protocol):
    """The protocol for choosing a theme: the available themes, the current one, and applying one."""

    @property
    def name(self) -> str: ...

    def theme_names(self) -> Sequence[str]: ...

    def apply_theme(self, name: str) -> str | None:
        """Applies a theme; returns an error message if it cannot be used, and then changes nothing."""
        ...


class ThemePage(msgspec.Struct, frozen=True):
    """Chooses the theme of the application."""

    themes: ThemeSelector
    ask: AskOnScreen
    save_default_setting: SaveDefault

    async def choose(self, name: str = "") -> None:
        """Applies a theme (`/theme NAME`); without a name, shows a list that previews the theme under
        the cursor."""
        if name:
            if (problem := self.themes.apply_theme(name)) is not None:
                raise UserError(problem)
            return
        current = self.themes.name
        rows = [
            ListRow(id=name, title=name, is_checked=name == current) for name in self.themes.theme_names()
        ]
        picked: PickerResult | None = await self.ask(
            ThemePickerScreen(rows, current, self.themes.apply_theme)
        )
        if picked is not None and picked.action == "app.themes.save":
            self.save_default_setting("theme", picked.row.id)
