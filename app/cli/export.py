"""`bayou --export FILE [OUTPUT]`: a session as a page, without opening it."""

import os
import sys
from pathlib import Path

from app.engine.exporting import export_session, masked_entries
from app.engine.known_secrets import SecretPlaces
from app.engine.masking import Masking
from app.engine.options import SessionOptions
from app.resources.in_force import InForce
from app.resources.paths import Paths
from app.sessions.errors import SessionError
from app.sessions.library import find
from app.sessions.log import SessionLog


def export(source: str, target: str | None, paths: Paths) -> int:
    try:
        log = SessionLog.open(find(source, paths.sessions_dir, paths.cwd), read_only=True)
        masking = Masking(
            SecretPlaces(agent_dir=paths.agent_dir, home=paths.home, env=os.environ),
            SessionOptions(InForce(paths)),
        )
        written = export_session(
            log,
            Path(target) if target else None,
            folder=paths.cwd,
            change=masked_entries(masking, Path(log.header.cwd or paths.cwd)),
        )
    except SessionError as problem:
        return _fail(str(problem))
    except OSError as problem:
        return _fail(f"{problem.filename or target}: {problem.strerror or problem}")
    sys.stdout.write(f"{written}\n")
    return 0


def _fail(text: str) -> int:
    sys.stderr.write(f"bayou: {text}\n")
    return 1
