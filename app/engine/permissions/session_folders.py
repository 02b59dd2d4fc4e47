"""The folders that a session works in besides its own: added by the user, recorded in the session, and checked
before they are used.

`Workspace.added` has the folders in use, which the gate, the sandbox, undo, maps, completion and the trust question
read.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from app.engine.core.session_core import SessionCore, shown_foreign_text
from app.engine.permissions.permission_context import PermissionContext
from app.permits.secret_files import secret_likelihood_of_path
from app.values.events import EntryAppended
from app.values.user_errors import UserError
from app.values.wire import convert
from tools.files.path_existence import exists, is_dir
from tools.files.paths import absolute_path, real_path
from tools.protected.autorun_files import VCS_FOLDERS
from tools.text_sanitizing import escape_controls

ADDED_FOLDERS_ENTRY_TYPE = "bayou.folders"
"""The type of entries with all added folders; a resumed session adds them again."""
MAX_ADDED_FOLDERS = 20
_ADDED_FOLDERS_SECTION_TEMPLATE = (
    "You may also read and change files in these folders, as in the working directory; name their files by "
    "absolute "
    "paths:\n{folders}"
)


SetPromptSection = Callable[[str, str | None], None]
"""A function that puts a section of this name into the system prompt; None removes the section."""


class SessionAddedFolders:
    """Adds folders to the workspace of one session, and removes them."""

    def __init__(self, core: SessionCore, standing: PermissionContext, add_section: SetPromptSection) -> None:
        self._core = core
        self._permission_context = standing
        self._add_section = add_section
        self._start_folders: tuple[Path, ...] = ()
        """The folders that the program was started with, which all its sessions have."""

    @property
    def all_folders(self) -> tuple[Path, ...]:
        return self._core.workspace.added.paths

    def add_for_program(self, paths: Iterable[str]) -> None:
        """Adds folders to the workspace for this and all later sessions of this program run. Raises `UserError`."""
        for path in paths:
            folder = self._resolve_path(path)
            if folder not in self.all_folders:
                folder = self.add_folder(path)
            self._start_folders = (*self._start_folders, folder)

    def add_folder(self, path: str) -> Path:
        """Adds a folder to the workspace and returns its real path. Raises `UserError` with the reason why it
        may not be added."""
        folder = self._check_folder(path, self.all_folders)
        kept = tuple(one for one in self.all_folders if not one.is_relative_to(folder))
        self._apply_folders((*kept, folder))
        self._record_folders()
        return folder

    def remove_folder(self, path: str) -> None:
        """Removes an added folder from the workspace. Raises `UserError` if it is not an added folder."""
        folder = self._resolve_path(path)
        if folder not in self.all_folders:
            raise UserError(f"{_display_path(folder)} is not an added folder. {self._list_folders()}")
        self._start_folders = tuple(one for one in self._start_folders if one != folder)
        self._apply_folders(one for one in self.all_folders if one != folder)
        self._record_folders()

    def load_from_branch(self) -> None:
        """Adds the folders that are recorded at this point of the session, and tells the user which of them no
        longer exist or must not be added any more."""
        found: list[Path] = []
        for name in dict.fromkeys((*map(str, self._start_folders), *self._confirmed_folders())):
            try:
                found.append(self._check_folder(name, tuple(found)))
            except UserError as problem:
                self._core.conversation.log.problems.append(f"An added folder was left out: {problem}")
        if tuple(found) != self.all_folders:
            self._apply_folders(found)

    def _confirmed_folders(self) -> tuple[str, ...]:
        """Returns the folders that a person of this machine added to this session; of others it informs the user."""
        entry = self._core.signed_state.newest_entry(ADDED_FOLDERS_ENTRY_TYPE)
        folders = _decode_folders(entry.data) if entry is not None else ()
        if entry is None or not folders or self._core.signed_state.is_signed(entry):
            return folders
        shown = ", ".join(folders[:MAX_ADDED_FOLDERS])
        self._core.signed_state.report_unsigned(
            entry,
            f"This session adds {shown_foreign_text(shown)} to the workspace, but not from this "
            f"machine, so it is left out. To add it: /add-dir {shown_foreign_text(folders[0])}",
        )
        return ()

    def _apply_folders(self, folders: Iterable[Path]) -> None:
        self._core.workspace.added.paths = tuple(folders)
        self._permission_context.shared_permissions.note_rules_changed()
        self.update_prompt_section()

    def update_prompt_section(self) -> None:
        """Lists the added folders in the system prompt."""
        listed = "\n".join(f"- {_display_path(one)}" for one in self.all_folders)
        self._add_section(
            "added_folders", _ADDED_FOLDERS_SECTION_TEMPLATE.format(folders=listed) if listed else None
        )

    def _record_folders(self) -> None:
        conversation = self._core.conversation
        if not conversation.log.is_read_only:
            paths = [str(one) for one in self.all_folders]
            entry = self._core.signed_state.record_entry(ADDED_FOLDERS_ENTRY_TYPE, {"paths": paths})
            self._core.event_bus.publish_now(EntryAppended(entry=entry))

    def _resolve_path(self, path: str) -> Path:
        return Path(real_path(absolute_path(path, self._core.workspace.cwd)))

    def _check_folder(self, path: str, before: tuple[Path, ...]) -> Path:
        if not path.strip() or "\0" in path:
            raise UserError("Name a folder: /add-dir ../library")
        folder = self._resolve_path(path)
        if why := self._folder_refusal_reason(folder, before):
            raise UserError(f"{_display_path(folder)} {why}")
        return folder

    def _folder_refusal_reason(self, folder: Path, before: tuple[Path, ...]) -> str:
        """Returns why a folder may not be added to the workspace, as the rest of a sentence; empty if it may."""
        cwd = Path(real_path(self._core.workspace.cwd))
        home = Path(real_path(self._permission_context.home))
        own = Path(real_path(self._permission_context.agent_dir))
        if not self._core.workspace.has_local_files:
            return "cannot be added: this session's files are on another machine."
        if not exists(folder):
            return "does not exist."
        if not is_dir(folder):
            return "is a file; add the folder that contains it."
        if not os.access(folder, os.R_OK | os.X_OK):
            return "cannot be read: check its permissions."
        if home.is_relative_to(folder):
            return "contains your home folder; add only the folder that the work needs."
        if folder == cwd or folder.is_relative_to(cwd):
            return "is inside the session's folder already."
        if cwd.is_relative_to(folder):
            return "contains the session's folder; start bayou there instead."
        if folder.is_relative_to(own) or own.is_relative_to(folder):
            return "contains bayou's own files, which sessions cannot change."
        if VCS_FOLDERS.intersection(folder.parts):
            return "is a repository's internal data; add the folder that contains it."
        if secret_likelihood_of_path(f"{folder}/x", str(home), (str(own),)) == "likely":
            return "contains keys or passwords, which sessions cannot read."
        above = next((one for one in before if folder.is_relative_to(one)), None)
        if above is not None:
            return (
                "was added already."
                if above == folder
                else f"is inside {_display_path(above)}, which was added."
            )
        if len(before) >= MAX_ADDED_FOLDERS:
            return (
                f"cannot be added: a session has at most {MAX_ADDED_FOLDERS} added folders. Remove one first."
            )
        return ""

    def _list_folders(self) -> str:
        return (
            f"Added folders: {', '.join(map(_display_path, self.all_folders))}."
            if self.all_folders
            else "No folder was added."
        )


class _FoldersData(msgspec.Struct, frozen=True):
    """The data of a session entry that records the added folders."""

    paths: tuple[str, ...] = ()


def _decode_folders(data: object) -> tuple[str, ...]:
    try:
        return convert(data, _FoldersData).paths if data is not None else ()
    except msgspec.ValidationError:
        return ()


def _display_path(folder: Path) -> str:
    return escape_controls(str(folder))
