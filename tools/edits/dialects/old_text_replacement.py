"""The dialect of old and new texts: places each edit in a file. Strict readings first; a loose one needs proof.

Pure. `tools.edits.dialects.old_text_matching` matches texts, `tools.edits.dialects.old_text_readings` has other
readings."""

from collections.abc import Sequence
from typing import Final

import msgspec

from tools.edits.dialects.missing_old_text import explain_missing_old_text
from tools.edits.dialects.old_text_matching import (
    AmbiguousOldText,
    LinesNotShown,
    OldTextMatchStrategy,
    SearchableText,
    TextEdit,
    find_line_sequences,
    find_old_text_with_lookalikes,
    find_old_text_with_other_indentation,
    find_strict_old_text_match,
)
from tools.edits.dialects.old_text_readings import all_old_text_readings, is_unified_diff
from tools.edits.editable_text import EditableText, replace_text_spans
from tools.edits.shown_lines import LinesShownToModel
from tools.lazy_patterns import lazy_regex
from tools.text_sanitizing import one_line
from tools.tool_definition import ToolError

_MAX_LISTED_LINE_NUMBERS: Final = 10
_MIN_DISTINCTIVE_LINE_CHARS: Final = 20
"""The minimum length of a line whose presence in a file is taken as no coincidence, in characters without white
space."""
ELLIPSIS_LINE_PATTERN: Final = lazy_regex(
    r"[ \t]*(?:(?:\.\.\.|…)[ \t]*|(?://|#|--|;+|%|/\*|<!--)[ \t]*(?:\.\.\.|…)[^\n]{0,80})"
)
"""Matches a line that stands for omitted lines."""


class OldTextNotFoundError(ToolError):
    """Raised if the old text of an edit matches the file in no reading."""


class TextReplacement(msgspec.Struct, frozen=True, kw_only=True):
    old_text: str
    new_text: str
    replaces_all: bool = False
    """Whether all occurrences of the old text are replaced and not only one."""


class LocatedEdits(msgspec.Struct, frozen=True, kw_only=True):
    """The edits of one file with the spans of the text that each replaces."""

    spans_by_edit: tuple[tuple[TextEdit, ...], ...]
    """The text spans that each edit replaces; empty for an edit that was already applied."""
    strategies: tuple[OldTextMatchStrategy, ...] = ()
    """The strategies by which the edits' old texts were found, such as an exact match."""
    notes: tuple[str, ...] = ()
    """Notes for the model on how its edits were read."""


def locate_replacements(
    target: EditableText, edits: Sequence[TextReplacement], path: str, shown: LinesShownToModel
) -> LocatedEdits:
    """Finds the place of each replacement in a file's text. Raises `ToolError` for an edit without a place, or with
    several."""
    return _ReplacementPlacement(target, edits, path, shown).locate_replacements()


class _ReplacementPlacement:
    """Finds the places of one file's replacements, strictly first, then loosely, and notes those that are done
    already."""

    def __init__(
        self, target: EditableText, edits: Sequence[TextReplacement], path: str, shown: LinesShownToModel
    ) -> None:
        self._target = target
        self._document = SearchableText(target.text)
        self._edits = edits
        self._path = one_line(path)
        self._shown = shown
        self._spans_by_number: dict[int, list[TextEdit]] = {}
        self._strategy_by_number: dict[int, OldTextMatchStrategy] = {}
        self._notes: list[str] = []

    def locate_replacements(self) -> LocatedEdits:
        missed: list[int] = []
        for number in range(1, len(self._edits) + 1):
            if not self._place_in_original(number):
                missed.append(number)
        for number in missed:
            self._place_in_earlier_result(number)
        numbers = range(1, len(self._edits) + 1)
        return LocatedEdits(
            spans_by_edit=tuple(tuple(self._spans_by_number.get(number, ())) for number in numbers),
            strategies=tuple(self._strategy_by_number.get(number, "exact") for number in numbers),
            notes=tuple(self._notes),
        )

    def _adapted_texts(self, number: int) -> tuple[str, str]:
        edit = self._edits[number - 1]
        old, new = self._target.to_line_feeds(edit.old_text), self._target.to_line_feeds(edit.new_text)
        return (new, "") if not old.strip() and is_unified_diff(new) else (old, new)

    def _edit_label(self, number: int) -> str:
        return f"Edit {number} of {len(self._edits)}: " if len(self._edits) > 1 else ""

    def _place_in_original(self, number: int) -> bool:
        edit, which = self._edits[number - 1], self._edit_label(number)
        old, new = self._adapted_texts(number)
        if not old:
            raise ToolError(
                f"{which}oldText is empty. Give the text to replace; to create a file or replace all of "
                f"it, use write."
            )
        if old == new and not is_unified_diff(old):
            self._notes.append(f"{which}Nothing to do: its old and its new text are the same.")
            return True
        if edit.replaces_all and (everywhere := self._replace_all_occurrences(old, new)):
            self._record_spans(number, everywhere)
            lines = sorted({self._document.line_number_at(span.start) for span in everywhere})
            self._notes.append(f"{which}replaced {len(everywhere)} times, at {_format_line_numbers(lines)}.")
            return True
        try:
            return self._place_strictly(number, old, new) or self._place_loosely(number, old, new)
        except AmbiguousOldText as problem:
            how = "" if problem.strategy == "exact" else f" (ignoring {problem.strategy.replace('-', ' ')})"
            lines = _format_line_numbers(problem.line_numbers, problem.match_count)
            raise ToolError(
                f"{which}oldText occurs {problem.match_count} times in {self._path}{how}, at {lines}. "
                "Add neighbouring lines until it is unique, or set all. Nothing was changed."
            ) from None

    def _place_strictly(self, number: int, old: str, new: str) -> bool:
        span = find_strict_old_text_match(self._document, old, new) or _match_without_final_line_feed(
            self._document, old, new
        )
        if span is None:
            return False
        line = self._find_already_inserted_line(span, old, new)
        if line is not None:
            self._note_already_applied(number, line)
            return True
        if (
            span.strategy == "exact"
            and "\n" in old
            and self._edits[number - 1].old_text not in self._target.raw_text
        ):
            span = msgspec.structs.replace(span, strategy="line-endings")
        self._record_spans(number, [span])
        return True

    def _place_loosely(self, number: int, old: str, new: str) -> bool:
        """Finds the place of an edit whose old text does not occur exactly, by its other readings."""
        done = self._find_already_applied_line(old, new)
        if done is not None:
            self._note_already_applied(number, done)
            return True
        for reading in all_old_text_readings():
            spans = reading(self._document, old, new, self._shown)
            if spans:
                self._record_spans(number, list(spans))
                return True
        alike = find_old_text_with_lookalikes(self._document, old, new)
        if alike is not None:
            self._record_spans(number, [alike])
            return True
        try:
            span = find_old_text_with_other_indentation(self._document, old, new, self._shown.contains_lines)
        except LinesNotShown as problem:
            if number > 1 and old in self._text_after_earlier_edits(number):
                return False
            raise ToolError(
                f"{self._edit_label(number)}oldText was not found in {self._path}. With other indentation "
                f"it is at "
                f"{_format_line_numbers(problem.line_numbers)}, which you have not read. Nothing was changed.\n"
                + explain_missing_old_text(self._document.lines, old, self._shown.lines)
            ) from None
        if span is None:
            return False
        if number > 1 and old in self._text_after_earlier_edits(number):
            raise ToolError(
                f"{self._edit_label(number)}oldText is the result of an earlier edit, and with other "
                f"indentation it is at "
                f"line {self._document.line_number_at(span.start)} of {self._path} as well. Add neighbouring "
                f"lines to say which one. "
                "Nothing was changed."
            )
        self._record_spans(number, [span])
        return True

    # Edits that are already done

    def _note_already_applied(self, number: int, line: int | None) -> None:
        what = f"line {line} already reads like the new text" if line else "the old text is gone already"
        self._notes.append(f"{self._edit_label(number)}Nothing to do: {what}.")

    def _find_already_applied_line(self, old: str, new: str) -> int | None:
        """Returns the line at which the new text of an edit already is, if that is no coincidence; 0 if the edit
        removes text that is already gone; None if the edit was not yet applied."""
        was_sent = (old, new) in self._shown.applied_edits
        if not new.strip():
            return 0 if was_sent else None
        lines = new.strip("\n").split("\n")
        is_long = len(lines) > 1 or len("".join(lines[0].split())) >= _MIN_DISTINCTIVE_LINE_CHARS
        if not was_sent and not is_long:
            return None
        places = list(find_line_sequences(self._document.lines, lines))
        if len(places) == 1:
            return places[0] + 1
        if was_sent and (at := self._document.text.find(new)) >= 0:
            return self._document.line_number_at(at)
        return None

    def _find_already_inserted_line(self, span: TextEdit, old: str, new: str) -> int | None:
        """Returns the line at which an insertion was already made, because the old text is part of the new one;
        None if it was not."""
        if len(new) <= len(old) or old not in new:
            return None
        added = new.replace(old, "", 1)
        if (old, new) not in self._shown.applied_edits and not any(char.isalnum() for char in added):
            return None
        text, at = self._document.text, new.find(old)
        while at >= 0:
            start = span.start - at
            if start >= 0 and text.startswith(new, start):
                return self._document.line_number_at(start)
            at = new.find(old, at + 1)
        return None

    # In the result of the edits before

    def _earlier_spans(self, number: int) -> list[TextEdit]:
        return sorted(
            {span for one, spans in self._spans_by_number.items() if one < number for span in spans},
            key=lambda span: (span.start, span.end),
        )

    def _text_after_earlier_edits(self, number: int) -> str:
        return replace_text_spans(self._document.text, self._earlier_spans(number))

    def _place_in_earlier_result(self, number: int) -> None:
        old, new = self._adapted_texts(number)
        before = self._earlier_spans(number)
        result = replace_text_spans(self._document.text, before)
        if not before or result.count(old) != 1:
            raise OldTextNotFoundError(self._explain_missing_text(number, old))
        merged = _merge_with_earlier_spans(self._document.text, before, result.find(old), len(old), new)
        covered = [span for span in before if merged.start <= span.start and span.end <= merged.end]
        for one, spans in self._spans_by_number.items():
            self._spans_by_number[one] = [span for span in spans if span not in covered]
        self._record_spans(number, [merged])

    def _explain_missing_text(self, number: int, old: str) -> str:
        which = self._edit_label(number)
        for line in old.split("\n"):
            if ELLIPSIS_LINE_PATTERN.fullmatch(line) and line not in self._document.lines:
                shown = one_line(line.strip())
                return (
                    f'{which}oldText was not found in {self._path}: "{shown}" is not filled in; give the lines, or '
                    "two edits. Nothing was changed."
                )
        return (
            f"{which}oldText was not found in {self._path}. Nothing was changed.\n"
            + explain_missing_old_text(self._document.lines, old, self._shown.lines)
        )

    # Places

    def _replace_all_occurrences(self, old: str, new: str) -> list[TextEdit]:
        found: list[TextEdit] = []
        text = self._document.text
        position = text.find(old)
        while position >= 0:
            end = position + len(old)
            found.append(TextEdit(start=position, end=end, new_text=new, strategy="exact"))
            position = text.find(old, end)
        return found

    def _record_spans(self, number: int, spans: list[TextEdit]) -> None:
        text = self._document.text
        if all(text[span.start : span.end] == span.new_text for span in spans):
            self._note_already_applied(number, self._document.line_number_at(spans[0].start))
            return
        self._spans_by_number[number] = spans
        self._strategy_by_number[number] = spans[0].strategy


def _match_without_final_line_feed(document: SearchableText, old: str, new: str) -> TextEdit | None:
    """Finds an old text that ends with a line feed which the file's last line lacks; the file does not get one
    either."""
    text = document.text
    if text.endswith("\n") or not old.endswith("\n"):
        return None
    span = find_strict_old_text_match(SearchableText(f"{text}\n"), old, new)
    if span is None or span.end <= len(text):
        return span
    strategy: OldTextMatchStrategy = "line-endings" if span.strategy == "exact" else span.strategy
    return TextEdit(
        start=min(span.start, len(text)),
        end=len(text),
        new_text=span.new_text.removesuffix("\n"),
        strategy=strategy,
    )


def _merge_with_earlier_spans(
    text: str, before: Sequence[TextEdit], start: int, length: int, new: str
) -> TextEdit:
    """Converts an edit at `start` of the text that earlier edits produced into an edit of the original text, merged
    with the earlier edits that it overlaps or touches."""
    end = start + length
    first: int | None = None
    last = 0
    made = tail = ""
    position = shift = 0
    for span in before:
        made_start = span.start + shift
        made_end = made_start + len(span.new_text)
        shift += len(span.new_text) - (span.end - span.start)
        if made_end < start or made_start > end:
            continue
        if first is None:
            first = min(span.start, span.start - (made_start - start)) if start < made_start else span.start
            made = span.new_text[: start - made_start] if start > made_start else ""
        last, position = span.end, made_end
        tail = span.new_text[end - made_start :] if made_end > end else ""
    if first is None:
        raise AssertionError("what is not in the original was made by an edit")
    last += max(0, end - position)
    return TextEdit(start=first, end=last, new_text=made + new + tail, strategy="earlier-edit")


def _format_line_numbers(lines: Sequence[int], count: int | None = None) -> str:
    named = ", ".join(str(line) for line in lines[:_MAX_LISTED_LINE_NUMBERS])
    more = ", …" if (count or len(lines)) > min(len(lines), _MAX_LISTED_LINE_NUMBERS) else ""
    return f"line{'' if len(lines) == 1 and not more else 's'} {named}{more}"
