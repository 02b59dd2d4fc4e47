"""The parts of a session that are about what is to be done, made from what they stand on."""

from app.engine.core.delivery import SendMessage
from app.engine.core.session_core import SessionCore
from app.engine.models.model_requests import Requests
from app.engine.permissions.gate import Permits
from app.engine.planning.plan_mode import Planning
from app.engine.planning.todo_list import Todos
from app.engine.secrets.session_mask import Masking


class PlanningParts:
    """The list of todos, and plan mode, in which no reminder of todos is sent."""

    def __init__(
        self, core: SessionCore, permits: Permits, requests: Requests, masking: Masking, *, send: SendMessage
    ) -> None:
        self.todos = Todos(
            core.conversation,
            core.telling,
            core.options,
            masking,
            core.next_run,
            send=send,
            may_remind=lambda: not self.plan.is_on,
        )
        self.plan = Planning(
            core.conversation,
            permits,
            self.todos,
            core.telling,
            toolbox=core.toolbox,
            requests=requests,
            in_force=core.options.in_force,
            asks=permits.standing.asks,
        )
