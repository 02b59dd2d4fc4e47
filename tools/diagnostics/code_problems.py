"""Problems reported by linters and type checkers, and the comparison of two reports on the same code.

`running` starts the programs, `output_parsers` parses their output."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from tools.edits.line_alignment import UnchangedLines, find_unchanged_line_runs
from tools.lazy_patterns import lazy_regex

ProblemSeverity = Literal["error", "warning", "note"]
_PROBLEM_SEVERITY_ORDER: Final[Mapping[str, int]] = {"error": 0, "warning": 1, "note": 2}
_LINE_REFERENCE_PATTERN: Final = lazy_regex(r"\b(lines?|Zeile|ligne) \d+", re.IGNORECASE)


class CodeProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One problem that a linter or type checker reports at one place of a file."""

    path: str
    """The absolute path of the file with the problem."""
    line: int
    """Line number from 1."""
    column: int = 0
    """Column from 1; 0 means the whole line."""
    text: str
    rule_name: str = ""
    """The name of the violated rule, if the checker gives one; empty otherwise."""
    checker_name: str = ""
    """The name of the checker that reported the problem."""
    severity: ProblemSeverity = "error"

    @property
    def line_independent_key(self) -> tuple[str, str, str, str]:
        """The properties of a code problem that do not depend on its line, by which it is found again in another
        report."""
        return self.path, self.checker_name, self.rule_name, _LINE_REFERENCE_PATTERN.sub(r"\1", self.text)


class FileChangeTexts(msgspec.Struct, frozen=True, kw_only=True):
    """A changed file with its old and new content, for finding the problems that the change caused."""

    path: str
    """The absolute path of the changed file."""
    old_content: bytes | None
    """The old content; None if the file did not exist."""
    new_content: bytes | None

    def map_old_lines_to_new(self) -> "OldToNewLineMap":
        return OldToNewLineMap(self.old_content or b"", self.new_content or b"")


class OldToNewLineMap:
    """Maps lines of an old text to lines of the new text."""

    def __init__(self, before: bytes, after: bytes) -> None:
        self._runs: list[UnchangedLines] = find_unchanged_line_runs(
            _decode_lines(before), _decode_lines(after)
        )

    def map_old_line_to_new(self, line: int) -> int | None:
        """Returns the number in the new text of a line of the old text; None if the line was changed or removed."""
        for run in self._runs:
            if run.old_start < line <= run.old_start + run.length:
                return line - run.old_start + run.new_start
        return None

    def is_changed(self, line: int) -> bool:
        """Returns whether a line of the new text did not exist in the old text."""
        return not any(run.new_start < line <= run.new_start + run.length for run in self._runs)


def _decode_lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").split("\n")


def find_added_code_problems(
    before: Sequence[CodeProblem], after: Sequence[CodeProblem], changed: Mapping[str, OldToNewLineMap]
) -> list[CodeProblem]:
    """Returns the code problems of the report `after` that are not in `before`, although lines may have moved. A
    problem that remains in a rewritten line is not new."""
    old: dict[tuple[str, ...], list[int | None]] = defaultdict(list)
    for problem in before:
        alignment = changed.get(problem.path)
        old[problem.line_independent_key].append(
            alignment.map_old_line_to_new(problem.line) if alignment else problem.line
        )
    left: list[CodeProblem] = []
    for problem in after:
        places = old.get(problem.line_independent_key, [])
        if problem.line in places:
            places.remove(problem.line)
        else:
            left.append(problem)
    fresh: list[CodeProblem] = []
    for problem in left:
        places = old.get(problem.line_independent_key, [])
        if places:
            places.pop()
        else:
            fresh.append(problem)
    return fresh


def select_code_problems_in_changed_lines(
    problems: Sequence[CodeProblem], changed: Mapping[str, OldToNewLineMap]
) -> list[CodeProblem]:
    """Returns the code problems in changed lines, for when the report before the change is unknown."""
    return [one for one in problems if one.path in changed and changed[one.path].is_changed(one.line)]


def sort_code_problems(problems: Sequence[CodeProblem]) -> list[CodeProblem]:
    """Sorts code problems by severity, then by file and line."""
    return sorted(
        problems, key=lambda one: (_PROBLEM_SEVERITY_ORDER[one.severity], one.path, one.line, one.column)
    )
