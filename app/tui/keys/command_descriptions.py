"""Describes a session command by the command's own description."""


def describe_session_command(verb: str) -> str:
    """Returns the description of a session command. `verb`: its name in `app.engine.commands`."""
    from app.engine.commands.command_table import COMMANDS  # noqa: PLC0415  (late, because the first paint does not need it)

    return COMMANDS[verb].words
