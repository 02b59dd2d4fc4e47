"""Finds the old texts of an edit in a file: strictly first, then more tolerantly, never ambiguously.

Pure: text in, spans out. Works on text with line feeds only; `tools.edits.editable_text` handles files and line
endings, `tools.edits.dialects.missing_old_text` words failures."""

import difflib
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Final, Literal

import msgspec

from tools.edits.line_alignment import count_common_first_and_last_lines
from tools.text_sanitizing import escape_controls

OldTextMatchStrategy = Literal[
    "exact",
    "line-endings",
    "trailing-whitespace",
    "indentation",
    "look-alikes",
    "line-numbers",
    "escapes",
    "entities",
    "end-of-file",
    "diff",
    "earlier-edit",
]
_TRIED_TAB_WIDTHS: Final = (4, 2, 8, 3)
_MAX_COUNTED_OLD_TEXT_MATCHES: Final = 100
_MAX_ALIGNED_LINE_PAIRS: Final = 1_000_000
_QUOTE_BY_LOOKALIKE: Final = dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc", "'") | dict.fromkeys(
    "\u201c\u201d\u201e\u201f", '"'
)
_DASH_BY_LOOKALIKE: Final = dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-")
_SPACE_BY_LOOKALIKE: Final = dict.fromkeys(
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
)
_REMOVED_INVISIBLE_CHARACTERS: Final = dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff\ufe0e\ufe0f", "")
_MAX_MAPPED_LINE_CHARS: Final = 50_000
_LOOKALIKE_TRANSLATION_TABLE: Final = str.maketrans(
    _QUOTE_BY_LOOKALIKE | _DASH_BY_LOOKALIKE | _SPACE_BY_LOOKALIKE | _REMOVED_INVISIBLE_CHARACTERS
)
"""Maps characters to others that look the same to a reader; a character with a meaning in programs, such as a
backtick, is not among them."""


class TextEdit(msgspec.Struct, frozen=True, kw_only=True):
    """An edit of a text: replaces `text[start:end]` with `new_text`."""

    start: int
    end: int
    new_text: str
    strategy: OldTextMatchStrategy


class AmbiguousOldText(Exception):
    """Raised if the old text of an edit occurs more than once in the file."""

    def __init__(self, strategy: OldTextMatchStrategy, lines: list[int], count: int) -> None:
        super().__init__(f"{count} matches")
        self.strategy: OldTextMatchStrategy = strategy
        self.line_numbers = lines
        """The line numbers at which the old text first occurs in the file."""
        self.match_count = count


class LinesNotShown(Exception):
    """Raised if the old text of an edit matches only with other indentation, and only lines that the model has not
    seen."""

    def __init__(self, lines: list[int]) -> None:
        super().__init__("not shown")
        self.line_numbers = lines


class SearchableText:
    """The text of a file with derived data for matching edits, such as its normalized lines, computed on demand."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def line_start(self, index: int) -> int:
        """Returns the position at which a line (from 0) begins."""
        return sum(map(len, self.lines[:index])) + index

    @cached_property
    def text_without_trailing_white_space(self) -> "NormalizedText":
        return NormalizedText(self, str.rstrip, [line.rstrip() for line in self.lines])

    @cached_property
    def text_without_lookalikes(self) -> "NormalizedText":
        lines = [line.rstrip() for line in lines_without_lookalikes(self.text)]
        return NormalizedText(self, lambda line: replace_lookalikes_in_line(line).rstrip(), lines)

    @cached_property
    def unindented_lines(self) -> list[str]:
        return [line.strip() for line in self.lines]

    @cached_property
    def unindented_normalized_lines(self) -> list[str]:
        return [line.lstrip() for line in self.text_without_lookalikes.lines]

    def line_number_at(self, position: int) -> int:
        """Returns the line number (from 1) of a position."""
        return self.text.count("\n", 0, position) + 1


class NormalizedText:
    """The text of a file with every line normalized, and a mapping of positions back to the original text."""

    def __init__(self, document: SearchableText, spell: Callable[[str], str], lines: list[str]) -> None:
        """Creates the view from the original text, the function `spell` that normalizes a line, and the normalized
        lines."""
        self._document = document
        self.normalize = spell
        self.lines = lines
        """The normalized lines of the text."""
        self.text = "\n".join(self.lines)

    def original_position(self, position: int, *, is_end: bool) -> int | None:
        """Returns the position in the original text of a position in the normalized text; None in the middle of a
        sequence that became one character."""
        line = self.text.count("\n", 0, position)
        column = position - self.text.rfind("\n", 0, position) - 1
        start = self._document.line_start(line)
        spelled, written = self.lines[line], self._document.lines[line]
        if is_end and column == len(spelled):
            return start + len(written)
        if written.startswith(spelled):
            return start + column
        found = find_original_column(written, column)
        return None if found is None else start + found

    def is_line_end(self, position: int) -> bool:
        return position == len(self.text) or self.text[position] == "\n"


def find_strict_old_text_match(document: SearchableText, old: str, new: str) -> TextEdit | None:
    """Finds the only place of an edit's old text, exactly or with other white space at line ends. Raises
    `AmbiguousOldText` if there are several."""
    return _find_exact_match(document, old, new) or _find_match_in_view(
        document, document.text_without_trailing_white_space, "trailing-whitespace", old, new
    )


def find_old_text_with_lookalikes(document: SearchableText, old: str, new: str) -> TextEdit | None:
    """Finds the only place of an edit's old text in which other quotes, dashes or spaces are used."""
    return _find_match_in_view(document, document.text_without_lookalikes, "look-alikes", old, new)


def find_old_text_with_other_indentation(
    document: SearchableText, old: str, new: str, is_shown: Callable[[list[str]], bool]
) -> TextEdit | None:
    """Finds the only place of an edit's old text with other indentation, shifted equally in all lines. Raises
    `LinesNotShown` if the model has not seen these lines."""
    return (
        _find_match_by_indentation(
            document, document.unindented_lines, str.strip, "indentation", old, new, is_shown
        )
        or _find_match_by_indentation(
            document,
            document.unindented_normalized_lines,
            lambda line: replace_lookalikes_in_line(line).strip(),
            "look-alikes",
            old,
            new,
            is_shown,
        )
        or _find_match_within_indentation(document, old, new, is_shown)
    )


def _find_exact_match(document: SearchableText, old: str, new: str) -> TextEdit | None:
    all_of_them = _find_occurrences(document.text, old)
    positions = [at for at in all_of_them if not _starts_inside_indentation(document.text, at, old)]
    if not positions:
        return None
    if len(all_of_them) >= _MAX_COUNTED_OLD_TEXT_MATCHES:
        positions = all_of_them
    lines = [document.line_number_at(position) for position in positions]
    _refuse_several_matches("exact", lines, _count_matches(document.text, old, len(positions)))
    return TextEdit(start=positions[0], end=positions[0] + len(old), new_text=new, strategy="exact")


def _starts_inside_indentation(text: str, position: int, old: str) -> bool:
    """Returns whether a match begins inside the indentation of a line, which means that a line with less
    indentation was searched for."""
    if old[0] not in " \t" or position == 0 or text[position - 1] not in " \t":
        return False
    start = text.rfind("\n", 0, position) + 1
    return not text[start:position].strip(" \t")


def _find_match_within_indentation(
    document: SearchableText, old: str, new: str, is_shown: Callable[[list[str]], bool]
) -> TextEdit | None:
    positions = _find_occurrences(document.text, old)
    if not positions:
        return None
    lines = [document.line_number_at(position) for position in positions]
    _refuse_several_matches("indentation", lines, len(lines))
    first = lines[0] - 1
    if not is_shown(document.lines[first : first + old.removesuffix("\n").count("\n") + 1]):
        raise LinesNotShown(lines)
    return TextEdit(start=positions[0], end=positions[0] + len(old), new_text=new, strategy="indentation")


def _refuse_several_matches(strategy: OldTextMatchStrategy, lines: list[int], count: int) -> None:
    if len(lines) > 1:
        raise AmbiguousOldText(strategy, lines, count)


def _count_matches(text: str, wanted: str, looked_at: int) -> int:
    return looked_at if looked_at < _MAX_COUNTED_OLD_TEXT_MATCHES else max(text.count(wanted), looked_at)


def _find_occurrences(text: str, wanted: str) -> list[int]:
    """Returns the positions at which a text occurs in another, overlapping ones too, up to a limit."""
    found: list[int] = []
    position = text.find(wanted)
    while position >= 0 and len(found) < _MAX_COUNTED_OLD_TEXT_MATCHES:
        found.append(position)
        position = text.find(wanted, position + 1)
    return found


def _find_match_in_view(
    document: SearchableText, view: NormalizedText, strategy: OldTextMatchStrategy, old: str, new: str
) -> TextEdit | None:
    old_lines = old.split("\n")
    spelled = [view.normalize(line) for line in old_lines]
    wanted = "\n".join(spelled)
    if not wanted.strip():
        return None
    # Trailing white space of the old text was at a line end, so the match has to end at one.
    needs_line_end = len(old_lines[-1].rstrip()) < len(old_lines[-1])
    spans: list[tuple[int, int]] = []
    for position in _find_occurrences(view.text, wanted):
        end = position + len(wanted)
        if needs_line_end and not view.is_line_end(end):
            continue
        if _starts_inside_indentation(view.text, position, wanted):
            continue
        first, last = view.original_position(position, is_end=False), view.original_position(end, is_end=True)
        if (
            first is not None
            and last is not None
            and _maps_back_to_original(view, document.text[first:last], wanted)
        ):
            spans.append((first, last))
    if not spans:
        return None
    count = _count_matches(view.text, wanted, len(spans))
    _refuse_several_matches(strategy, [document.line_number_at(first) for first, _ in spans], count)
    first, last = spans[0]
    replacement = keep_unchanged_lines_of_file(
        document.text[first:last].split("\n"), old_lines, new.split("\n")
    )
    return TextEdit(start=first, end=last, new_text="\n".join(replacement), strategy=strategy)


def _maps_back_to_original(view: NormalizedText, text: str, wanted: str) -> bool:
    """Returns whether the part of the original text that a normalized match maps back to equals the searched text
    when normalized."""
    return "\n".join(view.normalize(line) for line in text.split("\n")).rstrip() == wanted.rstrip()


def _find_match_by_indentation(
    document: SearchableText,
    bare_lines: list[str],
    bare: Callable[[str], str],
    strategy: OldTextMatchStrategy,
    old: str,
    new: str,
    is_shown: Callable[[list[str]], bool],
) -> TextEdit | None:
    """Finds whole lines that differ from `old` only by an equal shift of their indentation."""
    old_lines = old.split("\n")
    includes_line_feed = len(old_lines) > 1 and not old_lines[-1]
    if includes_line_feed:
        old_lines.pop()
    wanted = [bare(line) for line in old_lines]
    found: list[tuple[int, Callable[[str], str]]] = []
    for first in find_line_sequences(bare_lines, wanted):
        here = document.lines[first : first + len(wanted)]
        shift = _find_indentation_shift(old_lines, here)
        if shift and not (includes_line_feed and first + len(wanted) >= len(document.lines)):
            found.append((first, shift))
    if not found:
        return None
    _refuse_several_matches(strategy, [first + 1 for first, _ in found], len(found))
    first, shift = found[0]
    here = document.lines[first : first + len(wanted)]
    if not is_shown(here):
        raise LinesNotShown([first + 1])
    new_lines = new.split("\n")
    tail = [new_lines.pop()] if includes_line_feed and not new_lines[-1] else []
    kept = keep_unchanged_lines_of_file(here, old_lines, new_lines, shift)
    start = document.line_start(first)
    end = start + sum(map(len, here)) + len(here) - 1
    if includes_line_feed:
        end += 1
    return TextEdit(start=start, end=end, new_text="\n".join(kept + tail), strategy=strategy)


def find_line_sequences(lines: list[str], wanted: list[str]) -> Iterator[int]:
    """Yields the line numbers at which all the wanted lines follow each other; searches for the longest line first,
    which is the rarest."""
    anchor = max(range(len(wanted)), key=lambda index: len(wanted[index]))
    if not wanted[anchor]:
        return
    position = -1
    while True:
        try:
            position = lines.index(wanted[anchor], position + 1)
        except ValueError:
            return
        first = position - anchor
        if first >= 0 and lines[first : first + len(wanted)] == wanted:
            yield first


def _find_indentation_shift(old_lines: list[str], here: list[str]) -> Callable[[str], str] | None:
    """Returns a function that converts the indentation of an edit's lines to that of the file, if one rule fits all of
    them."""
    pairs = [
        (_leading_white_space(mine), _leading_white_space(theirs))
        for mine, theirs in zip(old_lines, here, strict=True)
        if mine.strip()
    ]
    mine, theirs = pairs[0]
    if theirs.endswith(mine):
        more = theirs[: len(theirs) - len(mine)]
        if all(other == more + own for own, other in pairs):
            return lambda line: more + line
    if mine.endswith(theirs):
        less = mine[: len(mine) - len(theirs)]
        if all(own == less + other for own, other in pairs):
            return lambda line: line.removeprefix(less) if line.startswith(less) else line.lstrip(" \t")
    for width in _TRIED_TAB_WIDTHS:
        shifts = {
            _count_indentation_columns(other, width) - _count_indentation_columns(own, width)
            for own, other in pairs
        }
        if len(shifts) == 1:
            return _make_indentation_converter(
                shifts.pop(), width, uses_tabs=any("\t" in other for _, other in pairs)
            )
    return None


def _make_indentation_converter(shift: int, width: int, *, uses_tabs: bool) -> Callable[[str], str]:
    def convert(line: str) -> str:
        own = _leading_white_space(line)
        columns = max(0, _count_indentation_columns(own, width) + shift)
        tabs = columns // width if uses_tabs else 0
        return "\t" * tabs + " " * (columns - tabs * width) + line[len(own) :]

    return convert


def _leading_white_space(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _count_indentation_columns(indentation: str, width: int) -> int:
    return len(indentation.expandtabs(width))


def keep_unchanged_lines_of_file(
    here: list[str], old: list[str], new: list[str], shift: Callable[[str], str] = lambda line: line
) -> list[str]:
    """Returns the new lines of an edit, in which lines that the edit does not change are as in the file."""
    out: list[str] = []
    for tag, first, last, new_first, new_last in _compute_alignment_opcodes(old, new):
        if tag == "equal":
            out.extend(here[first:last])
        else:
            out.extend(shift(line) if line.strip() else line for line in new[new_first:new_last])
    return out


def _compute_alignment_opcodes(old: list[str], new: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    if len(old) * len(new) <= _MAX_ALIGNED_LINE_PAIRS:
        return difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    head, tail = count_common_first_and_last_lines(old, new)
    return [
        ("equal", 0, head, 0, head),
        ("replace", head, len(old) - tail, head, len(new) - tail),
        ("equal", len(old) - tail, len(old), len(new) - tail, len(new)),
    ]


def replace_lookalikes_in_line(line: str) -> str:
    """Returns a line with plain quotes, dashes and spaces in place of look-alikes, for matching."""
    if line.isascii():
        return escape_controls(line)
    return unicodedata.normalize("NFC", escape_controls(line).translate(_LOOKALIKE_TRANSLATION_TABLE))


def lines_without_lookalikes(text: str) -> list[str]:
    """Returns the lines of a text with look-alikes of quotes, dashes and spaces replaced; plain lines are converted all
    at once."""
    lines = escape_controls(text).split("\n")
    if text.isascii():
        return lines
    return [line if line.isascii() else replace_lookalikes_in_line(line) for line in lines]


def find_original_column(line: str, column: int) -> int | None:
    """Returns the column in a line of a character in its normalized form; None inside a character, or if the line is
    too long."""
    if len(line) > _MAX_MAPPED_LINE_CHARS:
        return None
    position = 0
    index = 0
    while index < len(line):
        if position >= column:
            return index if position == column else None
        end = index + 1
        while end < len(line) and unicodedata.combining(line[end]):
            end += 1
        position += len(replace_lookalikes_in_line(line[index:end]))
        index = end
    return index if position == column else None
