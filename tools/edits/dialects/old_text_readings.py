"""Alternative exact readings of an old text that the file does not contain: with line numbers, escapes, diff signs.

Each reading fits exactly, in one place, or not at all; nothing here measures similarity. Pure."""

import html
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tools.edits.dialects.old_text_matching import (
    OldTextMatchStrategy,
    SearchableText,
    TextEdit,
    find_strict_old_text_match,
    keep_unchanged_lines_of_file,
)
from tools.edits.shown_lines import LinesShownToModel
from tools.lazy_patterns import lazy_regex

_LINE_WITH_NUMBER_PATTERN: Final = lazy_regex(r"[ \t]*(\d{1,7})(?:[a-z]{2}(?=\|))?([:|→\t])")
_ESCAPED_CHARACTER_PATTERN: Final = lazy_regex(r"\\([\\nrt\"'])")
_ESCAPED_QUOTE_PATTERN: Final = lazy_regex(r"\\([\"'])")
_HTML_ENTITY_PATTERN: Final = lazy_regex(r"&(?:lt|gt|amp|quot|apos|#39|#x27);")
_CHARACTER_BY_ESCAPE: Final[Mapping[str, str]] = {"n": "\n", "r": "", "t": "\t"}
_DIFF_HEADER_PATTERN: Final = lazy_regex(r"^(?:@@(?: |$)|--- \S)", re.MULTILINE)

OldTextReading = Callable[[SearchableText, str, str, LinesShownToModel], "Sequence[TextEdit] | None"]


def all_old_text_readings() -> tuple[OldTextReading, ...]:
    """Returns the alternative readings of an old text in the order in which they are tried."""
    return (
        match_old_text_without_line_numbers,
        match_old_text_with_escapes_undone,
        match_old_text_with_html_entities_undone,
        match_old_text_without_final_line_feed,
        match_old_text_as_unified_diff,
    )


def match_old_text_without_line_numbers(
    document: SearchableText, old: str, new: str, shown: LinesShownToModel
) -> Sequence[TextEdit] | None:
    """Reads an old text whose lines all begin with their line number, if the lines are there now, or were when they
    were shown."""
    old_lines = old.removesuffix("\n").split("\n")
    first = _first_line_number(old_lines)
    if first is None:
        return None
    for blank in ("", " "):
        bare = [_strip_line_number(line, blank) for line in old_lines]
        if None in bare:
            continue
        wanted = [line or "" for line in bare]
        new_lines = _strip_new_line_numbers(old_lines, new.split("\n"), blank)
        here = document.lines[first - 1 : first - 1 + len(wanted)]
        if len(here) == len(wanted) and _are_lines_equal(here, wanted):
            return _make_whole_line_edits(document, first - 1, wanted, new_lines, ends=old.endswith("\n"))
        was = [shown.lines.get(first + offset) for offset in range(len(wanted))]
        if None not in was and _are_lines_equal([line or "" for line in was], wanted):
            end = "\n" if old.endswith("\n") else ""
            span = find_strict_old_text_match(document, "\n".join(wanted) + end, "\n".join(new_lines))
            return None if span is None else [_set_match_strategy(span, "line-numbers")]
    return None


def _first_line_number(lines: Sequence[str]) -> int | None:
    """Returns the number of an old text's first line, if all its lines begin with consecutive line numbers; None
    otherwise."""
    first: int | None = None
    for offset, line in enumerate(lines):
        if not line.strip():
            continue
        match = _LINE_WITH_NUMBER_PATTERN.match(line)
        if match is None or int(match[1]) < 1:
            return None
        number = int(match[1]) - offset
        if first is not None and number != first:
            return None
        first = number
    return first if first is not None and first >= 1 else None


def _strip_line_number(line: str, blank: str) -> str | None:
    """Removes the line number before a line and one blank behind it; None if the blank is missing."""
    if not line.strip():
        return ""
    match = _LINE_WITH_NUMBER_PATTERN.match(line)
    if match is None:
        return None
    rest = line[match.end() :]
    if blank and rest and not rest.startswith(blank):
        return None
    return rest.removeprefix(blank)


def _strip_new_line_numbers(old_lines: Sequence[str], new_lines: list[str], blank: str) -> list[str]:
    """Removes the line numbers of an edit's new lines if all have the same style; otherwise only those of lines that
    are old ones."""
    kept = set(old_lines)
    ways = {_line_number_style(line) for line in old_lines if line.strip()}
    body = [line for line in new_lines if line.strip()]
    numbers = [int(match[1]) for line in body if (match := _LINE_WITH_NUMBER_PATTERN.match(line))]
    has_all = numbers == sorted(numbers) and all(_line_number_style(line) in ways for line in body)
    out: list[str] = []
    for line in new_lines:
        bare = _strip_line_number(line, blank) if has_all or line in kept else None
        out.append(line if bare is None else bare)
    return out


def _line_number_style(line: str) -> tuple[bool, str] | None:
    """Returns how a line number is written: whether spaces precede it, and what follows it."""
    match = _LINE_WITH_NUMBER_PATTERN.match(line)
    return None if match is None else (line[:1] in " \t", match[2])


def _make_whole_line_edits(
    document: SearchableText, first: int, wanted: list[str], new_lines: list[str], *, ends: bool
) -> Sequence[TextEdit]:
    here = document.lines[first : first + len(wanted)]
    tail = [new_lines.pop()] if ends and new_lines and not new_lines[-1] else []
    kept = keep_unchanged_lines_of_file(here, wanted, new_lines)
    start = document.line_start(first)
    end = start + sum(map(len, here)) + len(here) - 1
    if ends and end < len(document.text):
        end += 1
    elif tail:
        tail = []
    return [TextEdit(start=start, end=end, new_text="\n".join(kept + tail), strategy="line-numbers")]


def match_old_text_with_escapes_undone(
    document: SearchableText, old: str, new: str, shown: LinesShownToModel
) -> Sequence[TextEdit] | None:
    """Reads an old text that was escaped once too often: line feeds, tabs and quotes; if it has real line feeds, only
    quotes."""
    if "\\" not in old:
        return None
    pattern = _ESCAPED_QUOTE_PATTERN if "\n" in old else _ESCAPED_CHARACTER_PATTERN

    def undone(text: str) -> str:
        return pattern.sub(lambda match: _CHARACTER_BY_ESCAPE.get(match[1], match[1]), text)

    plain = undone(old)
    if plain == old:
        return None
    is_escaped_too = "\n" in old or "\n" not in new
    return _find_only_exact_match(document, plain, undone(new) if is_escaped_too else new, "escapes")


def match_old_text_with_html_entities_undone(
    document: SearchableText, old: str, new: str, shown: LinesShownToModel
) -> Sequence[TextEdit] | None:
    """Reads an old text with HTML entities as the characters they stand for: `&lt;` as `<`."""
    if not _HTML_ENTITY_PATTERN.search(old):
        return None

    def undone(text: str) -> str:
        return _HTML_ENTITY_PATTERN.sub(lambda match: html.unescape(match[0]), text)

    is_escaped_too = "<" not in new and ">" not in new
    return _find_only_exact_match(document, undone(old), undone(new) if is_escaped_too else new, "entities")


def match_old_text_without_final_line_feed(
    document: SearchableText, old: str, new: str, shown: LinesShownToModel
) -> Sequence[TextEdit] | None:
    """Reads an old text that has one line feed more than the file has at its end."""
    text = document.text
    bare = old[:-1]
    if not old.endswith("\n\n") or not text.endswith(bare) or text.count(bare) != 1:
        return None
    start = len(text) - len(bare)
    if start and text[start - 1] != "\n":
        return None
    made = new[:-1] if new.endswith("\n\n") else new
    return [TextEdit(start=start, end=len(text), new_text=made, strategy="end-of-file")]


def is_unified_diff(text: str) -> bool:
    """Returns whether the text has the heads of a unified diff and parses as one."""
    return _DIFF_HEADER_PATTERN.search(text) is not None and bool(parse_unified_diff_hunks(text))


def match_old_text_as_unified_diff(
    document: SearchableText, old: str, new: str, shown: LinesShownToModel
) -> Sequence[TextEdit] | None:
    """Reads a unified diff given as the old text: each hunk is placed by its context, ignoring its numbers."""
    hunks = parse_unified_diff_hunks(old) if _DIFF_HEADER_PATTERN.search(old) else None
    if not hunks:
        return None
    made = "\n".join(made for _, made in hunks)
    if new.strip() and new.strip() != old.strip() and new.strip("\n") != made.strip("\n"):
        return None
    spans: list[TextEdit] = []
    for before, after in hunks:
        span = find_strict_old_text_match(document, before, after)
        if span is None:
            return None
        spans.append(_set_match_strategy(span, "diff"))
    return spans


def parse_unified_diff_hunks(text: str) -> list[tuple[str, str]] | None:
    """Returns the old and new lines of each hunk of a unified diff; None if the text is not one."""
    hunks: list[tuple[list[str], list[str]]] = []
    is_in_head = True
    for line in text.removesuffix("\n").split("\n"):
        if is_in_head and line.startswith(("diff ", "index ", "--- ", "+++ ")):
            continue
        if line.startswith("@@"):
            hunks.append(([], []))
            is_in_head = False
            continue
        if is_in_head:
            if line[:1] not in ("-", "+", " "):
                return None
            hunks.append(([], []))
            is_in_head = False
        before, after = hunks[-1]
        if line.startswith("\\"):
            continue
        if line[:1] in ("-", " ", ""):
            before.append(line[1:])
        if line[:1] in ("+", " ", ""):
            after.append(line[1:])
        if line[:1] not in ("-", "+", " ", ""):
            return None
    if any(not before or before == after for before, after in hunks):
        return None
    return [("\n".join(before), "\n".join(after)) for before, after in hunks]


def _find_only_exact_match(
    document: SearchableText, old: str, new: str, strategy: OldTextMatchStrategy
) -> Sequence[TextEdit] | None:
    start = document.text.find(old) if old.strip() else -1
    if start < 0 or document.text.find(old, start + 1) >= 0:
        return None
    return [TextEdit(start=start, end=start + len(old), new_text=new, strategy=strategy)]


def _are_lines_equal(some: Sequence[str], others: Sequence[str]) -> bool:
    return all(one.rstrip() == other.rstrip() for one, other in zip(some, others, strict=True))


def _set_match_strategy(span: TextEdit, strategy: OldTextMatchStrategy) -> TextEdit:
    return TextEdit(start=span.start, end=span.end, new_text=span.new_text, strategy=strategy)
