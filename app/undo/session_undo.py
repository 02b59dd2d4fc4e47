"""Builds the undo parts of an open session and runs its restores.

Restores are planned along the tree, carried out with the ledger, and resolved after a crash. Everything
here blocks. Data for entries is returned; the session appends them."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.sessions.session_ids import session_sidecar_path
from app.sessions.session_log import SessionLog
from app.undo.added_folder_scans import open_many_folders_scanner
from app.undo.change_ledger import FileChangeLedger, UndoLedgerLine
from app.undo.change_lists import ChangedFileListBuilder
from app.undo.change_recorder import FileChangeRecorder
from app.undo.change_records import (
    RESTORE_CHOICES,
    FileChangesData,
    FileRestoreData,
    FileWithoutStoredContent,
    RecordedFileChange,
    RestoreChoice,
    RestoredHunkData,
    file_restore_data_of_entry,
    path_fields_of_change,
)
from app.undo.command_file_watcher import CommandFileWatcher
from app.undo.content_store import BlobStore, ContentReferences, UndoStoreSettings
from app.undo.disk_files import UnsupportedFileForUndo, absolute_path_of_name
from app.undo.file_history import (
    FileChangesAlongPath,
    FileHistory,
    FileHistorySegment,
    RestoreTarget,
    changes_that_undo_restore,
    combine_changes_along_path,
    entry_has_file_changes,
    find_redo_target,
    find_undo_target,
    load_changes_of_data,
    path_with_file_entries,
    prompt_title_at,
    referenced_content_hashes,
)
from app.undo.folder_scanners import open_folder_scanner
from app.undo.folder_scans import FolderScanner, ScannedContentStore
from app.undo.restore_plan import ContentStoreWithLimit, RestorePlan, make_restore_plan
from app.undo.restore_steps import (
    RESTORE_NOT_REACHED_REASON,
    RESTORE_SKIPPED_REASON,
    intended_restore_changes,
    outcome_of_interrupted_change,
    outcome_of_interrupted_restore,
    prepare_restore_steps,
    run_restore_steps,
)
from app.values.entries import Entry
from app.values.user_errors import UserError
from app.values.wire import new_id
from tools.files.atomic_replacement import remove_stale_temporary_files
from tools.files.paths import AddedWorkingFolders

if TYPE_CHECKING:
    from app.undo.review.reviewed_files import (
        ReviewedFile,
        ReviewedFileOnDisk,
        ReviewedFileTarget,
        ReviewedHunk,
    )


class NothingToRestore(UserError):
    """Raised if there are no file changes to undo or redo."""


class FilesChangedSincePlan(UserError):
    """Raised if files have changed since the restore plan was shown."""


class SessionFileRestores:
    """Plans and carries out the restores of one session's files."""

    def __init__(self, log: SessionLog, recorder: FileChangeRecorder) -> None:
        self._log = log
        self._recorder = recorder

    # Planning

    def plan_undo(self, count: int = 1) -> RestorePlan:
        """Plans a restore to the files before the last `count` prompts that changed files."""
        target = find_undo_target(self._log.leaf_id, self._path_to_entry, count)
        if target is None:
            raise NothingToRestore(
                "Nothing to undo on this branch."
                if count == 1
                else f"Fewer than {count} prompts on this branch have changes to undo."
            )
        return self.plan_restore(target)

    def plan_redo(self) -> RestorePlan:
        """Plans to undo the last restore of files."""
        path = self._path_to_entry(self._log.leaf_id)
        target = find_redo_target(path)
        if target is None or target.undoes is None:
            raise NothingToRestore(
                "Nothing to redo. To restore the files of another point, choose it in /tree and press z."
            )
        return self._plan_path(
            changes_that_undo_restore(path, target.undoes, self._recorder.contents.store.get), target
        )

    def plan_restore_to_entry(self, entry_id: str | None, *, is_move: bool = False) -> RestorePlan:
        """Plans a restore to the files at an entry; None: before all entries."""
        path = self._path_to_entry(entry_id)
        return self.plan_restore(
            RestoreTarget(entry_id=entry_id, title=prompt_title_at(path)), is_move=is_move
        )

    def plan_restore(self, target: RestoreTarget, *, is_move: bool = False) -> RestorePlan:
        back, forth = self._entries_between(target.entry_id)
        path = combine_changes_along_path(back, forth, self._recorder.contents.store.get)
        return self._plan_path(path, target, is_move=is_move)

    def reviewed_file_on_disk(self, file: "ReviewedFile") -> "ReviewedFileOnDisk | str":
        """Returns a reviewed file as it is on the disk now, or why none of its hunks can be taken back."""
        from app.undo.review.reviewed_files import ReviewedFileOnDisk  # noqa: PLC0415  (with the first review)

        try:
            return file.missing_content_reason or ReviewedFileOnDisk(
                file, self._recorder.root, self._recorder.contents.max_file_bytes
            )
        except UnsupportedFileForUndo as problem:
            return str(problem)

    def plan_hunk_toggle(self, file: "ReviewedFile", keys: frozenset[str]) -> RestorePlan:
        """Plans to take back hunks of a file, or to put back those that were taken back. Raises `UserError`."""
        from app.undo.review.reviewed_files import ReviewedFileOnDisk  # noqa: PLC0415  (with the first review)

        now = ReviewedFileOnDisk(file, self._recorder.root, self._recorder.contents.max_file_bytes)
        chosen = [hunk for hunk in file.hunks if hunk.key in keys]
        records = tuple(
            file.restored_hunk_record(hunk, put_back=hunk.key in file.taken_back_hunks) for hunk in chosen
        )
        return self._plan_file_goal(now, now.target_with_hunks_toggled(keys), records)

    def plan_hunk_edit(self, file: "ReviewedFile", hunk: "ReviewedHunk", text: str) -> RestorePlan:
        """Plans to write a person's lines in place of a hunk's lines. Raises `UserError`."""
        from app.undo.review.reviewed_files import ReviewedFileOnDisk  # noqa: PLC0415  (with the first review)

        now = ReviewedFileOnDisk(file, self._recorder.root, self._recorder.contents.max_file_bytes)
        record = msgspec.structs.replace(file.restored_hunk_record(hunk, put_back=False), edited=True)
        return self._plan_file_goal(now, now.target_with_hunk_edited(hunk, text), (record,))

    def _plan_file_goal(
        self, now: "ReviewedFileOnDisk", goal: "ReviewedFileTarget", records: tuple[RestoredHunkData, ...]
    ) -> RestorePlan:
        file = now.file
        try:
            if goal.image is not None and goal.image.hash:
                self._recorder.store_content(goal.data, goal.image.hash)
        except OSError as problem:
            raise UserError(
                f"{file.path}: its new content cannot be stored: {problem.strerror or problem}. Nothing was "
                "changed; free some disk space and try again."
            ) from None
        here = now.expected.name
        states = [(here, now.disk.image, goal.image if goal.name == here else None)]
        if goal.name != here:
            states.append((goal.name, None, goal.image))
        histories = tuple(
            FileHistory(
                name=name,
                segments=[FileHistorySegment(expected_image=expected, target_image=wanted)],
                changed_by=[],
                folders=file.folders if wanted is None else (),
                is_shared=file.is_shared,
            )
            for name, expected, wanted in states
        )
        target = RestoreTarget(
            entry_id=self._log.leaf_id, title=file.path, undoes=self._entry_that_took_hunks(records)
        )
        plan = self._plan_path(FileChangesAlongPath(files=histories), target)
        for row in plan.rows:
            if row.state != "ready":
                raise UserError(f"{row.path}: {row.why}, so it was left unchanged.")
        return msgspec.structs.replace(plan, hunks=records)

    def _entry_that_took_hunks(self, hunks: Sequence[RestoredHunkData]) -> str | None:
        """Returns the entry by which exactly these hunks were taken back, if they are put back now."""
        keys = {hunk.key for hunk in hunks if hunk.put_back}
        for entry in reversed(self._path_to_entry(self._log.leaf_id)) if keys else ():
            restored = file_restore_data_of_entry(entry)
            if restored is not None and any(hunk.key in keys for hunk in restored.hunks):
                is_same = {hunk.key for hunk in restored.hunks if not hunk.put_back} == keys
                return entry.id if is_same else None
        return None

    def merge_restores_to_record(self, entry_id: str | None) -> FileRestoreData | None:
        """Returns the restores between the leaf and an entry as data to record there, when only the
        conversation moves and the files stay restored. None: there are none, or calls changed files
        since."""
        back, forth = self._entries_between(entry_id)
        restores = [
            data
            for entry in back
            if (data := file_restore_data_of_entry(entry)) is not None and not data.is_move
        ]
        if not restores or any(
            entry_has_file_changes(entry) and file_restore_data_of_entry(entry) is None
            for entry in (*back, *forth)
        ):
            return None
        path = combine_changes_along_path(back, forth, self._recorder.contents.store.get)
        changes = tuple(
            RecordedFileChange(
                **path_fields_of_change(one.name),
                before=one.target_image,
                after=one.expected_image,
                by="restore",
                folders=one.folders,
            )
            for one in path.files
            if len(one.segments) == 1
        )
        if not changes:
            return None
        last = restores[-1]
        is_above = last.target is None or any(one.id == last.target for one in self._path_to_entry(entry_id))
        data = FileRestoreData(
            id=new_id(),
            changes=changes,
            origin=entry_id,
            target=last.target if is_above else entry_id,
            title=last.title,
        )
        return self._recorder.try_move_long_list_to_store(data)

    def _entries_between(self, entry_id: str | None) -> tuple[list[Entry], list[Entry]]:
        """Returns the entries below the common ancestor on the paths to the leaf and to another entry."""
        here, there = self._path_with_results(self._log.leaf_id), self._path_with_results(entry_id)
        common = 0
        for one, other in zip(here, there, strict=False):
            if one.id != other.id:
                break
            common += 1
        return here[common:], there[common:]

    def _plan_path(
        self, path: FileChangesAlongPath, target: RestoreTarget, *, is_move: bool = False
    ) -> RestorePlan:
        return make_restore_plan(
            path,
            target,
            origin=self._log.leaf_id,
            root=self._recorder.root,
            contents=self._recorder.contents,
            is_move=is_move,
        )

    def _path_to_entry(self, entry_id: str | None) -> Sequence[Entry]:
        if entry_id is None or entry_id not in self._log:
            return []
        return self._log.path_to(entry_id)

    def _path_with_results(self, entry_id: str | None) -> list[Entry]:
        return path_with_file_entries(self._path_to_entry(entry_id), self._log.children)

    # Carrying out

    def carry_out_restore_plan(
        self, make_restore_plan: RestorePlan, choices: Mapping[str, RestoreChoice]
    ) -> FileRestoreData:
        """Carries out a restore plan with the user's choices; other files get the plan's default. Raises
        `UserError` with nothing changed."""
        check_restore_choices(make_restore_plan, choices)
        contents = self._recorder.contents
        wanted, kept = prepare_restore_steps(make_restore_plan, choices, contents)
        data = FileRestoreData(
            id=new_id(),
            changes=intended_restore_changes(wanted),
            origin=make_restore_plan.origin,
            target=make_restore_plan.target.entry_id,
            undoes=make_restore_plan.target.undoes,
            is_move=make_restore_plan.is_move,
            title=make_restore_plan.target.title,
            hunks=make_restore_plan.hunks,
        )
        if not wanted:
            return msgspec.structs.replace(data, kept=tuple(kept))
        try:
            images = [
                image
                for one in wanted
                for image in (one.image, one.step.disk_file.image)
                if image is not None
            ]
            self._recorder.references.add(image.hash for image in images if image.hash)
            announced = self._recorder.move_long_list_to_store(data)
            self._recorder.ledger.append_operation_begin(
                UndoLedgerLine(kind="restore", id=data.id, restore=announced)
            )
        except OSError as problem:
            raise UserError(
                f"The restore plan cannot be saved: {problem.strerror or problem}. Nothing was changed; "
                "free some disk space and try again."
            ) from None
        done = run_restore_steps(wanted)
        data = msgspec.structs.replace(data, changes=done.changes, kept=(*kept, *done.skipped_files))
        return self._recorder.try_move_long_list_to_store(data)

    # After a crash

    def unrecorded_file_changes(self) -> list[tuple[str, FileChangesData | FileRestoreData]]:
        """Returns file changes that an earlier process did not record: ledger keys with the data to
        record."""
        lines = self._recorder.ledger.unfinished_operations().lines
        self._recorder.ledger.adopt_unfinished_operations(lines)
        found: list[tuple[str, FileChangesData | FileRestoreData]] = []
        for key in dict.fromkeys(line.id for line in lines):
            mine = [line for line in lines if line.id == key]
            restores = [line.restore for line in mine if line.restore is not None]
            found.append(
                (
                    key,
                    self._interrupted_restore(restores[0])
                    if restores
                    else self._interrupted_operations(mine),
                )
            )
        return found

    def _remove_temporaries(self, changes: Iterable[RecordedFileChange]) -> None:
        """Removes temporary files that a killed process left beside these files."""
        for folder in {str(self._recorder.root / change.name).rpartition("/")[0] for change in changes}:
            remove_stale_temporary_files(folder)

    def _interrupted_operations(self, lines: list[UndoLedgerLine]) -> FileChangesData:
        changes: list[RecordedFileChange] = []
        uncovered: list[FileWithoutStoredContent] = []
        self._remove_temporaries(line.change for line in lines if line.change is not None)
        for line in lines:
            if line.change is None:
                uncovered.append(FileWithoutStoredContent(path=".", why="bayou ended while a command ran"))
                continue
            came = outcome_of_interrupted_change(line.change, self._absolute_path)
            if isinstance(came, RecordedFileChange):
                changes.append(came)
            elif came is not None:
                uncovered.append(came)
        return FileChangesData(
            call_id=lines[0].id,
            tool=lines[0].tool,
            changes=tuple(changes),
            uncovered=tuple(uncovered),
            interrupted=True,
        )

    def _interrupted_restore(self, data: FileRestoreData) -> FileRestoreData:
        if any(
            (found := file_restore_data_of_entry(entry)) is not None and found.id == data.id
            for entry in self._log.entries
        ):
            return msgspec.structs.replace(data, changes=(), more=None, count=0)
        changes = load_changes_of_data(data, self._recorder.contents.store.get) or ()
        self._remove_temporaries(changes)
        done = outcome_of_interrupted_restore(changes, self._absolute_path, str(self._recorder.root))
        is_whole = not any(one.why == RESTORE_NOT_REACHED_REASON for one in done.skipped_files)
        told = msgspec.structs.replace(
            data,
            changes=done.changes,
            more=None,
            count=0,
            kept=done.skipped_files,
            interrupted=not is_whole,
            is_move=data.is_move and self._log.leaf_id == data.target,
        )
        return self._recorder.try_move_long_list_to_store(told)

    def _absolute_path(self, name: str) -> str:
        return absolute_path_of_name(self._recorder.root, name)


def check_restore_choices(make_restore_plan: RestorePlan, choices: Mapping[str, RestoreChoice]) -> None:
    """Raises `UserError` for choices in a restore plan that cannot be carried out."""
    rows = {row.path: row for row in make_restore_plan.rows}
    for path, choice in choices.items():
        row = rows.get(path)
        if row is None:
            raise UserError(f"{path} is not part of this restore.")
        if choice not in RESTORE_CHOICES:
            raise UserError(f"{path}: there is no choice {choice!r}. Choices: {', '.join(RESTORE_CHOICES)}.")
        if choice == "merge" and not row.can_merge:
            raise UserError(f"{path} cannot be merged: both sides changed the same lines, or it is not text.")
        if choice != "keep" and row.state in ("unheld", "refused"):
            raise UserError(f"{path} cannot be restored: {row.why}.")


def finished_restore_text(data: FileRestoreData) -> str:
    """Describes a finished restore of files for the user."""
    count = data.total
    files = f"{count} file{'' if count == 1 else 's'}"
    what = "Redone" if data.undoes else "Restored"
    kept = [one for one in data.kept if one.why != RESTORE_SKIPPED_REASON]
    stayed = f"; {len(kept)} stayed as they are" if len(kept) > 1 else "; 1 stayed as it is" if kept else ""
    return f"{what}: {files}{stayed}."


class SessionUndo(msgspec.Struct, frozen=True, kw_only=True):
    """The undo parts of one open session."""

    log: SessionLog
    store: BlobStore
    recorder: FileChangeRecorder
    restores: SessionFileRestores
    differences: ChangedFileListBuilder
    watch: CommandFileWatcher
    close: Callable[[], None]


def open_session_undo(
    log: SessionLog,
    place: UndoStoreSettings,
    cwd: Path,
    *,
    limit: Callable[[], int],
    added: AddedWorkingFolders | None = None,
) -> SessionUndo:
    """Builds the undo parts of a session. Blocks. If the content store cannot be written, each change reports it."""
    store = BlobStore(place.store)
    needed = ContentReferences(place.store, log.session_id)
    entries = list(log.entries)
    try:
        needed.open(lambda: referenced_content_hashes(entries, store.get))
    except OSError:
        pass
    root = Path(os.path.realpath(cwd))
    ledger = FileChangeLedger(session_sidecar_path(log.path, "files") if log.path is not None else None)
    recorder = FileChangeRecorder(ContentStoreWithLimit(store, limit), ledger, needed, root)
    holder = ScannedContentStore(store, recorder.store_content)

    def scanner_of(folder: Path) -> FolderScanner | str:
        return open_folder_scanner(
            folder,
            holder,
            home=place.home,
            store=place.store,
            may_ask_git=place.may_ask_git,
            max_bytes=limit(),
        )

    def scanner() -> FolderScanner | str:
        more = added.paths if added is not None else ()
        main = scanner_of(root)
        return (
            main if isinstance(main, str) or not more else open_many_folders_scanner(main, more, scanner_of)
        )

    return SessionUndo(
        log=log,
        store=store,
        recorder=recorder,
        restores=SessionFileRestores(log, recorder),
        differences=ChangedFileListBuilder(log, recorder),
        watch=CommandFileWatcher(scanner),
        close=needed.close,
    )
