"""All session commands by name."""

from app.engine.commands.base import Command
from app.engine.commands.jobs import JOBS
from app.engine.commands.places import PLACES
from app.engine.commands.state import STATE
from app.engine.commands.talking import TALKING

COMMANDS: dict[str, Command] = {command.name: command for command in (*TALKING, *STATE, *JOBS, *PLACES)}
