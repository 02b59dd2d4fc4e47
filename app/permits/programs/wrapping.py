"""Programs that run another one in some way, shells, and what a shell has built in."""

import re
from collections.abc import Sequence

from app.permits.calls import Call, Judge, Table, answers_help, runs_file, table
from app.permits.letters import Finding
from app.permits.options import row, take
from app.permits.programs.by_file import beyond_running
from app.permits.variables import judge_variable
from app.permits.words import UNKNOWN, WILD, Word, literal


def wrapper(options: str, *, operands: int = 0, also: "Finding | None" = None) -> Judge:
    """Options of its own, so many operands of its own, then the command."""

    @answers_help
    def judge(call: Call) -> list[Finding]:
        taken = take(call.words, row(options), stops_early=True)
        own = [also] if also is not None else []
        if not taken.is_sure and not taken.operands:
            return [*own, Finding("U", "what it runs, only the run will tell")]
        rest = taken.operands[operands:]
        if not rest:
            return own or [Finding("R", "runs nothing")]
        call.run(rest, call.feed)
        return own

    return judge


@answers_help
def _env(call: Call) -> list[Finding]:
    taken = take(
        call.words,
        row("u= unset= C=:folder chdir=:folder S=:split split-string=:split i 0 v"),
        stops_early=True,
    )
    found: list[Finding] = []
    rest = taken.operands
    split = taken.values("S", "split-string")
    while rest and re.match(r"[A-Za-z_]\w*=", rest[0].text):
        name, _, value = rest[0].text.partition("=")
        found += judge_variable(name, value, call.scope.copy(), is_kept=False)
        rest = rest[1:]
    folder = taken.values("C", "chdir")
    before = call.scope.folders
    if folder:
        call.scope.folders = call.ground.enter(folder[0])
    try:
        if split:
            found += _split(call, split[0], rest)
        elif rest:
            call.run(rest, call.feed)
        elif not call.place.hides_secrets and call.place.secret_variables:
            found.append(Finding("U", "prints variables, which may be secrets"))
        else:
            found.append(Finding("R", "prints variables"))
    finally:
        call.scope.folders = before
    return found


def _split(call: Call, text: Word, rest: Sequence[Word]) -> list[Finding]:
    if not text.is_literal or re.search(r"[\\$'\"]", text.text):
        return [Finding("U", "what it runs, only the run will tell")]
    home = call.place.home
    call.run(
        [*(literal(home + one[1:] if one.startswith("~") else one) for one in text.text.split()), *rest],
        call.feed,
    )
    return []


def _plain(call: Call) -> list[Finding]:
    """`command`, `builtin`, `exec`, `time`: the words behind their options."""
    if call.name == "command" and call.words and re.fullmatch(r"-p?[vV]+", call.words[0].text):
        return [Finding("R", "only looks")]
    if call.name == "time" and call.words and call.words[0].text == "{":
        return [Finding("U", "what it runs cannot be read")]
    taken = take(
        call.words,
        row("a= f= o=:write output=:write format=" if call.name != "builtin" else ""),
        stops_early=True,
    )
    found = [call.ground.write(word) for word in taken.values("o", "output")] if call.name == "time" else []
    if not taken.operands:
        return [*found, Finding("R", "only looks")]
    call.run(taken.operands, call.feed)
    return found


def _coproc(call: Call) -> list[Finding]:
    words = call.words
    if any(word.text in ("{", "(", "while", "for", "if") for word in words):
        return [Finding("U", "what it runs cannot be read")]
    call.run(words)
    return []


# Shells

_SHELL = "o= O= rcfile=:X init-file=:X c i l s x e u v n p norc noprofile login posix restricted"


@answers_help
def _shell(call: Call) -> list[Finding]:
    taken = take(call.words, row(_SHELL), stops_early=True)
    found: list[Finding] = (
        [Finding("X", "starts a file of one's own")] if taken.has("rcfile", "init-file", "i") else []
    )
    operands = taken.operands
    if taken.has("c"):
        return found + _from_text(call, operands)
    if not taken.is_sure and not operands:
        return [Finding("U", "what this shell runs, only the run will tell")]
    if (
        operands
        and not taken.has("s")
        and operands[0].text != "-"
        and not operands[0].text.startswith("/dev/stdin")
    ):
        return [*found, runs_file(call, operands[0]), *beyond_running(call, operands[0], operands[1:])]
    return found + reads_program(call)


def _from_text(call: Call, operands: Sequence[Word]) -> list[Finding]:
    if call.is_fed_by_network and not operands:
        return [Finding("F", "runs what the network gives")]
    if not operands or not operands[0].is_literal or operands[0].may_split:
        if operands and operands[0].source and _has_network(call, operands[0]):
            return [Finding("F", "runs what the network gives")]
        judge_known_part(call, operands[:1])
        return [Finding("U", "what this shell runs, only the run will tell")]
    is_known = not any(word.is_unknown or word.may_split for word in operands[1:])
    arguments = tuple(word.text for word in operands[1:]) or (call.name,)
    call.script(operands[0].text, arguments if is_known else None)
    return []


def judge_known_part(call: Call, words: Sequence[Word]) -> None:
    """A command line of which something is not known: what it does for all that is known of it."""
    text = " ".join(word.text for word in words)
    if " " in text and not text.startswith(UNKNOWN):
        text = re.sub(
            rf"'([^']*{WILD.pattern}[^']*)'", r'"\1"', text
        )  # in single quotes nothing stands for another
        call.script(WILD.sub("$unknown", text), None)


def _has_network(call: Call, word: Word) -> bool:
    """Its text has a command in it that speaks to the network."""
    return re.search(r"[$`].*(?<![\w-])(curl|wget|nc|ssh)(?![\w-])", word.source, re.DOTALL) is not None


def reads_program(call: Call) -> list[Finding]:
    """It runs what it is fed with."""
    feed = call.feed
    if feed is None:
        return [Finding("U", "waits for commands")]
    if feed.network:
        return [Finding("F", "runs what the network gives")]
    if feed.text is None:
        return [Finding("U", "runs what it is fed with")]
    call.script(feed.text, None)
    if feed.names is not None:
        return [Finding("U", "runs what another command says")]
    return []


@answers_help
def _other_shell(call: Call) -> list[Finding]:
    if call.is_fed_by_network:
        return [Finding("F", "runs what the network gives")]
    if call.words and not call.words[0].text.startswith("-"):
        return [runs_file(call, call.words[0]), *beyond_running(call, call.words[0], call.words[1:])]
    return [Finding("U", f"the language of {call.name} is not read here")]


def _eval(call: Call) -> list[Finding]:
    words = [word for word in call.words if word.text != "--"]
    if any(not word.is_literal or word.may_split for word in words):
        if any(_has_network(call, word) for word in words):
            return [Finding("F", "runs what the network gives")]
        judge_known_part(call, words)
        return [Finding("U", "what eval runs, only the run will tell")]
    call.script(" ".join(word.text for word in words), call.scope.arguments, "here")
    return []


def _source(call: Call) -> list[Finding]:
    if not call.words:
        return [Finding("U", "lacks its file")]
    word = call.words[0]
    if word.text.startswith("/dev/stdin"):
        return [*reads_program(call), Finding("U", "runs what it is fed with")]
    call.scope.runs_elsewhere = "a file was sourced before, so that names may mean something else"
    found = [runs_file(call, word, f"runs {word.text}")]
    if word.is_pipe:
        found.append(Finding("U", "runs what another command says"))
    return found


def _trap(call: Call) -> list[Finding]:
    words = [word for word in call.words if word.text != "--"]
    if not words or words[0].text in ("-l", "-p", "-", ""):
        return [Finding("R", "only looks")]
    if not words[0].is_literal:
        judge_known_part(call, words[:1])
        return [Finding("U", "what the trap runs, only the run will tell")]
    if len(words) > 1 or not words[0].text.isdigit():
        call.script(words[0].text, call.scope.arguments, "here")
    return []


def _alias(call: Call) -> list[Finding]:
    found = [Finding("R", "names a command")]
    for word in call.words:
        name, equals, value = word.text.partition("=")
        if call.name == "unalias":
            aliases = call.scope.aliases.items()
            call.scope.aliases = {known: text for known, text in aliases if name not in (known, "-a")}
        if not equals:
            continue
        if not word.is_literal:
            found.append(Finding("U", "what this alias stands for, only the run will tell"))
        call.scope.aliases[name] = value
        call.script(value, None)
    return found


def _folder(call: Call) -> list[Finding]:
    scope = call.scope
    words = [word for word in call.words if not re.fullmatch(r"-[LPen@]+", word.text)]
    if call.name == "popd":
        scope.move(tuple(dict.fromkeys((*scope.former, UNKNOWN))))
        return [Finding("R", "changes the folder")]
    if call.name == "pushd" and not words:
        scope.move(scope.former)
        return [Finding("R", "changes the folder")]
    if not words:
        target: Word = literal(scope.variables.get("HOME", call.place.home))
    elif words[0].text == "--" and len(words) > 1:
        target = words[1]
    else:
        target = words[0]
    if target.text == "-":
        scope.move(scope.former)
    elif (
        target.may_split
        or target.is_unknown
        or (scope.variables.get("CDPATH") is not None and not target.text.startswith(("/", ".")))
    ):
        scope.move((UNKNOWN,))
    else:
        scope.move(call.ground.enter(target))
    return [Finding("R", "changes the folder")]


def _leave(call: Call) -> list[Finding]:
    call.scope.has_left = True
    return [Finding("R", "leaves")]


def _declare(call: Call) -> list[Finding]:
    """`export`, `declare` and kin: values with a name are judged as assignments; this is the rest."""
    found = [Finding("R", "only sets a variable")]
    for word in call.words:
        if "[" in word.text and ("$(" in word.text or "`" in word.text):
            found.append(Finding("U", "a subscript in it runs as code"))
        name, equals, value = word.text.partition("=")
        if equals and re.fullmatch(r"\w+", name):
            found += judge_variable(name, value, call.scope, is_kept=True)
            call.scope.variables[name] = value
        elif not word.is_literal:
            found.append(Finding("U", "which variable is set, only the run will tell"))
    return found


def _let(call: Call) -> list[Finding]:
    if any("$(" in word.text or "`" in word.text for word in call.words):
        return [Finding("U", "a subscript in it runs as code")]
    for word in call.words:
        found = re.match(r"\w+", word.text)
        if found:
            call.scope.variables[found[0]] = UNKNOWN
    return [Finding("R", "calculates")]


def _unset(call: Call) -> list[Finding]:
    for word in call.words:
        call.scope.variables[word.text] = UNKNOWN
        call.scope.functions.pop(word.text, None)
    if any("[" in word.text and "$(" in word.text for word in call.words):
        return [Finding("U", "a subscript in it runs as code")]
    return [Finding("R", "forgets a variable")]


def _enable(call: Call) -> list[Finding]:
    if any(word.text.startswith("-f") for word in call.words) or (
        call.name == "hash" and len(call.words) > 1
    ):
        call.scope.runs_elsewhere = "a name was given to another program"
        return [Finding("X", "gives a name to another program")]
    return [Finding("R", "only looks")]


def _set(call: Call) -> list[Finding]:
    words = [word for word in call.words]
    if words and (words[0].text == "--" or not words[0].text.startswith(("-", "+"))):
        values = words[1:] if words[0].text == "--" else words
        is_known = not any(word.is_unknown or word.may_split for word in values)
        call.scope.arguments = ("", *(word.text for word in values)) if is_known else None
    return [Finding("R", "sets how this shell runs")]


def _shopt(call: Call) -> list[Finding]:
    if any(
        word.text in ("dotglob", "extglob", "expand_aliases", "globstar", "nocaseglob") for word in call.words
    ):
        return [Finding("R", "sets how this shell reads patterns")]
    return [Finding("R", "sets how this shell runs")]


def _watch(call: Call) -> list[Finding]:
    """Runs its words again and again, through a shell."""
    taken = take(call.words, row("n= interval= q= d differences exec x"), stops_early=True)
    if not taken.operands:
        return [Finding("R", "runs nothing")]
    if any(not word.is_literal for word in taken.operands):
        judge_known_part(call, taken.operands)
        return [Finding("U", "what it runs, only the run will tell")]
    call.script(" ".join(word.text for word in taken.operands), None)
    return [Finding("X", "runs a command again and again")]


_FLOCK = Finding("X", "runs a command in a way of its own")
WRAPPERS: Table = table(
    ("env genv", _env),
    ("nice", wrapper("n= adjustment=")),
    ("nohup", wrapper("")),
    ("setsid", wrapper("")),
    ("timeout gtimeout", wrapper("k= s= kill-after= signal=", operands=1)),
    ("stdbuf unbuffer", wrapper("i= o= e= input= output= error=")),
    ("command builtin exec time", _plain),
    ("coproc", _coproc),
    (
        "sudo doas",
        wrapper(
            "u= g= p= C= h= r= t= U= D= R= T= user= group= E n k S i s b H",
            also=Finding("F", "runs with more rights"),
        ),
    ),
    ("flock", wrapper("w= E= timeout=", operands=1, also=_FLOCK)),
    ("ionice", wrapper("c= n= p= class= classdata=", also=_FLOCK)),
    ("chrt taskset", wrapper("p= c=", operands=1, also=_FLOCK)),
    ("strace ltrace", wrapper("o= e= s= p= E= u=", also=_FLOCK)),
    (
        "busybox toybox catchsegv fakeroot caffeinate dbus-run-session faketime rlwrap",
        wrapper("", also=_FLOCK),
    ),
    ("watch", _watch),
)
SHELLS: Table = table(
    ("sh bash dash ash", _shell),
    ("zsh fish ksh mksh csh tcsh pwsh powershell nu xonsh elvish rc osh oil", _other_shell),
)
BUILT_IN: Table = table(
    ("eval", _eval),
    ("source .", _source),
    ("trap", _trap),
    ("alias unalias", _alias),
    ("cd pushd popd chdir", _folder),
    ("exit return logout", _leave),
    ("export declare typeset local readonly", _declare),
    ("let", _let),
    ("unset", _unset),
    ("enable hash", _enable),
    ("set", _set),
    ("shopt", _shopt),
)
