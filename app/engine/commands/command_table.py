"""All session commands by name, in the order in which they are listed."""

from typing import Any

from app.engine.commands import conversation_commands, state_commands
from app.engine.commands import prompt_commands as own_prompts
from app.engine.commands.session_command import SessionCommandDefinition
from app.engine.files import file_commands as files
from app.engine.files import pending_commands as pending
from app.engine.files import review_commands as review
from app.engine.goals import goal_commands as goals
from app.engine.helpers import helper_commands as helpers
from app.engine.jobs import job_commands as jobs
from app.engine.mcp import mcp_commands as mcp
from app.engine.permissions import permission_commands as permissions
from app.engine.secrets import secret_commands as secrets
from app.engine.tree import tree_commands as places
from app.engine.user_runs import cell_commands as cells

COMMANDS: dict[str, SessionCommandDefinition[Any, Any]] = {
    command.name: command
    for module in (
        conversation_commands,
        cells,
        own_prompts,
        state_commands,
        permissions,
        secrets,
        jobs,
        helpers,
        places,
        files,
        pending,
        review,
        goals,
        mcp,
    )
    for command in vars(module).values()
    if isinstance(command, SessionCommandDefinition)
}
