"""Turns the placed edits of one file into its new bytes, with notes, checks and the diff.

Pure. The tools choose the file and write it."""

from collections.abc import Callable, Sequence

import msgspec

from tools.edits.dialects.old_text_matching import OldTextMatchStrategy, SearchableText, TextEdit
from tools.edits.dialects.old_text_replacement import LocatedEdits, TextReplacement, locate_replacements
from tools.edits.diffs import Diff, make_diff_of_spans
from tools.edits.edit_checks import EditSyntaxCheck, check_edits, format_syntax_error_note
from tools.edits.editable_notebooks import are_old_texts_from_notebook_json, open_editable_notebook
from tools.edits.editable_text import EditableText, decode_text_file, replace_text_spans, sort_edit_spans
from tools.edits.shown_lines import LinesShownToModel

_NOTE_BY_MATCH_STRATEGY: dict[OldTextMatchStrategy, str] = {
    "trailing-whitespace": "ignoring trailing whitespace",
    "indentation": "ignoring indentation",
    "look-alikes": "ignoring look-alikes",
    "line-numbers": "without line numbers",
    "escapes": "with its escapes undone",
    "entities": "with its entities undone",
    "end-of-file": "ignoring a line feed at the end of the file",
    "diff": "read as a diff",
    "earlier-edit": "in what an edit before it makes",
}


class EditedText(msgspec.Struct, frozen=True, kw_only=True):
    """The new content of one edited file, with its diff, notes and syntax warning."""

    data: bytes | None
    """The new content of the file in bytes; None if the file stays unchanged."""
    text: str
    """The new text of the file in the form that edits use: with line feeds, or a notebook as `read` shows it."""
    diff: Diff
    strategies: tuple[OldTextMatchStrategy, ...]
    replaced_count: int
    """The number of places in the file that were replaced."""
    notes: tuple[str, ...] = ()
    """Notes for the model: on edits that were already applied, and on wrapping that was removed."""
    syntax_warning: str = ""
    """A warning of new syntax errors with the lines around them; empty if there are none."""
    is_syntax_checked: bool = False
    """Whether the syntax of the new text was checked."""
    is_as_stored: bool = True
    """Whether `text` is the file's own text; False if it is the `read` tool's rendering, as for a notebook."""
    changed_line_ranges: tuple[tuple[int, int], ...] = ()
    """The first and last line of each change in the new text, counted from 1."""
    is_new: bool = False
    is_removed: bool = False
    moved_to: str = ""
    applied_texts: tuple[tuple[str, str], ...] = ()
    """The old and new texts of the applied edits, by which the same edit is recognized if the model sends it again."""


def open_editable_text(data: bytes, path: str, *, is_notebook: bool = False) -> EditableText:
    """Decodes a file for editing: a notebook in the form that `read` shows, any other file as text. Raises `ToolError`
    for a binary file."""
    found = open_editable_notebook(data) if is_notebook else None
    return found if found is not None else decode_text_file(data, path)


def apply_replacements(
    data: bytes,
    edits: Sequence[TextReplacement],
    path: str,
    shown: LinesShownToModel,
    syntax: Callable[[str], EditSyntaxCheck],
    *,
    is_notebook: bool = False,
) -> EditedText:
    """Applies replacements to one file's text, each matched against the original. Raises `ToolError`, and then applies
    none."""
    target = open_editable_text(data, path, is_notebook=is_notebook)
    if not target.is_as_stored and are_old_texts_from_notebook_json(
        data, [edit.old_text for edit in edits], target.text
    ):
        target = decode_text_file(data, path)
    edited = apply_located_edits(target, locate_replacements(target, edits, path, shown), path, syntax)
    sent = tuple((target.to_line_feeds(edit.old_text), target.to_line_feeds(edit.new_text)) for edit in edits)
    return msgspec.structs.replace(edited, applied_texts=sent)


def apply_located_edits(
    target: EditableText, placed: LocatedEdits, path: str, syntax: Callable[[str], EditSyntaxCheck]
) -> EditedText:
    """Applies edits whose places are known to a file's text, and checks its new syntax. Raises `ToolError`."""
    document = SearchableText(target.text)
    ordered = sort_edit_spans(document, placed.spans_by_edit, path)
    checked = check_edits(document, ordered, syntax(target.text), path)
    spans = [span for span in checked.spans if target.text[span.start : span.end] != span.new_text]
    text = replace_text_spans(target.text, spans)
    return EditedText(
        data=target.encode_with_edits(spans, path) if spans else None,
        text=text,
        diff=make_diff_of_spans(path, target.text, [(span.start, span.end, span.new_text) for span in spans]),
        strategies=placed.strategies,
        replaced_count=len(spans),
        notes=(*placed.notes, *_format_loose_match_notes(placed.strategies), *checked.notes),
        syntax_warning=format_syntax_error_note(checked.problems, text),
        is_syntax_checked=checked.is_syntax_checked,
        is_as_stored=target.is_as_stored,
        changed_line_ranges=_find_changed_line_ranges(target.text, spans),
    )


def _find_changed_line_ranges(text: str, spans: Sequence[TextEdit]) -> tuple[tuple[int, int], ...]:
    out: list[tuple[int, int]] = []
    line, position = 1, 0
    for span in spans:
        line += text.count("\n", position, span.start)
        feeds = span.new_text.count("\n")
        out.append((line, line + max(0, feeds - span.new_text.endswith("\n"))))
        line += feeds
        position = span.end
    return tuple(out)


def _format_loose_match_notes(strategies: Sequence[OldTextMatchStrategy]) -> tuple[str, ...]:
    loose = [
        f"edit {number} {_NOTE_BY_MATCH_STRATEGY[how]}"
        for number, how in enumerate(strategies, 1)
        if how in _NOTE_BY_MATCH_STRATEGY
    ]
    return (f"Not matched exactly: {', '.join(loose)}.",) if loose else ()
