"""Implements `bayou --export FILE [OUTPUT]` and `bayou export SESSION [FILE]`: writes a session as a page,
without opening it."""

import os
from pathlib import Path

from app.assembly.command_line_options import UsageError
from app.cli.change_folder import current_folder
from app.engine.core.session_options import SessionOptions
from app.engine.secrets.known_secrets import SecretSources
from app.engine.secrets.session_mask import SessionSecretMask
from app.engine.tree.session_export import export_session, make_entry_masker
from app.printing import print_line, print_problem, print_text
from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from app.sessions.errors import SessionError
from app.sessions.session_library import find_session
from app.sessions.session_log import SessionLog

EXPORT_USAGE_TEXT = (
    "usage: bayou export SESSION [FILE]\n\nWrites a session to a file without opening it. "
    "SESSION is a session file or the beginning of a session id. The extension\nof FILE chooses "
    "the format: .html, .md or .jsonl; without FILE it writes an HTML page.\n"
)


def run(words: list[str]) -> int:
    if {"-h", "--help"} & set(words):
        print_text(EXPORT_USAGE_TEXT)
        return 0
    unknown = [word for word in words if word.startswith("-")]
    names = [word for word in words if not word.startswith("-")]
    if unknown or not 1 <= len(names) <= 2:
        raise UsageError(
            f"{f'there is no {unknown[0]}. ' if unknown else ''}{EXPORT_USAGE_TEXT.splitlines()[0]}"
        )
    paths = BayouPaths.from_env(os.environ, current_folder())
    return write_export(names[0], names[1] if len(names) == 2 else None, paths)


def write_export(source: str, target: str | None, paths: BayouPaths) -> int:
    try:
        log = SessionLog.open(find_session(source, paths.sessions_dir, paths.cwd), read_only=True)
        masking = SessionSecretMask(
            SecretSources(agent_dir=paths.agent_dir, home=paths.home, environment=os.environ),
            SessionOptions(EffectiveSettings(paths)),
        )
        written = export_session(
            log,
            Path(target) if target else None,
            folder=paths.cwd,
            change=make_entry_masker(masking, Path(log.header.cwd or paths.cwd)),
        )
    except SessionError as problem:
        print_problem(str(problem))
        return 1
    except OSError as problem:
        print_problem(f"{problem.filename or target}: {problem.strerror or problem}")
        return 1
    print_line(str(written))
    return 0
