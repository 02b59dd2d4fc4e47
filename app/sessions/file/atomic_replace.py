"""Replaces small files that belong to a session in one atomic step."""

from pathlib import Path

from app.sessions.errors import SessionWriteError, system_error_text
from tools.files.atomic_replacement import replace_file_atomically


def replace_sidecar_file_atomically(path: Path, data: bytes) -> None:
    """Replaces the file at `path` with `data`. Raises `SessionWriteError`."""
    try:
        replace_file_atomically(path, data, mode=0o600, durable=False)
    except OSError as problem:
        raise SessionWriteError(
            path, f"cannot be saved: {system_error_text(problem, path)}", "Free some disk space."
        ) from None
