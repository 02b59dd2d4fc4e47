"""`/settings`: every setting as a row, changed in the person's own file and in force at once where that is possible."""

import json
from typing import Any

from app.engine.commands.base import CommandError
from app.resources.in_force import Origin
from app.resources.settings import (
    Key,
    SettingRefused,
    Settings,
    check_value,
    choices,
    find_key,
    keys,
    value_at,
)
from app.tui.pages.asking import ask
from app.tui.stage import Stage
from widgets.lists.rows import ListRow
from widgets.screens.catalogue import ThemeScreen
from widgets.screens.picker import Picked
from widgets.screens.settings import SettingRow, SettingsScreen

_HIDDEN = "the project or the command line says otherwise, so here it counts for this session only"
_STILL: dict[Origin, str] = {
    "project": "saved; the project's settings still say this",
    "flags": "saved; the command line still says this",
}


def setting_rows(settings: Settings) -> list[SettingRow]:
    return [
        SettingRow(
            id=key.name,
            group=key.group,
            value=shown(value_at(settings, key)),
            default=shown(key.default),
            choices=tuple(shown(choice) for choice in choices(key) or ()),
            help=key.description,
        )
        for key in keys()
    ]


def shown(value: Any) -> str:
    """As a person reads and types it: texts plainly, nothing as nothing, everything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def typed(key: Key, text: str) -> Any:
    """The value that was typed: the text itself where a text is wanted, else its JSON."""
    if not text and check_value(key, None) is None:
        return None
    if check_value(key, text) is None:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


async def show_settings(app: Stage) -> None:
    by_name = {key.name: key for key in keys()}

    def check(name: str, text: str) -> str:
        return check_value(by_name[name], typed(by_name[name], text)) or ""

    await ask(app, SettingsScreen(setting_rows(app.assembled.settings), check=check))


async def choose_theme(app: Stage) -> None:
    """Each theme is seen while the cursor is on it."""
    rows = [ListRow(id=name, title=name, is_checked=name == app.theme) for name in app.looks.names()]
    picked: Picked | None = await ask(app, ThemeScreen(rows, app.theme, app.looks.use))
    if picked is not None and picked.action == "app.themes.save":
        keep_setting(app, "theme", picked.row.id)


def change_setting(app: Stage, message: SettingsScreen.Changed) -> None:
    """Writes one key; it is in force from then on."""
    key = find_key(message.key)
    value = None if message.value is None else typed(key, message.value)
    try:
        told = _keep(app, key.name, value, is_default=message.value is None)
    except SettingRefused as problem:
        told = str(problem)
    message.screen.show_settings(setting_rows(app.assembled.settings), told)


def keep_setting(app: Stage, name: str, value: Any) -> None:
    """What a screen offers to make the default. Raises `CommandError`."""
    try:
        _keep(app, name, value, is_default=value is None)
    except SettingRefused as problem:
        raise CommandError(str(problem)) from None


def _keep(app: Stage, name: str, value: Any, *, is_default: bool) -> str:
    """Returns what became of it. Raises `SettingRefused`."""
    in_force = app.assembled.in_force
    if is_default:
        in_force.reset(name)
        return _STILL.get(in_force.origin(name) or "global", "saved")
    in_force.keep(name, value)
    return "saved" if in_force.origin(name) == "global" else f"saved; {_HIDDEN}"
