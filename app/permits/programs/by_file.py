"""Programs that are known by the name of their file, wherever it lies: `bin/composer`, `composer.phar`, `./gradlew`."""

from collections.abc import Sequence

from app.permits.calls import Call, Usual, asks_for_help, judge_usual
from app.permits.letters import STRICTNESS, Finding
from app.permits.programs.packages import PACKAGES
from app.permits.programs.services import SERVICES
from app.permits.words import Word

_ENDINGS = (".phar", ".pyz", ".cjs", ".mjs", ".js", ".rb")


def beyond_running(call: Call, file: Word, words: Sequence[Word]) -> list[Finding]:
    """What such a file does with these words beyond running what is in it."""
    name = file.text.rsplit("/", 1)[-1]
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    row = PACKAGES.get(name) or SERVICES.get(name)
    if row is None or not file.is_literal:
        return []
    inner = Call(name, words, call.ground, call.feed, call.run, call.script)
    if asks_for_help(inner):
        return []
    found = judge_usual(inner, row) if isinstance(row, Usual) else row(inner)
    return [one for one in found if STRICTNESS[one.letter] > STRICTNESS["X"]]
