"""Parses the output of linters and type checkers: JSON of ruff and eslint, tsc's lines, lines `path:line:col:
text`.

Output that cannot be parsed raises `UnreadableCheckerOutput` with the reason. The texts come from outside: they are
cut, put on one line and cleared of control characters."""

import os
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from tools.diagnostics.code_problems import CodeProblem, ProblemSeverity
from tools.lazy_patterns import lazy_regex

MAX_SHOWN_PROBLEM_CHARS: Final = 400
"""The maximum number of characters of a reported problem that are shown."""
MAX_PARSED_PROBLEM_CHARS: Final = 10 * MAX_SHOWN_PROBLEM_CHARS
"""The maximum number of characters of a reported problem that are read: more than are shown, so that a secret at
the cut is complete and can be masked."""
MAX_PARSED_PROBLEMS: Final = 20_000
"""The maximum number of reported problems that are read."""
_PROBLEM_LINE_PATTERN: Final = lazy_regex(
    r"\s*(?P<path>(?:[A-Za-z]:[\\/])?[^:\n]+?):(?P<line>\d{1,9})(?::(?P<column>\d{1,9}))?:?\s+(?P<text>\S.*)"
)
_TSC_LINE_PATTERN: Final = lazy_regex(
    r"(?P<path>.+?)\((?P<line>\d{1,9}),(?P<column>\d{1,9})\): (?P<severity>error|warning) (?P<code>TS\d+): (?P<text>.*)"
)
_TSC_ERROR_PATTERN: Final = lazy_regex(r"error TS\d+: .*")
_SEVERITY_PREFIX_PATTERN: Final = lazy_regex(
    r"(?:\[?(?P<word>fatal error|error|warning|warn|note|info|hint|E|W)\]?)\s*[:\s]\s*", re.IGNORECASE
)
_CONTROL_AND_DIRECTION_PATTERN: Final = lazy_regex(
    r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+"
)
_ESCAPE_SEQUENCE_PATTERN: Final = lazy_regex(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"
)


class UnreadableCheckerOutput(Exception):
    """Raised for output of a linter or type checker that does not have the expected format."""


ResolveCheckerPath = Callable[[str], str | None]
"""A function that maps a path, as printed by a checker, to the file; returns None if it is outside the checked
folder."""
ParseCheckerOutput = Callable[[str, str, ResolveCheckerPath], list[CodeProblem]]
"""A function that parses a checker's output into problems, given the checker's name and a path resolver."""


def clean_problem_text(text: str, most: int = MAX_SHOWN_PROBLEM_CHARS) -> str:
    text = text.encode("utf-8", "replace").decode()
    line = " ".join(_CONTROL_AND_DIRECTION_PATTERN.sub(" ", _ESCAPE_SEQUENCE_PATTERN.sub("", text)).split())
    return line if len(line) <= most else line[: most - 1] + "…"


class _RuffLocation(msgspec.Struct):
    row: int
    column: int = 0


class _RuffProblem(msgspec.Struct):
    filename: str
    location: _RuffLocation
    message: str
    code: str | None = None


def parse_ruff_output(output: str, source: str, place: ResolveCheckerPath) -> list[CodeProblem]:
    found: list[CodeProblem] = []
    for one in _decode_json_output(output, list[_RuffProblem])[:MAX_PARSED_PROBLEMS]:
        path = place(one.filename)
        if path is not None:
            found.append(
                CodeProblem(
                    path=path,
                    line=max(1, one.location.row),
                    column=one.location.column,
                    text=clean_problem_text(one.message, MAX_PARSED_PROBLEM_CHARS),
                    rule_name=clean_problem_text(one.code or "")[:40],
                    checker_name=source,
                )
            )
    return found


class _EslintMessage(msgspec.Struct, rename="camel"):
    message: str
    severity: int = 2
    rule_id: str | None = None
    line: int | None = None
    column: int | None = None


class _EslintFile(msgspec.Struct, rename="camel"):
    file_path: str
    messages: list[_EslintMessage]


def parse_eslint_output(output: str, source: str, place: ResolveCheckerPath) -> list[CodeProblem]:
    found: list[CodeProblem] = []
    for file in _decode_json_output(output, list[_EslintFile]):
        path = place(file.file_path)
        for one in file.messages:
            if path is None or one.line is None or len(found) >= MAX_PARSED_PROBLEMS:
                continue  # without a line: a notice that a file is ignored, not a problem
            found.append(
                CodeProblem(
                    path=path,
                    line=max(1, one.line),
                    column=one.column or 0,
                    text=clean_problem_text(one.message, MAX_PARSED_PROBLEM_CHARS),
                    rule_name=clean_problem_text(one.rule_id or "")[:80],
                    checker_name=source,
                    severity="error" if one.severity == 2 else "warning",
                )
            )
    return found


def _decode_json_output(output: str, kind: Any) -> Any:
    text = output.strip()
    if not text:
        return []
    start = text.find("[")
    if start < 0:
        raise UnreadableCheckerOutput(
            clean_problem_text(text[:MAX_PARSED_PROBLEMS], MAX_PARSED_PROBLEM_CHARS)
        )
    try:
        return msgspec.json.decode(text[start:], type=kind)
    except (ValueError, RecursionError) as problem:
        raise UnreadableCheckerOutput(f"its JSON cannot be read: {problem}") from None


def parse_tsc_output(output: str, source: str, place: ResolveCheckerPath) -> list[CodeProblem]:
    found: list[CodeProblem] = []
    general = ""
    for line in _iterate_output_lines(output):
        matched = _TSC_LINE_PATTERN.fullmatch(line)
        path = place(matched["path"]) if matched is not None else None
        if matched is not None and path is not None:
            found.append(
                CodeProblem(
                    path=path,
                    line=int(matched["line"]),
                    column=int(matched["column"]),
                    text=clean_problem_text(matched["text"], MAX_PARSED_PROBLEM_CHARS),
                    rule_name=matched["code"],
                    checker_name=source,
                    severity="error" if matched["severity"] == "error" else "warning",
                )
            )
        elif _TSC_ERROR_PATTERN.match(line):
            general = general or line
    if general and not found:
        raise UnreadableCheckerOutput(clean_problem_text(general, MAX_PARSED_PROBLEM_CHARS))
    return found[:MAX_PARSED_PROBLEMS]


def parse_problem_lines(output: str, source: str, place: ResolveCheckerPath) -> list[CodeProblem]:
    found: list[CodeProblem] = []
    for line in _iterate_output_lines(output):
        matched = _PROBLEM_LINE_PATTERN.match(line) if len(line) < 10_000 else None
        path = place(matched["path"].strip()) if matched is not None else None
        if matched is None or path is None:
            continue
        text = clean_problem_text(matched["text"], MAX_PARSED_PROBLEM_CHARS)
        named = _SEVERITY_PREFIX_PATTERN.match(text)
        found.append(
            CodeProblem(
                path=path,
                line=max(1, int(matched["line"])),
                column=int(matched["column"] or 0),
                text=text[named.end() :] or text if named else text,
                checker_name=source,
                severity=_parse_severity(named["word"].casefold()) if named else "error",
            )
        )
        if len(found) >= MAX_PARSED_PROBLEMS:
            break
    return found


def _parse_severity(word: str) -> ProblemSeverity:
    if word in ("warning", "warn", "w"):
        return "warning"
    return "note" if word in ("note", "info", "hint") else "error"


def _iterate_output_lines(output: str) -> Iterator[str]:
    for line in output.split("\n"):
        yield _ESCAPE_SEQUENCE_PATTERN.sub("", line).rstrip("\r ")


def make_checker_path_resolver(works_in: str, root: str, meant: str) -> ResolveCheckerPath:
    """Returns a function that resolves the paths printed by a checking program in `working_folder` to files below
    `root`. `meant` is the folder that `working_folder` stands for: itself, or the original of a copy."""

    def place(written: str) -> str | None:
        path = os.path.normpath(os.path.join(works_in, written.removeprefix("file://")))  # noqa: PTH118  (may be no path)
        if path.startswith(f"{root.rstrip('/')}/"):
            return f"{meant.rstrip('/')}/{path[len(root.rstrip('/')) + 1 :]}"
        return path if path.startswith(f"{meant.rstrip('/')}/") else None

    return place
