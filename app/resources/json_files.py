"""Changes JSON files that people also edit: the rest of the text, comments included, stays byte for byte."""

from collections.abc import Callable
from pathlib import Path

from app.resources.text_files import read_text, write_text
from app.values.json_comments import JsonSyntaxError
from app.values.user_errors import UserError
from tools.files.path_existence import exists


def edit_json_file(file: Path, edit: Callable[[str], str], *, new_mode: int | None = None) -> None:
    """Replaces the file's text by the result of `edit`. A missing file is created with `new_mode`.

    Raises `OSError`, and `UserError` for a file that is broken or being changed, which stays as it is."""
    import filelock  # noqa: PLC0415  (most sessions change none)

    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        # A lock keeps the changes of two processes that write at the same time.
        with filelock.FileLock(f"{file}.lock", timeout=5):
            text = read_text(file) or "{}\n"
            changed = edit(text)
            if changed != text or not exists(file):
                write_text(file, changed, mode=None if exists(file) else new_mode)
    except filelock.Timeout:
        raise UserError(f"{file} is being changed by another process; try again") from None
    except JsonSyntaxError as problem:
        raise UserError(f"{file}: {problem}. Fix the file first; it was not changed.") from None
