"""Computes the files that an editing call would leave, and the arguments of a call that leaves other texts instead.

A patch that moves a file has no such call. Pure but for the file lookup."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from tools.base import ToolError
from tools.edits.diffs import ChangedRegion, compared_regions, split_lines
from tools.edits.edit_arguments import EditArguments
from tools.edits.named_files import MOVE_HEADER
from tools.edits.preview import PreviewFile, regions_by_file

_EDIT_LIST_ARGUMENTS = ("edits", "changes")


class ProposedFile(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a file before and after a proposed editing call; None where there is no file."""

    path: str
    sent_path: str
    """The path as it was sent."""
    real: str
    before: str | None
    after: str | None


LookUpFile = Callable[[str], PreviewFile]


def files_of_edit(arguments: Mapping[str, Any], look: LookUpFile) -> tuple[ProposedFile, ...]:
    """Returns the files as an editing call would leave them. Raises `ToolError` if an edit has no place."""
    call = msgspec.convert(dict(arguments), EditArguments)
    return tuple(
        ProposedFile(
            path=seen.path,
            sent_path=asked,
            real=seen.real,
            before=seen.text.text if seen.text is not None else None,
            after=_text_after_edit(seen, regions, call),
        )
        for asked, seen, regions in regions_by_file(call, look)
    )


def _text_after_edit(seen: PreviewFile, regions: Sequence[ChangedRegion], call: EditArguments) -> str | None:
    lines = split_lines(seen.text.text) if seen.text is not None else []
    for region in sorted(regions, key=lambda one: -one.old_first):
        lines[region.old_first : region.old_first + len(region.old_lines)] = region.new_lines
    return "".join(lines) if lines or not call.input.strip() else None


def files_of_write(arguments: Mapping[str, Any], look: LookUpFile) -> tuple[ProposedFile, ...]:
    path, content = arguments.get("path"), arguments.get("content")
    if not isinstance(path, str) or not path.strip() or not isinstance(content, str):
        return ()
    seen = look(path)
    if seen.state == "hidden":
        return ()
    before = seen.text.text if seen.text is not None else None
    after = content.replace("\r\n", "\n")
    return (ProposedFile(path=seen.path, sent_path=path, real=seen.real, before=before, after=after),)


def can_rewrite_arguments(arguments: Mapping[str, Any]) -> bool:
    patch = arguments.get("input")
    if isinstance(patch, str) and patch.strip():
        return MOVE_HEADER not in patch
    return isinstance(arguments.get("content"), str) or any(
        arguments.get(name) for name in _EDIT_LIST_ARGUMENTS
    )


def rewritten_arguments(
    arguments: Mapping[str, Any], files: Sequence[ProposedFile], texts: Mapping[str, str | None]
) -> dict[str, Any] | None:
    """Returns the arguments of an editing call that would leave these texts, given by the paths as sent (no text: no
    file); None if the call would do nothing."""
    changed = [one for one in files if texts.get(one.sent_path, one.after) != one.before]
    if not changed:
        return None
    if isinstance(arguments.get("content"), str):
        return {**arguments, "content": texts.get(changed[0].sent_path, changed[0].after or "")}
    if any(one.before is None or texts.get(one.sent_path, one.after) is None for one in changed):
        parts = [line for one in changed for line in _patch_lines(one, texts.get(one.sent_path, one.after))]
        return {**arguments, "input": "\n".join(("*** Begin Patch", *parts, "*** End Patch"))}
    edits = [
        {"path": one.sent_path, "oldText": old, "newText": new}
        for one in changed
        for old, new in _replacements(one.before or "", texts.get(one.sent_path, one.after) or "")
    ]
    # Every editing tool also takes replacements, which say exactly what is left, also at the end of a file.
    others = {
        name: value for name, value in arguments.items() if name not in (*_EDIT_LIST_ARGUMENTS, "input")
    }
    return {**others, "edits": edits}


def _patch_lines(file: ProposedFile, after: str | None) -> list[str]:
    """Returns the patch lines that give a file this text; None removes the file."""
    if after is None:
        return [f"*** Delete File: {file.sent_path}"]
    if file.before is None:
        return [
            f"*** Add File: {file.sent_path}",
            *(f"+{line}" for line in after.removesuffix("\n").split("\n")),
        ]
    lines = [f"*** Update File: {file.sent_path}"]
    for old, new in _replacements(file.before, after):
        lines.append("@@")
        lines += [f"-{line}" for line in old.removesuffix("\n").split("\n")]
        lines += [f"+{line}" for line in new.removesuffix("\n").split("\n")] if new else []
    return lines


def _replacements(before: str, after: str) -> list[tuple[str, str]]:
    """Returns replacements for the changed regions of a file, whose old texts occur only once in it."""
    old, new = split_lines(before), split_lines(after)
    regions = compared_regions(before, after)
    spans: list[tuple[int, int]] = []
    for region in regions:
        if spans and region.old_first <= spans[-1][1]:
            first, end = spans.pop()
            end = max(end, region.old_first + len(region.old_lines))
        else:
            first, end = region.old_first, region.old_first + len(region.old_lines)
        while not _occurs_once("".join(old[first:end]), before):
            if first == 0 and end == len(old):
                return [(before, after)]
            first, end = max(0, first - 1), min(len(old), end + 1)
            if spans and first <= spans[-1][1]:
                first = min(first, spans.pop()[0])
        spans.append((first, end))
    return [
        ("".join(old[first:end]), "".join(_replacing_lines(new, regions, first, end))) for first, end in spans
    ]


def _replacing_lines(
    new: Sequence[str], regions: Sequence[ChangedRegion], first: int, end: int
) -> Sequence[str]:
    """Returns the new lines for a range of old lines; no changed region crosses the ends of the range."""
    inside = [one for one in regions if first <= one.old_first and one.old_first + len(one.old_lines) <= end]
    before = [one for one in regions if one.old_first < first]
    start = first + sum(len(one.new_lines) - len(one.old_lines) for one in before)
    return new[start : start + end - first + sum(len(one.new_lines) - len(one.old_lines) for one in inside)]


def _occurs_once(text: str, whole: str) -> bool:
    """Returns whether a text occurs exactly once in another, also where its occurrences would overlap."""
    return bool(text.strip()) and whole.find(text) == whole.rfind(text)


def proposed_files(arguments: Mapping[str, Any], look: LookUpFile) -> tuple[ProposedFile, ...]:
    """Returns the files before and after an edit or write call; none if they cannot be computed."""
    try:
        return (
            files_of_write(arguments, look)
            if isinstance(arguments.get("content"), str)
            else files_of_edit(arguments, look)
        )
    except (msgspec.ValidationError, ToolError):
        return ()
