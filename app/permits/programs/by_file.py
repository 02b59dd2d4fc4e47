"""Programs that are known by the name of their file, wherever it lies: `bin/composer`, `composer.phar`, `./gradlew`."""

import re
from collections.abc import Sequence

from app.permits.calls import Call, Usual, asks_for_help, judge_usual
from app.permits.letters import STRICTNESS, Finding
from app.permits.programs.by_words import words_say
from app.permits.programs.clients import CLIENTS
from app.permits.programs.go_and_rust import GO_AND_RUST
from app.permits.programs.jvm import JVM
from app.permits.programs.packages import PACKAGES
from app.permits.programs.platforms import PLATFORMS
from app.permits.programs.services import SERVICES
from app.permits.programs.toolchains import TOOLCHAINS
from app.permits.programs.verbs import by_its_name
from app.permits.programs.versions import VERSIONS
from app.permits.words import Word

_ENDINGS = (".phar", ".pyz", ".cjs", ".mjs", ".js", ".rb")
_TABLES = (PACKAGES, GO_AND_RUST, JVM, VERSIONS, SERVICES, PLATFORMS, TOOLCHAINS)
_IN_BIN = re.compile(r"(?:^|/)\.?bin/[^/]*$")
"""Where package managers put programs."""


def beyond_running(call: Call, file: Word, words: Sequence[Word]) -> list[Finding]:
    """What such a file does with these words beyond running what is in it."""
    name = file.text.rsplit("/", 1)[-1]
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    known = (*_TABLES, CLIENTS) if _IN_BIN.search(file.text) else _TABLES
    row = next((table[name] for table in known if name in table), None)
    if not file.is_literal:
        return []
    if row is None:
        return by_its_name(name) + words_say(call.name.rsplit("/", 1)[-1], words)
    inner = call.with_words(name, words)
    if asks_for_help(inner):
        return []
    found = judge_usual(inner, row) if isinstance(row, Usual) else row(inner)
    return [one for one in found if STRICTNESS[one.letter] > STRICTNESS["X"]]
