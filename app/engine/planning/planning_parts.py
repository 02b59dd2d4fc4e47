"""Builds a session's parts for planning."""

from app.engine.core.delivery import SendMessage
from app.engine.core.session_core import SessionCore
from app.engine.models.model_requests import ModelRequests
from app.engine.permissions.gate import PermissionGate
from app.engine.planning.plan_mode import PlanMode
from app.engine.planning.todo_list import TodoList
from app.engine.secrets.session_mask import SessionMask


class PlanningParts:
    """The todo list and plan mode, in which no todo reminders are sent."""

    def __init__(
        self,
        core: SessionCore,
        permits: PermissionGate,
        requests: ModelRequests,
        masking: SessionMask,
        *,
        send: SendMessage,
    ) -> None:
        self.todos = TodoList(
            core.conversation,
            core.telling,
            core.options,
            masking,
            core.next_run,
            send=send,
            may_remind=lambda: not self.plan.is_on,
        )
        self.plan = PlanMode(
            core.conversation,
            permits,
            self.todos,
            core.telling,
            toolbox=core.toolbox,
            requests=requests,
            in_force=core.options.in_force,
            asks=permits.standing.asks,
        )
