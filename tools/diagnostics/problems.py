"""What linters and type checkers say: values, and which of two looks at the same code is new.

Running them is `running`'s business, reading their words `reading`'s.
"""

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
    """One thing that one program says of one place."""

    path: str
    """Absolute."""
    line: int
    """From 1."""
    column: int = 0
    """From 1; 0: the whole line."""
    text: str
    code: str = ""
    """The rule's name, where it has one."""
    source: str = ""
    """Who says it."""
    severity: Severity = "error"

    @property
    def kind(self) -> tuple[str, str, str, str]:
        """What it has in common with the same problem at another line."""
        return self.path, self.source, self.code, _LINE_REFERENCE.sub(r"\1", self.text)


class FileChangeTexts(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was changed, and what it was before."""

    path: str
    """Absolute."""
    before: bytes | None
    """None: it was not there."""
    after: bytes | None

    def alignment(self) -> "LineAlignment":
        return LineAlignment(self.before or b"", self.after or b"")


class LineAlignment:
    """Which line of a text before is which of the text after."""

    def __init__(self, before: bytes, after: bytes) -> None:
        self._runs: list[UnchangedRun] = unchanged_runs(_lines(before), _lines(after))

    def current_line(self, line: int) -> int | None:
        """Where this line of before stands now; None: it was changed or is gone."""
        for run in self._runs:
            if run.old < line <= run.old + run.length:
                return line - run.old + run.new
        return None

    def is_changed(self, line: int) -> bool:
        """Whether this line of now was not there before."""
        return not any(run.new < line <= run.new + run.length for run in self._runs)


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").split("\n")


def new_problems(
    before: Sequence[CodeProblem], after: Sequence[CodeProblem], changed: Mapping[str, LineAlignment]
) -> list[CodeProblem]:
    """Those of `after` that `before` has not.

    Lines may have moved. One that stood in a line which was rewritten, and is there still, is not new.
    """
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
    """Where nobody knows what was said before: what stands in lines that are new."""
    return [one for one in problems if one.path in changed and changed[one.path].is_changed(one.line)]


def sorted_problems(problems: Sequence[CodeProblem]) -> list[CodeProblem]:
    """The worst first, then by place."""
    return sorted(problems, key=lambda one: (_SEVERITY_ORDER[one.severity], one.path, one.line, one.column))
