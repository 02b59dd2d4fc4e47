"""The page for `/undo` and `/redo`, and for restoring files to any entry of the session tree, with a preview and a
choice of files."""

import asyncio
from typing import TYPE_CHECKING

import msgspec

from app.engine.files.file_restorer import (
    RestoreFilesToEntry,
    RestoreRequest,
    UndoFilesOfLastPrompts,
    UndoLastRestore,
)
from app.engine.session import Session
from app.tui.features.undo.screen import FileRestoreScreen, RestoreScreenRow
from app.tui.page_protocols import AskOnScreen, ShowMessage
from app.undo.change_records import (
    FileRestoreData,
    RestoreChoice,
    file_changes_data_of_entry,
    file_restore_data_of_entry,
)
from app.undo.file_history import restore_by_undone_entry
from app.undo.restore_steps import RESTORE_SKIPPED_REASON
from app.undo.session_undo import finished_restore_text
from app.values.entries import MessageEntry
from app.values.messages import UserMessage
from app.values.user_errors import UserError
from tools.number_formatting import format_changed_files, format_changed_lines
from widgets.screens.picker import PickerResult

if TYPE_CHECKING:
    from app.undo.restore_plan import RestoreFileRow, RestorePlan

_INVALID_UNDO_COUNT_TEXT = (
    "/undo takes a number of prompts: /undo 3 undoes the last three that changed files."
)


class FileRestorePage(msgspec.Struct, frozen=True):
    """Restores the files of one session to an earlier or undone state."""

    session: Session
    ask: AskOnScreen
    show_message: ShowMessage

    async def undo(self, argument: str = "") -> None:
        if argument and (not argument.isdecimal() or int(argument) < 1):
            raise UserError(_INVALID_UNDO_COUNT_TEXT)
        await self._restore(UndoFilesOfLastPrompts(count=int(argument or 1)))

    async def redo(self) -> None:
        await self._restore(UndoLastRestore())

    async def restore_to_entry(self, entry_id: str) -> None:
        """Restores files to their content at an entry of the session; the conversation does not move."""
        await self._restore(RestoreFilesToEntry(entry_id=entry_id))

    async def restore_plan_if_different(self, entry_id: str) -> "RestorePlan | None":
        """Returns the plan to restore files to an entry; None if nothing would change or no history is kept."""
        try:
            plan = await self.session.file_restorer.plan_restore(RestoreFilesToEntry(entry_id=entry_id))
        except UserError:
            return None
        return plan if any(row.state in ("ready", "conflict") for row in plan.rows) else None

    async def _restore(self, asked: RestoreRequest) -> None:
        plan = await self.session.file_restorer.plan_restore(asked)
        if not plan.rows:
            self.show_message("The files already match that point, so there is nothing to restore.")
            return
        choices = await self.choose_files_to_restore(plan)
        if choices is None:
            return
        done = await self.session.file_restorer.carry_out_restore(plan, choices)
        self.report_restore_result(done.data)

    def report_restore_result(self, data: FileRestoreData) -> None:
        """Tells the user which files a restore did not change, and how to reverse it unless the last turn already says
        so."""
        kept = [f"  {one.path}: {one.why}" for one in data.kept if one.why != RESTORE_SKIPPED_REASON]
        lines = [finished_restore_text(data)] if not data.total else []
        if kept and data.total:
            lines.append("Not changed:")
        lines += kept[:20]
        if data.total and not self._is_told_by_last_turn(data):
            lines.append("/undo reverses this redo." if data.undoes else "/redo reverses this restore.")
        if lines:
            self.show_message("\n".join(lines))

    def _is_told_by_last_turn(self, data: FileRestoreData) -> bool:
        """Returns whether the end of the last turn, which is just above, says how to reverse this restore."""
        path = self.session.log.path_to()
        begins = (
            number
            for number, entry in enumerate(path)
            if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)
        )
        changes = [
            entry.id
            for entry in path[max(begins, default=0) :]
            if file_changes_data_of_entry(entry) is not None
        ]
        undone = restore_by_undone_entry(path)
        if data.undoes:
            return bool(changes) and not any(id in undone for id in changes)
        own = {
            entry.id
            for entry in path
            if (one := file_restore_data_of_entry(entry)) is not None and one.id == data.id
        }
        return bool(changes) and all(undone.get(id) in own for id in changes)

    async def choose_files_to_restore(self, plan: "RestorePlan") -> dict[str, RestoreChoice] | None:
        """Shows the restore plan, in which the user chooses for each file whether and how it is restored; returns None
        if cancelled."""
        diffs: dict[tuple[str, str], str] = {}
        waiting: set[tuple[str, str]] = set()
        work: set[asyncio.Task[None]] = set()

        async def look_up(key: tuple[str, str]) -> None:
            path, choice = key
            diffs[key] = await asyncio.to_thread(plan.diff, path, is_merged=choice == "merge")
            screen.refresh_preview()

        def diff(path: str, choice: str) -> str:
            """Returns the diff of a file; if it is not known yet, an empty one that is filled in a moment later."""
            key = (path, "merge" if choice == "merge" else "restore")
            if key not in diffs and key not in waiting:
                waiting.add(key)
                task = asyncio.ensure_future(look_up(key))
                work.add(task)
                task.add_done_callback(work.discard)
            return diffs.get(key, "")

        screen = FileRestoreScreen(
            plan.target.label,
            [_row(row) for row in plan.rows],
            figures=format_changed_files(len(plan.rows), plan.added, plan.removed),
            diff=diff,
            remarks=_plan_notes(plan),
        )
        picked: PickerResult | None = await self.ask(screen)
        for task in work:
            task.cancel()
        if picked is None:
            return None
        return {path: _RESTORE_CHOICES[choice] for path, choice in screen.choices.items()}


_RESTORE_CHOICES: dict[str, RestoreChoice] = {"restore": "restore", "merge": "merge", "keep": "keep"}


def _plan_notes(plan: "RestorePlan") -> list[str]:
    return [
        f"git HEAD moved from {before} to {after} and stays there: only files are restored"
        for before, after in plan.head_moves
    ]


def _row(row: "RestoreFileRow") -> RestoreScreenRow:
    is_fixed = row.state in ("unheld", "refused")
    choices = () if is_fixed else ("restore", "merge", "keep") if row.can_merge else ("restore", "keep")
    return RestoreScreenRow(
        path=row.path,
        change=row.deed,
        why=row.why,
        changed_by=row.by,
        line_counts=format_changed_lines(row.added, row.removed),
        choices=choices,
        choice=row.choice,
        is_conflict=row.state == "conflict",
    )
