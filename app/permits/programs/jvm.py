"""Maven and Gradle: each word that is no option is a goal or a task."""

import re

from app.permits.calls import SAYS_WHAT_IT_IS, Call, Table, asks_for_help, table
from app.permits.letters import Finding
from app.permits.programs.verbs import GRAVE, named_script, verbs, words_of
from app.permits.words import names


def _gradle(call: Call) -> list[Finding]:
    """Each word that is no option is a task."""
    found = _GRADLE(call)
    if any(word.text == "--scan" for word in call.words):
        found.append(Finding("N", "--scan sends what was built to a service"))
    return [*found, *(named_script(word, call.name) for word in words_of(call) if GRAVE.fullmatch(word.text))]


_GRADLE = verbs(grave="publish release", grave_scripts=True, bare=Finding("X", "gradle runs tasks"))


_MAVEN_VALUED = names(
    "-f --file -pl --projects -P --activate-profiles -s --settings -t -T --threads -rf -l -gs -am"
)
_MAVEN_FETCHES = re.compile(r"dependency:(?:get|go-offline|resolve.*)|archetype:generate|wrapper:wrapper")


def _maven(call: Call) -> list[Finding]:
    """Each word that is no option is a goal."""
    if asks_for_help(call) or [word.text for word in call.words] == ["-v"]:
        return [SAYS_WHAT_IT_IS]
    goals = words_of(call, valued=_MAVEN_VALUED)
    found = [named_script(word, call.name) for word in goals]
    found += [Finding("N", f"{word.text} fetches") for word in goals if _MAVEN_FETCHES.fullmatch(word.text)]
    return found or [Finding("X", "Maven runs plugins")]


JVM: Table = table(
    ("mvn mvnw", _maven),
    ("gradle gradlew", _gradle),
)
