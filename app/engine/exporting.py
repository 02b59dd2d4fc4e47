"""Writing a session for people and other programs: HTML, Markdown or JSONL, by the file's ending."""

import os
from pathlib import Path

from app.sessions.log import SessionLog


def export_session(log: SessionLog, target: Path | None = None, *, folder: Path | None = None) -> Path:
    """Returns where it was written; without a target, an HTML page in `folder`. Raises `OSError`."""
    if target is None:
        stem = log.path.stem if log.path else log.session_id
        target = (folder or Path.cwd()) / f"bayou-session-{stem}.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    _write(target, _rendered(log, target.suffix.lower()))
    return target


def _write(target: Path, data: bytes) -> None:
    """A conversation is for its person alone; who wants to share it says so by the file's mode."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _rendered(log: SessionLog, suffix: str) -> bytes:
    # Each form has parts of its own; only the one that is asked for is loaded.
    if suffix == ".jsonl":
        from app.sessions.export.jsonl import export_jsonl  # noqa: PLC0415

        return export_jsonl(log)
    if suffix in (".md", ".markdown"):
        from app.sessions.export.markdown import export_markdown  # noqa: PLC0415

        return export_markdown(log).encode()
    from app.sessions.export.html import export_html  # noqa: PLC0415

    return export_html(log).encode()
