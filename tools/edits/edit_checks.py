"""Checks an edit before it is written: repeated lines at its ends, wrapping that is not code, new syntax errors.

Pure except for the given syntax check. A repair is made only when proven: the text has a new error without the
repair, and none with it."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, Protocol

import msgspec

from tools.edits.dialects.old_text_matching import SearchableText, TextEdit
from tools.edits.dialects.old_text_replacement import ELLIPSIS_LINE_PATTERN
from tools.edits.syntax_checks import NewSyntaxError
from tools.lazy_patterns import lazy_regex
from tools.result_limits import clip_result_line
from tools.text_sanitizing import escape_controls, one_line
from tools.tool_definition import ToolError

_MAX_REMOVED_REPEATED_LINES: Final = 12
_MAX_LISTED_PROBLEMS: Final = 3
_MAX_QUOTED_LINE_CHARS: Final = 200
_CLOSING_BRACKET_LINE_PATTERN: Final = lazy_regex(
    r"[ \t]*(?:[\])}>;,]+|end[ \t]*[;,]?|fi|done|esac|endif|</[\w.:-]*>)[ \t]*", re.IGNORECASE
)
_CODE_FENCE_NOTE: Final = "Left out the code fence around the new text."
_CODE_FENCE_PATTERN: Final = lazy_regex(r"[ \t]*(?:```|~~~)[\w+#.-]*[ \t]*")


class EditSyntaxCheck(Protocol):
    @property
    def is_known(self) -> bool:
        """Whether the syntax of this file can be checked, because its language has a grammar."""
        ...

    @property
    def accepts_code_fences(self) -> bool:
        """Whether the file's grammar accepts a Markdown code fence as code."""
        ...

    def find_new_syntax_errors(
        self, text: str, spans: Sequence[TextEdit]
    ) -> tuple[NewSyntaxError, ...] | None: ...


class CheckedEdits(msgspec.Struct, frozen=True, kw_only=True):
    spans: tuple[TextEdit, ...]
    notes: tuple[str, ...] = ()
    """Notes for the model on what was removed from its new texts."""
    problems: tuple[NewSyntaxError, ...] = ()
    is_syntax_checked: bool = False


def check_edits(
    document: SearchableText, spans: Sequence[TextEdit], syntax: EditSyntaxCheck, path: str
) -> CheckedEdits:
    """Checks the edits of one file before they are written, and repairs provable mistakes. Raises `ToolError` for a new
    text with an ellipsis for lines, or with framing of a tool result."""
    text, given = document.text, tuple(spans)
    for span in given:
        _refuse_result_framing(document, span, path)
    problems = syntax.find_new_syntax_errors(text, given)
    _refuse_ellipsis(text, given, syntax, path, is_broken=bool(problems))
    if problems == () and syntax.accepts_code_fences:
        tried, notes = _strip_wrapping(document, given)
        if _CODE_FENCE_NOTE in notes and syntax.find_new_syntax_errors(text, tried) == ():
            return CheckedEdits(spans=tried, notes=notes, is_syntax_checked=True)
    if not problems:
        doubts = tuple(doubt for span in given if (doubt := _find_escape_problem(document, span, syntax)))
        if doubts and any(span.strategy == "escapes" for span in given):
            raise ToolError(f"{doubts[0]} Send both texts as they are in the file. Nothing was changed.")
        return CheckedEdits(spans=given, notes=doubts, is_syntax_checked=problems is not None)
    for repair in (_strip_wrapping, _strip_repeated_lines):
        tried, notes = repair(document, given)
        if notes and syntax.find_new_syntax_errors(text, tried) == ():
            return CheckedEdits(spans=tried, notes=notes, is_syntax_checked=True)
        one = _repair_one_change(
            document, given, repair, lambda made: syntax.find_new_syntax_errors(text, made) == ()
        )
        if one is not None:
            return one
    for span in given:
        if span.strategy in ("escapes", "entities"):
            raise ToolError(
                f"The old text fits {one_line(path)} only with its {span.strategy} undone, and the new "
                f"text is not valid code then (line {problems[0].line}: {problems[0].message}). Send both as "
                f"they are in the file. "
                "Nothing was changed."
            )
    return CheckedEdits(spans=given, problems=problems, is_syntax_checked=True)


RepairEdits = Callable[[SearchableText, tuple[TextEdit, ...]], tuple[tuple[TextEdit, ...], tuple[str, ...]]]


def _repair_one_change(
    document: SearchableText,
    given: tuple[TextEdit, ...],
    repair: RepairEdits,
    is_whole: Callable[[tuple[TextEdit, ...]], bool],
) -> CheckedEdits | None:
    """Tries to repair only one of several edits, because repairing all of them did not remove the new syntax error."""
    if not 1 < len(given) <= 6:
        return None
    for index, span in enumerate(given):
        (made,), notes = repair(document, (span,))
        tried = (*given[:index], made, *given[index + 1 :])
        if notes and is_whole(tried):
            return CheckedEdits(spans=tried, notes=notes, is_syntax_checked=True)
    return None


# Wrapping around the new text


def _strip_wrapping(
    document: SearchableText, spans: tuple[TextEdit, ...]
) -> tuple[tuple[TextEdit, ...], tuple[str, ...]]:
    """Removes what wraps the new text of an edit: a code fence around it, or the `+` of a diff before each line."""
    made = [_strip_fence(document.text, span) for span in spans]
    return tuple(span for span, _ in made), tuple(dict.fromkeys(note for _, note in made if note))


def _strip_fence(text: str, span: TextEdit) -> tuple[TextEdit, str]:
    lines = span.new_text.split("\n")
    tail = [lines.pop()] if len(lines) > 1 and not lines[-1] else []
    body = [line for line in lines if line.strip()]
    had = text[span.start : span.end].split("\n")
    is_fenced = (
        len(lines) > 2 and _CODE_FENCE_PATTERN.fullmatch(lines[0]) and lines[-1].strip() in ("```", "~~~")
    )
    if is_fenced and not any(_CODE_FENCE_PATTERN.fullmatch(line) for line in had):
        return msgspec.structs.replace(span, new_text="\n".join(lines[1:-1] + tail)), _CODE_FENCE_NOTE
    is_added = bool(body) and all(line.startswith("+") for line in body)
    if is_added and not any(line.startswith("+") for line in had):
        bare = [line.removeprefix("+") for line in lines]
        made = msgspec.structs.replace(span, new_text="\n".join(bare + tail))
        return made, 'Left out the "+" before the new lines.'
    return span, ""


# Framing that a tool result shows around the lines of a file


def _refuse_result_framing(document: SearchableText, span: TextEdit, path: str) -> None:
    """Rejects an edit whose new text contains line numbers, anchors or notices of a tool result, which are not part of
    the file."""
    had = document.text[span.start : span.end].split("\n")
    lines = [line for line in span.new_text.split("\n") if line.strip() and line not in had]
    notice = next((line for line in lines if _RESULT_NOTICE_PATTERN.fullmatch(line)), None)
    if notice is not None:
        raise ToolError(
            f'The new text for {one_line(path)} has "{one_line(notice)[:80]}" in it, which is a note of a tool result '
            "and not a line of the file. Leave it out. Nothing was changed."
        )
    first = document.line_number_at(span.start)
    found = [(int(match[1]), match[2]) for line in lines if (match := _LINE_WITH_NUMBER_PATTERN.match(line))]
    numbers = [number for number, _ in found]
    is_certain = len(found) > 1 or any(sign in "→\t" for _, sign in found)
    if (
        found
        and len(found) == len(lines)
        and is_certain
        and numbers[0] == first
        and numbers == sorted(set(numbers))
        and numbers[-1] - first <= span.new_text.count("\n")
        and not any(_LINE_WITH_NUMBER_PATTERN.match(line) for line in had)
    ):
        raise ToolError(
            f'The new text for {one_line(path)} begins its lines with their numbers ("{one_line(lines[0])[:60]}"). '
            "Leave them out. Nothing was changed."
        )


_LINE_WITH_NUMBER_PATTERN: Final = lazy_regex(r"[ \t]*(\d{1,7})(?:[a-z]{2}(?=\|))?([:|→\t])")
_RESULT_NOTICE_PATTERN: Final = lazy_regex(
    r"\[(?:Showing lines \d+-\d+ of \d|\d+ more lines in |Line \d+ (?:is|exceeds) |Lines? \d+(?:-\d+)? \(already read\)"
    r"|Whole output: |Output cut)[^\n]*\]"
)


# Escapes that were decoded once too often, or not at all


def _find_escape_problem(document: SearchableText, span: TextEdit, syntax: EditSyntaxCheck) -> str:
    """Detects escaping mistakes in a new text: a line that ends within a string, where the old lines did not, or an
    escape outside of strings."""
    had = document.text[span.start : span.end]
    lines = span.new_text.split("\n")
    if syntax.is_known and not any(map(_has_open_string, had.split("\n"))):
        for number, (one, next_one) in enumerate(pairwise(lines)):
            if _has_open_string(one) and _has_open_string(next_one) and _STRING_END_PATTERN.match(next_one):
                line = document.line_number_at(span.start) + number
                return (
                    f'A string begins in line {line} and goes on in the next: if "\\n" was meant in '
                    "it, send the backslash twice."
                )
    if len(lines) == 1 and "\\" not in had:
        for match in _LITERAL_LINE_BREAK_PATTERN.finditer(span.new_text):
            if not _has_open_string(span.new_text[: match.start()]):
                return (
                    'The new text has a backslash and an "n" where a line seems to end: if a line feed was meant, '
                    "send it as one."
                )
    return ""


def _has_open_string(line: str) -> bool:
    """Returns whether a line of code ends inside a string, judged by the number of its double quotes."""
    return _NOT_A_STRING_QUOTE_PATTERN.sub("", line).count('"') % 2 == 1


_NOT_A_STRING_QUOTE_PATTERN: Final = lazy_regex(r"""\\.|'"'|"{3}""")
_STRING_END_PATTERN: Final = lazy_regex(r"""[^"\n]{0,60}"[ \t]*(?:[)\]},;:.+]|$)""")
_LITERAL_LINE_BREAK_PATTERN: Final = lazy_regex(r"\\n(?=[ \t]{2,}|\\n|$)")


# Repeated lines


def _strip_repeated_lines(
    document: SearchableText, spans: tuple[TextEdit, ...]
) -> tuple[tuple[TextEdit, ...], tuple[str, ...]]:
    """Removes lines from the ends of a new text that the file already has directly before or behind the edited
    range."""
    made = [_strip_repeated_line_ends(document.text, span) for span in spans]
    return tuple(span for span, _ in made), tuple(note for _, note in made if note)


def _strip_repeated_line_ends(text: str, span: TextEdit) -> tuple[TextEdit, str]:
    if text[text.rfind("\n", 0, span.start) + 1 : span.start].strip():
        return span, ""
    line_end = text.find("\n", span.end)
    if text[span.end - 1 : span.end] != "\n" and text[span.end : line_end if line_end >= 0 else None].strip():
        return span, ""
    old_lines, old_end = _split_lines_and_end(text[span.start : span.end])
    new_lines, new_end = _split_lines_and_end(span.new_text)
    if old_end != new_end:
        return span, ""
    after = (
        text[span.end :]
        .removeprefix("" if old_end else "\n")
        .split("\n", _MAX_REMOVED_REPEATED_LINES)[:_MAX_REMOVED_REPEATED_LINES]
    )
    before = (
        text[: span.start]
        .rstrip(" \t")
        .removesuffix("\n")
        .rsplit("\n", _MAX_REMOVED_REPEATED_LINES)[-_MAX_REMOVED_REPEATED_LINES:]
    )
    count = _count_repeated_lines(old_lines[::-1], new_lines[::-1], after, is_behind=True)
    if count:
        kept = new_lines[:-count]
        left = new_lines[-count:]
        where = "behind"
    else:
        count = _count_repeated_lines(old_lines, new_lines, before[::-1], is_behind=False)
        if not count:
            return span, ""
        kept, left, where = new_lines[count:], new_lines[:count], "before"
    new = "\n".join(kept) + ("\n" if new_end and kept else "")
    shown = one_line(left[0].strip())[:60] + ("" if count == 1 else " …")
    lines = "1 line that stands" if count == 1 else f"{count} lines that stand"
    note = f'Left out {lines} {where} the range already ("{shown}").'
    return msgspec.structs.replace(span, new_text=new), note


def _split_lines_and_end(text: str) -> tuple[list[str], bool]:
    lines = text.split("\n")
    ends = len(lines) > 1 and not lines[-1]
    return (lines[:-1] if ends else lines), ends


def _count_repeated_lines(old: list[str], new: list[str], around: list[str], *, is_behind: bool) -> int:
    """Counts the lines at one end of the new text that repeat lines around the edited range."""
    for count in range(min(len(new) - 1, len(around)), 0, -1):
        mine = new[:count][::-1] if is_behind else new[:count]
        theirs = around[:count] if is_behind else around[:count][::-1]
        if mine != theirs or (old[:count][::-1] if is_behind else old[:count]) == theirs:
            continue
        if count >= 2 or _CLOSING_BRACKET_LINE_PATTERN.fullmatch(theirs[0]):
            return count
    return 0


# Omitted lines


def _refuse_ellipsis(
    text: str, spans: Sequence[TextEdit], syntax: EditSyntaxCheck, path: str, *, is_broken: bool
) -> None:
    """Rejects an edit whose new text has `...` in place of code, unless that is code of the language."""
    if not syntax.is_known:
        return
    for span in spans:
        if "..." not in span.new_text and "…" not in span.new_text:
            continue
        old = set(text[span.start : span.end].split("\n"))
        for line in span.new_text.split("\n"):
            if line in old or ELLIPSIS_LINE_PATTERN.fullmatch(line) is None:
                continue
            is_bare = line.strip() in ("...", "…")
            if is_broken if is_bare else _ELLIPSIS_REMARK_PATTERN.search(line) is not None:
                raise ToolError(
                    f'The new text for {one_line(path)} has "{one_line(line.strip())}" in it, which is a '
                    "placeholder; give the lines themselves, or two edits around them. Nothing was changed."
                )


_ELLIPSIS_REMARK_PATTERN: Final = lazy_regex(
    r"\b(?:existing|rest|remaining|unchanged|omitted|previous|same|keep|other) ?(?:of|code|as|imports?|methods?|lines?"
    r"|functions?|content|logic|implementation|\W|$)",
    re.IGNORECASE,
)


def format_syntax_error_note(problems: Sequence[NewSyntaxError], text: str) -> str:
    """Returns a note for the model on syntax errors that its edit has written, with the rows around them."""
    lines = text.split("\n")
    out: list[str] = []
    for problem in problems[:_MAX_LISTED_PROBLEMS]:
        before = " The file parsed before this edit." if problem.is_first else ""
        out.append(f"New syntax error at line {problem.line}: {problem.message}.{before}")
        for number in range(max(1, problem.line - 1), min(len(lines), problem.line + 1) + 1):
            shown, _ = clip_result_line(escape_controls(lines[number - 1]), _MAX_QUOTED_LINE_CHARS)
            out.append(f"{number}: {shown}")
    if len(problems) > _MAX_LISTED_PROBLEMS:
        out.append(f"… and {len(problems) - _MAX_LISTED_PROBLEMS} more.")
    return "\n".join(out)
