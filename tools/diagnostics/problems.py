"""Problems reported by linters and type checkers, and the comparison of two reports on the same code.

`running` starts the programs, `reading` parses their output."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from tools.edits.aligning import UnchangedRun, unchanged_runs
from tools.patterns import late

Severity = Literal["error", "warning", "note"]
_SEVERITY_ORDER: Final[Mapping[str, int]] = {"error": 0, "warning": 1, "note": 2}
_LINE_REFERENCE: Final = late(r"\b(lines?|Zeile|ligne) \d+", re.IGNORECASE)


class CodeProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One problem that a program reports at one place."""

    path: str
    """Absolute path."""
    line: int
    """Line number from 1."""
    column: int = 0
    """Column from 1; 0 means the whole line."""
    text: str
    code: str = ""
    """Name of the rule, if the program gives one."""
    source: str = ""
    """Name of the program."""
    severity: Severity = "error"

    @property
    def kind(self) -> tuple[str, str, str, str]:
        """The properties that the same problem at another line shares."""
        return self.path, self.source, self.code, _LINE_REFERENCE.sub(r"\1", self.text)


class FileChangeTexts(msgspec.Struct, frozen=True, kw_only=True):
    """A changed file with its old and new content."""

    path: str
    """Absolute path."""
    before: bytes | None
    """The old content; None if the file did not exist."""
    after: bytes | None

    def alignment(self) -> "LineAlignment":
        return LineAlignment(self.before or b"", self.after or b"")


class LineAlignment:
    """Maps lines of an old text to lines of the new text."""

    def __init__(self, before: bytes, after: bytes) -> None:
        self._runs: list[UnchangedRun] = unchanged_runs(_lines(before), _lines(after))

    def current_line(self, line: int) -> int | None:
        """Returns the new number of an old line; None if it was changed or removed."""
        for run in self._runs:
            if run.old < line <= run.old + run.length:
                return line - run.old + run.new
        return None

    def is_changed(self, line: int) -> bool:
        """Returns whether this new line did not exist before."""
        return not any(run.new < line <= run.new + run.length for run in self._runs)


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").split("\n")


def new_problems(
    before: Sequence[CodeProblem], after: Sequence[CodeProblem], changed: Mapping[str, LineAlignment]
) -> list[CodeProblem]:
    """Returns the problems of `after` that are not in `before`.

    Lines may have moved. A problem that remains in a rewritten line is not new."""
    old: dict[tuple[str, ...], list[int | None]] = defaultdict(list)
    for problem in before:
        alignment = changed.get(problem.path)
        old[problem.kind].append(alignment.current_line(problem.line) if alignment else problem.line)
    left: list[CodeProblem] = []
    for problem in after:
        places = old.get(problem.kind, [])
        if problem.line in places:
            places.remove(problem.line)
        else:
            left.append(problem)
    fresh: list[CodeProblem] = []
    for problem in left:
        places = old.get(problem.kind, [])
        if places:
            places.pop()
        else:
            fresh.append(problem)
    return fresh


def in_changed_lines(
    problems: Sequence[CodeProblem], changed: Mapping[str, LineAlignment]
) -> list[CodeProblem]:
    """Returns the problems in new lines, for when the earlier report is unknown."""
    return [one for one in problems if one.path in changed and changed[one.path].is_changed(one.line)]


def sorted_problems(problems: Sequence[CodeProblem]) -> list[CodeProblem]:
    """Sorts by severity, then by place."""
    return sorted(problems, key=lambda one: (_SEVERITY_ORDER[one.severity], one.path, one.line, one.column))
