"""`bayou --export FILE [OUTPUT]`, `bayou export SESSION [FILE] [--notebook]`: a session as a page, or its cells as a
notebook, without opening it."""

import os
import sys
from pathlib import Path

from app.assembly.options import UsageError
from app.cli.folder import current_folder
from app.engine.exporting import export_session, masked_entries
from app.engine.known_secrets import SecretPlaces
from app.engine.masking import Masking
from app.engine.options import SessionOptions
from app.resources.in_force import InForce
from app.resources.paths import Paths
from app.sessions.errors import SessionError
from app.sessions.library import find
from app.sessions.log import SessionLog

USAGE = """usage: bayou export SESSION [FILE] [--notebook]

Writes a session, by its file or the beginning of its id, without opening it. The ending of FILE says how: .html, .md,
.jsonl, or .ipynb for its cells of Python; without one it is an HTML page.

  --notebook  the cells as a notebook that Jupyter opens; without FILE, bayou-session-….ipynb in this folder
"""


def run(words: list[str]) -> int:
    if {"-h", "--help"} & set(words):
        sys.stdout.write(USAGE)
        return 0
    wants_notebook = "--notebook" in words
    unknown = [word for word in words if word.startswith("-") and word != "--notebook"]
    names = [word for word in words if not word.startswith("-")]
    if unknown or not 1 <= len(names) <= 2:
        raise UsageError(f"{f'there is no {unknown[0]}. ' if unknown else ''}{USAGE.splitlines()[0]}")
    paths = Paths.from_env(os.environ, current_folder())
    target = names[1] if len(names) == 2 else None
    if wants_notebook and target is None:
        target = f"bayou-session-{Path(names[0]).stem}.ipynb"
    elif wants_notebook and target is not None and not target.endswith(".ipynb"):
        target += ".ipynb"
    return export(names[0], target, paths)


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
