"""Changes one setting in its file; the rest of the text, comments included, stays byte for byte."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.resources.json_files import edit_json_file
from app.resources.settings.setting_value_checks import convert_and_check_setting
from app.resources.settings.settings import SettingRefused, find_setting_key
from app.values.json_comments import with_json_value, without_json_key
from app.values.user_errors import UserError


def write_setting_to_file(file: Path, name: str, value: Any) -> None:
    """Writes one value. Raises `SettingRefused` and leaves the file unchanged if the value is invalid or the
    file is broken."""
    key = find_setting_key(name)
    convert_and_check_setting(key, value)
    _change_settings_file(file, lambda text: with_json_value(text, key.path, value))


def remove_setting_from_file(file: Path, name: str) -> None:
    """Removes the key from the file, so that the default applies again."""
    key = find_setting_key(name)
    _change_settings_file(file, lambda text: without_json_key(text, key.path))


def _change_settings_file(file: Path, edit: Callable[[str], str]) -> None:
    try:
        edit_json_file(file, edit)
    except (UserError, OSError) as problem:
        raise SettingRefused(str(problem)) from None
