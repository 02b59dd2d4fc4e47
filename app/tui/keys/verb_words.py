"""In which words the full screen tells of a command of the session: the command's own."""


def words_of(verb: str) -> str:
    """`verb`: its name in `app.engine.commands`."""
    from app.engine.commands.table import COMMANDS  # noqa: PLC0415  (when it is told; the first paint needs none)

    return COMMANDS[verb].words
