"""`/settings`: every setting as a row; changes are written to the user's file and take effect at once if possible."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from app.resources.settings.effective_settings import EffectiveSettings, SettingOrigin
from app.resources.settings.settings import (
    SettingKey,
    SettingRefused,
    find_key,
    keys,
    setting_choices,
    value_at,
)
from app.resources.settings.value_checks import check_value
from app.tui.features.settings.screen import SettingRow, SettingsScreen
from app.tui.page_protocols import AskPerson, SaveDefault
from app.values.user_errors import UserError
from widgets.lists.rows import ListRow
from widgets.screens.common_pickers import ThemeScreen
from widgets.screens.picker import Picked

_HIDDEN = "the project or the command line overrides it, so it applies to this session only"
_OVERRIDDEN_BY: dict[SettingOrigin, str] = {
    "project": "saved; the project's settings override it",
    "flags": "saved; the command line overrides it",
}


_FROM: dict[SettingOrigin | None, str] = {"project": "project", "flags": "command line"}


def setting_rows(
    effective_settings: EffectiveSettings, setting_details: Mapping[str, "SettingDetails"] | None = None
) -> list[SettingRow]:
    """Returns a row for each setting. `setting_details`: details by the setting's name."""
    settings = effective_settings.settings
    problems: dict[str, list[str]] = {}
    for problem in effective_settings.problems:
        problems.setdefault(problem.key, []).append(str(problem))
    told = {name: one for name, one in (setting_details or {}).items() if one.in_a_line()}
    return [
        SettingRow(
            id=key.name,
            label=key.label,
            group=key.group,
            value=shown(value_at(settings, key)),
            default=shown(key.default),
            choices=tuple(shown(choice) for choice in setting_choices(key) or ()),
            help=key.description,
            source=_FROM.get(effective_settings.origin(key.name), ""),
            problems=tuple(problems.get(key.name, ())),
            facts=(told[key.name].in_a_line(),) if key.name in told else (),
            look="show what was taken" if key.name in told else "",
        )
        for key in keys()
    ]


def shown(value: Any) -> str:
    """Formats a value for display and editing: texts plainly, nothing as empty, everything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def typed(key: SettingKey, text: str) -> Any:
    """Parses a typed value: text for text settings, else JSON."""
    if not text and check_value(key, None) is None:
        return None
    if check_value(key, text) is None:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


class SettingDetails(Protocol):
    """Details of a setting: its effect in one line, and a page."""

    def in_a_line(self) -> str:
        """Returns the effect in one line; empty if there is none yet."""
        ...

    async def open(self) -> None: ...


class SettingsPage(msgspec.Struct, frozen=True):
    """Shows and changes the user's settings."""

    effective_settings: EffectiveSettings
    ask: AskPerson
    setting_details: Mapping[str, SettingDetails] = {}
    """Details of settings, by the setting's name."""

    async def open(self) -> None:
        by_name = {key.name: key for key in keys()}

        def check(name: str, text: str) -> str:
            return check_value(by_name[name], typed(by_name[name], text)) or ""

        await self.ask(SettingsScreen(self._rows(), check=check), on_request=self._answer)

    def _rows(self) -> list[SettingRow]:
        return setting_rows(self.effective_settings, self.setting_details)

    async def _answer(self, request: SettingsScreen.Changed | SettingsScreen.DetailsRequested) -> None:
        if isinstance(request, SettingsScreen.Changed):
            self._change(request)
        else:
            await self.setting_details[request.key].open()
            request.screen.show_settings(self._rows())

    def _change(self, request: SettingsScreen.Changed) -> None:
        """Writes one setting, which takes effect at once."""
        key = find_key(request.key)
        value = None if request.value is None else typed(key, request.value)
        try:
            told = self._write(key.name, value, is_default=request.value is None)
        except SettingRefused as problem:
            told = str(problem)
        request.screen.show_settings(self._rows(), told)

    def keep(self, name: str, value: Any) -> None:
        """Saves a value that a screen offers as the default. Raises `SettingRefused`."""
        self._write(name, value, is_default=value is None)

    def _write(self, name: str, value: Any, *, is_default: bool) -> str:
        """Writes a setting and returns the outcome as text. Raises `SettingRefused`."""
        if is_default:
            self.effective_settings.reset(name)
            return _OVERRIDDEN_BY.get(self.effective_settings.origin(name) or "global", "back to the default")
        self.effective_settings.keep(name, value)
        return "saved" if self.effective_settings.origin(name) == "global" else f"saved; {_HIDDEN}"


class ThemeChoice(Protocol):
    """The available themes and the current one."""

    @property
    def name(self) -> str: ...

    def names(self) -> Sequence[str]: ...

    def use(self, name: str) -> str | None:
        """Applies a theme; returns an error message if it cannot be used, and then changes nothing."""
        ...


class ThemePage(msgspec.Struct, frozen=True):
    """Chooses the theme of the application."""

    themes: ThemeChoice
    ask: AskPerson
    keep: SaveDefault

    async def choose(self, name: str = "") -> None:
        """Applies a theme (`/theme NAME`); without a name, shows a list that previews the theme under
        the cursor."""
        if name:
            if (problem := self.themes.use(name)) is not None:
                raise UserError(problem)
            return
        current = self.themes.name
        rows = [ListRow(id=name, title=name, is_checked=name == current) for name in self.themes.names()]
        picked: Picked | None = await self.ask(ThemeScreen(rows, current, self.themes.use))
        if picked is not None and picked.action == "app.themes.save":
            self.keep("theme", picked.row.id)
