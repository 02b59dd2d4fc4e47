"""Delivers what helper agents have changed in their repository copies: as staged changes of the session, merged
file by file when they are applied. A copy is removed when its changes were applied or discarded, and offered
again until then."""

import asyncio
from pathlib import Path
from typing import Final

from app.copies.changed_files import RepositoryCopyChanges
from app.copies.isolated_repository_copies import IsolatedRepositoryCopy
from app.copies.staged_copy_changes import stage_copy_changes
from app.values.user_errors import UserError
from tools.edits.staged_actions import UnknownStagedAction
from tools.number_formatting import MINUS_SIGN, count_with_noun
from tools.session_workspace import SessionWorkspace

HELPER_STAGING_TOOL_NAME: Final = "task"
_MAX_LISTED_HELPER_FILES: Final = 10


class HelperChangeDelivery:
    """The repository copies of one session's helpers whose changes wait to be applied or discarded."""

    def __init__(self, workspace: SessionWorkspace) -> None:
        self._workspace = workspace
        self._waiting: dict[str, IsolatedRepositoryCopy] = {}
        self._staged_by_copy: dict[str, str] = {}
        """The id of the staged changes of each copy."""

    @property
    def waiting_copies(self) -> tuple[IsolatedRepositoryCopy, ...]:
        return tuple(self._waiting.values())

    def withdraw_changes(self, copy: IsolatedRepositoryCopy) -> None:
        """Withdraws the staged changes of a repository copy in which its helper works again."""
        self._waiting.pop(str(copy.parent_folder), None)
        staged = self._staged_by_copy.pop(str(copy.parent_folder), None)
        if staged is not None:
            self._workspace.staged_actions.discard_all_staged_actions("The helper continues.", (staged,))

    async def stage_changes(self, copy: IsolatedRepositoryCopy) -> str:
        """Stages the changes of a helper's repository copy, and returns a text about it for the agent. A copy
        without changes is removed."""
        key = str(copy.parent_folder)
        try:
            changes = await copy.changes()
            top = Path(copy.record.source)
            files = await asyncio.to_thread(stage_copy_changes, changes.files, top, self._workspace)
            if not files and not changes.unsupported_files:
                await self._remove_delivered_copy(copy)
                return "The helper changed no file."
            label = copy.record.title if files else f"{copy.record.title}: only links or repositories"
            staged = self._workspace.staged_actions.stage_action(
                label,
                HELPER_STAGING_TOOL_NAME,
                files,
                apply=lambda reason: self._apply_to_folder(
                    copy, changes if files else RepositoryCopyChanges()
                ),
                reject=lambda reason: self._remove_delivered_copy(copy),
                is_merged=True,
            )
        except (UserError, UnknownStagedAction, OSError) as problem:
            self._waiting[key] = copy
            return f"Its changes are kept in {copy.folder}: {problem}"
        self._waiting[key], self._staged_by_copy[key] = copy, staged.id
        rows = [
            f"{file.display_path} +{file.diff.added} {MINUS_SIGN}{file.diff.removed}"
            for file in files[:_MAX_LISTED_HELPER_FILES]
        ]
        rows += (
            [f"{len(files) - _MAX_LISTED_HELPER_FILES} more"] if len(files) > _MAX_LISTED_HELPER_FILES else []
        )
        kept = _unsupported_files_note(copy, changes)
        if not files:
            return f"{staged.id} is staged:{kept}"
        return (
            f"Its changes are staged, not written: {staged.id}, {count_with_noun(len(files), 'file')}: "
            f"{', '.join(rows)}. "
            f"Apply or discard them with resolve; each file is merged with its content at that time.{kept}"
        )

    async def _apply_to_folder(self, copy: IsolatedRepositoryCopy, changes: RepositoryCopyChanges) -> str:
        """Applies a helper's changes that are already written: removes the copy, or keeps it, and returns a text
        about it, if it has links and repositories that cannot be delivered."""
        if changes.unsupported_files:
            return f"Applied: {copy.record.title}.{_unsupported_files_note(copy, changes)}"
        await self._remove_delivered_copy(copy)
        return ""

    async def _remove_delivered_copy(self, copy: IsolatedRepositoryCopy) -> None:
        self._waiting.pop(str(copy.parent_folder), None)
        self._staged_by_copy.pop(str(copy.parent_folder), None)
        await asyncio.to_thread(copy.remove)

    def release_copies(self) -> None:
        """Releases the locks of helpers' copies and their staged changes, for the next session that looks for
        them."""
        self._workspace.staged_actions.discard_all_staged_actions(
            "The changes will be offered again.", tuple(self._staged_by_copy.values())
        )
        self._staged_by_copy.clear()
        while self._waiting:
            self._waiting.popitem()[1].release()


def _unsupported_files_note(copy: IsolatedRepositoryCopy, changes: RepositoryCopyChanges) -> str:
    if not changes.unsupported_files:
        return ""
    return (
        " Links and repositories are not copied back: "
        f"{', '.join(changes.unsupported_files[:_MAX_LISTED_HELPER_FILES])}. "
        f"They stay in {copy.folder}, which is offered again at the next start."
    )
