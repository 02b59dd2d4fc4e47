"""Tools whose first word says what they do, and what their scripts are named: how their rows are written."""

import re

from app.permits.calls import Call, Judge, answers_help
from app.permits.letters import Finding, Letter
from app.permits.words import Word, names

GRAVE = re.compile(
    r"(?:(?:.*[:_./-])?(?:deploy|publish|destroy)|(?:ci-)?release)(?:[:_.-].*)?"
    r"|(?:.*:)?(?:git(?:hub|lab)?|do|perform|create)(?-i:Release)\w*"
    r"|(?:.*:)?publish(?!ToMavenLocal|AllPublicationsToMavenLocal)(?-i:[A-Z])\w*",
    re.IGNORECASE,
)
"""Names of scripts that act on others."""

READ = Finding("R", "only reads")


def words_of(call: Call, *, valued: frozenset[str] = frozenset()) -> list[Word]:
    """The operands, roughly: what is no option, nor the value of one that is named."""
    found: list[Word] = []
    words = list(call.words)
    while words:
        word = words.pop(0)
        if (word.text in valued and words) or (word.text[:1] == "-" and words and words[0].text.isdigit()):
            words.pop(0)
        elif not word.text.startswith("-"):
            found.append(word)
    return found


PLAIN_VERBS = names(
    "build b compile test tests t check c run r exec start stop serve server s dev develop watch lint fmt format "
    "clean bench benchmark doc docs document new init generate gen g repl shell console use activate deactivate "
    "completion completions version versions help info validate verify package pack archive render dump report "
    "stats list ls show status tree graph diff rename preview analyze analyse assemble dist debug eval env venv"
)
"""Verbs that mean the same wherever they stand: what a project is, is built, tried and looked at."""


def nobody_knows(name: str, verb: str) -> Finding:
    """A verb that the table of a known program does not have."""
    told = f"runs {name} {verb}, which nobody here knows"
    return Finding("U", told)


def named_script(name: Word | None, tool: str) -> Finding:
    """A script or a target by its name."""
    if name is None:
        return Finding("X", f"{tool} runs scripts")
    if not name.is_literal:
        return Finding("U", f"which script {tool} runs, only the run will tell")
    if GRAVE.fullmatch(name.text):
        return Finding("F", f"a script that is named {name.text} acts on others")
    return Finding("X", f"{tool} runs the script {name.text}")


GRAVE_FILE = re.compile(
    r"(?!before|after|pre|post|check|test)(?:.*[_-])?(?:deploy|publish|destroy)(?:[_-].*)?|release"
)


_SENDING_FILE = re.compile(r"(?:upload|download)[_-].*")


def by_its_name(name: str) -> list[Finding]:
    stem = name.lstrip(".").split(".", 1)[0]
    if GRAVE_FILE.fullmatch(stem):
        return [Finding("F", f"a script that is named {name} acts on others")]
    return (
        [Finding("N", f"a script that is named {name} uses the network")] if _SENDING_FILE.match(stem) else []
    )


DEEDS: dict[Letter, str] = {
    "F": "acts on others, or on the machine",
    "N": "uses the network",
    "X": "runs other code",
    "E": "changes files inside",
    "R": "only reads",
}


def letters_of(
    *, reads: str = "", edits: str = "", code: str = "", network: str = "", grave: str = ""
) -> dict[str, Letter]:
    """What the words of these lists do; of one that is in several the strictest counts."""
    lists: tuple[tuple[str, Letter], ...] = (
        (reads, "R"),
        (edits, "E"),
        (code, "X"),
        (network, "N"),
        (grave, "F"),
    )
    return {word: letter for text, letter in lists for word in text.split()}


def verbs(
    *,
    network: str = "",
    reads: str = "",
    edits: str = "",
    code: str = "",
    grave: str = "",
    scripts: str = "",
    runs: str = "",
    valued: str = "",
    bare: Finding = READ,
    grave_scripts: bool = False,
) -> Judge:
    """A tool whose first word says what it does; what is in no list runs other code."""
    known = letters_of(reads=reads, edits=edits, code=code, network=network, grave=grave)
    with_value, starters, with_script = names(valued), names(runs), names(scripts)

    @answers_help
    def judge(call: Call) -> list[Finding]:
        words = words_of(call, valued=with_value)
        if not words:
            return [bare]
        verb = words[0].text
        if not words[0].is_literal:
            return [Finding("U", f"what {call.name} does, only the run will tell")]
        pair = f"{verb}-{words[1].text}" if len(words) > 1 else verb
        if verb in starters:
            at = next(i for i, word in enumerate(call.words) if word.text == verb)
            return _through(call, at + 1)
        letter = known.get(pair) or known.get(verb)
        if letter:
            return [Finding(letter, f"{call.name} {verb} {DEEDS[letter]}")]
        if verb in with_script:
            return [named_script(words[1] if len(words) > 1 else None, call.name)]
        if grave_scripts:
            return [named_script(words[0], call.name)]
        if verb in PLAIN_VERBS:
            return [Finding("X", f"{call.name} {verb} runs other code")]
        return [nobody_knows(call.name, verb)]

    return judge


_RUN_VALUED = names(
    "--with --python -p --project --directory --package --extra --group --env-file "
    "--with-requirements -C --manifest-path"
)


def _through(call: Call, at: int) -> list[Finding]:
    """`uv run`, `poetry run`: what stands behind runs in the project's environment."""
    words = list(call.words[at:])
    found = [Finding("X", f"{call.name} runs a command in the project's environment")]
    while words and words[0].text.startswith("-") and words[0].text != "--":
        option = words.pop(0)
        if option.text == "--with":
            found.append(Finding("N", "fetches packages"))
        if option.text in _RUN_VALUED and words:
            words.pop(0)
    if words and words[0].text == "--":
        words.pop(0)
    while words and words[0].text.startswith("+"):
        words.pop(0)  # hatch: in which of its environments
    if words:
        call.run(words, call.feed, is_of_project=True)
    return found
