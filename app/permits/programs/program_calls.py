"""A program call as the program tables judge it, and helpers that many of these tables share."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from app.permits.command_findings import (
    READS_ONLY_FINDING,
    RiskFinding,
    contained_risk_finding,
    safe_risk_finding,
)
from app.permits.command_place import CommandPlace
from app.permits.path_effects import PathEffectJudge
from app.permits.programs.program_options import (
    ParsedCommandOptions,
    parse_known_options,
    parse_program_options,
)
from app.permits.risk_classes import FilesLostByCommand, Risk
from app.permits.shell_scope import ShellScope
from app.permits.shell_words import ShellWord, parse_word_set


class PipedInput(NamedTuple):
    """The input that a program receives on standard input."""

    text: str | None = None
    """The whole input as text, if it is known."""
    words: tuple[ShellWord, ...] = ()
    """The words of the commands that produce the input."""
    is_of_workspace: bool = False
    """Whether the input certainly consists only of text of the command line and of files of the workspace without
    secrets."""


class ProgramCall:
    """One program call of a command line, with what the judgement has found out about it."""

    def __init__(
        self,
        name: str,
        words: Sequence[ShellWord],
        ground: PathEffectJudge,
        feed: PipedInput | None,
        run: Callable[[Sequence[ShellWord], PipedInput | None], Risk],
        script: Callable[[str, tuple[str, ...] | None, bool], Risk],
    ) -> None:
        self.name = name
        self.words = tuple(words)
        self.ground = ground
        self.feed = feed
        self._run = run
        self._script = script
        self.has_assignments = False
        """Whether assignments are among the program's words; they are judged separately."""
        self.has_inner = False
        """Whether the program runs other commands, which are judged as separate parts."""
        self.output: PipedInput | None = None
        """The program's output, if the next program in the pipeline needs to know it."""
        self.hosts: list[str] = []
        self.removals: list[FilesLostByCommand] = []
        self.is_input_of_workspace = True
        """Whether standard input is the session's, or is such as `PipedInput.is_of_workspace` describes."""
        self.is_read_whole = False
        """Whether all words have already been checked for secret files."""

    @property
    def scope(self) -> ShellScope:
        return self.ground.scope

    @property
    def place(self) -> CommandPlace:
        return self.ground.place

    def judge_started_command(self, words: Sequence[ShellWord], feed: PipedInput | None = None) -> Risk:
        """Judges another command that this program starts."""
        self.has_inner = True
        return self._run(words, feed)

    def judge_script(
        self, text: str, arguments: tuple[str, ...] | None = None, *, stays: bool = False
    ) -> Risk:
        """Judges a script that this program passes to a shell; with `stays`, the current shell evaluates it."""
        self.has_inner = True
        return self._script(text, arguments, stays)


JudgeProgram = Callable[[ProgramCall], "list[RiskFinding]"]
ProgramTable = dict[str, JudgeProgram]
_NO_OPERAND_LIMIT: Final = 10_000
UNKNOWN_OPTION_FINDING: Final = contained_risk_finding("has options that bayou does not know")


class ReadOnlyProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A program that only reads as long as it is called with known options."""

    harmless_options: str = "*"
    """The options of the program that are known to be harmless, in the notation of
    `app.permits.programs.program_options`."""
    operand_kind: str = "read"
    """The meaning of the operands: `read` (files), `tree` (folders, read recursively) or `text` (not read as files)."""
    first_operand_kind: str = ""
    """The meaning of the first operand if it differs from the others, such as `text` for a pattern; empty if it
    does not."""
    options_without_first_operand: str = ""
    """The options with which the first operand means the same as the others."""
    recursive_options: str = ""
    """The options with which folders are read recursively."""
    reads_hidden_files: bool = True
    """Whether a recursive read includes files and folders whose names start with a dot."""
    max_operands: int = _NO_OPERAND_LIMIT
    """The maximum number of operands that the program only reads; it writes to one of more."""
    allows_bundled_options: bool = True
    """Whether several letters may follow one dash, as in getopt."""

    def __call__(self, call: ProgramCall) -> list[RiskFinding]:
        taken = parse_program_options(
            call.words, parse_known_options(self.harmless_options), has_bundles=self.allows_bundled_options
        )
        found = [READS_ONLY_FINDING, *judge_read_only_call(call, taken)]
        operands = taken.operands
        if (
            self.first_operand_kind
            and operands
            and not taken.has_option(*self.options_without_first_operand.split())
        ):
            first = operands[0]
            is_text = self.first_operand_kind == "text" and not (
                first.may_be_option or first.may_become_several_words
            )
            operands = operands[1:] if is_text else operands
        if len(operands) > self.max_operands or (
            self.max_operands < _NO_OPERAND_LIMIT and any(word.may_become_several_words for word in operands)
        ):
            found.append(contained_risk_finding("may write to its last argument"))
            found += [call.ground.judge_write(word) for word in operands[self.max_operands :]]
        deeply = self.operand_kind == "tree" or taken.has_option(*self.recursive_options.split())
        if deeply and not operands:
            operands = [ShellWord(".", source_text=".")]
        if self.operand_kind != "text":
            found += [
                call.ground.judge_read(word, deeply=deeply, with_hidden=self.reads_hidden_files)
                for word in operands
                if word.text != "-"
            ]
        return found


def judge_read_only_call(call: ProgramCall, taken: ParsedCommandOptions) -> list[RiskFinding]:
    """Judges the options of a call that should only read, and returns the findings."""
    found = [] if taken.are_all_known else [UNKNOWN_OPTION_FINDING]
    for name, value, role in taken.options:
        if role == "read" and value is not None:
            found.append(call.ground.judge_read(value))
        elif role:
            found.append(contained_risk_finding(f"-{name} does more than reading"))
    return found


def build_program_table(*rows: tuple[str, JudgeProgram]) -> ProgramTable:
    """Builds a table of judges by program from rows of program names and their judge."""
    return {name: judge for names, judge in rows for name in names.split()}


def words_without_options(call: ProgramCall) -> list[str]:
    """Returns the words of a call that are no options: usually a verb and its arguments."""
    return [word.text for word in call.words if not word.text.startswith(("-", "+"))]


def make_verb_judge(
    verbs: str, deed: str, find: Callable[[str], RiskFinding], *, bare: bool = False
) -> JudgeProgram:
    """Returns a judge for a program that is risky with one of these verbs (or two, joined by a dash). With `bare`,
    a call without a verb is risky too."""
    known = parse_word_set(verbs)

    def judge(call: ProgramCall) -> list[RiskFinding]:
        said = words_without_options(call)
        is_meant = (bare and not said) or "-".join(said[:2]) in known or bool(known & set(said[:3]))
        return [find(" ".join([call.name, *said[:2], deed]))] if is_meant else []

    return judge


def make_constant_judge(found: RiskFinding) -> JudgeProgram:
    """Returns a judge that gives the same finding for every call."""
    return lambda call: [found]


def is_help_or_version_call(call: ProgramCall) -> bool:
    """Returns whether the call only asks for the version or the help text."""
    return len(call.words) == 1 and call.words[0].text in ("--version", "--help", "-V")


HELP_OR_VERSION_FINDING: Final = safe_risk_finding("prints its version or help")
