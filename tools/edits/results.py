"""Words the results of applied edits, for the model and for the card."""

from collections.abc import Sequence
from typing import Any

from tools.edits.applying import EditDone
from tools.edits.card import file_details
from tools.results import TextPart, ToolResult
from tools.text import escape_controls, one_line


def replace_result(done: Sequence[EditDone]) -> ToolResult:
    changed = [one for one in done if one.edited.data is not None]
    said: list[str] = []
    if changed:
        count = sum(one.edited.count for one in changed)
        where = ", ".join(one_line(one.file.shown) for one in changed)
        said.append(f"Successfully replaced {count} block(s) in {where}.")
    return _result(done, " ".join((*said, *_notes(done))), ())


def anchored_result(done: Sequence[EditDone], rows: Sequence[str]) -> ToolResult:
    """`rows` are the rows around the changes of each file, with fresh anchors."""
    changed = [one for one in done if one.edited.data is not None]
    said: list[str] = []
    for one in changed:
        count = one.edited.count
        said.append(f"Changed {one_line(one.file.shown)} in {count} place{'' if count == 1 else 's'}.")
    shown = [
        f"{one_line(one.file.shown)} now:\n{text}" if len(done) > 1 else text
        for one, text in zip(done, rows, strict=True)
        if text and not one.is_withheld
    ]
    return _result(done, " ".join((*said, *_notes(done))), shown)


def patch_result(done: Sequence[EditDone]) -> ToolResult:
    said: list[str] = []
    for one in done:
        edited, name = one.edited, one_line(one.file.shown)
        if edited.is_removed:
            said.append(f"Moved {name} to {edited.moved_to}." if edited.moved_to else f"Removed {name}.")
        elif edited.is_new:
            said.append(f"Added {name}.")
        elif edited.data is not None:
            said.append(f"Changed {name} in {edited.count} place{'' if edited.count == 1 else 's'}.")
    return _result(done, " ".join((*said, *_notes(done))) or "Nothing to do.", ())


def _notes(done: Sequence[EditDone]) -> list[str]:
    return [
        f"{one_line(one.file.shown)}: {note}" if len(done) > 1 else note
        for one in done
        for note in one.edited.notes
    ]


def _result(done: Sequence[EditDone], text: str, shown: Sequence[str]) -> ToolResult:
    warnings = [
        f"{one_line(one.file.shown)}:\n{one.edited.warning}" if len(done) > 1 else one.edited.warning
        for one in done
        if one.edited.warning
    ]
    parts = [part for part in (text, "\n".join(warnings), *shown) if part]
    return ToolResult(
        content=(TextPart(text=escape_controls("\n\n".join(parts))),), details=_result_details(done)
    )


def _result_details(done: Sequence[EditDone]) -> dict[str, Any]:
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
                one.file.shown, one.edited.diff.patch, one.edited.diff.added, one.edited.diff.removed
            )
            for one in done
        ]
    elif edits[0].diff.first_changed_line is not None:
        details["firstChangedLine"] = edits[0].diff.first_changed_line
    warnings = [escape_controls(edited.warning) for edited in edits if edited.warning]
    if warnings:
        details["warning"] = "\n".join(warnings)
    return details
