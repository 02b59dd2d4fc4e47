"""Judges a simple command: its assignments, its program, and the effect of the program's arguments."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from app.permits.command_findings import (
    READS_ONLY_FINDING,
    RiskFinding,
    contained_risk_finding,
    highest_risk_finding,
    safe_risk_finding,
)
from app.permits.environment_variables import judge_variable_assignment
from app.permits.path_effects import file_name_of_path
from app.permits.plain_commands import reason_command_is_not_plain
from app.permits.programs.dangerous_programs import DANGEROUS_PROGRAMS
from app.permits.programs.file_programs import (
    FILE_CHANGING_PROGRAMS,
    FOLDER_COPYING_PROGRAMS,
    OPERAND_WRITING_PROGRAMS,
)
from app.permits.programs.find_and_xargs import FILE_FINDING_PROGRAMS
from app.permits.programs.git_commands import GIT_PROGRAM_TABLE, GIT_VERBS_KEEPING_FILES, GitCall
from app.permits.programs.network_programs import NETWORK_PROGRAMS
from app.permits.programs.plain_requests import is_plain_network_request
from app.permits.programs.program_calls import (
    HELP_OR_VERSION_FINDING,
    PipedInput,
    ProgramCall,
    is_help_or_version_call,
)
from app.permits.programs.safe_programs import PROGRAMS_WITH_SAFE_VERSION_OPTION, SAFE_PROGRAMS
from app.permits.programs.text_programs import TEXT_SCRIPT_PROGRAMS
from app.permits.programs.wrapper_programs import WRAPPER_PROGRAMS
from app.permits.risk_classes import Risk
from app.permits.shell_scope import ShellScope
from app.permits.shell_words import UNKNOWN_TEXT_MARK, ShellWord, literal_shell_word, parse_word_set

if TYPE_CHECKING:
    from app.permits.shell.command_line import ShellAnalysis

JUDGE_BY_PROGRAM = {
    **SAFE_PROGRAMS,
    **TEXT_SCRIPT_PROGRAMS,
    **FILE_FINDING_PROGRAMS,
    **GIT_PROGRAM_TABLE,
    **FILE_CHANGING_PROGRAMS,
    **WRAPPER_PROGRAMS,
}
"""The judges of all programs that have one; calls of other programs are contained."""
_MAX_JUDGED_COMMAND_WORDS = 50
_PROGRAM_NAME_PATTERN = re.compile(r"[A-Za-z0-9_./+:@\[%-]+")
_SYSTEM_PROGRAM_FOLDERS = frozenset(
    {"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin"}
)
_DECLARING_BUILTINS = parse_word_set("export declare typeset local readonly")
_PROGRAMS_WITH_OWN_SECRET_JUDGE = parse_word_set("git rg fd")
"""Programs whose own judges treat secret files, or that only list names."""
_OUTPUT_FILE_OPTION = re.compile(
    r"-[A-Za-z]*[oOCd]|-f(?:print|ls).*|--(?:o|(?:ou|dir|dest|target|log|save|write).*)"
)
"""Matches options whose value is, for most programs that have them, a file or folder of output."""


class SimpleShellCommand(NamedTuple):
    """A simple command after expansion: its words, variables, input and redirections."""

    text: str
    words: Sequence[ShellWord]
    scope: ShellScope
    piped_input: PipedInput | None
    redirection_findings: Sequence[RiskFinding] = ()
    assigned_variables: tuple[tuple[str, str], ...] = ()
    is_wrapped: bool = False
    """Whether a wrapper (`command`, `env`, `xargs`) starts the command; most wrappers know no aliases and functions."""


def judge_simple_command(reading: "ShellAnalysis", simple: SimpleShellCommand) -> PipedInput | None:
    """Judges a simple command and adds its parts; returns its output as far as it is known."""
    if not reading.spend_analysis_step():
        return None
    findings = [*simple.redirection_findings]
    is_kept = not simple.words or simple.words[0].text in _DECLARING_BUILTINS
    is_exported = not is_kept or (bool(simple.words) and simple.words[0].text == "export")
    for name, value in simple.assigned_variables:
        is_split = name == "IFS" and not is_kept and simple.words[0].text == "read"
        findings += [] if is_split else judge_variable_assignment(name, value, is_exported=is_exported)
        if is_kept:
            simple.scope.set_variable(name, value)
    if not simple.words:
        if findings or simple.assigned_variables:
            reading.add_part(simple.text, [*findings, safe_risk_finding("only sets a variable")], [])
        return None
    found = _judge_alias_or_function(reading, simple, findings)
    return found if found is not None else _judge_program(reading, simple, findings)


def _judge_alias_or_function(
    reading: "ShellAnalysis", simple: SimpleShellCommand, findings: list[RiskFinding]
) -> PipedInput | None:
    """Judges an alias or shell function that replaces the program; None if the program itself may run."""
    name, *rest = simple.words
    scope = simple.scope
    if name.text in scope.shell_aliases and name.is_literal:
        body = " ".join([scope.shell_aliases[name.text], *(word.source_text for word in rest)])
        own = scope.copy()
        del own.shell_aliases[name.text]
        if findings:
            reading.add_part(simple.text, findings, None)
        reading.judge_passed_script(body, own, simple.piped_input)
    elif name.is_literal and name.text in reading.place.shell_functions:
        reading.add_part(
            simple.text,
            [*findings, contained_risk_finding(f"runs {name.text}, a function of your shell")],
            None,
        )
    else:
        return None
    is_program = (
        simple.is_wrapped
        or name.source_text != name.text
        or _system_program_name(name.text) in JUDGE_BY_PROGRAM
    )
    return None if is_program else PipedInput()


def _judge_program(
    reading: "ShellAnalysis", simple: SimpleShellCommand, findings: list[RiskFinding]
) -> PipedInput | None:
    name, *rest = simple.words
    if not name.is_literal or name.may_split or _PROGRAM_NAME_PATTERN.fullmatch(name.text) is None:
        why = "computes the program that it runs"
        reading.add_part(simple.text, [contained_risk_finding(why), *findings], None)
        return PipedInput()
    short = _system_program_name(name.text)
    # A rule for `./run` means the one in the workspace; it never matches in another folder.
    place, folders = reading.place, simple.scope.possible_folders
    is_relative = "/" in name.text and not name.text.startswith("/")
    is_inside = all(place.root_containing(folder) is not None for folder in folders)
    is_plain = all(one.risk == "safe" for one in findings) and (
        folders == (place.workspace,) if is_relative else is_inside
    )
    call = _make_program_call(reading, simple, short or name.text, rest)
    call.has_assignments = bool(simple.assigned_variables) and simple.text.startswith(name.text)
    findings += _judge_call(call, short)
    call.is_input_of_workspace = reading.is_input_of_workspace
    is_request = all(one.risk == "safe" or one.uses_network for one in findings) and is_plain_network_request(
        call
    )
    if highest_risk_finding([READS_ONLY_FINDING, *findings]).risk == "contained" and not call.is_read_whole:
        findings += _judge_named_files(call)
    words = simple.words if short is None else [literal_shell_word(short), *rest]
    if findings or not call.has_inner:
        findings = findings or [READS_ONLY_FINDING]
        if reading.needs_plain_commands and highest_risk_finding(findings).risk == "safe":
            findings += _judge_unplain_command(reading, call, simple)
        reading.add_part(
            simple.text,
            findings,
            words,
            call.hosts,
            call.removals,
            is_plain=is_plain,
            is_plain_network_request=is_request,
            shows_only_workspace=is_request or _shows_only_workspace(reading, call, simple),
        )
    before = call.feed.words if call.feed is not None else ()
    output = call.output or PipedInput()
    return PipedInput(output.text, (*before, *output.words, *call.words)[:_MAX_JUDGED_COMMAND_WORDS])


def _shows_only_workspace(reading: "ShellAnalysis", call: ProgramCall, simple: SimpleShellCommand) -> bool:
    """Returns whether the output, which another command reads, certainly contains only the command's words and
    files of the workspace."""
    return (
        reading.feeding_depth > 0
        and call.is_input_of_workspace
        and not simple.assigned_variables
        and reason_command_is_not_plain(simple.words, call.ground) is None
        and not any(
            word.text.startswith("/") and call.ground.may_be_outside_workspace_roots(word)
            for word in simple.words[1:]
        )
    )


def _judge_unplain_command(
    reading: "ShellAnalysis", call: ProgramCall, simple: SimpleShellCommand
) -> list[RiskFinding]:
    """Returns findings on what makes a command that seems to read unsafe without a sandbox."""
    if reading.unwrapped:
        return [contained_risk_finding("another command starts it, and there is no sandbox")]
    why = reason_command_is_not_plain(simple.words, call.ground)
    return [] if why is None else [contained_risk_finding(why)]


def _judge_call(call: ProgramCall, short: str | None) -> list[RiskFinding]:
    if short is None:
        return [contained_risk_finding(f"runs {call.name}")]
    found_first = [
        call.ground.possible_absolute_paths(f"{folder}/{short}") for folder in call.place.unsafe_path_folders
    ]
    if any(
        path == UNKNOWN_TEXT_MARK or call.place.path_exists(path) for paths in found_first for path in paths
    ):
        return [contained_risk_finding(f"runs {short}, which may be a file of the workspace")]
    if short in PROGRAMS_WITH_SAFE_VERSION_OPTION and is_help_or_version_call(call):
        return [HELP_OR_VERSION_FINDING]
    judge = JUDGE_BY_PROGRAM.get(short)
    found = judge(call) if judge is not None else []
    for other in (DANGEROUS_PROGRAMS.get(short), NETWORK_PROGRAMS.get(short)):
        if other is not None and not is_help_or_version_call(call):
            found += other(call)
    return found or ([] if call.has_inner else [contained_risk_finding(f"runs {short}")])


_OPENSSL_OUTPUT_OPTIONS = parse_word_set("-out -keyout")
"""Options of openssl whose value is a file that is written."""
_PATH_SEPARATORS_IN_WORD = re.compile(r"[@=,;{}<]|:(?!//)")
"""Matches characters after which a path may begin inside a word: `NAME=@FILE`, `{a,FILE}`, `FILE:FILE`."""
_AT_SIGN = re.compile("@")
_WHITE_SPACE = re.compile(r"\s")
_BUNDLED_SHORT_OPTIONS = re.compile(r"-[A-Za-z]+")


def _paths_in_word(word: ShellWord, home: str) -> Iterator[ShellWord]:
    """Yields the paths that a word may name: the word itself, its pieces, and possible values of short options."""
    options = _BUNDLED_SHORT_OPTIONS.match(word.text)
    values = (word.text[start:] for start in range(2, options.end() + 1)) if options else ()
    before = (
        _PATH_SEPARATORS_IN_WORD if not _WHITE_SPACE.search(word.text) else _AT_SIGN
    )  # else it may be code
    rests = (word.text[found.end() :] for found in before.finditer(word.text))
    pieces = (word.text, *values, *rests, *before.split(word.text))
    unquoted = (piece.replace('"', "") for piece in pieces if '"' in piece)  # curl -F 'f=@".env"'
    for text in dict.fromkeys((*pieces, *unquoted)):
        if text and not text.startswith(("-", UNKNOWN_TEXT_MARK)):
            text = home + text[1:] if text.startswith("~/") else text  # the program may expand it
            yield word if text == word.text else ShellWord(text, word.may_split)


def _judge_named_files(call: ProgramCall) -> list[RiskFinding]:
    """Returns findings on secret files and files that run later among the words of a contained command, which only
    a sandbox would hide and protect."""
    found: list[RiskFinding] = []
    is_list = False
    for before, word in zip((call.name, *(one.text for one in call.words)), call.words, strict=False):
        # The names after `-x` are left out of the archive.
        is_list = call.name == "zip" and (before == "-x" or (is_list and before[:1] != "-"))
        if before in _OPENSSL_OUTPUT_OPTIONS:
            found.append(call.ground.judge_unsandboxed_write(word))
        elif not is_list and before != "--exclude" and (call.name, before) != ("scp", "-i"):
            paths = list(_paths_in_word(word, call.place.home_folder))
            if not call.place.has_sandbox and _may_be_written(call, before, word):
                # Of git's words HEAD is mostly a commit.
                written = (path for path in paths if file_name_of_path(path.text) != "HEAD")
                found += [call.ground.judge_write(path, deed="may write") for path in written]
            if call.name not in _PROGRAMS_WITH_OWN_SECRET_JUDGE:
                deeply = call.name in FOLDER_COPYING_PROGRAMS
                found += [call.ground.judge_secret_path(path, deeply=deeply) for path in paths]
    return [one for one in found if one.risk == "forbidden"]


def _may_be_written(call: ProgramCall, option: str, word: ShellWord) -> bool:
    """Returns whether a word of a contained command may be a file of output; only a sandbox would keep the command
    from writing files that run later."""
    name, is_assigned, _ = word.text.partition("=")
    if word.text.startswith("-"):
        return not name.startswith("--") or bool(is_assigned and _OUTPUT_FILE_OPTION.fullmatch(name))
    return _OUTPUT_FILE_OPTION.fullmatch(option) is not None or _does_write_operands(call)


def _does_write_operands(call: ProgramCall) -> bool:
    if call.name == "git":
        return GitCall(call).verb not in GIT_VERBS_KEEPING_FILES
    return call.name in OPERAND_WRITING_PROGRAMS


def _system_program_name(text: str) -> str | None:
    """Returns the program's name if it is a system program; None for a path to another file."""
    text = text.removesuffix(".exe")
    if "/" not in text:
        return text
    folder, _, name = posixpath.normpath(text).rpartition("/")
    return name if folder in _SYSTEM_PROGRAM_FOLDERS else None


def _make_program_call(
    reading: "ShellAnalysis", simple: SimpleShellCommand, name: str, rest: Sequence[ShellWord]
) -> ProgramCall:
    call: ProgramCall

    def run(words: Sequence[ShellWord], feed: PipedInput | None) -> Risk:
        with reading.track_highest_risk() as risk:
            call.output = reading.judge_inner_command(words, simple.scope, feed)
        return risk()

    def script(text: str, arguments: tuple[str, ...] | None, stays: bool) -> Risk:
        # A new shell leaves only files behind; `eval` keeps its variables too.
        own = simple.scope if stays else simple.scope.without_pending_scopes()
        if not stays:
            own.script_arguments, own.shell_aliases = arguments, {}
        with reading.track_highest_risk() as risk:
            reading.judge_passed_script(text, own, simple.piped_input)
        return risk()

    call = ProgramCall(name, rest, reading.path_effects(simple.scope), simple.piped_input, run, script)
    return call
