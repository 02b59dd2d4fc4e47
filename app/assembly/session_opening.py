"""Opens the log that the command line asks for, with the folder, settings and trust that belong to it.

A session works in its own folder. When bayou was started elsewhere, it changes to that folder before building
the session.
"""

import os
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from app.assembly.command_line_options import CommandLineOptions, UsageError
from app.assembly.project_trust_checker import ProjectTrustChecker
from app.engine.core.request_budget import SessionUsageBudget, SessionUsageLimits
from app.engine.tree.session_paths import SessionPaths
from app.providers.shared_rate_limit import SharedRateLimit
from app.resources.installation_key import load_or_create_key
from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from app.resources.settings.settings import SettingRefused
from app.resources.trust.project_trust import decide_project_trust
from app.sessions.entry_signatures import EntrySignatures
from app.sessions.errors import SessionError, SessionLocked, SessionTooNew
from app.sessions.session_folders import read_session_header_or_none, session_files
from app.sessions.session_log import SessionLog


class OpenedSession(msgspec.Struct, frozen=True, kw_only=True):
    """An opened session log with the settings, trust and folders that belong to it."""

    log: SessionLog
    effective_settings: EffectiveSettings
    project_trust: ProjectTrustChecker
    session_paths: SessionPaths
    lock_error: SessionLocked | None = None
    """The error that another process writes the session, so that it is open read-only here; None if none does."""
    start_folder: Path | None = None
    """The folder where bayou was started, if the session works in another one; None otherwise."""


def open_session(options: CommandLineOptions, paths: BayouPaths, *, can_ask: bool) -> OpenedSession:
    """Opens the session log that the command line asks for, with its folder, settings and trust. Afterwards
    `paths` points to the session's folder."""
    effective_settings, project = read_settings(options, paths, can_ask)
    places = _session_paths(paths, effective_settings)
    log, locked = _open_log(options, places, paths.cwd, can_ask)
    left: Path | None = None
    if places.is_of_other_folder(log) and not log.is_read_only:
        left = _change_folder(options, paths, log, can_ask)
        effective_settings, project = read_settings(options, paths, can_ask)
        places = _session_paths(paths, effective_settings)
    return OpenedSession(
        log=log,
        effective_settings=effective_settings,
        project_trust=project,
        session_paths=places,
        lock_error=locked,
        start_folder=left,
    )


def _session_paths(paths: BayouPaths, effective_settings: EffectiveSettings) -> SessionPaths:
    return SessionPaths(
        default_root=paths.sessions_dir,
        cwd=paths.cwd,
        effective_settings=effective_settings,
        signatures=EntrySignatures(partial(load_or_create_key, paths.agent_dir)),
    )


def _change_folder(options: CommandLineOptions, paths: BayouPaths, log: SessionLog, can_ask: bool) -> Path:
    """Changes to the session's own folder and returns the former one. Raises when a client named another
    folder with `--cwd`."""
    stood_in = paths.cwd
    if options.cwd is not None and not can_ask:
        log.close()
        raise SessionError(
            log.path,
            f"the session belongs to the folder {log.cwd}, but --cwd says {stood_in}",
            f"Leave out --cwd to continue there, or continue with a copy here: --fork {log.session_id}.",
        )
    os.chdir(log.cwd)
    paths.switch_to(log.cwd)
    return stood_in


def read_settings(
    options: CommandLineOptions, paths: BayouPaths, can_ask: bool = False
) -> tuple[EffectiveSettings, ProjectTrustChecker]:
    """Reads the settings. The project's apply only once it is trusted, which the user's own settings
    may say."""
    try:
        effective_settings = EffectiveSettings(paths, flags=settings_from_flags(options))
    except SettingRefused as problem:
        raise UsageError(str(problem)) from None
    flag = True if options.approve else False if options.no_approve else None
    default = effective_settings.settings.interaction.default_project_trust
    trust = decide_project_trust(paths, flag=flag, default=default, can_ask=can_ask)
    project = ProjectTrustChecker(paths, trust)
    effective_settings.set_trusted(trust.is_trusted)
    effective_settings.project_counts = project.is_trusted
    return effective_settings, project


def settings_from_flags(options: CommandLineOptions) -> dict[str, Any]:
    """Returns the settings that command-line flags give."""
    said = {
        "offline": options.offline or None,
        "sessionDir": options.session_dir,
        "theme": options.use_theme,
        "permissions.mode": options.permissions,
    }
    return {name: value for name, value in said.items() if value is not None}


def _open_log(
    options: CommandLineOptions, places: SessionPaths, cwd: Path, can_ask: bool
) -> tuple[SessionLog, SessionLocked | None]:
    """Opens the session log. Where a person can be asked, a session of another process or of a newer bayou is
    opened read-only."""
    try:
        log = open_session_log(options, places, cwd)
    except SessionLocked as locked:
        if not can_ask or locked.path is None:
            raise
        return places.open_file(locked.path, read_only=True), locked
    except SessionTooNew as newer:
        if not can_ask or newer.path is None:
            raise
        return places.open_newer_format(newer.path), None
    if not can_ask:
        places.require_session_folder(log)
    return log, None


def open_session_log(options: CommandLineOptions, places: SessionPaths, cwd: Path) -> SessionLog:
    """Opens the log that the command line asks for. A session that cannot be opened is an error, never a new
    one."""
    if options.no_session:
        return SessionLog.in_memory(cwd)
    if options.fork is not None:
        return places.fork_session(options.fork, session_id=options.session_id)
    if options.session is not None:
        return places.open_session_matching(options.session)
    if options.session_id is not None:
        return places.open_or_create_session_with_id(options.session_id)
    if options.continue_:
        return places.latest_session() or _begin_session(places)
    return places.create_session()


def _begin_session(places: SessionPaths) -> SessionLog:
    """Begins a new session where the command line finds none to continue; raises for an unreadable session file."""
    for entry in session_files(places.project_folder):
        if read_session_header_or_none(Path(entry.path)) is None:
            places.open_file(Path(entry.path)).close()  # raises an error with the reason
    return places.create_session()


def usage_limits_from_options(options: CommandLineOptions) -> SessionUsageBudget:
    """Returns the usage limits of the command line, unused so far."""
    return SessionUsageBudget(
        SessionUsageLimits(
            max_turns=options.max_turns,
            max_cost=options.max_cost,
            max_tokens=options.max_tokens,
            max_seconds=options.time_limit,
        ),
        rate_limit=SharedRateLimit.from_environment(os.environ),
    )
