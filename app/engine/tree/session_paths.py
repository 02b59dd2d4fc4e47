"""Finds and creates the session files of a project, and opens the one that the user chose."""

from functools import partial
from pathlib import Path

import msgspec

from app.engine.core.session_options import session_sync_timing
from app.resources.settings.effective_settings import EffectiveSettings
from app.sessions.entry_signatures import EntrySignatures
from app.sessions.errors import SessionError
from app.sessions.file.session_file import SyncPolicy
from app.sessions.session_library import (
    find_session,
    is_same_working_folder,
    latest_session,
    session_folder_of_project,
)
from app.sessions.session_log import SessionLog
from tools.files.path_existence import exists
from tools.files.paths import real_path


class SessionPaths(msgspec.Struct, kw_only=True):
    """The folder of a project's session files."""

    default_root: Path
    """bayou's folder of sessions, unless the settings name another."""
    cwd: Path
    effective_settings: EffectiveSettings = msgspec.field(default_factory=EffectiveSettings)
    signatures: EntrySignatures = msgspec.field(default_factory=EntrySignatures)
    """Signs entries with the key of this installation, also those of copies of its sessions."""

    def switch_to(self, folder: Path) -> None:
        """Switches to the session files of the project in this folder."""
        self.cwd = folder

    def is_of_other_folder(self, log: SessionLog) -> bool:
        """Whether a session belongs to another folder that exists."""
        return (
            log.cwd.is_absolute()
            and not is_same_working_folder(str(log.cwd), self.cwd)
            and not log.is_cwd_gone
        )

    def require_session_folder(self, log: SessionLog) -> None:
        """Closes the log and raises `SessionError` where no person can be asked about its folder: when that is
        unusable, or when a file from elsewhere, which anyone may have written, would move the work to another."""
        log.require_usable_cwd(self.cwd)
        if log.path is None or not self.is_of_other_folder(log):
            return
        if Path(real_path(log.path)).is_relative_to(real_path(self.sessions_root)):
            return
        log.close()
        raise SessionError(
            log.path,
            f"the session names the folder {log.cwd}, but its file is not in bayou's folder of sessions",
            f"Start bayou in that folder if you know it, or continue with a copy here: --fork {log.path}.",
        )

    @property
    def sessions_root(self) -> Path:
        named = self.effective_settings.settings.sessions.session_dir
        return Path(named).expanduser() if named else self.default_root

    @property
    def is_root_custom(self) -> bool:
        """Whether the user named the root folder of sessions: files are stored directly in it."""
        return bool(self.effective_settings.settings.sessions.session_dir)

    @property
    def sync_policy(self) -> SyncPolicy:
        return partial(session_sync_timing, self.effective_settings)

    @property
    def project_folder(self) -> Path:
        return (
            self.sessions_root
            if self.is_root_custom
            else session_folder_of_project(self.sessions_root, self.cwd)
        )

    def create_session(
        self, *, session_id: str | None = None, parent: Path | None = None, is_helper: bool = False
    ) -> SessionLog:
        return SessionLog.create(
            self.project_folder,
            self.cwd,
            session_id=session_id,
            parent_session=str(parent) if parent else None,
            is_helper=is_helper,
            fsync=self.sync_policy,
        )

    def open_file(self, path: Path, *, read_only: bool = False) -> SessionLog:
        return SessionLog.open(path, read_only=read_only, fsync=self.sync_policy, cwd=self.cwd)

    def open_newer_format(self, path: Path) -> SessionLog:
        """Opens a session file of a newer format version, read-only."""
        log = self.open_file(path, read_only=True)
        log.problems.append(
            f"{path} was written by a newer bayou, so it is open read-only. Update bayou to continue it."
        )
        return log

    def open_or_create(self, name: str) -> SessionLog:
        """Opens an existing session file, or starts a new session in this path."""
        path = self._resolve_session_path(name)
        if exists(path):
            return self.open_file(path)
        return SessionLog.create(path.parent, self.cwd, name=path.name, fsync=self.sync_policy)

    def is_file_of(self, log: SessionLog, name: str) -> bool:
        """Whether a path is the session log's own file, which this process has locked."""
        return log.path is not None and self._resolve_session_path(name).resolve() == log.path.resolve()

    def _resolve_session_path(self, name: str) -> Path:
        return self.cwd / Path(name).expanduser()

    def latest_session(self) -> SessionLog | None:
        """Returns this project's most recent session, leaving out those of helpers."""
        path = latest_session(self.project_folder, self.cwd)
        return self.open_file(path) if path else None

    def open_session_matching(self, id_or_path: str) -> SessionLog:
        """Opens the session with this file or (part of an) id. Raises a `SessionError` when there is none."""
        return self.open_file(find_session(id_or_path, self.sessions_root, self.cwd))

    def open_or_create_session_with_id(self, session_id: str) -> SessionLog:
        """Opens the session of this id in this project, or starts a new one."""
        for path in self.project_folder.glob(f"*_{session_id}.jsonl"):
            return self.open_file(path)
        return self.create_session(session_id=session_id)

    def fork_session(self, id_or_path: str, *, session_id: str | None = None) -> SessionLog:
        """Copies a session of any project, to continue it in this project."""
        return self.copy_session(self.find_session(id_or_path), session_id=session_id)

    def find_session(self, id_or_path: str) -> Path:
        """Returns the file of a session, by path or by (part of an) id. Raises a `SessionError` when there is
        none."""
        return find_session(id_or_path, self.sessions_root, self.cwd)

    def copy_session(
        self, source: Path, *, session_id: str | None = None, about: Path | None = None
    ) -> SessionLog:
        """Copies all branches of a session file, to continue here or in the folder `about`; the source is only
        read."""
        cwd = about or self.cwd
        folder = (
            self.sessions_root if self.is_root_custom else session_folder_of_project(self.sessions_root, cwd)
        )
        from app.sessions.fork import copy_session  # noqa: PLC0415  (a fork only)

        copy = copy_session(source, folder, cwd, session_id=session_id, signatures=self.signatures)
        return self.open_file(copy)
