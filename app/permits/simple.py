"""A simple command: its assignments, which program it is, and what that program does with its words."""

import posixpath
import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from app.permits.calls import Call, Feed, Usual, judge_usual, runs_file
from app.permits.letters import Finding, strictest
from app.permits.programs.afar import reads_afar
from app.permits.programs.all import BUILTINS, LESS_KNOWN, MAY_FETCH, PROGRAMS
from app.permits.programs.by_file import beyond_running
from app.permits.programs.by_words import fetches, words_say
from app.permits.scope import ShellScope
from app.permits.variables import judge_variable
from app.permits.words import UNKNOWN, Word, literal, names

if TYPE_CHECKING:
    from app.permits.shell import ShellReading

_NAME = re.compile(r"[A-Za-z0-9_./+:@\[%-]+|\(\(")
_BIN = frozenset({"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin"})


class Simple(NamedTuple):
    text: str
    words: Sequence[Word]
    scope: ShellScope
    feed: Feed | None
    redirected: Sequence[Finding] = ()
    assigned: tuple[tuple[str, str], ...] = ()
    is_odd: bool = False
    """Its name is written in a way in which nobody writes names."""
    is_handed_on: bool = False
    """Another program (`command`, `env`, `xargs`) starts it, and most of these know no aliases and functions."""
    is_of_project: bool = False
    """What starts it (`uv run`, `npx`) takes it from the project's environment."""


def judge_words(reading: "ShellReading", simple: Simple) -> Feed | None:
    """Adds the parts that it is, and says what comes out of it."""
    if not reading.step():
        return None
    findings = [*simple.redirected]
    is_declared = bool(simple.words) and simple.words[0].text in BUILTINS["declarations"]
    for name, value in simple.assigned:
        is_kept = is_declared or not simple.words
        findings += judge_variable(name, value, simple.scope, is_kept=is_kept, is_exported=is_declared)
        if is_kept:
            simple.scope.variables[name] = value
    if not simple.words:
        if findings or simple.assigned:
            reading.add(simple.text, [*findings, Finding("R", "only sets a variable")], [])
        return None
    is_alias = simple.words[0].text in simple.scope.aliases
    found = _covered(reading, simple, findings)
    if found is not None and not _may_be_program(reading, simple, is_alias=is_alias):
        return found
    said = _program(reading, simple, findings)
    return found if found is not None and found.network else said


def _may_be_program(reading: "ShellReading", simple: Simple, *, is_alias: bool) -> bool:
    """Whether the program of that name may run all the same: what is known of it then counts too.

    A shell without a person expands no alias, and none that is quoted; a function may have been defined in a branch
    that is not taken. Names that no program is known by are left to what stands for them.
    """
    name = simple.words[0]
    if simple.is_handed_on or _short_name(name.text) in PROGRAMS:
        return True
    if not is_alias:
        return False
    is_own = reading.place.aliases.get(name.text) == simple.scope.aliases.get(name.text)
    return not is_own or name.source != name.text


def _covered(reading: "ShellReading", simple: Simple, findings: list[Finding]) -> Feed | None:
    """A function or an alias of this command line stands for the name."""
    name, *rest = simple.words
    scope = simple.scope
    if name.text in scope.aliases and name.is_literal:
        if findings:
            reading.add(simple.text, findings, None)
        body = " ".join([scope.aliases[name.text], *(word.source for word in rest)])
        own = scope.copy()
        del own.aliases[name.text]
        reading.script(body, own, simple.feed)
        scope.gather(own)
        return Feed()
    function = scope.functions.get(name.text) if name.is_literal else None
    if function is None and name.is_literal and name.text in reading.place.functions:
        reading.add(
            simple.text, [*findings, Finding("X", f"runs {name.text}, a function of your shell")], None
        )
        return Feed()
    if function is None:
        return None
    if findings:
        reading.add(simple.text, findings, None)
    own = scope.copy()
    is_known = not any(word.may_split or word.is_unknown for word in rest)
    own.arguments = (name.text, *(word.text for word in rest)) if is_known else None
    from app.permits.statements import Statements  # noqa: PLC0415  (each needs the other: a function's body is statements)

    said = Statements(reading, function.source).function_body(function.node, own, simple.feed)
    scope.gather(own)
    scope.folders = tuple(dict.fromkeys(scope.folders + own.folders))
    scope.variables.update(
        {key: UNKNOWN for key, value in own.variables.items() if scope.variables.get(key) != value}
    )
    return said or Feed()


def _program(reading: "ShellReading", simple: Simple, findings: list[Finding]) -> Feed | None:
    name, *rest = simple.words
    if not name.is_literal or name.may_split or simple.is_odd or not name.text:
        why = "which program runs, only the run will tell"
        reading.add(simple.text, [Finding("U", why), *findings], None)
        return Feed()
    if _NAME.fullmatch(name.text) is None:
        why = "its program has no name as programs have"
        reading.add(simple.text, [Finding("U", why), *findings], None)
        return Feed()
    call = _call(reading, simple, rest)
    short = _short_name(name.text)
    if short is None:
        findings.append(runs_file(call, name, f"runs {name.text}"))
        findings += beyond_running(call, name, rest)
    else:
        row = PROGRAMS.get(short)
        if row is None:
            findings.append(Finding("X", f"runs {short}, a program of its own"))
            findings += [*_floor_of_tail(call), *words_say(short, call.words)]
        elif isinstance(row, Usual):
            findings += judge_usual(call, row)
        else:
            findings += row(call)
        if strictest(one.letter for one in findings) == "R":
            findings += reads_afar(call)
        if short in LESS_KNOWN and strictest(one.letter for one in findings) in "XN":
            findings += [*_floor_of_tail(call), *words_say(short, call.words)]
        elif row is not None and strictest(one.letter for one in findings) in "XN":
            findings += _behind_dashes(call)
            findings += fetches(short, call.words) if short in MAY_FETCH else []
        if simple.scope.runs_elsewhere and short not in BUILTINS["all"]:
            findings.append(Finding("X", simple.scope.runs_elsewhere))
    if findings and strictest(one.letter for one in findings) in "XN":
        findings += _written_by_its_words(call)
    words = simple.words if short is None else [literal(short), *rest]
    if findings or not call.has_inner:
        reading.add(simple.text, findings or [Finding("R", "only reads")], words, call.hosts)
    return _said(call, findings)


def _said(call: Call, findings: Sequence[Finding]) -> Feed:
    said = call.output or Feed()
    if call.is_fed_by_network or any(one.letter == "N" for one in findings):
        said = said._replace(network=True)
    return said


def _short_name(text: str) -> str | None:
    """The program's name if it is one of the system's; None for a path to a file of one's own."""
    text = text.removesuffix(".exe")
    if "/" not in text:
        return text
    folder, _, name = posixpath.normpath(text).rpartition("/")
    return name if folder in _BIN else None


def _call(reading: "ShellReading", simple: Simple, rest: Sequence[Word]) -> Call:
    call: Call

    def run(words: Sequence[Word], feed: Feed | None, is_of_project: bool) -> None:
        if words:
            call.output = reading.inner(words, simple.scope, feed, is_of_project=is_of_project)

    def script(text: str, arguments: tuple[str, ...] | None, mode: str) -> None:
        # A shell of its own leaves nothing but files; `eval` and `source` leave everything.
        own = simple.scope if mode == "here" else simple.scope.copy()
        if mode != "here":
            own.arguments, own.aliases, own.functions, own.pending = arguments, {}, {}, ()
        reading.script(text, own, simple.feed)
        if own is not simple.scope:
            simple.scope.gather(own)

    call = Call(
        _short_name(simple.words[0].text) or simple.words[0].text,
        rest,
        reading.ground(simple.scope),
        simple.feed,
        run,
        script,
    )
    return call


_FORBIDDEN_TAILS = names(
    "rm sudo sh bash dd mkfs shred su doas apt apt-get dnf yum apk npm "
    "npx pnpm pnpx bunx yarn uvx pipx pip pip3 cargo gem gh git docker "
    "kubectl helm terraform aws gcloud curl wget ssh scp"
)


def _floor_of_tail(call: Call) -> list[Finding]:
    """A program that nobody knows may run what is given to it: what would be the floor by itself is the "
    "floor here."""
    for place, word in enumerate(call.words):
        if word.text in _FORBIDDEN_TAILS:
            call.run(call.words[place:], None)
            break
        if word.is_literal and word.text.split(" ", 1)[0] in _FORBIDDEN_TAILS and " " in word.text:
            call.script(word.text)
    return []


_GLUED = re.compile(rf"-o((?:{UNKNOWN}|/|\.\./).*)", re.DOTALL)
"""`-o/usr/bin/x`"""


def _behind_dashes(call: Call) -> list[Finding]:
    """`tool env run -- pip install x`: the command behind `--`, if it is one that one should look at."""
    at = next((place for place, word in enumerate(call.words) if word.text == "--"), len(call.words)) + 1
    if not call.has_inner and at < len(call.words) and call.words[at].text in _FORBIDDEN_TAILS:
        call.run(call.words[at:], None)
    return []


_TO_A_PLACE = re.compile(
    r"(?:-o|--target|-(?:out|output|outfile|outdir)"
    r"|--(?!no-)(?:[\w-]+[-_])?(?:out|output|dest|destination|save|export)(?:[-_]?(?:file|dir|path|folder|to|at))?"
    r"|--(?!no-)(?:[\w-]+[-_])?(?:build|target|log|reports?|results?|dump|write|cache|data|work|junit|xml|html|dist|"
    r"coverage|artifacts?|site|bin|install|prefix)"
    r"[-_]?(?:file|dir|path|folder))"
    r"(?:=(.+))?",
    re.IGNORECASE,
)


def _written_by_its_words(call: Call) -> list[Finding]:
    """Where a program that runs code is told to write, if that is outside."""
    found: list[Finding] = []
    for option, value in zip_longest(call.words, call.words[1:]):
        matched = _TO_A_PLACE.fullmatch(option.text) or _GLUED.fullmatch(option.text)
        if matched is None:
            continue
        place = literal(matched[1]) if matched[1] else value
        if place is None or place.text.startswith("-"):
            continue
        told = call.ground.write(place)
        if told.letter == "F" or (told.letter == "U" and place.text.startswith(UNKNOWN)):
            found.append(told)
    return found
