"""Records the file changes of a session as entries of its tree, and restores earlier states.

Tools report before they write, commands are watched; an entry after each result records what its call did. The
parts are in `app.undo` and are created with the first change."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.event_bus import EventBus
from app.engine.core.session_options import SessionOptions
from app.engine.sandbox.command_context import CommandPlaceFacts
from app.sessions.errors import SessionReadOnly
from app.sessions.session_ids import session_sidecar_path
from app.undo.change_ledger import FileChangeLedger, UndoLedgerLine
from app.undo.change_records import (
    FILE_CHANGES_ENTRY_TYPE,
    FILE_RESTORE_ENTRY_TYPE,
    FileChangesData,
    FileRestoreData,
    FileWithoutStoredContent,
    RecordedFileChange,
    RestoreChoice,
    decode_file_changes,
    file_data_to_entry_data,
)
from app.undo.content_store import UndoStoreSettings
from app.values.entries import CustomEntry
from app.values.events import EntryAppended
from app.values.user_errors import UserError
from tools.file_and_process_operations import CommandLine, LocalFileOperations
from tools.files.file_changes import PendingFileChange
from tools.running.command_file_watching import FilesChangedByCommand, GetFilesChangedByCommand
from tools.running.shell_settings import POSIX_SHELLS
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import FileChange

if TYPE_CHECKING:
    from app.undo.change_lists import ChangedFileList
    from app.undo.restore_plan import RestorePlan
    from app.undo.session_undo import SessionFileRestores, SessionUndo


PlanResult = TypeVar("PlanResult")


class SessionDiffRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Selects all file changes of this branch for a diff."""


class PromptDiffRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Selects the file changes of one prompt for a diff; by default of the last prompt that changed files."""

    entry_id: str | None = None


class GitDiffRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Selects the uncommitted changes of the work tree for a diff, by the agent or others."""

    revision: str = ""
    """A branch or commit for the diff: the changes since this branch, or those of this commit; empty: the
    uncommitted changes."""


class EntryDiffRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Selects the file changes of this branch after an entry, or from a prompt on, for a diff."""

    entry_id: str


DiffSource = SessionDiffRequest | PromptDiffRequest | GitDiffRequest | EntryDiffRequest


class SessionFileChanges:
    def __init__(
        self,
        *,
        conversation: Conversation,
        workspace: SessionWorkspace,
        event_bus: EventBus,
        options: SessionOptions,
        place: UndoStoreSettings | None,
    ) -> None:
        self._conversation = conversation
        self._workspace = workspace
        self._event_bus = event_bus
        self._options = options
        self._undo_place = place
        self._open_undo: SessionUndo | None = None
        self._open_lock = threading.Lock()
        self._running: dict[str, str] = {}
        self._unreported_problems: list[str] = []
        self._command_context = (
            CommandPlaceFacts(place.home, place.store.parent, added=workspace.added)
            if place is not None
            else None
        )
        if place is not None and isinstance(workspace.files, LocalFileOperations):
            workspace.mutations.subscribe_before_changes(self._before_write)
            workspace.mutations.subscribe(self._after_write)
            workspace.watch_command = self._watch_command

    def record_helper_changes(self, workspace: SessionWorkspace) -> None:
        """Records the file changes of a helper's workspace too, so that they are undone like the session's own."""
        if self._undo_place is not None and self._workspace.has_local_files:
            workspace.mutations.subscribe_before_changes(self._before_write)
            workspace.watch_command = self._watch_command
        workspace.mutations.subscribe(self._workspace.mutations.report_file_change)

    # What calls do

    def note_call_start(self, call_id: str, tool: str) -> None:
        self._running[call_id] = tool

    def record_call_changes(self, call_id: str, tool: str) -> EntryAppended | None:
        """Records the file changes of a tool call after its result; the returned event is published with the
        result."""
        self._running.pop(call_id, None)
        while self._unreported_problems:
            self._event_bus.warn(self._unreported_problems.pop())
        opened = self._open_undo
        if opened is None or opened.log is not self._conversation.log:
            return None
        data = opened.recorder.take_changes_of_call(call_id, tool)
        told = self._append_entry(FILE_CHANGES_ENTRY_TYPE, data) if data is not None else None
        opened.recorder.mark_recorded(call_id)
        return told

    def _append_entry(self, kind: str, data: FileChangesData | FileRestoreData) -> EntryAppended | None:
        entry = CustomEntry(parent_id=None, custom_type=kind, data=file_data_to_entry_data(data))
        try:
            return EntryAppended(entry=self._conversation.log.append_or_hold_entry(entry))
        except SessionReadOnly:
            return None

    def _before_write(self, intent: PendingFileChange) -> None:
        if self._is_undo_on:
            self._open_undo_parts().recorder.record_before_write(intent)

    def _after_write(self, change: FileChange) -> None:
        opened = self._open_undo
        if opened is None or change.by != "tool" or not self._workspace.has_local_files:
            return
        for name, image in opened.recorder.record_write_done(change):
            opened.watch.note_change_by_others(name, image)
        self._record_changes_outside_calls(change.call_id, "")

    def _record_changes_outside_calls(self, call_id: str, tool: str) -> None:
        """Records file changes at once, unless a running call will record them."""
        outer = call_id.split("/", 1)[0]
        if outer in self._running or call_id in self._running:
            return
        told = self.record_call_changes(call_id, tool)
        if told is not None:
            self._event_bus.publish_now(told)

    # Commands

    async def _watch_command(
        self, call_id: str, tool: str, command: CommandLine
    ) -> GetFilesChangedByCommand | None:
        if not self._is_undo_on or not self._options.effective_settings.settings.undo.commands:
            return None
        if not self._workspace.shell_settings().is_persistent and await asyncio.to_thread(
            self._is_read_only_command, command
        ):
            return None
        opened = await asyncio.to_thread(self._open_undo_parts)
        try:
            opened.recorder.ledger.append_operation_begin(
                UndoLedgerLine(kind="command", id=call_id, tool=tool)
            )
        except OSError:
            pass  # a full disk stores no contents either, which is reported for each file
        await opened.watch.scan_before(call_id)
        return partial(self._record_command_changes, opened, call_id, tool)

    def _is_read_only_command(self, command: CommandLine) -> bool:
        """Returns whether the words of a command show that it only reads; False if it does not run in a POSIX
        shell. Does not know what a persistent shell has redefined."""
        from app.permits.shell.command_line import judge_command_line  # noqa: PLC0415  (loads a parser)

        if self._command_context is None or Path(command.argv[0]).name not in POSIX_SHELLS:
            return False
        place = self._command_context.describe_command_place(
            self._workspace.cwd, self._workspace.shell_settings().passed_variable_names
        )
        # Which files it may show does not matter here.
        place = msgspec.structs.replace(place, working_folder=os.path.realpath(command.cwd), has_sandbox=True)
        return judge_command_line(command.argv[-1], place).risk == "safe"

    async def _record_command_changes(
        self, opened: "SessionUndo", call_id: str, tool: str
    ) -> FilesChangedByCommand | None:
        happened = await opened.watch.scan_after(call_id)
        opened.recorder.add_command_changes(call_id, happened)
        self._publish_changes(happened.changes, opened.recorder.root, call_id, "command")
        self._record_changes_outside_calls(call_id, tool)
        if not happened.changes and not happened.unstored_files:
            return None
        return FilesChangedByCommand(
            changed=len(happened.changes),
            added=sum(change.added for change in happened.changes),
            removed=sum(change.removed for change in happened.changes),
            not_undoable=tuple(f"{one.path} ({one.why})" for one in happened.unstored_files),
        )

    def _publish_changes(
        self, changes: Iterable[RecordedFileChange], root: Path, id: str, by: Literal["command", "restore"]
    ) -> None:
        """Publishes events about file changes. `id`: the id of the call, or of the restore."""
        for change in changes:
            before, after = change.before, change.after
            if "folder" in (before and before.kind, after and after.kind) and (
                before is None or after is None
            ):
                continue  # this change names no file
            self._workspace.mutations.report_file_change(
                FileChange(
                    path=change.name if change.name.startswith("/") else f"{root}/{change.name}",
                    call_id=id,
                    before_hash=before.hash if before else None,
                    after_hash=after.hash if after else None,
                    mode_before=before.mode if before else None,
                    mode_after=after.mode if after else None,
                    added=change.added,
                    removed=change.removed,
                    by=by,
                )
            )

    async def find_unrestorable_files(
        self, paths: Iterable[str], *, ignored: bool = True
    ) -> tuple[FileWithoutStoredContent, ...]:
        """Returns the files at or below absolute `paths` that undo could not restore if a command removed or changed
        them.

        `ignored`: the command also reaches files that git ignores (`rm -rf` does; `git clean -fd` and `git reset
        --hard` do not). Takes about as long as `git status`."""
        if not self._is_undo_on or not self._options.effective_settings.settings.undo.commands:
            return tuple(
                FileWithoutStoredContent(path=path, why="changes made by commands are not recorded")
                for path in paths
            )
        opened = await asyncio.to_thread(self._open_undo_parts)
        places = await asyncio.to_thread(lambda: [_resolve_links_above(path) for path in paths])
        return await opened.watch.list_unrestorable_files(places, ignored=ignored)

    def stored_content_by_hash(self, hash: str) -> bytes | None:
        """Returns the stored content with this hash, as file events report it; None: it was not stored. For a
        thread."""
        from app.undo.content_store import BlobStore, StoredContentDamaged, StoredContentMissing  # noqa: PLC0415  (costs start-up)

        if self._undo_place is None:
            return None
        store = self._open_undo.store if self._open_undo is not None else BlobStore(self._undo_place.store)
        try:
            return store.get(hash)
        except (StoredContentDamaged, StoredContentMissing):
            return None

    @property
    def undo_config(self) -> UndoStoreSettings | None:
        """The place where file changes in the workspace can be recorded; None: the files are on another machine."""
        return self._undo_place if self._workspace.has_local_files else None

    # What changed, and restores

    async def changes_since(self, of: DiffSource) -> "ChangedFileList":
        if isinstance(of, GitDiffRequest):
            return await asyncio.to_thread(
                _find_git_differences, self._undo_place, self._workspace, of.revision, self._max_file_bytes()
            )
        self._require_undo()
        differing = (await asyncio.to_thread(self._open_undo_parts)).differences
        if isinstance(of, SessionDiffRequest):
            return await asyncio.to_thread(differing.session_differences)
        if isinstance(of, EntryDiffRequest):
            return await asyncio.to_thread(differing.differences_since, of.entry_id)
        return await asyncio.to_thread(differing.prompt_differences, of.entry_id)

    async def plan_with_restores(self, plan: "Callable[[SessionFileRestores], PlanResult]") -> PlanResult:
        self._require_undo()
        opened = await asyncio.to_thread(self._open_undo_parts)
        return await asyncio.to_thread(plan, opened.restores)

    async def carry_out_restore(
        self, plan: "RestorePlan", choices: Mapping[str, RestoreChoice]
    ) -> FileRestoreData:
        """Restores files without recording it; the result still has to be recorded (`record_restore`)."""
        self._require_undo()
        opened = await asyncio.to_thread(self._open_undo_parts)
        data = await asyncio.to_thread(opened.restores.carry_out_restore_plan, plan, choices)
        for step in plan.steps:
            self._workspace.read_cache.forget(step.path)
        return data

    async def changed_paths_of(self, data: FileRestoreData) -> tuple[str, ...]:
        """Returns the paths of the changed files, as entries spell them."""
        if data.more is None:
            return tuple(change.path for change in data.changes)
        opened = await asyncio.to_thread(self._open_undo_parts)
        return tuple(change.path for change in decode_file_changes(opened.store.get(data.more)))

    async def record_restore(self, data: FileRestoreData) -> str | None:
        """Records a restore of files; returns the entry's id, or None if nothing was changed. Raises `UserError`."""
        if (
            self._open_undo is None
        ):  # the ledger has the restore, and the next opening of the session records it
            raise UserError(
                "The session was closed while files were being restored. Open it again to finish or "
                "reverse the restore."
            )
        told = self._append_entry(FILE_RESTORE_ENTRY_TYPE, data) if data.total else None
        self._open_undo.recorder.mark_recorded(data.id)
        if told is None:
            return None
        changes = (
            data.changes if data.more is None else decode_file_changes(self._open_undo.store.get(data.more))
        )
        for change in changes:
            self._open_undo.watch.note_change_by_others(change.name, change.after)
        self._publish_changes(changes, self._open_undo.recorder.root, data.id, "restore")
        await self._event_bus.publish(told)
        return told.entry.id

    # Beginning and end

    def record_unrecorded_changes(self) -> str | None:
        """Records file changes that a crash left unrecorded. Returns a text for the user."""
        log = self._conversation.log
        if not self._is_undo_on or log.path is None or log.is_read_only:
            return None
        left = FileChangeLedger(session_sidecar_path(log.path, "files")).unfinished_operations()
        words = (
            [_save_unreadable_ledger_lines(log.path, left.unreadable_lines)] if left.unreadable_lines else []
        )
        if not left.lines:
            return " ".join(words).strip() or None
        opened = self._open_undo_parts()
        for key, data in opened.restores.unrecorded_file_changes():
            if isinstance(data, FileRestoreData):
                if data.total or data.interrupted:
                    self._append_entry(FILE_RESTORE_ENTRY_TYPE, data)
                if data.interrupted:
                    count, all_of_them = data.total, data.total + len(data.kept)
                    words.append(
                        f"A restore was interrupted after {count} of {all_of_them} files: /undo finishes it, "
                        "/redo reverses it."
                    )
            elif data.changes or data.uncovered:
                self._append_entry(FILE_CHANGES_ENTRY_TYPE, data)
                words.append(_crash_recovery_text(data))
            opened.recorder.mark_recorded(key)
        return " ".join(words).strip() or None

    def close(self) -> None:
        with self._open_lock:
            opened, self._open_undo = self._open_undo, None
        if opened is not None:
            opened.close()

    @property
    def _is_undo_on(self) -> bool:
        is_wanted = self._options.effective_settings.settings.undo.enabled
        return self._undo_place is not None and is_wanted and self._workspace.has_local_files

    def _require_undo(self) -> None:
        if self._undo_place is None or not isinstance(self._workspace.files, LocalFileOperations):
            raise UserError(
                "File changes are not recorded, because this session's files are on another machine."
            )
        if not self._options.effective_settings.settings.undo.enabled:
            raise UserError(
                "File changes are not recorded, because the setting undo.enabled is off. Switch it on in "
                "/settings."
            )
        if not self._conversation.log.cwd.is_dir():
            raise UserError(f"The session's folder, {self._conversation.log.cwd}, does not exist any more.")

    def _open_undo_parts(self) -> "SessionUndo":
        """Returns the undo parts of the open session, building them when first needed; from any thread."""
        from app.undo.session_undo import open_session_undo  # noqa: PLC0415  (costs start-up)

        assert self._undo_place is not None
        with self._open_lock:
            log = self._conversation.log
            if self._open_undo is not None and self._open_undo.log is log:
                return self._open_undo
            if self._open_undo is not None:
                self._open_undo.close()
            self._open_undo = open_session_undo(
                log,
                self._undo_place,
                self._workspace.cwd,
                limit=self._max_file_bytes,
                added=self._workspace.added,
            )
            self._collect_garbage_if_due(self._open_undo)
            return self._open_undo

    def _max_file_bytes(self) -> int:
        return self._options.effective_settings.settings.undo.max_file_mb << 20

    def _collect_garbage_if_due(self, opened: "SessionUndo") -> None:
        """Removes stored file contents that no session needs, once a day, in a thread."""
        from app.undo.content_store import collect_content_garbage, is_garbage_collection_due  # noqa: PLC0415  (costs start-up)

        if not is_garbage_collection_due(opened.store):
            return
        settings = self._options.effective_settings.settings.undo

        def work() -> None:
            done = collect_content_garbage(
                opened.store, days=settings.days, max_bytes=settings.max_store_mb << 20
            )
            if done.failures:
                count = len(done.failures)
                self._unreported_problems.append(
                    f"The undo store was full (undo.maxStoreMb): stored files of {count} older "
                    f"session{'' if count == 1 else 's'} were deleted and cannot be restored any more."
                )

        threading.Thread(target=work, daemon=True, name="bayou-collect").start()


def _resolve_links_above(path: str) -> str:
    """Resolves links in the path's folder; a link at the end of the path stays, since that is what a command
    removes."""
    folder, name = os.path.split(path.rstrip("/"))
    above = os.path.realpath(folder or "/")
    return f"{above.rstrip('/')}/{name}" if name not in ("", ".", "..") else os.path.realpath(path)


def _find_git_differences(
    place: UndoStoreSettings | None, workspace: SessionWorkspace, revision: str, max_bytes: int
) -> "ChangedFileList":
    from app.undo.git_diff import list_changes_against_git  # noqa: PLC0415  (when it is first shown)

    if place is None or not isinstance(workspace.files, LocalFileOperations):
        raise UserError("Git is not used, because this session's files are on another machine.")
    root = Path(os.path.realpath(workspace.cwd))
    return list_changes_against_git(
        root, home=place.home, may_ask_git=place.may_ask_git, max_bytes=max_bytes, revision=revision
    )


def _save_unreadable_ledger_lines(path: Path, lines: Sequence[tuple[int, bytes]]) -> str:
    """Copies unreadable lines of the undo ledger to a file beside the session; returns a notice, or no text if
    they were copied before."""
    from app.sessions.file.quarantine import copy_to_quarantine  # noqa: PLC0415  (costs start-up)
    from app.sessions.file.session_reader import UnreadableSessionLine  # noqa: PLC0415  (as above)

    try:
        if not copy_to_quarantine(
            path, [UnreadableSessionLine(offset=offset, data=data) for offset, data in lines]
        ):
            return ""
    except OSError as problem:
        return (
            f"A line of {session_sidecar_path(path, 'files').name} cannot be read or copied: "
            f"{problem.strerror or problem}."
        )
    count = len(lines)
    what = "A line" if count == 1 else f"{count} lines"
    return (
        f"{what} of {session_sidecar_path(path, 'files').name} cannot be read; copied to "
        f"{session_sidecar_path(path, 'quarantine').name}. File changes made right before bayou ended may be "
        "missing from /undo."
    )


def _crash_recovery_text(data: FileChangesData) -> str:
    count, who = len(data.changes), data.tool or "a tool"
    if not count:
        return (
            f"bayou ended while {who} ran. Its later file changes are not recorded, so /undo cannot "
            "undo them."
        )
    files = f"{count} file{'' if count == 1 else 's'}"
    return f"bayou ended while {who} changed {files}. The changes are recorded: /undo can undo them."
