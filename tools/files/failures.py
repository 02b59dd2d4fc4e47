"""What the system says about files, in words for a model: what happened, to which file, and what to try."""

import errno
from pathlib import Path

from tools.base import ToolError
from tools.files.boxed import BoxRefused
from tools.files.paths import did_you_mean
from tools.operations import FileOperations
from tools.text import one_line


def _broken_link(path: str, files: FileOperations) -> str | None:
    """Where a path leads that is there but ends nowhere."""
    try:
        names = {entry.name for entry in files.entries(str(Path(path).parent))}
    except OSError:
        return None
    return one_line(files.real_path(path)) if Path(path).name in names else None


def file_error(problem: OSError, verb: str, path: str, files: FileOperations) -> ToolError:
    """`verb` as in "Could not read PATH: …"."""
    shown = one_line(path)
    code = problem.errno
    if code in (errno.ENOENT, errno.ENOTDIR):
        if (end := _broken_link(path, files)) is not None:
            return ToolError(f"Could not {verb} {shown}: it is a broken symbolic link; {end} does not exist.")
        hint = did_you_mean(path, lambda folder: [entry.name for entry in files.entries(folder)])
        return ToolError(f"Could not {verb} {shown}: it does not exist.{hint}")
    if code == errno.ELOOP:
        return ToolError(f"Could not {verb} {shown}: it is a symbolic link that leads back to itself.")
    if isinstance(problem, BoxRefused):
        return ToolError(f"Could not {verb} {shown}: {problem.strerror}. Ask the user.")
    if code in (errno.EACCES, errno.EPERM):
        reason = "the file is read-only" if "read-only" in (problem.strerror or "") else "permission denied"
        return ToolError(f"Could not {verb} {shown}: {reason}. Ask the user, or change its mode with bash.")
    if code in (errno.ENOSPC, errno.EDQUOT):
        return ToolError(f"Could not {verb} {shown}: the disk is full. The file is as it was before.")
    if code == errno.EFBIG:
        return ToolError(
            f"Could not {verb} {shown}: it is too large to be changed as a whole. Use bash, e.g. sed."
        )
    if code == errno.EISDIR:
        return ToolError(f"Could not {verb} {shown}: it is a directory.")
    if code == errno.ENAMETOOLONG:
        return ToolError(f"Could not {verb} {shown[:200]}…: the name is too long for the file system.")
    if code == errno.EINVAL:
        return ToolError(
            f"Could not {verb} {shown}: it is not a regular file (a device, a socket or a FIFO)."
        )
    return ToolError(f"Could not {verb} {shown}: {problem.strerror or problem}.")
