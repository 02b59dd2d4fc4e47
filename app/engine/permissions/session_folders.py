"""The folders that a session works in besides its own: added by the user, kept in the session, checked before they
count.

What counts is in `Workspace.added`, which the gate, the sandbox, undo, maps, completion and the trust question read."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from app.engine.core.session_core import SessionCore
from app.engine.permissions.permission_context import PermissionContext
from app.permits.secret_files import secret_likelihood
from app.values.entries import CustomEntry
from app.values.events import EntryAppended
from app.values.user_errors import UserError
from tools.files.paths import absolute_path
from tools.files.presence import exists, is_dir
from tools.protected.later import VCS_FOLDERS
from tools.text import escape_controls

FOLDERS_ENTRY_TYPE = "bayou.folders"
"""Entries with all added folders from there; a session is resumed with them."""
MAX_ADDED_FOLDERS = 20
_SECTION = (
    "You may also read and change files in these folders, as in the working directory; name their files by absolute "
    "paths:\n{folders}"
)


AddSection = Callable[[str, str | None], None]
"""Puts a section of this name into the system prompt; None removes it."""


class SessionFolders:
    """Adds and removes folders of one session."""

    def __init__(self, core: SessionCore, standing: PermissionContext, add_section: AddSection) -> None:
        self._core = core
        self._standing = standing
        self._add_section = add_section
        self._given: tuple[Path, ...] = ()
        """The folders that the program was started with, which every session of it has."""

    @property
    def all(self) -> tuple[Path, ...]:
        return self._core.workspace.added.paths

    def give(self, paths: Iterable[str]) -> None:
        """Adds folders for this and all later sessions of this program. Raises `UserError`."""
        for path in paths:
            folder = self._real(path)
            if folder not in self.all:
                folder = self.add(path)
            self._given = (*self._given, folder)

    def add(self, path: str) -> Path:
        """Adds a folder and returns its real path. Raises `UserError` with the reason why it may not be added."""
        folder = self._checked(path, self.all)
        kept = tuple(one for one in self.all if not one.is_relative_to(folder))
        self._use((*kept, folder))
        self._note()
        return folder

    def remove(self, path: str) -> None:
        """Removes an added folder. Raises `UserError` if it is none."""
        folder = self._real(path)
        if folder not in self.all:
            raise UserError(f"{_shown(folder)} is not an added folder. {self._listed()}")
        self._given = tuple(one for one in self._given if one != folder)
        self._use(one for one in self.all if one != folder)
        self._note()

    def arrive(self) -> None:
        """Uses the folders that are recorded at this point of the session; those that are gone or may not be added
        any more are named."""
        said = (
            one.data
            for one in self._core.conversation.log.upwards(without_messages=True)
            if isinstance(one, CustomEntry) and one.custom_type == FOLDERS_ENTRY_TYPE
        )
        found: list[Path] = []
        for name in dict.fromkeys((*map(str, self._given), *_names(next(said, None)))):
            try:
                found.append(self._checked(name, tuple(found)))
            except UserError as problem:
                self._core.event_bus.notify(f"An added folder was left out: {problem}", "warning")
        if tuple(found) != self.all:
            self._use(found)

    def _use(self, folders: Iterable[Path]) -> None:
        self._core.workspace.added.paths = tuple(folders)
        self.tell_model()

    def tell_model(self) -> None:
        """Names the added folders in the system prompt."""
        listed = "\n".join(f"- {_shown(one)}" for one in self.all)
        self._add_section("added_folders", _SECTION.format(folders=listed) if listed else None)

    def _note(self) -> None:
        conversation = self._core.conversation
        if not conversation.log.is_read_only:
            entry = conversation.note(FOLDERS_ENTRY_TYPE, {"paths": [str(one) for one in self.all]})
            self._core.event_bus.publish_now(EntryAppended(entry=entry))

    def _real(self, path: str) -> Path:
        return Path(os.path.realpath(absolute_path(path, self._core.workspace.cwd)))

    def _checked(self, path: str, before: tuple[Path, ...]) -> Path:
        if not path.strip() or "\0" in path:
            raise UserError("Name a folder: /add-dir ../library")
        folder = self._real(path)
        if why := self._refusal(folder, before):
            raise UserError(f"{_shown(folder)} {why}")
        return folder

    def _refusal(self, folder: Path, before: tuple[Path, ...]) -> str:
        """Returns why a folder may not be added, as the rest of a sentence; empty if it may."""
        cwd = Path(os.path.realpath(self._core.workspace.cwd))
        home = Path(os.path.realpath(self._standing.home))
        own = Path(os.path.realpath(self._standing.agent_dir))
        if not self._core.workspace.has_local_files:
            return "cannot be added: this session's files are on another machine."
        if not exists(folder):
            return "does not exist."
        if not is_dir(folder):
            return "is a file; add its folder."
        if not os.access(folder, os.R_OK | os.X_OK):
            return "cannot be read by you."
        if home.is_relative_to(folder):
            return "contains your home folder, so it is too much to add; add the folder that the work needs."
        if folder == cwd or folder.is_relative_to(cwd):
            return "is inside the session's folder already."
        if cwd.is_relative_to(folder):
            return "contains the session's folder; start bayou there instead."
        if folder.is_relative_to(own) or own.is_relative_to(folder):
            return "holds bayou's own files, which sessions do not change."
        if VCS_FOLDERS.intersection(folder.parts):
            return "is a repository's own data; add the folder that contains it."
        if secret_likelihood(f"{folder}/x", str(home), (str(own),)) == "likely":
            return "holds keys or passwords, which sessions do not read."
        above = next((one for one in before if folder.is_relative_to(one)), None)
        if above is not None:
            return "was added already." if above == folder else f"is inside {_shown(above)}, which was added."
        if len(before) >= MAX_ADDED_FOLDERS:
            return f"is one too many: a session has at most {MAX_ADDED_FOLDERS} added folders."
        return ""

    def _listed(self) -> str:
        return f"Added folders: {', '.join(map(_shown, self.all))}." if self.all else "No folder was added."


class _Recorded(msgspec.Struct, frozen=True):
    """The data of an entry."""

    paths: tuple[str, ...] = ()


def _names(data: object) -> tuple[str, ...]:
    try:
        return msgspec.convert(data, _Recorded).paths if data is not None else ()
    except msgspec.ValidationError:
        return ()


def _shown(folder: Path) -> str:
    return escape_controls(str(folder))
