"""Finds the part of a pipeline that failed although the last part succeeded, which the exit code does not say.

The shell itself reports how the parts ended, in a trap that it runs at its end; the command's text stays as it is. Only
bash does so, and only for the last pipeline that ran. A command that sets its own trap for the end reports
nothing, nor does one whose last pipeline runs in a function's or a list's subshell.

Two endings are no failure: SIGPIPE, by which `head` ends a writer, and 1 of programs that answer a question with it
(`grep`, `diff`, `test`)."""

import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from tools.box.sandbox_policy import add_private_folder_to_policy
from tools.file_and_process_operations import CommandLine
from tools.lazy_patterns import lazy_regex

PIPE_STATUS_COMMAND: Final = """{ builtin printf '%%s ' "${PIPESTATUS[@]}" >|%s; } 2>/dev/null || :"""
"""A bash command that writes the exit codes of the last pipeline's parts to a file; its own errors and traces are
discarded."""
_FIFO_OPEN_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
_PIPELINE_BASH_ENV_TEMPLATE: Final = """\
trap -- {trap} EXIT
{before}
: "$BASH"
"""
"""The start file of a bash command. Its last line makes `$_` the value that it has without a start file."""
_BASH_ENV_VARIABLE_NAME: Final = "BASH_ENV"
_SIGPIPE_EXIT_CODE: Final = 128 + 13
_PROGRAMS_EXIT_1_MEANS_NO: Final = frozenset(
    (
        "grep",
        "egrep",
        "fgrep",
        "zgrep",
        "rg",
        "ag",
        "ack",
        "pgrep",
        "diff",
        "cmp",
        "test",
        "[",
        "[[",
        "expr",
        "which",
    )
)
_GIT_EXIT_1_MEANS_NO: Final = frozenset({"grep", "diff"})
_SHELL_PIPE_OPERATOR_PATTERN: Final = lazy_regex(r"(?<!\|)\|(?!\|)")
_SHELL_ASSIGNMENT_PATTERN: Final = lazy_regex(r"[A-Za-z_]\w*=")
_MAX_PIPELINE_EXIT_CODES_BYTES: Final = 4_096
_MAX_PARSED_COMMAND_CHARS: Final = 20_000
_MAX_QUOTED_WORDS_OF_PIPELINE_PART: Final = 3
_MAX_PROGRAM_NAME_CHARS: Final = 30


def has_pipeline(command: str) -> bool:
    return _SHELL_PIPE_OPERATOR_PATTERN.search(command) is not None


class PipelineExitCodeReport:
    """The FIFO into which the shell writes how the parts of the last pipeline ended.

    A FIFO can be written even where a sandbox makes everything around it read-only."""

    def __init__(self, file: Path, folder: Path | None = None) -> None:
        """Creates the FIFO in `folder`, a folder for it alone, which is removed after the report is read."""
        self._folder = folder
        os.mkfifo(file, 0o600)
        self._descriptor = os.open(file, _FIFO_OPEN_FLAGS)

    def read_exit_codes(self) -> tuple[int, ...]:
        """Returns the exit codes of the last pipeline's parts; empty if the shell reported nothing. Can be called
        once."""
        try:
            words = os.read(self._descriptor, _MAX_PIPELINE_EXIT_CODES_BYTES).split()
        except OSError:
            return ()
        finally:
            self.close_and_delete_report()
        return tuple(int(word) for word in words) if all(word.isdigit() for word in words) else ()

    def close_and_delete_report(self) -> None:
        os.close(self._descriptor)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def add_pipeline_exit_code_report(
    command: CommandLine, private_folder: Callable[[str], Path]
) -> tuple[CommandLine, PipelineExitCodeReport | None]:
    """Returns a bash command with a start file that sets the trap which reports how its pipeline ended; other commands
    are unchanged."""
    if Path(command.argv[0]).name != "bash" or not has_pipeline(command.argv[-1]):
        return command, None
    folder = private_folder("pipeline")
    statuses = folder / "statuses"
    report = PipelineExitCodeReport(statuses, folder)
    start = folder / "start"
    name = _BASH_ENV_VARIABLE_NAME
    own = command.environment.get(name)
    before = f"unset {name}"
    if own is not None:
        before = f'export {name}={shlex.quote(own)}\n[ -r "${name}" ] && . "${name}"'
    trap = shlex.quote(PIPE_STATUS_COMMAND % shlex.quote(str(statuses)))
    start.write_text(_PIPELINE_BASH_ENV_TEMPLATE.format(trap=trap, before=before), encoding="utf-8")
    return msgspec.structs.replace(
        command,
        environment={**command.environment, _BASH_ENV_VARIABLE_NAME: str(start)},
        box=command.box and add_private_folder_to_policy(command.box, str(folder)),
    ), report


def describe_failed_pipeline_part(command: str, statuses: tuple[int, ...]) -> str:
    """Returns a note on the first part that failed in a pipeline that succeeded; empty if none did."""
    if len(statuses) < 2 or statuses[-1]:
        return ""
    parts = _find_last_pipeline_parts(command, len(statuses))
    for number, status in enumerate(statuses):
        words = parts[number] if parts else []
        if status in (0, _SIGPIPE_EXIT_CODE) or (status == 1 and _does_exit_1_mean_no(words)):
            continue
        name = _program_name(words)
        part = f"`{name}`" if name else f"part {number + 1} of {len(statuses)} of the pipeline"
        return f"exit 0, but {part} failed with {status}"
    return ""


def _find_last_pipeline_parts(command: str, count: int) -> list[list[str]]:
    """Returns the words of each part of the last pipeline in a command that has `count` parts; empty if there is
    none."""
    lexer = shlex.shlex(command[-_MAX_PARSED_COMMAND_CHARS:], posix=False, punctuation_chars="();|&\n")
    lexer.whitespace = " \t\r"
    lexer.commenters = ""
    lexer.whitespace_split = True
    found: list[list[str]] = []
    parts: list[list[str]] = [[]]
    try:
        for token in lexer:
            if token.rstrip("\n") in ("|", "|&"):
                parts.append([])
            elif token[0] in ";&()\n|" and not (token == "&" and parts[-1] and parts[-1][-1].endswith(">")):
                found, parts = (parts if len(parts) == count else found), [[]]
            else:
                parts[-1].append(token)
    except ValueError:  # a quotation without an end
        return []
    return parts if len(parts) == count else found


def _skip_assignments_and_redirections(words: list[str]) -> list[str]:
    """Returns the words of a command from the program's name on, without variable assignments and redirections."""
    at = next((at for at, word in enumerate(words) if not _SHELL_ASSIGNMENT_PATTERN.match(word)), len(words))
    kept: list[str] = []
    for word in words[at:]:
        if "<" in word or ">" in word:
            break
        kept.append(word)
    return kept


def _does_exit_1_mean_no(words: list[str]) -> bool:
    """Returns whether a program answers "no" by the exit code 1, which is then no failure."""
    program = _skip_assignments_and_redirections(words)
    name = program[0].strip("'\"").rpartition("/")[2] if program else ""
    return name in _PROGRAMS_EXIT_1_MEANS_NO or (
        name == "git" and not _GIT_EXIT_1_MEANS_NO.isdisjoint(program[1:3])
    )


def _program_name(words: list[str]) -> str:
    program = _skip_assignments_and_redirections(words)
    if (
        not program
        or not program[0].isprintable()
        or program[0] in ("{", "while", "for", "if", "until", "case")
    ):
        return ""
    name = " ".join(program[:_MAX_QUOTED_WORDS_OF_PIPELINE_PART])
    while len(program) > 1 and len(name) > _MAX_PROGRAM_NAME_CHARS:
        program = program[:-1]
        name = " ".join(program[:_MAX_QUOTED_WORDS_OF_PIPELINE_PART])
    return (
        name
        if len(name) <= _MAX_PROGRAM_NAME_CHARS and name.isprintable() and "`" not in name
        else program[0][:_MAX_PROGRAM_NAME_CHARS]
    )
