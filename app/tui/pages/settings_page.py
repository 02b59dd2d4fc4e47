"""`/settings`: every setting as a row, changed in the person's own file and in force at once where that is possible."""

import json
from typing import Any

from app.assembly.applying import put_in_force
from app.engine.commands.base import CommandError
from app.resources.files import FileFault
from app.resources.settings import Key, Settings, check_value, choices, keys, load_settings, value_at
from app.resources.settings_file import SettingRefused, set_value, unset
from app.tui import display_settings
from app.tui.pages.asking import ask
from app.tui.stage import Stage
from widgets.lists.rows import ListRow
from widgets.screens.catalogue import ThemeScreen
from widgets.screens.picker import Picked
from widgets.screens.settings import SettingRow, SettingsScreen
from widgets.transcript.blocks import NoteKind


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
    """Writes one key, reads the files again, and puts what changed in force."""
    key = next(key for key in keys() if key.name == message.key)
    value = None if message.value is None else typed(key, message.value)
    problem = _write(app, key.name, value, is_default=message.value is None)
    message.screen.show_settings(setting_rows(app.assembled.settings), problem or "saved")


def keep_setting(app: Stage, name: str, value: Any) -> None:
    """What a screen offers to make the default. Raises `CommandError`."""
    problem = _write(app, name, value, is_default=value is None)
    if problem:
        raise CommandError(problem)


def _write(app: Stage, name: str, value: Any, *, is_default: bool) -> str:
    """Returns why it could not be written, if it could not."""
    paths = app.assembled.prompt.paths
    try:
        if is_default:
            unset(paths.settings_file, name)
        else:
            set_value(paths.settings_file, name, value)
    except (SettingRefused, FileFault, OSError) as problem:
        return str(problem)
    reload_settings(app)
    return ""


def reload_settings(app: Stage) -> None:
    """Reads the files again and puts what is in them in force."""
    if app.extended is not None:
        app.extended.settings.follow()
        return
    # not complete yet: nothing follows the files
    before = app.assembled.settings
    paths, trust = app.assembled.prompt.paths, app.assembled.trust
    app.assembled.settings = load_settings(paths, is_trusted=trust.is_trusted).settings
    put_in_force(app.session, app.assembled.settings)
    follow_settings(app, before)


def follow_settings(app: Stage, before: Settings) -> None:
    """What the page itself shows differently; everything else reads the settings when it needs them."""
    now = app.assembled.settings
    is_other = now.display.theme != before.display.theme
    if is_other and (problem := app.looks.use(now.display.theme)) is not None:
        app.presenter.note(problem, NoteKind.WARNING)
    if now.display.hide_thinking_block != before.display.hide_thinking_block:
        app.transcript.open_all(thinking=not now.display.hide_thinking_block)
    display_settings.put_in_force(app, now)
