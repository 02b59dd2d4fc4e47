"""Programs that start another program, shells, and builtins that evaluate their words."""

import re
from typing import Final

from app.permits.command_findings import Finding, contained, forbidden, safe
from app.permits.environment_variables import judge_variable
from app.permits.programs.calls import (
    UNKNOWN_OPTION,
    JudgeProgram,
    ProgramCall,
    ProgramTable,
    program_table,
)
from app.permits.programs.options import option_row, parse_options

_UNKNOWN_COMMAND: Final = contained("computes the command that it runs")


def _wrapper(options: str, *, operands: int = 0, also: Finding | None = None) -> JudgeProgram:
    """Makes a judge for a program with these options and operands, followed by the command that it runs."""

    def judge(call: ProgramCall) -> list[Finding]:
        taken = parse_options(call.words, option_row(options), stops_early=True)
        own = [*([also] if also is not None else []), *([] if taken.is_certain else [UNKNOWN_OPTION])]
        rest = taken.operands[operands:]
        if not rest or any(word.may_be_several for word in taken.operands[:operands]):
            own.append(_UNKNOWN_COMMAND)
        if not rest:
            return own
        call.run(rest, call.feed)
        return own

    return judge


def _env(call: ProgramCall) -> list[Finding]:
    taken = parse_options(call.words, option_row("i u= unset= ignore-environment"), stops_early=True)
    found = [] if taken.is_certain else [UNKNOWN_OPTION]
    rest = taken.operands
    while rest and (named := re.match(r"([A-Za-z_]\w*)=", rest[0].text)):
        found += judge_variable(named[1], rest[0].text[named.end() :], is_exported=True)
        rest = rest[1:]
    if rest:
        call.run(rest, call.feed)
        return found
    if call.place.hides_secrets or not call.place.secret_variables:
        return [*found, safe("prints variables")]
    return [*found, contained("prints all variables, which may contain secrets")]


def _command(call: ProgramCall) -> list[Finding]:
    if call.words and call.words[0].text in ("-v", "-V"):
        return [safe("only reads")]
    return _wrapper("")(call)


def _sudo(call: ProgramCall) -> list[Finding]:
    """Judges sudo; a call that only checks or lists privileges is not dangerous."""
    taken = parse_options(
        call.words, option_row("n v l k S u= g= user= group= non-interactive validate list"), stops_early=True
    )
    if not taken.operands:
        return [contained("lists your sudo rights")]
    risk = call.run(taken.operands, call.feed)
    if risk == "safe" and taken.is_certain:
        return [contained("only reads, but with elevated rights")]
    return [forbidden("runs with elevated rights")]


def _shell(call: ProgramCall) -> list[Finding]:
    taken = parse_options(
        call.words,
        option_row("c e u o= O= x l i s rcfile= init-file= norc noprofile posix"),
        stops_early=True,
    )
    operands = taken.operands
    if taken.has("c") and operands:
        if not operands[0].is_literal or operands[0].may_split:
            return [_UNKNOWN_COMMAND]
        is_known = not any(word.is_unknown or word.may_split for word in operands[1:])
        arguments = tuple(word.text for word in operands[1:]) or (call.name,)
        risk = call.judge_script(operands[0].text, arguments if is_known else None)
        found = [contained(f"a script for {call.name}, which bayou reads as bash would")]
        if call.name == "bash":
            is_plain = all(option.name in "ceu" for option in taken.options)
            found = [] if is_plain and taken.is_certain else [UNKNOWN_OPTION]
        if found or risk != "safe":
            call.is_read_whole = True
            found += [call.ground.judge_secret(word) for word in operands[1:]]
        return found
    if not operands and call.feed is not None and call.feed.text is not None:
        call.judge_script(call.feed.text, None)
    return [contained(f"runs a {call.name} script")]


def _eval(call: ProgramCall) -> list[Finding]:
    words = [word for word in call.words if word.text != "--"]
    words = words[:1] if call.name == "trap" else words
    if any(not word.is_literal or word.may_split for word in words):
        return [contained("computes the command that eval runs")]
    call.judge_script(" ".join(word.text for word in words), call.scope.arguments, stays=True)
    return [contained("evaluates its arguments as a command")]


def _evaluates(call: ProgramCall) -> list[Finding]:
    call.scope.arguments = None
    return [contained("a shell builtin that may run its arguments or redefine commands")]


_RUNS_COMMAND_SPECIALLY: Final = contained("runs a command in an unusual way")
WRAPPERS: ProgramTable = program_table(
    ("env genv", _env),
    ("nice", _wrapper("n= adjustment=")),
    ("timeout gtimeout", _wrapper("k= s= kill-after= signal= foreground preserve-status", operands=1)),
    ("stdbuf", _wrapper("i= o= e= input= output= error=")),
    ("time", _wrapper("p")),
    ("command", _command),
    ("builtin", _wrapper("")),
    ("sudo doas", _sudo),
    ("bash sh dash ash zsh ksh ksh93 mksh yash fish csh tcsh", _shell),
    ("exec coproc nohup setsid caffeinate unbuffer catchsegv", _wrapper("a=", also=_RUNS_COMMAND_SPECIALLY)),
    ("ionice", _wrapper("c= n= class= classdata= t", also=_RUNS_COMMAND_SPECIALLY)),
    ("flock", _wrapper("w= E= timeout= n s x", operands=1, also=_RUNS_COMMAND_SPECIALLY)),
    ("chrt taskset", _wrapper("c", operands=1, also=_RUNS_COMMAND_SPECIALLY)),
    ("strace ltrace", _wrapper("o= e= s= p= E= u= f c", also=_RUNS_COMMAND_SPECIALLY)),
    ("busybox toybox fakeroot xvfb-run dbus-run-session", _wrapper("a", also=_RUNS_COMMAND_SPECIALLY)),
    ("watch", _wrapper("n= interval= d differences x exec t", also=_RUNS_COMMAND_SPECIALLY)),
    ("eval trap", _eval),
    (
        "source . mapfile readarray alias unalias let enable hash shopt bind complete compgen history fc "
        "getopts "
        "shift suspend disown bg fg logout times caller help compopt",
        _evaluates,
    ),
)
