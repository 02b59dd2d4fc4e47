"""Judges programs that start another program, shells, and builtins that evaluate their words."""

import re
import shlex
from typing import Final

from app.permits.command_findings import (
    RiskFinding,
    contained_risk_finding,
    forbidden_risk_finding,
    safe_risk_finding,
)
from app.permits.environment_variables import judge_variable_assignment
from app.permits.programs.program_calls import (
    UNKNOWN_OPTION_FINDING,
    JudgeProgram,
    ProgramCall,
    ProgramTable,
    build_program_table,
)
from app.permits.programs.program_options import parse_known_options, parse_program_options

_ENV_OPTIONS: Final = parse_known_options(
    "i 0 v u= C= S= unset= chdir= split-string= ignore-environment null debug"
)
_COMPUTED_COMMAND_FINDING: Final = contained_risk_finding("computes the command that it runs")


def _wrapper_judge(options: str, *, operands: int = 0, also: RiskFinding | None = None) -> JudgeProgram:
    """Returns a judge for a program that takes these options and operands, and then the command that it runs."""

    def judge(call: ProgramCall) -> list[RiskFinding]:
        taken = parse_program_options(call.words, parse_known_options(options), stops_early=True)
        own = [
            *([also] if also is not None else []),
            *([] if taken.are_all_known else [UNKNOWN_OPTION_FINDING]),
        ]
        rest = taken.operands[operands:]
        if not rest or any(word.may_become_several_words for word in taken.operands[:operands]):
            own.append(_COMPUTED_COMMAND_FINDING)
        if not rest:
            return own
        call.judge_started_command(rest, call.feed)
        return own

    return judge


def _judge_env(call: ProgramCall) -> list[RiskFinding]:
    taken = parse_program_options(call.words, _ENV_OPTIONS, stops_early=True)
    found = [] if taken.are_all_known else [UNKNOWN_OPTION_FINDING]
    rest = taken.operands
    if rest and rest[0].text == "-":  # means -i
        rest = rest[1:]
    if taken.has_option("C", "chdir"):
        found.append(contained_risk_finding("runs a command in another folder"))
    if scripts := taken.option_values("S", "split-string"):
        if any(not word.is_literal or word.may_split for word in (*scripts, *rest)):
            return [*found, _COMPUTED_COMMAND_FINDING]
        call.judge_script(
            " ".join((*(word.text for word in scripts), *(shlex.quote(word.text) for word in rest)))
        )
        return [*found, contained_risk_finding("splits a text into a command")]
    while rest and (named := re.match(r"([A-Za-z_]\w*)=", rest[0].text)):
        found += judge_variable_assignment(named[1], rest[0].text[named.end() :], is_exported=True)
        rest = rest[1:]
    if rest:
        call.judge_started_command(rest, call.feed)
        return found
    if call.place.hides_secrets or not call.place.has_secret_variables:
        return [*found, safe_risk_finding("prints variables")]
    return [*found, contained_risk_finding("prints all variables, which may contain secrets")]


def _judge_command_builtin(call: ProgramCall) -> list[RiskFinding]:
    if call.words and call.words[0].text in ("-v", "-V"):
        return [safe_risk_finding("only reads")]
    return _wrapper_judge("")(call)


def _judge_sudo(call: ProgramCall) -> list[RiskFinding]:
    """Judges sudo; a call that only checks or lists privileges is not dangerous."""
    taken = parse_program_options(
        call.words,
        parse_known_options("n v l k S u= g= user= group= non-interactive validate list"),
        stops_early=True,
    )
    if not taken.operands:
        return [contained_risk_finding("lists your sudo rights")]
    risk = call.judge_started_command(taken.operands, call.feed)
    if risk == "safe" and taken.are_all_known:
        return [contained_risk_finding("only reads, but with elevated rights")]
    return [forbidden_risk_finding("runs with elevated rights")]


def _judge_shell(call: ProgramCall) -> list[RiskFinding]:
    taken = parse_program_options(
        call.words,
        parse_known_options("c e u o= O= x l i s rcfile= init-file= norc noprofile posix"),
        stops_early=True,
    )
    operands = taken.operands
    if taken.has_option("c") and operands:
        if not operands[0].is_literal or operands[0].may_split:
            return [_COMPUTED_COMMAND_FINDING]
        is_known = not any(word.is_unknown or word.may_split for word in operands[1:])
        arguments = tuple(word.text for word in operands[1:]) or (call.name,)
        risk = call.judge_script(operands[0].text, arguments if is_known else None)
        found = [contained_risk_finding(f"a script for {call.name}, which bayou reads as bash would")]
        if call.name == "bash":
            is_plain = all(option.name in "ceu" for option in taken.options)
            found = [] if is_plain and taken.are_all_known else [UNKNOWN_OPTION_FINDING]
        if found or risk != "safe":
            call.is_read_whole = True
            found += [call.ground.judge_secret_path(word) for word in operands[1:]]
        return found
    if not operands and call.feed is not None and call.feed.text is not None:
        call.judge_script(call.feed.text, None)
    return [contained_risk_finding(f"runs a {call.name} script")]


def _judge_eval(call: ProgramCall) -> list[RiskFinding]:
    words = [word for word in call.words if word.text != "--"]
    words = words[:1] if call.name == "trap" else words
    if any(not word.is_literal or word.may_split for word in words):
        return [contained_risk_finding("computes the command that eval runs")]
    call.judge_script(" ".join(word.text for word in words), call.scope.script_arguments, stays=True)
    return [contained_risk_finding("evaluates its arguments as a command")]


def _judge_evaluating_builtin(call: ProgramCall) -> list[RiskFinding]:
    call.scope.script_arguments = None
    return [contained_risk_finding("a shell builtin that may run its arguments or redefine commands")]


_UNUSUAL_RUN_FINDING: Final = contained_risk_finding("runs a command in an unusual way")
WRAPPER_PROGRAMS: ProgramTable = build_program_table(
    ("env genv", _judge_env),
    ("nice", _wrapper_judge("n= adjustment=")),
    ("timeout gtimeout", _wrapper_judge("k= s= kill-after= signal= foreground preserve-status", operands=1)),
    ("stdbuf", _wrapper_judge("i= o= e= input= output= error=")),
    ("time", _wrapper_judge("p")),
    ("command", _judge_command_builtin),
    ("builtin", _wrapper_judge("")),
    ("sudo doas", _judge_sudo),
    ("bash sh dash ash zsh ksh ksh93 mksh yash fish csh tcsh", _judge_shell),
    (
        "exec coproc nohup setsid caffeinate unbuffer catchsegv",
        _wrapper_judge("a=", also=_UNUSUAL_RUN_FINDING),
    ),
    ("ionice", _wrapper_judge("c= n= class= classdata= t", also=_UNUSUAL_RUN_FINDING)),
    ("flock", _wrapper_judge("w= E= timeout= n s x", operands=1, also=_UNUSUAL_RUN_FINDING)),
    ("chrt taskset", _wrapper_judge("c", operands=1, also=_UNUSUAL_RUN_FINDING)),
    ("strace ltrace", _wrapper_judge("o= e= s= p= E= u= f c", also=_UNUSUAL_RUN_FINDING)),
    ("busybox toybox fakeroot xvfb-run dbus-run-session", _wrapper_judge("a", also=_UNUSUAL_RUN_FINDING)),
    ("watch", _wrapper_judge("n= interval= d differences x exec t", also=_UNUSUAL_RUN_FINDING)),
    ("eval trap", _judge_eval),
    (
        "source . mapfile readarray alias unalias let enable hash shopt bind complete compgen history fc "
        "getopts "
        "shift suspend disown bg fg logout times caller help compopt",
        _judge_evaluating_builtin,
    ),
)
