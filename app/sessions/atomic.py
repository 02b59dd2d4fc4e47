"""Small files that belong to a session, replaced whole or not at all."""

import os
from pathlib import Path

from app.sessions.errors import SessionWriteError, reason


def replace_file(path: Path, data: bytes) -> None:
    """A reader sees the old or the new content, also after a crash. Raises `SessionWriteError`."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        draft.replace(path)
    except OSError as problem:
        draft.unlink(missing_ok=True)
        raise SessionWriteError(
            path, f"cannot be saved: {reason(problem, path)}", "Free some disk space."
        ) from None
