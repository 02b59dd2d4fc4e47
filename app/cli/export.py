"""`bayou --export FILE [OUTPUT]`: a session as a page, without opening it."""

import sys
from pathlib import Path

from app.engine.exporting import export_session
from app.resources.paths import Paths
from app.sessions.errors import SessionError
from app.sessions.library import find
from app.sessions.log import SessionLog


def export(source: str, target: str | None, paths: Paths) -> int:
    try:
        log = SessionLog.open(find(source, paths.sessions_dir, paths.cwd), read_only=True)
        written = export_session(log, Path(target) if target else None, folder=paths.cwd)
    except SessionError as problem:
        return _fail(str(problem))
    except OSError as problem:
        return _fail(f"{problem.filename or target}: {problem.strerror or problem}")
    sys.stdout.write(f"{written}\n")
    return 0


def _fail(text: str) -> int:
    sys.stderr.write(f"bayou: {text}\n")
    return 1
