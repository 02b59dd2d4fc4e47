"""Changing one setting in its file: the rest of the text, comments included, stays byte for byte as it was."""

from pathlib import Path
from typing import Any

from app.resources.files import read_text, write_text
from app.resources.settings import SettingRefused, find_key
from app.resources.settings_flaws import sound
from app.values.json_comments import JsonFault, with_value, without_key
from app.values.unable import FileFault
from tools.files.presence import exists


def set_value(file: Path, name: str, value: Any) -> None:
    """Writes one value. Raises `SettingRefused` when it does not fit or the file is broken, leaving it untouched."""
    key = find_key(name)
    sound(key, value)
    _change(file, lambda text: with_value(text, key.path, value))


def unset(file: Path, name: str) -> None:
    """Takes the key out of the file, so that the default counts again."""
    key = find_key(name)
    _change(file, lambda text: without_key(text, key.path))


def _change(file: Path, edit: Any) -> None:
    import filelock  # noqa: PLC0415  (most sessions change no setting)

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        # Two processes that change different keys at once must both be heard.
        with filelock.FileLock(f"{file}.lock", timeout=5):
            text = read_text(file) or "{}\n"
            changed = edit(text)
            if changed != text or not exists(file):
                _write(file, changed)
    except filelock.Timeout:
        raise SettingRefused(f"{file} is being changed by another process; try again") from None
    except JsonFault as problem:
        raise SettingRefused(f"{file}: {problem}. Mend the file first; it was left as it is.") from None
    except (FileFault, OSError) as problem:
        raise SettingRefused(str(problem)) from None


def _write(file: Path, text: str) -> None:
    try:
        write_text(file, text)
    except FileFault as problem:
        raise SettingRefused(str(problem)) from None
