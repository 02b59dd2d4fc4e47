"""Measures judging commands: a day of ordinary ones, with real paths, against reading the same
text with Python's tokenizer. Without a sandbox each word of a plain command is looked at too."""

import os
import time
import tokenize
from collections.abc import Callable, Iterable
from io import StringIO
from pathlib import Path

import msgspec

from app.engine.sandbox.command_context import LinkResolver
from app.permits.command_place import CommandPlace
from app.permits.shell.command_line import judge_command_line
from bench.table import Row

_DAY_OF_COMMANDS = Path(__file__).parent.parent / "tests" / "permits" / "day.txt"


def rows() -> Iterable[Row]:
    commands = [line.replace("¶", "\n") for line in _DAY_OF_COMMANDS.read_text(encoding="utf-8").splitlines()]
    here = str(Path.cwd())
    place = CommandPlace(
        workspace=here,
        working_folder=here,
        home_folder=str(Path.home()),
        resolve_links=LinkResolver(os.path.realpath(here)).resolve_links,
    )
    judge_command_line("ls", place)
    tokenized = _tokenized(commands)
    boxed = msgspec.structs.replace(place, has_sandbox=True, hides_secrets=True)
    for name, where, limit in (
        ("1,000 verdicts in a sandbox, CPU", boxed, 100),
        ("1,000 verdicts without one, CPU", place, 150),
    ):
        figure = _cost_per_thousand(commands, where)
        yield Row(
            name=name,
            figure=figure,
            unit="ms",
            ratio=figure / tokenized,
            reference="the same text through Python's tokenizer",
            limit=f"{limit} ms",
        )


def _cost_per_thousand(commands: list[str], place: CommandPlace) -> float:
    def once() -> None:
        for command in commands:
            judge_command_line(command, place)

    return _best_cpu_ms(once) / len(commands) * 1000


def _tokenized(commands: list[str]) -> float:
    def once() -> None:
        for command in commands:
            try:
                for _ in tokenize.generate_tokens(StringIO(command).readline):
                    pass
            except (tokenize.TokenError, SyntaxError):
                pass

    return _best_cpu_ms(once) / len(commands) * 1000


def _best_cpu_ms(deed: Callable[[], None]) -> float:
    """Returns the milliseconds of CPU time, the best of five runs."""
    times: list[float] = []
    for _ in range(5):
        started = time.process_time()
        deed()
        times.append(time.process_time() - started)
    return min(times) * 1000
