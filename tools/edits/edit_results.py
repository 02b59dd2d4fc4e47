"""Builds the results of applied edits: the text for the model, and the details for the card."""

from collections.abc import Sequence
from typing import Any

from tools.edits.edit_card import make_file_details
from tools.edits.locked_edits import FinishedFileEdit
from tools.text_sanitizing import escape_controls, one_line
from tools.tool_result_values import TextPart, ToolResult


def make_replace_result(done: Sequence[FinishedFileEdit]) -> ToolResult:
    changed = [one for one in done if one.edited.data is not None]
    said: list[str] = []
    if changed:
        count = sum(one.edited.replaced_count for one in changed)
        where = ", ".join(one_line(one.file.display_path) for one in changed)
        said.append(f"Successfully replaced {count} block(s) in {where}.")
    return _make_edit_result(done, " ".join((*said, *_format_result_notes(done))), ())


def make_anchored_result(done: Sequence[FinishedFileEdit], rows: Sequence[str]) -> ToolResult:
    """Builds the result of anchored edits. `rows` are the rows around the changes of each file, with fresh anchors."""
    changed = [one for one in done if one.edited.data is not None]
    said: list[str] = []
    for one in changed:
        count = one.edited.replaced_count
        said.append(f"Changed {one_line(one.file.display_path)} in {count} place{'' if count == 1 else 's'}.")
    shown = [
        f"{one_line(one.file.display_path)} now:\n{text}" if len(done) > 1 else text
        for one, text in zip(done, rows, strict=True)
        if text and not one.is_content_withheld
    ]
    return _make_edit_result(done, " ".join((*said, *_format_result_notes(done))), shown)


def make_patch_result(done: Sequence[FinishedFileEdit]) -> ToolResult:
    said: list[str] = []
    for one in done:
        edited, name = one.edited, one_line(one.file.display_path)
        if edited.is_removed:
            said.append(f"Moved {name} to {edited.moved_to}." if edited.moved_to else f"Removed {name}.")
        elif edited.is_new:
            said.append(f"Added {name}.")
        elif edited.data is not None:
            said.append(
                f"Changed {name} in {edited.replaced_count} place{'' if edited.replaced_count == 1 else 's'}."
            )
    return _make_edit_result(done, " ".join((*said, *_format_result_notes(done))) or "Nothing to do.", ())


def _format_result_notes(done: Sequence[FinishedFileEdit]) -> list[str]:
    return [
        f"{one_line(one.file.display_path)}: {note}" if len(done) > 1 else note
        for one in done
        for note in one.edited.notes
    ]


def _make_edit_result(done: Sequence[FinishedFileEdit], text: str, shown: Sequence[str]) -> ToolResult:
    warnings = [
        f"{one_line(one.file.display_path)}:\n{one.edited.syntax_warning}"
        if len(done) > 1
        else one.edited.syntax_warning
        for one in done
        if one.edited.syntax_warning
    ]
    parts = [part for part in (text, "\n".join(warnings), *shown) if part]
    return ToolResult(
        content=(TextPart(text=escape_controls("\n\n".join(parts))),), details=_make_edit_details(done)
    )


def _make_edit_details(done: Sequence[FinishedFileEdit]) -> dict[str, Any]:
    edits = [one.edited for one in done]
    details: dict[str, Any] = {
        "diff": escape_controls("\n".join(edited.diff.display for edited in edits if edited.diff.display)),
        "patch": escape_controls("".join(edited.diff.patch for edited in edits)),
        "added": sum(edited.diff.added for edited in edits),
        "removed": sum(edited.diff.removed for edited in edits),
        "strategies": [strategy for edited in edits for strategy in edited.strategies],
        "syntax": "checked" if all(edited.is_syntax_checked for edited in edits) else "not checked",
    }
    if len(done) > 1:
        details["files"] = [
            make_file_details(
                one.file.display_path, one.edited.diff.patch, one.edited.diff.added, one.edited.diff.removed
            )
            for one in done
        ]
    elif edits[0].diff.first_changed_line is not None:
        details["firstChangedLine"] = edits[0].diff.first_changed_line
    warnings = [escape_controls(edited.syntax_warning) for edited in edits if edited.syntax_warning]
    if warnings:
        details["warning"] = "\n".join(warnings)
    return details
