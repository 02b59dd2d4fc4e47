"""Tools whose first words say what they do: `tool verb`, `tool group verb`."""

from app.permits.calls import Call, Judge, answers_help
from app.permits.letters import Finding, Letter
from app.permits.programs.verbs import DEEDS, PLAIN_VERBS, letters_of, nobody_knows, words_of
from app.permits.words import Word

_ABOUT_ITSELF = frozenset({"--version", "--help", "-version", "-help", "-V", "-v", "-h"})
_HARMLESS = _ABOUT_ITSELF | {
    "-a",
    "--all",
    "--verbose",
    "-q",
    "--quiet",
    "-l",
    "--long",
    "--json",
    "--no-color",
    "--plain",
}
"""Options with which what only reads goes on to do so."""


def by_verb(
    *,
    other: Letter = "X",
    bare: Letter = "X",
    reads: str = "",
    edits: str = "",
    code: str = "",
    network: str = "",
    grave: str = "",
    through: str = "",
    has_scripts: bool = False,
) -> Judge:
    """`group-verb` goes over `group`, which goes over `-verb`, whatever its group; behind a word of `through` stands
    another command; what is in no list is `other`, and where that
    is X, nobody knows it, unless a project has scripts of its own there (`has_scripts`)."""
    known = letters_of(reads=reads, edits=edits, code=code, network=network, grave=grave)
    runs = frozenset(through.split())

    @answers_help
    def judge(call: Call) -> list[Finding]:
        words = words_of(call)
        if not words:
            asks = bool(call.words) and all(word.text in _ABOUT_ITSELF for word in call.words)
            letter: Letter = "R" if asks else other if call.words else bare
            return [Finding(letter, f"{call.name} {DEEDS[letter]}")]
        if not words[0].is_literal:
            return [Finding("U", f"what {call.name} does, only the run will tell")]
        verb = words[0].text
        pair = f"{verb}-{words[1].text}" if len(words) > 1 else verb
        later = f"-{words[1].text}" if len(words) > 1 else verb
        letter = known.get(pair) or known.get(verb) or known.get(later) or other
        is_named = verb in PLAIN_VERBS or any(one in known for one in (pair, verb, later))
        if letter == "X" and not is_named and not has_scripts:
            return [nobody_knows(call.name, verb)]
        if letter == "R" and not all(
            word.text in _HARMLESS for word in call.words if word.text.startswith("-")
        ):
            letter = "X" if other == "R" else other
        found = [Finding(letter, f"{call.name} {verb} {DEEDS[letter]}")]
        if verb in runs or pair in runs:
            _behind(call, words[0 if verb in runs else 1])
        if len(words) > 1 and words[1].is_unknown and any(one.startswith(f"{verb}-") for one in known):
            found.append(Finding("U", f"what {call.name} {verb} does, only the run will tell"))
        return found

    return judge


def _behind(call: Call, verb: Word) -> None:
    """The command behind `--`, or behind the verb and its options."""
    at = next((i for i, word in enumerate(call.words) if word is verb), len(call.words)) + 1
    rest = list(call.words[at:])
    ends = next((i for i, word in enumerate(rest) if word.text == "--"), None)
    if ends is not None:
        rest = rest[ends + 1 :]
    while rest and rest[0].text.startswith("-"):
        rest.pop(0)
    if rest:
        call.run(rest, call.feed, is_of_project=True)
