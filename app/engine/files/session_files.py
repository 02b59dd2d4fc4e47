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
from app.engine.sandbox.command_context import CommandContext
from app.sessions.errors import SessionReadOnly
from app.sessions.ids import sidecar
from app.undo.change_ledger import ChangeLedger, LedgerLine
from app.undo.change_records import (
    FILES_ENTRY_TYPE,
    RESTORED_ENTRY_TYPE,
    Change,
    FilesData,
    RestoreChoice,
    RestoredData,
    UnheldFile,
    as_data,
    decode_changes,
)
from app.undo.content_store import UndoConfig
from app.values.entries import CustomEntry
from app.values.events import EntryAppended
from app.values.user_errors import UserError
from tools.base import FileChange
from tools.files.mutations import PendingMutation
from tools.operations import CommandLine, LocalFiles
from tools.running.shell import POSIX_SHELLS
from tools.running.watching import CommandFiles, FilesAfterCommand
from tools.workspace import Workspace

if TYPE_CHECKING:
    from app.undo.change_lists import Differences
    from app.undo.restore_plan import RestorePlan
    from app.undo.session_undo import SessionRestores, SessionUndo


R = TypeVar("R")


class SessionDiff(msgspec.Struct, frozen=True, kw_only=True):
    """All changes of this branch."""


class PromptDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of one prompt; by default of the last prompt that changed files."""

    entry_id: str | None = None


class GitDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The uncommitted changes of the work tree, by the agent or others."""

    revision: str = ""
    """Instead: the changes since this branch, or those of this commit."""


class EntryDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of this branch after an entry, or from a prompt on."""

    entry_id: str


DiffSource = SessionDiff | PromptDiff | GitDiff | EntryDiff


class SessionFiles:
    def __init__(
        self,
        *,
        conversation: Conversation,
        workspace: Workspace,
        event_bus: EventBus,
        options: SessionOptions,
        place: UndoConfig | None,
    ) -> None:
        self._conversation = conversation
        self._workspace = workspace
        self._event_bus = event_bus
        self._options = options
        self._place = place
        self._opened: SessionUndo | None = None
        self._opening = threading.Lock()
        self._running: dict[str, str] = {}
        self._unreported: list[str] = []
        self._command_context = (
            CommandContext(place.home, place.store.parent, added=workspace.added)
            if place is not None
            else None
        )
        if place is not None and isinstance(workspace.files, LocalFiles):
            workspace.mutations.subscribe_before(self._before_write)
            workspace.mutations.subscribe(self._after_write)
            workspace.watch_command = self._watch_command

    def record_for(self, workspace: Workspace) -> None:
        """Records the changes of a helper's workspace too, so that they are undone like the session's own."""
        if self._place is not None and self._workspace.has_local_files:
            workspace.mutations.subscribe_before(self._before_write)
            workspace.watch_command = self._watch_command
        workspace.mutations.subscribe(self._workspace.mutations.tell)

    # What calls do

    def call_began(self, call_id: str, tool: str) -> None:
        self._running[call_id] = tool

    def call_ended(self, call_id: str, tool: str) -> EntryAppended | None:
        """Records the file changes of a call after its result; the returned event is published with the
        result."""
        self._running.pop(call_id, None)
        while self._unreported:
            self._event_bus.warn(self._unreported.pop())
        opened = self._opened
        if opened is None or opened.log is not self._conversation.log:
            return None
        data = opened.recorder.take(call_id, tool)
        told = self._record(FILES_ENTRY_TYPE, data) if data is not None else None
        opened.recorder.told(call_id)
        return told

    def _record(self, kind: str, data: FilesData | RestoredData) -> EntryAppended | None:
        entry = CustomEntry(parent_id=None, custom_type=kind, data=as_data(data))
        try:
            return EntryAppended(entry=self._conversation.log.keep(entry))
        except SessionReadOnly:
            return None

    def _before_write(self, intent: PendingMutation) -> None:
        if self._is_on:
            self._open().recorder.about_to(intent)

    def _after_write(self, change: FileChange) -> None:
        opened = self._opened
        if opened is None or change.by != "tool" or not self._workspace.has_local_files:
            return
        for name, image in opened.recorder.happened(change):
            opened.watch.learn(name, image)
        self._record_later(change.call_id, "")

    def _record_later(self, call_id: str, tool: str) -> None:
        """Records changes at once if no running call will record them."""
        outer = call_id.split("/", 1)[0]
        if outer in self._running or call_id in self._running:
            return
        told = self.call_ended(call_id, tool)
        if told is not None:
            self._event_bus.publish_now(told)

    # Commands

    async def _watch_command(self, call_id: str, tool: str, command: CommandLine) -> FilesAfterCommand | None:
        if not self._is_on or not self._options.effective_settings.settings.undo.commands:
            return None
        if not self._workspace.shell().is_persistent and await asyncio.to_thread(self._only_reads, command):
            return None
        opened = await asyncio.to_thread(self._open)
        try:
            opened.recorder.ledger.begin(LedgerLine(kind="command", id=call_id, tool=tool))
        except OSError:
            pass  # a full disk stores no contents either, which is reported for each file
        await opened.watch.begin(call_id)
        return partial(self._command_ended, opened, call_id, tool)

    def _only_reads(self, command: CommandLine) -> bool:
        """Whether the words of the command show that it only reads. A persistent shell may have redefined
        them."""
        from app.permits.shell.command_line import judge_command  # noqa: PLC0415  (loads a parser)

        if self._command_context is None or Path(command.argv[0]).name not in POSIX_SHELLS:
            return False
        place = self._command_context.place(self._workspace.cwd, self._workspace.shell().passed_names)
        place = msgspec.structs.replace(place, folder=os.path.realpath(command.cwd))
        return judge_command(command.argv[-1], place).risk == "safe"

    async def _command_ended(self, opened: "SessionUndo", call_id: str, tool: str) -> CommandFiles | None:
        happened = await opened.watch.end(call_id)
        opened.recorder.command_ended(call_id, happened)
        self._publish_changes(happened.changes, opened.recorder.root, call_id, "command")
        self._record_later(call_id, tool)
        if not happened.changes and not happened.uncovered:
            return None
        return CommandFiles(
            changed=len(happened.changes),
            added=sum(change.added for change in happened.changes),
            removed=sum(change.removed for change in happened.changes),
            uncovered=tuple(f"{one.path} ({one.why})" for one in happened.uncovered),
        )

    def _publish_changes(
        self, changes: Iterable[Change], root: Path, id: str, by: Literal["command", "restore"]
    ) -> None:
        """Publishes the changes. `id`: the id of the call, or of the restore."""
        for change in changes:
            before, after = change.before, change.after
            if "folder" in (before and before.kind, after and after.kind) and (
                before is None or after is None
            ):
                continue  # this change names no file
            self._workspace.mutations.tell(
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

    async def unheld(self, paths: Iterable[str], *, ignored: bool = True) -> tuple[UnheldFile, ...]:
        """Returns the files at or below absolute `paths` that undo could not restore if a command removed or changed
        them.

        `ignored`: the command also reaches files that git ignores (`rm -rf` does; `git clean -fd` and `git reset
        --hard` do not). Takes about as long as `git status`."""
        if not self._is_on or not self._options.effective_settings.settings.undo.commands:
            return tuple(
                UnheldFile(path=path, why="changes made by commands are not recorded") for path in paths
            )
        opened = await asyncio.to_thread(self._open)
        places = await asyncio.to_thread(lambda: [_without_links_above(path) for path in paths])
        return await opened.watch.unheld(places, ignored=ignored)

    def content(self, hash: str) -> bytes | None:
        """Returns the content with this hash, as file events report it; None: it was not kept. For a thread."""
        from app.undo.content_store import BlobStore, DamagedContent, MissingContent  # noqa: PLC0415  (costs start-up)

        if self._place is None:
            return None
        store = self._opened.store if self._opened is not None else BlobStore(self._place.store)
        try:
            return store.get(hash)
        except (DamagedContent, MissingContent):
            return None

    @property
    def watched_place(self) -> UndoConfig | None:
        """How the workspace's files can be watched; None: they are on another machine."""
        return self._place if self._workspace.has_local_files else None

    # What changed, and restores

    async def differences(self, of: DiffSource) -> "Differences":
        if isinstance(of, GitDiff):
            return await asyncio.to_thread(
                _git_differences, self._place, self._workspace, of.revision, self._max_file_bytes()
            )
        self._require_undo()
        differing = (await asyncio.to_thread(self._open)).differing
        if isinstance(of, SessionDiff):
            return await asyncio.to_thread(differing.of_session)
        if isinstance(of, EntryDiff):
            return await asyncio.to_thread(differing.since, of.entry_id)
        return await asyncio.to_thread(differing.of_prompt, of.entry_id)

    async def planned(self, plan: "Callable[[SessionRestores], R]") -> R:
        self._require_undo()
        opened = await asyncio.to_thread(self._open)
        return await asyncio.to_thread(plan, opened.restores)

    async def carry_out(self, plan: "RestorePlan", choices: Mapping[str, RestoreChoice]) -> RestoredData:
        """Restores the files only; the result still has to be recorded (`record_restore`)."""
        self._require_undo()
        opened = await asyncio.to_thread(self._open)
        data = await asyncio.to_thread(opened.restores.carry_out, plan, choices)
        for step in plan.steps:
            self._workspace.read_cache.forget(step.place)
        return data

    async def names_of(self, data: RestoredData) -> tuple[str, ...]:
        """Returns the paths of the changed files, as entries spell them."""
        if data.more is None:
            return tuple(change.path for change in data.changes)
        opened = await asyncio.to_thread(self._open)
        return tuple(change.path for change in decode_changes(opened.store.get(data.more)))

    async def record_restore(self, data: RestoredData) -> str | None:
        """Records a restore; returns the entry's id, or None if nothing was changed. Raises `UserError`."""
        if self._opened is None:  # the ledger has the restore, and the next opening of the session records it
            raise UserError(
                "The session was closed while files were being restored. Open it again to finish or "
                "reverse the restore."
            )
        told = self._record(RESTORED_ENTRY_TYPE, data) if data.total else None
        self._opened.recorder.told(data.id)
        if told is None:
            return None
        changes = data.changes if data.more is None else decode_changes(self._opened.store.get(data.more))
        for change in changes:
            self._opened.watch.learn(change.name, change.after)
        self._publish_changes(changes, self._opened.recorder.root, data.id, "restore")
        await self._event_bus.publish(told)
        return told.entry.id

    # Beginning and end

    def recover(self) -> str | None:
        """Records changes that a crash left unrecorded. Returns a text for the user."""
        log = self._conversation.log
        if not self._is_on or log.path is None or log.is_read_only:
            return None
        left = ChangeLedger(sidecar(log.path, "files")).left_open()
        words = [_save_unreadable_lines(log.path, left.bad)] if left.bad else []
        if not left.lines:
            return " ".join(words).strip() or None
        opened = self._open()
        for key, data in opened.restores.left_open():
            if isinstance(data, RestoredData):
                if data.total or data.interrupted:
                    self._record(RESTORED_ENTRY_TYPE, data)
                if data.interrupted:
                    count, all_of_them = data.total, data.total + len(data.kept)
                    words.append(
                        f"A restore was interrupted after {count} of {all_of_them} files: /undo finishes it, "
                        "/redo reverses it."
                    )
            elif data.changes or data.uncovered:
                self._record(FILES_ENTRY_TYPE, data)
                words.append(_summary_of_changes(data))
            opened.recorder.told(key)
        return " ".join(words).strip() or None

    def close(self) -> None:
        with self._opening:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    @property
    def _is_on(self) -> bool:
        is_wanted = self._options.effective_settings.settings.undo.enabled
        return self._place is not None and is_wanted and self._workspace.has_local_files

    def _require_undo(self) -> None:
        if self._place is None or not isinstance(self._workspace.files, LocalFiles):
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

    def _open(self) -> "SessionUndo":
        """Returns the undo parts of the open log; from any thread."""
        from app.undo.session_undo import open_undo  # noqa: PLC0415  (costs start-up)

        assert self._place is not None
        with self._opening:
            log = self._conversation.log
            if self._opened is not None and self._opened.log is log:
                return self._opened
            if self._opened is not None:
                self._opened.close()
            self._opened = open_undo(
                log,
                self._place,
                self._workspace.cwd,
                limit=self._max_file_bytes,
                added=self._workspace.added,
            )
            self._collect_if_due(self._opened)
            return self._opened

    def _max_file_bytes(self) -> int:
        return self._options.effective_settings.settings.undo.max_file_mb << 20

    def _collect_if_due(self, opened: "SessionUndo") -> None:
        """Removes contents that no session needs, once a day, in a thread."""
        from app.undo.content_store import collect_garbage, is_due  # noqa: PLC0415  (costs start-up)

        if not is_due(opened.store):
            return
        settings = self._options.effective_settings.settings.undo

        def work() -> None:
            done = collect_garbage(opened.store, days=settings.days, max_bytes=settings.max_store_mb << 20)
            if done.given_up:
                count = len(done.given_up)
                self._unreported.append(
                    f"The undo store was full (undo.maxStoreMb): stored files of {count} older "
                    f"session{'' if count == 1 else 's'} were deleted and cannot be restored any more."
                )

        threading.Thread(target=work, daemon=True, name="bayou-collect").start()


def _without_links_above(path: str) -> str:
    """Resolves the path's folder; a link at its end stays, since that is what a command removes."""
    folder, name = os.path.split(path.rstrip("/"))
    above = os.path.realpath(folder or "/")
    return f"{above.rstrip('/')}/{name}" if name not in ("", ".", "..") else os.path.realpath(path)


def _git_differences(
    place: UndoConfig | None, workspace: Workspace, revision: str, max_bytes: int
) -> "Differences":
    from app.undo.git_diff import diff_against_git  # noqa: PLC0415  (when it is first shown)

    if place is None or not isinstance(workspace.files, LocalFiles):
        raise UserError("Git is not used, because this session's files are on another machine.")
    root = Path(os.path.realpath(workspace.cwd))
    return diff_against_git(
        root, home=place.home, may_ask_git=place.may_ask_git, max_bytes=max_bytes, revision=revision
    )


def _save_unreadable_lines(path: Path, lines: Sequence[tuple[int, bytes]]) -> str:
    """Copies unreadable lines of the ledger beside the session; returns no text if they were copied before."""
    from app.sessions.file.quarantine import copy_to_quarantine  # noqa: PLC0415  (costs start-up)
    from app.sessions.file.session_reader import BadLine  # noqa: PLC0415  (as above)

    try:
        if not copy_to_quarantine(path, [BadLine(offset=offset, data=data) for offset, data in lines]):
            return ""
    except OSError as problem:
        return (
            f"A line of {sidecar(path, 'files').name} cannot be read or copied: "
            f"{problem.strerror or problem}."
        )
    count = len(lines)
    what = "A line" if count == 1 else f"{count} lines"
    return (
        f"{what} of {sidecar(path, 'files').name} cannot be read; copied to "
        f"{sidecar(path, 'quarantine').name}. File changes made right before bayou ended may be "
        "missing from /undo."
    )


def _summary_of_changes(data: FilesData) -> str:
    count, who = len(data.changes), data.tool or "a tool"
    if not count:
        return (
            f"bayou ended while {who} ran. Its later file changes are not recorded, so /undo cannot "
            "undo them."
        )
    files = f"{count} file{'' if count == 1 else 's'}"
    return f"bayou ended while {who} changed {files}. The changes are recorded: /undo can undo them."
