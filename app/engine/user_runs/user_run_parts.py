"""The parts of a session with which a person runs something, made from what they stand on."""

from collections.abc import Callable

from app.engine.core.session_core import SessionCore
from app.engine.secrets.session_mask import SessionMask
from app.engine.tools.nested_calls import NestedCalls
from app.engine.user_runs.user_cells import UserCells
from app.engine.user_runs.user_shell import UserShell


class UserRunParts:
    """The person's own commands and cells of Python."""

    def __init__(
        self, core: SessionCore, nested: NestedCalls, masking: SessionMask, *, has_turn: Callable[[], bool]
    ) -> None:
        self.shell = UserShell(
            core.workspace, core.conversation, core.hooks, masking, core.telling, has_turn=has_turn
        )
        self.cells = UserCells(
            core.workspace,
            conversation=core.conversation,
            hooks=core.hooks,
            masking=masking,
            nested=nested,
            shell=self.shell,
            telling=core.telling,
        )

    def abort(self) -> None:
        self.shell.abort()
        self.cells.abort()
