"""Finds the files that a goal's check reads or names, whose changes the user must see before believing a passed
check."""

import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from tools.lazy_patterns import lazy_regex

_TEST_FILE_PATTERN = lazy_regex(
    r"(^|/)(tests?|specs?|__tests__|testdata|fixtures|snapshots|__snapshots__|e2e)/"
    r"|(^|/)(test_[^/]*|[^/]*_(test|spec)\.[^/]+|[^/]*\.(test|spec)\.[^/]+|[^/]*Tests?\.[^/]+)$",
    re.IGNORECASE,
)
_BUILD_FILE_PATTERN = lazy_regex(
    r"(^|/)((GNU)?Makefile|justfile|Justfile|Rakefile|Taskfile\.ya?ml|noxfile\.py|tox\.ini|pytest\.ini|setup\.cfg"
    r"|setup\.py|pyproject\.toml|conftest\.py|package\.json|\.?(jest|vitest|mocha|karma|playwright|cypress)[^/]*"
    r"|tsconfig[^/]*\.json|Cargo\.toml|go\.mod|pom\.xml|build\.gradle[^/]*|CMakeLists\.txt|phpunit[^/]*|\.rspec"
    r"|\.?eslint[^/]*|ruff\.toml|mypy\.ini|pyrightconfig\.json|\.env|sitecustomize\.py|usercustomize\.py)$"
)
_SCRIPT_FILE_PATTERN = lazy_regex(r"\.(sh|bash|zsh|fish|bat|ps1)$")


def files_named_in_commands(commands: Iterable[str], folder: Path) -> tuple[str, ...]:
    """Returns the existing files and folders that the check commands name, as absolute paths."""
    found: dict[str, None] = {}
    for command in commands:
        for word in _command_words(command):
            for part in (word, word.partition("=")[2], word.partition("::")[0]):
                if part and not part.startswith("-") and len(part) < 1_000 and "\0" not in part:
                    place = folder / Path(part)
                    try:
                        if place.exists():
                            found[str(place.resolve())] = None
                    except (OSError, RuntimeError):
                        continue
    found.pop(str(folder.resolve()), None)
    return tuple(found)


def files_read_by_goal_check(changed: Sequence[str], named: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Returns those of the changed paths that a check reads or names: by their place, by the names of tests, and of
    files with which programs of checks are configured."""

    def is_read(path: str) -> bool:
        place = str(folder / path)
        return (
            any(place == one or place.startswith(f"{one}/") for one in named)
            or _TEST_FILE_PATTERN.search(path) is not None
            or _BUILD_FILE_PATTERN.search(path) is not None
            or _SCRIPT_FILE_PATTERN.search(path) is not None
        )

    return tuple(path for path in changed if is_read(path))


def _command_words(command: str) -> list[str]:
    try:
        return shlex.split(command, comments=False)
    except ValueError:
        return command.split()
