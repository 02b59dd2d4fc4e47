"""Builds the results of applied edits: the text for the model, and the details for the card."""

from collections.abc import Sequence
from typing import Any

from tools.edits.applying import FinishedEdit
from tools.edits.card import file_details
from tools.results import TextPart, ToolResult
from tools.text import escape_controls, one_line


def replace_result(done: Sequence[FinishedEdit]) -> ToolResult:
    changed = [one for one in done if one.edited.data is not None]
    said: list[str] = []
    if changed:
        count = sum(one.edited.count for one in changed)
        where = ", ".join(one_line(one.file.display_path) for one in changed)
        said.append(f"Successfully replaced {count} block(s) in {where}.")
    return _edit_result(done, " ".join((*said, *_result_notes(done))), ())


def anchored_result(done: Sequence[FinishedEdit], rows: Sequence[str]) -> ToolResult:
    """Builds the result of anchored edits. `rows` are the rows around the changes of each file, with fresh anchors."""
    changed = [one for one in done if one.edited.data is not None]
    said: list[str] = []
    for one in changed:
        count = one.edited.count
        said.append(f"Changed {one_line(one.file.display_path)} in {count} place{'' if count == 1 else 's'}.")
    shown = [
        f"{one_line(one.file.display_path)} now:\n{text}" if len(done) > 1 else text
        for one, text in zip(done, rows, strict=True)
        if text and not one.is_withheld
    ]
    return _edit_result(done, " ".join((*said, *_result_notes(done))), shown)


def patch_result(done: Sequence[FinishedEdit]) -> ToolResult:
    said: list[str] = []
    for one in done:
        edited, name = one.edited, one_line(one.file.display_path)
        if edited.is_removed:
            said.append(f"Moved {name} to {edited.moved_to}." if edited.moved_to else f"Removed {name}.")
        elif edited.is_new:
            said.append(f"Added {name}.")
        elif edited.data is not None:
            said.append(f"Changed {name} in {edited.count} place{'' if edited.count == 1 else 's'}.")
    return _edit_result(done, " ".join((*said, *_result_notes(done))) or "Nothing to do.", ())


def _result_notes(done: Sequence[FinishedEdit]) -> list[str]:
    return [
        f"{one_line(one.file.display_path)}: {note}" if len(done) > 1 else note
        for one in done
        for note in one.edited.notes
    ]


def _edit_result(done: Sequence[FinishedEdit], text: str, shown: Sequence[str]) -> ToolResult:
    warnings = [
        f"{one_line(one.file.display_path)}:\n{one.edited.warning}" if len(done) > 1 else one.edited.warning
        for one in done
        if one.edited.warning
    ]
    parts = [part for part in (text, "\n".join(warnings), *shown) if part]
    return ToolResult(
        content=(TextPart(text=escape_controls("\n\n".join(parts))),), details=_result_details(done)
    )


def _result_details(done: Sequence[FinishedEdit]) -> dict[str, Any]:
    edits = [one.edited for one in done]
    details: dict[str, Any] = {
        "diff": escape_controls("\n".join(edited.diff.display for edited in edits if edited.diff.display)),
        "patch": escape_controls("".join(edited.diff.patch for edited in edits)),
        "added": sum(edited.diff.added for edited in edits),
        "removed": sum(edited.diff.removed for edited in edits),
        "strategies": [strategy for edited in edits for strategy in edited.strategies],
        "syntax": "checked" if all(edited.is_checked for edited in edits) else "not checked",
    }
    if len(done) > 1:
        details["files"] = [
            file_details(
                one.file.display_path, one.edited.diff.patch, one.edited.diff.added, one.edited.diff.removed
            )
            for one in done
        ]
    elif edits[0].diff.first_changed_line is not None:
        details["firstChangedLine"] = edits[0].diff.first_changed_line
    warnings = [escape_controls(edited.warning) for edited in edits if edited.warning]
    if warnings:
        details["warning"] = "\n".join(warnings)
    return details
