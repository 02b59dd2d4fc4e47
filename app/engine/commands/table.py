"""All session commands by name, in the order in which they are told."""

from typing import Any

from app.engine.commands import (
    cells,
    files,
    jobs,
    mcp,
    own_prompts,
    pending,
    permissions,
    places,
    secrets,
    state,
    talking,
)
from app.engine.commands.base import Command

COMMANDS: dict[str, Command[Any, Any]] = {
    command.name: command
    for module in (
        talking,
        cells,
        own_prompts,
        state,
        permissions,
        secrets,
        jobs,
        places,
        files,
        pending,
        mcp,
    )
    for command in vars(module).values()
    if isinstance(command, Command)
}
