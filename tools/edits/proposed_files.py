"""Computes the files that an editing call would leave, and the arguments of a call that leaves other texts instead.

A patch that moves a file has no such call. Pure but for the file lookup."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from tools.edits.diffs import ChangedRegion, find_differing_lines, split_at_line_feeds
from tools.edits.edit_arguments import EditArguments
from tools.edits.edit_preview import FileBeforePreviewedCall, iterate_changed_regions
from tools.edits.files_named_by_edits import PATCH_MOVE_HEADER
from tools.tool_definition import ToolError

_EDIT_LIST_ARGUMENTS = ("edits", "changes")


class ProposedFile(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a file before and after a proposed editing call; None where there is no file."""

    path: str
    sent_path: str
    """The path of the file as the model wrote it."""
    real_path: str
    old_text: str | None
    new_text: str | None


LookUpPreviewedFile = Callable[[str], FileBeforePreviewedCall]


def compute_edited_files(arguments: Mapping[str, Any], look: LookUpPreviewedFile) -> tuple[ProposedFile, ...]:
    """Returns the files as an editing call would leave them. Raises `ToolError` if an edit has no place."""
    call = msgspec.convert(dict(arguments), EditArguments)
    return tuple(
        ProposedFile(
            path=seen.path,
            sent_path=asked,
            real_path=seen.real_path,
            old_text=seen.text.text if seen.text is not None else None,
            new_text=_compute_text_after_edit(seen, regions, call),
        )
        for asked, seen, regions in iterate_changed_regions(call, look)
    )


def _compute_text_after_edit(
    seen: FileBeforePreviewedCall, regions: Sequence[ChangedRegion], call: EditArguments
) -> str | None:
    lines = split_at_line_feeds(seen.text.text) if seen.text is not None else []
    for region in sorted(regions, key=lambda one: -one.old_start_index):
        lines[region.old_start_index : region.old_start_index + len(region.old_lines)] = region.new_lines
    return "".join(lines) if lines or not call.input.strip() else None


def compute_written_files(
    arguments: Mapping[str, Any], look: LookUpPreviewedFile
) -> tuple[ProposedFile, ...]:
    path, content = arguments.get("path"), arguments.get("content")
    if not isinstance(path, str) or not path.strip() or not isinstance(content, str):
        return ()
    seen = look(path)
    if seen.state == "hidden":
        return ()
    before = seen.text.text if seen.text is not None else None
    after = content.replace("\r\n", "\n")
    return (
        ProposedFile(
            path=seen.path, sent_path=path, real_path=seen.real_path, old_text=before, new_text=after
        ),
    )


def can_rewrite_arguments(arguments: Mapping[str, Any]) -> bool:
    patch = arguments.get("input")
    if isinstance(patch, str) and patch.strip():
        return PATCH_MOVE_HEADER not in patch
    return isinstance(arguments.get("content"), str) or any(
        arguments.get(name) for name in _EDIT_LIST_ARGUMENTS
    )


def rewrite_arguments(
    arguments: Mapping[str, Any], files: Sequence[ProposedFile], texts: Mapping[str, str | None]
) -> dict[str, Any] | None:
    """Returns the arguments of an editing call that would leave these texts, given by the paths as sent (no text: no
    file); None if the call would do nothing."""
    changed = [one for one in files if texts.get(one.sent_path, one.new_text) != one.old_text]
    if not changed:
        return None
    if isinstance(arguments.get("content"), str):
        return {**arguments, "content": texts.get(changed[0].sent_path, changed[0].new_text or "")}
    if any(one.old_text is None or texts.get(one.sent_path, one.new_text) is None for one in changed):
        parts = [
            line for one in changed for line in _make_patch_lines(one, texts.get(one.sent_path, one.new_text))
        ]
        return {**arguments, "input": "\n".join(("*** Begin Patch", *parts, "*** End Patch"))}
    edits = [
        {"path": one.sent_path, "oldText": old, "newText": new}
        for one in changed
        for old, new in _make_unique_replacements(
            one.old_text or "", texts.get(one.sent_path, one.new_text) or ""
        )
    ]
    # Every editing tool also takes replacements, which say exactly what is left, also at the end of a file.
    others = {
        name: value for name, value in arguments.items() if name not in (*_EDIT_LIST_ARGUMENTS, "input")
    }
    return {**others, "edits": edits}


def _make_patch_lines(file: ProposedFile, after: str | None) -> list[str]:
    """Returns the patch lines that give a file this text; None removes the file."""
    if after is None:
        return [f"*** Delete File: {file.sent_path}"]
    if file.old_text is None:
        return [
            f"*** Add File: {file.sent_path}",
            *(f"+{line}" for line in after.removesuffix("\n").split("\n")),
        ]
    lines = [f"*** Update File: {file.sent_path}"]
    for old, new in _make_unique_replacements(file.old_text, after):
        lines.append("@@")
        lines += [f"-{line}" for line in old.removesuffix("\n").split("\n")]
        lines += [f"+{line}" for line in new.removesuffix("\n").split("\n")] if new else []
    return lines


def _make_unique_replacements(before: str, after: str) -> list[tuple[str, str]]:
    """Returns replacements for the changed regions of a file, whose old texts occur only once in it."""
    old, new = split_at_line_feeds(before), split_at_line_feeds(after)
    regions = find_differing_lines(before, after)
    spans: list[tuple[int, int]] = []
    for region in regions:
        if spans and region.old_start_index <= spans[-1][1]:
            first, end = spans.pop()
            end = max(end, region.old_start_index + len(region.old_lines))
        else:
            first, end = region.old_start_index, region.old_start_index + len(region.old_lines)
        while not _occurs_exactly_once("".join(old[first:end]), before):
            if first == 0 and end == len(old):
                return [(before, after)]
            first, end = max(0, first - 1), min(len(old), end + 1)
            if spans and first <= spans[-1][1]:
                first = min(first, spans.pop()[0])
        spans.append((first, end))
    return [
        ("".join(old[first:end]), "".join(_new_lines_for_range(new, regions, first, end)))
        for first, end in spans
    ]


def _new_lines_for_range(
    new: Sequence[str], regions: Sequence[ChangedRegion], first: int, end: int
) -> Sequence[str]:
    """Returns the new lines for a range of old lines; no changed region crosses the ends of the range."""
    inside = [
        one
        for one in regions
        if first <= one.old_start_index and one.old_start_index + len(one.old_lines) <= end
    ]
    before = [one for one in regions if one.old_start_index < first]
    start = first + sum(len(one.new_lines) - len(one.old_lines) for one in before)
    return new[start : start + end - first + sum(len(one.new_lines) - len(one.old_lines) for one in inside)]


def _occurs_exactly_once(text: str, whole: str) -> bool:
    """Returns whether a text occurs exactly once in another, also where its occurrences would overlap."""
    return bool(text.strip()) and whole.find(text) == whole.rfind(text)


def compute_proposed_files(
    arguments: Mapping[str, Any], look: LookUpPreviewedFile
) -> tuple[ProposedFile, ...]:
    """Returns the files before and after an edit or write call; none if they cannot be computed."""
    try:
        return (
            compute_written_files(arguments, look)
            if isinstance(arguments.get("content"), str)
            else compute_edited_files(arguments, look)
        )
    except (msgspec.ValidationError, ToolError):
        return ()
