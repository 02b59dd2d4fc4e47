"""Builds a session's parts for tool calls."""

from app.engine.core.session_core import SessionCore
from app.engine.jobs.background_jobs import JobTable
from app.engine.permissions.permission_gate import PermissionGate
from app.engine.secrets.masked_calls import ToolCallSecretMasking
from app.engine.secrets.session_mask import SessionSecretMask
from app.engine.tools.call_preview import ToolCallPreviews
from app.engine.tools.live_edits import ArrivingEditWatch
from app.engine.tools.nested_calls import NestedToolCalls


class SessionToolParts:
    """The session's parts for tool calls: nested calls, previews of calls, checks of edits while they arrive, and
    masks of secrets."""

    def __init__(
        self, core: SessionCore, jobs: JobTable, permits: PermissionGate, masking: SessionSecretMask
    ) -> None:
        self.masking = masking
        self.masks = ToolCallSecretMasking(masking)
        self.nested = NestedToolCalls(
            core.toolbox, core.choice, jobs, core.hooks, permits.check_call, self.masks, core.event_bus
        )
        self.preview = ToolCallPreviews(core.toolbox, permits, self.masks)
        self.live_edits = ArrivingEditWatch(
            toolbox=core.toolbox,
            permits=permits,
            preview=self.preview,
            hooks=core.hooks,
            options=core.options,
        )
