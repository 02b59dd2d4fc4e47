"""Programs that are known by the name of their file, wherever it lies: `bin/composer`, `composer.phar`, `./gradlew`."""

import re
from collections.abc import Sequence

from app.permits.calls import Call, Usual, asks_for_help, judge_usual
from app.permits.letters import STRICTNESS, Finding
from app.permits.programs.packages import PACKAGES
from app.permits.programs.services import SERVICES
from app.permits.programs.versions import VERSIONS
from app.permits.words import Word, names

_ENDINGS = (".phar", ".pyz", ".cjs", ".mjs", ".js", ".rb")
_FOR_OTHERS = re.compile(r"(?:\w+[-:])?(?:publish|unpublish|deploy)(?:[A-Z]\w*)?")
_ASKS_ELSEWHERE = names("install upgrade login logout clone push pull fetch download upload cloud")
_GRAVE_FILE = re.compile(
    r"(?!before|after|pre|post|check|test)(?:.*[_-])?(?:deploy|publish|destroy)(?:[_-].*)?|release"
)
_ADDRESS = re.compile(r"(?:https?|ftp|git|ssh|wss?)://|git@")


def verbs_say(name: str, words: Sequence[Word]) -> list[Finding]:
    """What its words say everywhere, whatever program it is."""
    verb = next((word.text for word in words if not word.text.startswith("-")), "")
    if _FOR_OTHERS.fullmatch(verb):
        return [Finding("F", f"{name} {verb} acts on others")]
    if verb in _ASKS_ELSEWHERE:
        return [Finding("N", f"{name} {verb} may use the network")]
    address = next((word.text for word in words if _ADDRESS.match(word.text)), None)
    return [Finding("N", f"{name} is given {address}")] if address is not None else []


def _by_its_name(name: str) -> list[Finding]:
    stem = name.lstrip(".").split(".", 1)[0]
    return (
        [Finding("F", f"a script that is named {name} acts on others")] if _GRAVE_FILE.fullmatch(stem) else []
    )


def beyond_running(call: Call, file: Word, words: Sequence[Word]) -> list[Finding]:
    """What such a file does with these words beyond running what is in it."""
    name = file.text.rsplit("/", 1)[-1]
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    row = PACKAGES.get(name) or VERSIONS.get(name) or SERVICES.get(name)
    if not file.is_literal:
        return []
    if row is None:
        return _by_its_name(name) + verbs_say(call.name.rsplit("/", 1)[-1], words)
    inner = Call(name, words, call.ground, call.feed, call.run, call.script)
    if asks_for_help(inner):
        return []
    found = judge_usual(inner, row) if isinstance(row, Usual) else row(inner)
    return [one for one in found if STRICTNESS[one.letter] > STRICTNESS["X"]]
