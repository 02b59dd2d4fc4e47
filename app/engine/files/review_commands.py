"""Session commands about a review: the changes by file and hunk, and taking hunks back."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from app.engine.commands import response_data
from app.engine.commands.session_command import omit_none_fields, require_entry_exists, session_command
from app.engine.files.session_files import (
    DiffSource,
    EntryDiffRequest,
    GitDiffRequest,
    PromptDiffRequest,
    SessionDiffRequest,
)
from app.engine.session import Session
from app.undo.review.review_records import ReviewDecisions
from app.undo.review.reviewed_files import ReviewedChanges, ReviewedFileOnDisk, ReviewedHunk
from app.values.user_errors import UserError


@session_command(
    "Review changes by file and hunk",
    "Of a prompt, the session, since the last commit, or since an entry.",
)
async def review_changes(
    session: Session,
    of: Literal["session", "prompt", "git", "entry"] = "prompt",
    entry_id: str | None = None,
    patch: bool = True,
) -> response_data.ReviewedChangesData:
    changes = await session.review.changes(_change_source(session, of, entry_id))
    decided = session.review.decisions
    files = [
        await _reviewed_file_row(session, changes, at, decided, patch) for at in range(len(changes.files))
    ]
    return {"title": changes.differences.title, "files": files}


@session_command(
    "Take back single hunks of changes",
    "`hunks`: ids from `review_changes` with the same `of`.",
)
async def take_back_hunks(
    session: Session,
    hunks: Sequence[str],
    of: Literal["session", "prompt", "git", "entry"] = "prompt",
    entry_id: str | None = None,
    put_back: bool = False,
) -> response_data.RestoredFiles:
    changes = await session.review.changes(_change_source(session, of, entry_id))
    left = set(hunks)
    chosen: dict[str, set[str]] = defaultdict(set)
    for listed in changes.files:
        file = await asyncio.to_thread(changes.file, listed.difference.path) if left else None
        if file is None:
            continue
        for hunk in file.hunks:
            if hunk.key in left and (hunk.key in file.taken_back_hunks) == put_back:
                chosen[file.path].add(hunk.key)
                left.discard(hunk.key)
    if left or not chosen:
        known = "taken back here" if put_back else "in these changes"
        raise UserError(f"There are no hunks {', '.join(sorted(left)) or '(none given)'} {known}.")
    return await _toggle_hunks(session, changes, chosen)


async def _toggle_hunks(
    session: Session, changes: ReviewedChanges, chosen: dict[str, set[str]]
) -> response_data.RestoredFiles:
    restored, entry_id = 0, None
    kept: list[response_data.KeptFile] = []
    for path, keys in chosen.items():
        try:
            done = await session.review.change_hunks(changes, path, frozenset(keys))
        except UserError as problem:
            kept.append({"path": path, "why": str(problem)})
            continue
        restored += 1
        entry_id = done.entry_id
    await session.review.report_to_model()
    return omit_none_fields(restored=restored, kept=kept, entryId=entry_id)


async def _reviewed_file_row(
    session: Session, changes: ReviewedChanges, at: int, decided: ReviewDecisions, patch: bool
) -> response_data.ReviewedFileRow:
    listed = changes.files[at]
    difference = listed.difference
    file = await asyncio.to_thread(changes.file, difference.path)
    hunks: list[response_data.ChangedHunk] = []
    if file is not None:
        now = await session.review.reviewed_file_on_disk(file)
        hunks = [
            _changed_hunk_row(hunk, file.taken_back_hunks, decided, now, patch=patch) for hunk in file.hunks
        ]
    return omit_none_fields(
        path=difference.path,
        deed=difference.deed,
        movedFrom=listed.origin or None,
        folded=listed.fold_reason or None,
        why=difference.why or None,
        hunks=hunks,
    )


def _changed_hunk_row(
    hunk: ReviewedHunk,
    taken: frozenset[str],
    decided: ReviewDecisions,
    now: ReviewedFileOnDisk | str,
    *,
    patch: bool,
) -> response_data.ChangedHunk:
    why = now.hunk_conflict_reason(hunk) if isinstance(now, ReviewedFileOnDisk) else now
    is_kept = hunk.key in decided.kept
    state = "taken_back" if hunk.key in taken else "kept" if is_kept else "conflict" if why else "open"
    return omit_none_fields(
        id=hunk.key,
        kind=hunk.kind,
        state=state,
        why=why or None,
        first=hunk.first_line,
        last=hunk.last_line,
        added=hunk.added,
        removed=hunk.removed,
        note=hunk.note or None,
        patch=hunk.patch if patch and hunk.patch else None,
    )


def _change_source(
    session: Session, of: Literal["session", "prompt", "git", "entry"], entry_id: str | None
) -> DiffSource:
    if (of == "entry") != (entry_id is not None) and of != "prompt":
        raise UserError("entryId needs of=entry or of=prompt.")
    require_entry_exists(session, entry_id)
    if of == "entry":
        return EntryDiffRequest(entry_id=entry_id or "")
    return {
        "session": SessionDiffRequest(),
        "prompt": PromptDiffRequest(entry_id=entry_id),
        "git": GitDiffRequest(),
    }[of]
