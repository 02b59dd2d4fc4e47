"""One program with its arguments, as a table of programs is asked about it, and what most programs have in "
"common."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from app.permits.letters import STRICTNESS, Finding, Letter
from app.permits.options import MAY_BE_OPTION, Taken, row, take
from app.permits.paths import PathGround
from app.permits.place import CommandPlace
from app.permits.scope import ShellScope
from app.permits.words import UNKNOWN, Word

HELP = frozenset({"--version", "--help", "-V"})
SAYS_WHAT_IT_IS = Finding("R", "says what it is")


class Feed(NamedTuple):
    """What flows into a program."""

    text: str | None = None
    """All of it, if it is known."""
    network: bool = False
    """Some of it comes from the network."""
    names: tuple[str, ...] | None = None
    """It is a list of these paths, which may have marks."""
    is_exact: bool = False
    """The names are divided by NUL."""


class Call:
    """One program that would run."""

    def __init__(
        self,
        name: str,
        words: Sequence[Word],
        ground: PathGround,
        feed: Feed | None,
        run: Callable[[Sequence[Word], Feed | None, bool], None],
        script: Callable[[str, tuple[str, ...] | None, str], None],
    ) -> None:
        self.name = name
        self.words = tuple(words)
        self.ground = ground
        self.feed = feed
        self._run = run
        self._script = script
        self.has_inner = False
        """What it runs has been judged as parts of its own."""
        self.output: Feed | None = None
        """What it says, if that matters to the program behind it."""
        self.hosts: list[str] = []

    @property
    def scope(self) -> ShellScope:
        return self.ground.scope

    @property
    def place(self) -> CommandPlace:
        return self.ground.place

    @property
    def is_fed_by_network(self) -> bool:
        return self.feed is not None and self.feed.network

    def with_words(self, name: str, words: Sequence[Word]) -> "Call":
        """The same program, or another, with other words."""
        return Call(name, words, self.ground, self.feed, self.run, self.script)

    def run(self, words: Sequence[Word], feed: Feed | None = None, is_of_project: bool = False) -> None:
        """Judges another command that this one starts; `is_of_project`: one of the project's environment."""
        self.has_inner = True
        self._run(words, feed, is_of_project)

    def script(self, text: str, arguments: tuple[str, ...] | None = None, zeroth: str = "") -> None:
        """Judges a text that this one gives to a shell."""
        self.has_inner = True
        self._script(text, arguments, zeroth)


class Usual(msgspec.Struct, frozen=True, kw_only=True):
    """A program of which options and operands say everything."""

    letter: Letter = "R"
    why: str = "only reads"
    options: str = ""
    """A row as `app.permits.options` reads it. Roles: read, write, list, fetch, or a letter."""
    operands: str = "read"
    """What the operands are: read, write, list (names only), text, remove, tree (read recursively)."""
    first: str = ""
    """What the first one is instead,"""
    unless: str = ""
    """if none of these options is there."""
    second: str = ""
    """What the second of two is instead."""
    deep: str = ""
    """Options with which folders are read recursively."""


Judge = Callable[[Call], "list[Finding]"]
Row = Usual | Judge
Table = dict[str, Row]


def table(*rows: tuple[str, Row]) -> Table:
    """Rows of names and what they are."""
    return {name: what for names, what in rows for name in names.split()}


def always(letter: Letter, why: str) -> Usual:
    """A program that does this whatever its words are."""
    return Usual(letter=letter, why=why, operands="text")


def judge_usual(call: Call, usual: Usual) -> list[Finding]:
    if asks_for_help(call):
        return [SAYS_WHAT_IT_IS]
    taken = take(call.words, row(usual.options))
    found = [Finding(usual.letter, usual.why)]
    found += judge_options(call, taken)
    if not taken.is_sure and has_power(usual.options):
        found.append(MAY_BE_OPTION)
    deeply = usual.operands == "tree" or bool(usual.deep and taken.has(*usual.deep.split()))
    role = "read" if usual.operands == "tree" else usual.operands
    operands = taken.operands
    if usual.first and operands and not (usual.unless and taken.has(*usual.unless.split())):
        found += judge_operand(call, operands[0], usual.first, False)
        operands = operands[1:]
    if usual.second and len(operands) > 1:
        found += judge_operand(call, operands[-1], usual.second, False)
        operands = operands[:-1]
    if deeply and not operands:
        operands = [Word(".", source=".")]
    for word in operands:
        found += judge_operand(call, word, role, deeply)
    return found


def asks_for_help(call: Call) -> bool:
    """Nothing but a question for version or help."""
    words = call.words
    return len(words) == 1 and words[0].text in HELP


def answers_help(judge: Judge) -> Judge:
    """Asked for help or its version a program says what it is; else it does what `judge` finds."""
    return lambda call: [SAYS_WHAT_IT_IS] if asks_for_help(call) else judge(call)


def has_power(options: str) -> bool:
    """Whether any of these options does more than reading."""
    known = row(options)
    return any(role not in ("", "read", "list") for _, role in (*known.short.values(), *known.long.values()))


def judge_options(call: Call, taken: Taken) -> list[Finding]:
    found: list[Finding] = []
    for name, value, role in taken.options:
        if not role:
            continue
        if role in STRICTNESS:
            found.append(Finding(role, f"{_dashed(name)} {_DEEDS[role]}"))  # type: ignore[arg-type]
        elif value is not None:
            found += judge_operand(call, value, role, False)
        else:
            found.append(Finding("U", f"{_dashed(name)} lacks its value"))
    return found


_DEEDS = {
    "R": "only reads",
    "E": "changes files",
    "X": "runs other code",
    "N": "uses the network",
    "U": "does what only the run will tell",
    "F": "reaches beyond the workspace",
}


def _dashed(name: str) -> str:
    return f"-{name}" if len(name) == 1 else f"--{name}"


def judge_operand(call: Call, word: Word, role: str, deeply: bool) -> list[Finding]:
    ground = call.ground
    if role in ("text", "list"):
        return []
    if word.text == "-" and role in ("read", "write", "fetch"):
        return []
    if role == "read":
        return [ground.read(word, deeply=deeply)]
    if role == "write":
        return [written(call, word)]
    if role == "fetch":
        return [fetched(call, word)]
    if role == "remove":
        return [ground.remove(word, deeply=deeply)]
    raise ValueError(f"No such role of an operand: {role}")


def written(call: Call, word: Word) -> Finding:
    """Writes a file, and remembers that this command line did."""
    found = call.ground.write(word)
    call.scope.written |= frozenset(call.ground.forms(word.text))
    if call.is_fed_by_network:
        call.scope.fetched |= frozenset(call.ground.forms(word.text))
    return found


def fetched(call: Call, word: Word) -> Finding:
    """Writes a file with what the network gives."""
    found = call.ground.write(word)
    call.scope.fetched |= frozenset(call.ground.forms(word.text))
    return found


def _was_fetched(call: Call, word: Word) -> bool:
    """It is from the network, or lies in a folder that is."""
    fetched = call.scope.fetched
    folders = tuple(f"{one}/" for one in fetched)
    return bool(fetched) and any(
        form in fetched or form.startswith(folders) for form in call.ground.forms(word.text)
    )


def runs_file(call: Call, word: Word, why: str = "runs a script") -> Finding:
    """A file is run, or read by something that runs it."""
    if word.from_network or _was_fetched(call, word):
        return Finding("F", "runs what the network gives")
    if UNKNOWN in word.text or word.is_pipe:
        return Finding("U", "runs a file that only the run will tell")
    if call.ground.was(call.scope.written, word):
        return Finding("U", "runs a file that this command writes")
    return Finding("X", why)
