"""Runs the command line: words → options → session → user interface. Each step imports only what it needs."""

import gc
import os
import sys

from app.exit_codes import FAILED, INTERRUPTED, USAGE_ERROR
from app.printing import print_line, print_problem
from app.version import VERSION

TYPE_CHECKING = False
"""A stand-in for the one of `typing`, whose import would take as long as all of this."""
if TYPE_CHECKING:
    from widgets.terminal.early_terminal import EarlyTerminal


def main(arguments: list[str] | None = None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    if not _has_streams():
        print_problem(
            "standard output is closed, so no answer can be written. Open it or redirect it to a file."
        )
        return FAILED
    if words in (["--version"], ["-v"]):
        print_line(f"bayou {VERSION}")
        return _flush_output(0)
    code = _flush_output(_run_with_launch_frame(words))
    if arguments is None:  # run as the program: nothing follows
        from app.cli.process_exit import exit_process  # noqa: PLC0415  (the version needs none of it)

        exit_process(code)
    return code


def _has_streams() -> bool:
    """Replaces missing standard streams. Returns False without a standard output: then there is nowhere to
    write to."""
    has_output = sys.stdout is not None
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)
            if nothing != number:
                os.dup2(nothing, number)
                os.close(nothing)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
    return has_output


def _make_process_private(words: list[str]) -> None:
    # Before any process starts that could look; the version needs no protection.
    from app.cli.process_protection import forbid_process_inspection, hide_api_key_argument  # noqa: PLC0415

    forbid_process_inspection()
    hide_api_key_argument(words)


def _run_with_launch_frame(words: list[str]) -> int:
    from app.cli.launch_frame import show_launch_frame  # noqa: PLC0415  (knows the system and nothing else)

    try:
        held = show_launch_frame(words)
        try:
            return _start_program(words, held)
        finally:
            if held is not None:
                held.restore_terminal()
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as problem:  # noqa: BLE001  (the last boundary: no traceback reaches a person)
        from app.assembly.command_line_options import UsageError  # noqa: PLC0415  (a screen may have to be left first)

        if not isinstance(problem, UsageError):
            return _report_crash(problem)
        print_problem(str(problem))
        return USAGE_ERROR


def _start_program(words: list[str], held: "EarlyTerminal | None") -> int:
    # Imports create many objects and free none, so collection is off. Longer runs turn it on in time.
    gc.disable()
    _make_process_private(words)
    # Help and usage errors need only the flags' table.
    from app.cli.flags import command_line_help_text  # noqa: PLC0415
    from app.cli.option_parsing import parse_command_line_options, reject_misspelled_subcommand  # noqa: PLC0415

    subcommand = _find_subcommand(words)
    if subcommand is not None:
        gc.enable()
        return subcommand(words[1:])
    reject_misspelled_subcommand(words)
    options = parse_command_line_options(words)
    if options.version:
        print_line(f"bayou {VERSION}")
        return 0
    if options.help:
        print_line(command_line_help_text())
        return 0
    # Imported late: the session's modules take longer than all of the above.
    from app.cli.start_interface import start_interface  # noqa: PLC0415

    return start_interface(options, held)


def _find_subcommand(words: list[str]):
    from app.cli.subcommands import SUBCOMMANDS  # noqa: PLC0415  (only names; each imports its own needs)

    return SUBCOMMANDS.get(words[0]) if words else None


def _report_crash(problem: Exception) -> int:
    # Imported here because only an internal error needs these.
    from pathlib import Path  # noqa: PLC0415

    from app.assembly.crash_report import print_crash_report, report_crash  # noqa: PLC0415
    from app.resources.paths import BayouPaths  # noqa: PLC0415

    return print_crash_report(report_crash(BayouPaths.from_env(os.environ, Path("/")).crash_dir, problem))


def _flush_output(code: int) -> int:
    """Flushes the output while a failure can still be reported.

    When Python flushes at its end, a reader or a terminal that has gone would turn any exit code into 120,
    with a message about an ignored exception.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as problem:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, stream.fileno())
            os.close(nothing)
            if stream is sys.stdout and not isinstance(problem, BrokenPipeError):
                _print_problem_if_possible(f"the output could not be written: {problem.strerror}")
            code = code or FAILED
    return code


def _print_problem_if_possible(text: str) -> None:
    try:
        print_problem(text)
    except OSError:
        pass  # standard error is gone as well
