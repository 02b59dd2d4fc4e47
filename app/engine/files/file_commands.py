"""Session commands about files: their changes, previewing a restore, restoring, undoing a restore."""

import asyncio
from collections.abc import Sequence
from typing import Literal

from app.engine.commands import response_data
from app.engine.commands.session_command import omit_none_fields, require_entry_exists, session_command
from app.engine.files.file_restorer import (
    RestoreFilesToEntry,
    RestoreRequest,
    UndoFilesOfLastPrompts,
    UndoLastRestore,
)
from app.engine.files.session_files import DiffSource, GitDiffRequest, PromptDiffRequest, SessionDiffRequest
from app.engine.session import Session
from app.undo.change_records import RestoreChoice
from app.undo.restore_plan import RestorePlan
from app.undo.session_undo import FilesChangedSincePlan
from app.values.user_errors import UserError


@session_command("File changes on this branch", answer="files")
async def get_file_changes(session: Session) -> Sequence[response_data.RestoreRow]:
    plan = await session.file_restorer.plan_restore(RestoreFilesToEntry(entry_id=None))
    return await _preview_rows(plan, diffs=False)


@session_command(
    "Show file changes",
    "Of this session, of a prompt (`entryId`, else the last), or since the last commit.",
)
async def get_diff(
    session: Session,
    of: Literal["session", "prompt", "git"] = "session",
    entry_id: str | None = None,
    patch: bool = True,
) -> response_data.FileDifferences:
    found = await session.files.changes_since(_diff_source(session, of, entry_id))
    text, lacking = await asyncio.to_thread(found.patches) if patch else (None, ())
    return omit_none_fields(
        title=found.title,
        note=found.note or None,
        added=found.added,
        removed=found.removed,
        files=[
            omit_none_fields(
                path=file.path,
                deed=file.deed,
                added=file.added,
                removed=file.removed,
                by=file.changed_by or None,
                why=file.why or None,
            )
            for file in found.files
        ],
        older=found.older,
        newer=found.newer,
        patch=text,
        lacking=list(lacking) or None,
    )


@session_command(
    "Preview an undo of file changes", "Of the last prompts that changed files. Changes nothing."
)
async def preview_undo(session: Session, count: int = 1, diffs: bool = False) -> response_data.RestorePreview:
    return await _preview_data(session, _undo_request(count), diffs)


@session_command("Preview a redo")
async def preview_redo(session: Session, diffs: bool = False) -> response_data.RestorePreview:
    return await _preview_data(session, UndoLastRestore(), diffs)


@session_command("Preview a restore of files", "To an entry, or to the beginning without one.")
async def preview_restore(
    session: Session, entry_id: str | None = None, diffs: bool = False
) -> response_data.RestorePreview:
    return await _preview_data(session, _entry_request(session, entry_id), diffs)


@session_command(
    "Undo file changes of the last prompts",
    "`choices`: for single files. `digest`: of the preview.",
)
async def undo_files(
    session: Session,
    count: int = 1,
    choices: dict[str, RestoreChoice] | None = None,
    digest: str | None = None,
) -> response_data.RestoredFiles:
    return await _restore_files(session, _undo_request(count), choices, digest)


@session_command("Redo: reverse the last undo or restore of files")
async def redo_files(
    session: Session, choices: dict[str, RestoreChoice] | None = None, digest: str | None = None
) -> response_data.RestoredFiles:
    return await _restore_files(session, UndoLastRestore(), choices, digest)


@session_command(
    "Restore files to an entry",
    "To the beginning without one.",
)
async def restore_files(
    session: Session,
    entry_id: str | None = None,
    choices: dict[str, RestoreChoice] | None = None,
    digest: str | None = None,
) -> response_data.RestoredFiles:
    return await _restore_files(session, _entry_request(session, entry_id), choices, digest)


def _undo_request(count: int) -> UndoFilesOfLastPrompts:
    if count < 1:
        raise UserError("count must be at least 1: it is the number of prompts to undo.")
    return UndoFilesOfLastPrompts(count=count)


def _diff_source(
    session: Session, of: Literal["session", "prompt", "git"], entry_id: str | None
) -> DiffSource:
    if entry_id is not None and of != "prompt":
        raise UserError("entryId can only be given together with of=prompt.")
    require_entry_exists(session, entry_id)
    return {
        "session": SessionDiffRequest(),
        "prompt": PromptDiffRequest(entry_id=entry_id),
        "git": GitDiffRequest(),
    }[of]


def _entry_request(session: Session, entry_id: str | None) -> RestoreFilesToEntry:
    require_entry_exists(session, entry_id)
    return RestoreFilesToEntry(entry_id=entry_id)


async def _preview_data(session: Session, asked: RestoreRequest, diffs: bool) -> response_data.RestorePreview:
    plan = await session.file_restorer.plan_restore(asked)
    return omit_none_fields(
        title=plan.target.title,
        entryId=plan.target.entry_id,
        digest=plan.digest,
        added=plan.added,
        removed=plan.removed,
        files=await _preview_rows(plan, diffs=diffs),
        heads=[f"{before} → {after}" for before, after in plan.head_moves],
    )


async def _preview_rows(plan: RestorePlan, *, diffs: bool) -> list[response_data.RestoreRow]:
    def made() -> list[response_data.RestoreRow]:
        return [
            omit_none_fields(
                path=row.path,
                state=row.state,
                deed=row.deed,
                why=row.why or None,
                by=row.by or None,
                added=row.added,
                removed=row.removed,
                canMerge=row.can_merge,
                choice=row.choice,
                diff=plan.diff(row.path) if diffs and row.state in ("ready", "conflict") else None,
            )
            for row in plan.rows
        ]

    return await asyncio.to_thread(made)


async def _restore_files(
    session: Session, asked: RestoreRequest, choices: dict[str, RestoreChoice] | None, digest: str | None
) -> response_data.RestoredFiles:
    plan = await session.file_restorer.plan_restore(asked)
    if digest is not None and plan.digest != digest:
        raise FilesChangedSincePlan("The files changed after the preview. Preview again before restoring.")
    done = await session.file_restorer.carry_out_restore(plan, choices or {})
    return omit_none_fields(
        restored=done.data.total,
        kept=[{"path": one.path, "why": one.why} for one in done.data.kept],
        entryId=done.entry_id,
    )
