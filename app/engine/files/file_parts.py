"""Builds a session's parts for files."""

from collections.abc import Callable

from app.engine.core.delivery import SendMessage
from app.engine.core.session_core import SessionCore
from app.engine.files.file_diagnostics import SessionDiagnostics
from app.engine.files.file_restorer import FileRestorer
from app.engine.files.memory_notes import MemoryNoteWriter
from app.engine.files.pending_changes import PendingChanges
from app.engine.files.session_files import SessionFileChanges
from app.engine.permissions.permission_gate import PermissionGate
from app.engine.secrets.session_mask import SessionSecretMask
from app.undo.content_store import UndoStoreSettings
from app.values.events import FileChanged
from tools.tool_definition import FileChange


class SessionFileParts:
    """The session's parts for files: undo and restores, staged changes, and diagnostics of changed files."""

    def __init__(
        self,
        core: SessionCore,
        place: UndoStoreSettings | None,
        permits: PermissionGate,
        masking: SessionSecretMask,
        *,
        send: SendMessage,
        require_idle: Callable[[str], None],
    ) -> None:
        self._event_bus = core.event_bus
        self.session_files = SessionFileChanges(
            conversation=core.conversation,
            workspace=core.workspace,
            event_bus=core.event_bus,
            options=core.options,
            place=place,
        )
        self.pending = PendingChanges(
            workspace=core.workspace,
            toolbox=core.toolbox,
            conversation=core.conversation,
            event_bus=core.event_bus,
            run_start=core.run_start,
            masking=masking,
            send=send,
        )
        self.diagnostics = SessionDiagnostics(
            core.workspace,
            hooks=core.hooks,
            files=self.session_files,
            permits=permits,
            standing=permits.permission_context,
            masking=masking,
            event_bus=core.event_bus,
            options=core.options,
            next_run=core.run_start,
        )
        self.notes = MemoryNoteWriter(core.workspace, masking, send)
        self.file_restorer = FileRestorer(core.conversation, self.session_files, send, require_idle)
        core.workspace.mutations.subscribe(self._on_file_change)

    def _on_file_change(self, change: FileChange) -> None:
        told = FileChanged(
            path=change.path,
            tool_call_id=change.call_id,
            before_hash=change.before_hash,
            after_hash=change.after_hash,
            mode_before=change.mode_before,
            mode_after=change.mode_after,
            added=change.added,
            removed=change.removed,
        )
        self._event_bus.publish_now(told)
