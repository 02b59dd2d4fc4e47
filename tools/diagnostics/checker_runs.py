"""Runs a linter or type checker in the given sandbox, and parses its output."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from tools.box.sandbox_policy import SandboxPolicy, add_private_folder_to_policy
from tools.diagnostics import output_parsers
from tools.diagnostics.checkers import CannotStartChecker, CheckerCommand
from tools.diagnostics.code_problems import CodeProblem
from tools.file_and_process_operations import CommandLine
from tools.running.limited_program import ProgramOutput, run_limited_program
from tools.running.local_processes import LocalProcesses

MAX_CHECKER_OUTPUT_BYTES: Final = 4 << 20
_MAX_CHECKER_ERROR_CHARS: Final = 20_000


class CheckerEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that all linters and type checkers of one check share: processes, environment, sandbox, time
    limit."""

    processes: LocalProcesses
    environment: Mapping[str, str]
    box: SandboxPolicy | None
    seconds: float
    private_folder: Callable[[str], Path]
    """Creates a folder that is hidden from sandboxed programs unless their policy adds it."""

    def with_readable_folder(self, folder: str) -> "CheckerEnvironment":
        return msgspec.structs.replace(self, box=self.box and add_private_folder_to_policy(self.box, folder))


class CheckerResult(msgspec.Struct, frozen=True, kw_only=True):
    """The problems that one run of a linter or type checker reported."""

    problems: tuple[CodeProblem, ...] = ()
    is_cut: bool = False
    """Whether the checker's output exceeded the limit and was cut."""


async def run_checker(
    how: CheckerCommand,
    around: CheckerEnvironment,
    *,
    place: output_parsers.ResolveCheckerPath,
    works_in: str,
    argv: tuple[str, ...],
    text: bytes = b"",
) -> CheckerResult:
    """Runs one linter or type checker, with `text` as its standard input. Raises `CannotStartChecker`."""
    command = CommandLine(argv=argv, cwd=works_in, environment=around.environment, box=around.box)
    said = await _run_checker_program(how, command, around, text)
    if said.is_timed_out:
        raise CannotStartChecker(f"{how.name} took longer than {around.seconds:g} seconds and was ended")
    whole = said.output + (b"\n" + said.errors if how.reads_both_streams else b"")
    try:
        found = await asyncio.to_thread(
            lambda: how.parse_output(whole.decode("utf-8", "replace"), how.name, place)
        )
    except output_parsers.UnreadableCheckerOutput as problem:
        if said.is_output_cut:
            raise CannotStartChecker(
                f"{how.name} said more than {MAX_CHECKER_OUTPUT_BYTES >> 20} MB"
            ) from None
        raise CannotStartChecker(_format_checker_failure(how, said, str(problem))) from None
    if not found and said.exit_code not in how.expected_exit_codes and not said.is_output_cut:
        raise CannotStartChecker(_format_checker_failure(how, said, ""))
    return CheckerResult(problems=tuple(found), is_cut=said.is_output_cut)


def _format_checker_failure(how: CheckerCommand, said: ProgramOutput, why: str) -> str:
    if said.exit_code < 0:
        return f"{how.name} was ended by signal {-said.exit_code}"
    told = (said.errors + b"\n" + said.output if how.reads_both_streams else said.errors)[
        :_MAX_CHECKER_ERROR_CHARS
    ]
    lines = [line for line in told.decode("utf-8", "replace").splitlines() if line.strip()]
    line = next((line for line in lines if "rror" in line), lines[0] if lines else "")
    words = why or output_parsers.clean_problem_text(line, output_parsers.MAX_PARSED_PROBLEM_CHARS)
    return f"{how.name} failed (exit code {said.exit_code})" + (f": {words}" if words else "")


async def _run_checker_program(
    how: CheckerCommand, command: CommandLine, around: CheckerEnvironment, text: bytes
) -> ProgramOutput:
    try:
        return await run_limited_program(
            around.processes, command, text=text, seconds=around.seconds, max_bytes=MAX_CHECKER_OUTPUT_BYTES
        )
    except OSError as problem:
        raise CannotStartChecker(f"{how.name} could not be started: {problem.strerror or problem}") from None
