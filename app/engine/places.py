"""Where sessions begin and continue: which log belongs to what the person asked for."""

from pathlib import Path

import msgspec

from app.resources.in_force import InForce
from app.sessions.file import Sync
from app.sessions.fork import copy_session
from app.sessions.library import find, latest, session_folder
from app.sessions.log import SessionLog
from tools.files.presence import exists


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """The folder of one project's sessions."""

    own: Path
    """bayou's own folder of sessions, for when the settings name no other."""
    cwd: Path
    in_force: InForce = msgspec.field(default_factory=InForce)

    @property
    def root(self) -> Path:
        named = self.in_force.settings.sessions.session_dir
        return Path(named).expanduser() if named else self.own

    @property
    def is_custom(self) -> bool:
        """The root was named by the person: files lie directly in it."""
        return bool(self.in_force.settings.sessions.session_dir)

    def sync(self) -> Sync:
        return self.in_force.settings.sessions.session_sync

    @property
    def folder(self) -> Path:
        return self.root if self.is_custom else session_folder(self.root, self.cwd)

    def new(self, *, session_id: str | None = None, parent: Path | None = None) -> SessionLog:
        return SessionLog.create(
            self.folder,
            self.cwd,
            session_id=session_id,
            parent_session=str(parent) if parent else None,
            fsync=self.sync,
        )

    def open(self, path: Path, *, read_only: bool = False) -> SessionLog:
        return SessionLog.open(path, read_only=read_only, fsync=self.sync, cwd=self.cwd)

    def open_newer(self, path: Path) -> SessionLog:
        """A file in a version of the format that only a newer bayou writes: it can be looked at."""
        log = self.open(path, read_only=True)
        log.problems.append(
            f"{path} was written by a newer bayou; it is open read-only. Update to go on with it."
        )
        return log

    def open_or_begin(self, name: str) -> SessionLog:
        """An existing file, or a new session that will be written to this path."""
        path = self._path(name)
        if exists(path):
            return self.open(path)
        log = self.new()
        log.path = path
        return log

    def is_at(self, log: SessionLog, name: str) -> bool:
        """Whether this is the log's own file, which is locked by us."""
        return log.path is not None and self._path(name).resolve() == log.path.resolve()

    def _path(self, name: str) -> Path:
        return self.cwd / Path(name).expanduser()

    def latest(self) -> SessionLog | None:
        """This project's most recent session."""
        path = latest(self.folder, self.cwd)
        return self.open(path) if path else None

    def find(self, id_or_path: str) -> SessionLog:
        """By file or by (part of an) id. Raises a `SessionError` when there is none."""
        return self.open(find(id_or_path, self.root, self.cwd))

    def with_id(self, session_id: str) -> SessionLog:
        """The session of this id in this project, or a new one."""
        for path in self.folder.glob(f"*_{session_id}.jsonl"):
            return self.open(path)
        return self.new(session_id=session_id)

    def fork(self, id_or_path: str, *, session_id: str | None = None) -> SessionLog:
        """A copy of a session, whatever project it is from, to go on with here."""
        return self.copy(find(id_or_path, self.root, self.cwd), session_id=session_id)

    def copy(self, source: Path, *, session_id: str | None = None) -> SessionLog:
        """All branches of a file, to go on with here; the file itself is only read."""
        return self.open(copy_session(source, self.folder, self.cwd, session_id=session_id))
