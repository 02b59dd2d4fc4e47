"""`bayou COMMAND …`: what can be asked for without opening a session. Each command imports its own needs."""

from collections.abc import Callable

Subcommand = Callable[[list[str]], int]


def _map(words: list[str]) -> int:
    from app.cli.map_command import run  # noqa: PLC0415

    return run(words)


SUBCOMMANDS: dict[str, Subcommand] = {
    "map": _map,
}
