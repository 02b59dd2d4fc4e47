"""Builds a session's parts for tool calls."""

from app.engine.core.session_core import SessionCore
from app.engine.jobs.background_jobs import JobTable
from app.engine.permissions.permission_gate import PermissionGate
from app.engine.secrets.masked_calls import MaskedCalls
from app.engine.secrets.session_mask import SessionMask
from app.engine.tools.call_preview import CallPreview
from app.engine.tools.live_edits import LiveEdits
from app.engine.tools.nested_calls import NestedCalls


class ToolParts:
    """The session's parts for tool calls: nested calls, previews of calls, checks of edits while they arrive, and
    masks of secrets."""

    def __init__(
        self, core: SessionCore, jobs: JobTable, permits: PermissionGate, masking: SessionMask
    ) -> None:
        self.masking = masking
        self.masks = MaskedCalls(masking)
        self.nested = NestedCalls(
            core.toolbox, core.choice, jobs, core.hooks, permits.check_call, self.masks, core.event_bus
        )
        self.preview = CallPreview(core.toolbox, permits, self.masks)
        self.live_edits = LiveEdits(
            toolbox=core.toolbox,
            permits=permits,
            preview=self.preview,
            hooks=core.hooks,
            options=core.options,
        )
