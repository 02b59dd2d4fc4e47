"""Turns file errors of the system into messages for a model: what happened, to which file, and what to try."""

import errno
from pathlib import Path
from typing import Final

from tools.file_and_process_operations import FileOperations
from tools.files.paths import format_path_suggestion
from tools.files.sandboxed_files import DeniedBySandbox
from tools.text_sanitizing import one_line
from tools.tool_definition import ToolError

_DISK_FULL_EXPLANATION: Final = "the disk is full. The file was not changed."
_FILE_ERROR_EXPLANATIONS: Final[dict[int | None, str]] = {
    errno.ELOOP: "it is a symbolic link that leads back to itself.",
    errno.ENOSPC: _DISK_FULL_EXPLANATION,
    errno.EDQUOT: _DISK_FULL_EXPLANATION,
    errno.EFBIG: "it is too large to be changed as a whole. Use bash, e.g. sed.",
    errno.EISDIR: "it is a directory.",
    errno.ENAMETOOLONG: "the name is too long for the file system.",
    errno.EINVAL: "it is not a regular file (a device, a socket or a FIFO).",
}


def _broken_link_target(path: str, files: FileOperations) -> str | None:
    """Returns the target of a path that is a broken symbolic link; otherwise an empty text."""
    try:
        names = {entry.name for entry in files.entries(str(Path(path).parent))}
    except OSError:
        return None
    return one_line(files.real_path(path)) if Path(path).name in names else None


def make_file_error(problem: OSError, verb: str, path: str, files: FileOperations) -> ToolError:
    """Returns the error for the model on a failed file operation. `verb` completes "Could not VERB PATH: …"."""
    shown, code = one_line(path), problem.errno
    reason = _FILE_ERROR_EXPLANATIONS.get(code, f"{problem.strerror or problem}.")
    if code in (errno.ENOENT, errno.ENOTDIR):
        if (end := _broken_link_target(path, files)) is not None:
            reason = f"it is a broken symbolic link; {end} does not exist."
        else:
            hint = format_path_suggestion(
                path, lambda folder: [entry.name for entry in files.entries(folder)]
            )
            reason = f"it does not exist.{hint}"
    elif isinstance(problem, DeniedBySandbox):
        reason = f"{problem.strerror}. Ask the user."
    elif code in (errno.EACCES, errno.EPERM):
        what = "the file is read-only" if "read-only" in (problem.strerror or "") else "permission denied"
        reason = f"{what}. Ask the user, or change its mode with bash."
    elif code == errno.ENAMETOOLONG:
        shown = f"{shown[:200]}…"
    return ToolError(f"Could not {verb} {shown}: {reason}")
