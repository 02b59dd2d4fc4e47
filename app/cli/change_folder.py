"""Changes to the folder that bayou works in: the current one, or the one that `--cwd` names."""

import os
from pathlib import Path

from app.assembly.command_line_options import UsageError


def change_folder(folder: str) -> None:
    try:
        os.chdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"--cwd {folder}: there is no such folder.") from None
    except OSError as problem:
        raise UsageError(f"--cwd {folder}: it cannot be entered: {problem.strerror}.") from None


def current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError(
            "The current folder does not exist any more. Change to an existing one, or use --cwd DIR."
        ) from None
    except OSError as problem:
        raise UsageError(
            f"The current folder cannot be read: {problem.strerror}. Change to another one, or use --cwd DIR."
        ) from None
