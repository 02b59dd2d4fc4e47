"""Judges a simple command: its assignments, its program, and what the program does with its words."""

import posixpath
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from app.permits.command_findings import SAFE, Finding, contained, safe, worst_finding
from app.permits.environment_variables import judge_variable
from app.permits.programs.calls import VERSION_FINDING, PipedInput, ProgramCall, is_help_request
from app.permits.programs.dangerous_programs import DANGEROUS_PROGRAMS
from app.permits.programs.file_programs import FILE_PROGRAMS
from app.permits.programs.finders import FINDERS
from app.permits.programs.git import GIT
from app.permits.programs.network_programs import NETWORK_PROGRAMS
from app.permits.programs.safe_programs import SAFE_PROGRAMS, VERSION_SAFE_PROGRAMS
from app.permits.programs.text_programs import TEXT_PROGRAMS
from app.permits.programs.wrapper_programs import WRAPPERS
from app.permits.shell_scope import ShellScope
from app.permits.shell_words import UNKNOWN, Word, literal_text, word_set
from app.permits.verdicts import Risk

if TYPE_CHECKING:
    from app.permits.shell.command_line import ShellAnalysis

_PROGRAMS = {**SAFE_PROGRAMS, **TEXT_PROGRAMS, **FINDERS, **GIT, **FILE_PROGRAMS, **WRAPPERS}
_MAX_WORDS = 50
_NAME = re.compile(r"[A-Za-z0-9_./+:@\[%-]+")
_BIN = frozenset({"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin"})
_DECLARING_BUILTINS = word_set("export declare typeset local readonly")
_HANDLES_SECRETS_ITSELF = word_set("git rg fd")
"""Programs whose own judges deal with secret files, or that only list names."""


class SimpleCommand(NamedTuple):
    """A simple command after expansion."""

    text: str
    words: Sequence[Word]
    scope: ShellScope
    feed: PipedInput | None
    redirected: Sequence[Finding] = ()
    assigned: tuple[tuple[str, str], ...] = ()
    is_wrapped: bool = False
    """Whether a wrapper (`command`, `env`, `xargs`) starts it; most wrappers know no aliases and functions."""


def judge_simple_command(reading: "ShellAnalysis", simple: SimpleCommand) -> PipedInput | None:
    """Adds the parts of a simple command; returns its output as far as it is known."""
    if not reading.spend_step():
        return None
    findings = [*simple.redirected]
    is_kept = not simple.words or simple.words[0].text in _DECLARING_BUILTINS
    for name, value in simple.assigned:
        is_split = name == "IFS" and not is_kept and simple.words[0].text == "read"
        findings += [] if is_split else judge_variable(name)
        if is_kept:
            simple.scope.assign(name, value)
    if not simple.words:
        if findings or simple.assigned:
            reading.add(simple.text, [*findings, safe("only sets a variable")], [])
        return None
    found = _alias_or_function(reading, simple, findings)
    return found if found is not None else _program(reading, simple, findings)


def _alias_or_function(
    reading: "ShellAnalysis", simple: SimpleCommand, findings: list[Finding]
) -> PipedInput | None:
    """Judges an alias or shell function that replaces the program; None if the program itself may run."""
    name, *rest = simple.words
    scope = simple.scope
    if name.text in scope.aliases and name.is_literal:
        body = " ".join([scope.aliases[name.text], *(word.source for word in rest)])
        own = scope.copy()
        del own.aliases[name.text]
        if findings:
            reading.add(simple.text, findings, None)
        reading.script(body, own, simple.feed)
    elif name.is_literal and name.text in reading.place.functions:
        reading.add(simple.text, [*findings, contained(f"runs {name.text}, a function of your shell")], None)
    else:
        return None
    is_program = simple.is_wrapped or name.source != name.text or _short_name(name.text) in _PROGRAMS
    return None if is_program else PipedInput()


def _program(reading: "ShellAnalysis", simple: SimpleCommand, findings: list[Finding]) -> PipedInput | None:
    name, *rest = simple.words
    if not name.is_literal or name.may_split or _NAME.fullmatch(name.text) is None:
        why = "computes the program that it runs"
        reading.add(simple.text, [contained(why), *findings], None)
        return PipedInput()
    short = _short_name(name.text)
    # A rule for `./run` means the one in the workspace; it never matches in another folder.
    place, folders = reading.place, simple.scope.folders
    is_relative = "/" in name.text and not name.text.startswith("/")
    is_inside = all(place.root_of(folder) is not None for folder in folders)
    is_plain = all(one.risk == "safe" for one in findings) and (
        folders == (place.workspace,) if is_relative else is_inside
    )
    call = _call(reading, simple, short or name.text, rest)
    findings += _judged(call, short)
    if (
        worst_finding([SAFE, *findings]).risk == "contained"
        and call.name not in _HANDLES_SECRETS_ITSELF
        and not call.is_read_whole
    ):
        findings += _named_secrets(call)
    words = simple.words if short is None else [literal_text(short), *rest]
    if findings or not call.has_inner:
        reading.add(simple.text, findings or [SAFE], words, call.hosts, call.removals, is_plain=is_plain)
    before = call.feed.words if call.feed is not None else ()
    return PipedInput(
        call.output.text if call.output is not None else None, (*before, *call.words)[:_MAX_WORDS]
    )


def _judged(call: ProgramCall, short: str | None) -> list[Finding]:
    if short is None:
        return [contained(f"runs {call.name}")]
    found_first = [call.ground.absolute(f"{folder}/{short}") for folder in call.place.search_folders]
    if any(path == UNKNOWN or call.place.exists(path) for paths in found_first for path in paths):
        return [contained(f"runs {short}, which may be a file of the workspace")]
    if short in VERSION_SAFE_PROGRAMS and is_help_request(call):
        return [VERSION_FINDING]
    judge = _PROGRAMS.get(short)
    found = judge(call) if judge is not None else [contained(f"runs {short}")]
    for other in (DANGEROUS_PROGRAMS.get(short), NETWORK_PROGRAMS.get(short)):
        if other is not None and not is_help_request(call):
            found += other(call)
    return found


_WRITES = word_set("-out -keyout")
"""Options whose value is a file that is written."""
_VALUE = re.compile(r"^-{0,2}[\w.-]+=(.*)|^@(.*)", re.DOTALL)


def _named_secrets(call: ProgramCall) -> list[Finding]:
    """Finds secret files among the words of a contained command, which only a sandbox would hide from it."""
    found: list[Finding] = []
    is_list = False
    for before, word in zip((call.name, *(one.text for one in call.words)), call.words, strict=False):
        # The names after `-x` are left out of the archive.
        is_list = call.name == "zip" and (before == "-x" or (is_list and before[:1] != "-"))
        matched = _VALUE.match(word.text)
        path = Word(matched[1] or matched[2] or "") if matched else word
        if before in _WRITES:
            found.append(call.ground.change(word))
        elif not is_list and before != "--exclude" and path.text and not path.text.startswith(("-", UNKNOWN)):
            found.append(call.ground.secret(path))
    return [one for one in found if one.risk == "forbidden"]


def _short_name(text: str) -> str | None:
    """The program's name if it is a system program; None for a path to another file."""
    text = text.removesuffix(".exe")
    if "/" not in text:
        return text
    folder, _, name = posixpath.normpath(text).rpartition("/")
    return name if folder in _BIN else None


def _call(reading: "ShellAnalysis", simple: SimpleCommand, name: str, rest: Sequence[Word]) -> ProgramCall:
    call: ProgramCall

    def run(words: Sequence[Word], feed: PipedInput | None) -> Risk:
        with reading.strictest_risk() as risk:
            call.output = reading.inner(words, simple.scope, feed)
        return risk()

    def script(text: str, arguments: tuple[str, ...] | None, stays: bool) -> Risk:
        # A new shell leaves only files behind; `eval` keeps its variables too.
        own = simple.scope if stays else simple.scope.without_pending()
        if not stays:
            own.arguments, own.aliases = arguments, {}
        with reading.strictest_risk() as risk:
            reading.script(text, own, simple.feed)
        return risk()

    call = ProgramCall(name, rest, reading.ground(simple.scope), simple.feed, run, script)
    return call
