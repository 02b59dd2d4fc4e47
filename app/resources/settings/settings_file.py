"""Changes one setting in its file; the rest of the text, comments included, stays byte for byte."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.resources.json_files import change_json
from app.resources.settings.settings import SettingRefused, find_key
from app.resources.settings.value_checks import convert_valid
from app.values.json_comments import with_value, without_key
from app.values.user_errors import UserError


def set_value(file: Path, name: str, value: Any) -> None:
    """Writes one value. Raises `SettingRefused` and leaves the file unchanged if the value is invalid or the
    file is broken."""
    key = find_key(name)
    convert_valid(key, value)
    _change_settings_file(file, lambda text: with_value(text, key.path, value))


def unset_value(file: Path, name: str) -> None:
    """Removes the key from the file, so that the default applies again."""
    key = find_key(name)
    _change_settings_file(file, lambda text: without_key(text, key.path))


def _change_settings_file(file: Path, edit: Callable[[str], str]) -> None:
    try:
        change_json(file, edit)
    except (UserError, OSError) as problem:
        raise SettingRefused(str(problem)) from None
