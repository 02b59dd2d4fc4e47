"""Changing a JSON file that people write in too: the rest of the text, comments included, stays byte for byte."""

from collections.abc import Callable
from pathlib import Path

from app.resources.files import read_text, write_text
from app.values.json_comments import JsonFault
from app.values.unable import Unable
from tools.files.presence import exists


def change_json(file: Path, edit: Callable[[str], str], *, new_mode: int | None = None) -> None:
    """Puts what `edit` makes of the text in its place. A file that is not there yet is made, with `new_mode`.

    Raises `Unable` for one that is broken or being changed, leaving it untouched, and `OSError`.
    """
    import filelock  # noqa: PLC0415  (most sessions change none)

    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        # Two processes that change different things at once must both be heard.
        with filelock.FileLock(f"{file}.lock", timeout=5):
            text = read_text(file) or "{}\n"
            changed = edit(text)
            if changed != text or not exists(file):
                write_text(file, changed, mode=None if exists(file) else new_mode)
    except filelock.Timeout:
        raise Unable(f"{file} is being changed by another process; try again") from None
    except JsonFault as problem:
        raise Unable(f"{file}: {problem}. Mend the file first; it was left as it is.") from None
