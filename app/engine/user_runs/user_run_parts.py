"""Builds the parts of a session that run the user's shell commands and Python cells."""

from collections.abc import Callable

from app.engine.core.session_core import SessionCore
from app.engine.secrets.session_mask import SessionSecretMask
from app.engine.tools.nested_calls import NestedToolCalls
from app.engine.user_runs.user_cells import UserCells
from app.engine.user_runs.user_shell import UserShell


class UserRunParts:
    """The parts of a session that run the user's shell commands and Python cells."""

    def __init__(
        self,
        core: SessionCore,
        nested: NestedToolCalls,
        masking: SessionSecretMask,
        *,
        has_turn: Callable[[], bool],
    ) -> None:
        self.shell = UserShell(
            core.workspace, core.conversation, core.hooks, masking, core.event_bus, is_turn_running=has_turn
        )
        self.cells = UserCells(
            core.workspace,
            conversation=core.conversation,
            hooks=core.hooks,
            masking=masking,
            nested_calls=nested,
            user_shell=self.shell,
            event_bus=core.event_bus,
        )

    def abort(self) -> None:
        self.shell.abort()
        self.cells.abort()
