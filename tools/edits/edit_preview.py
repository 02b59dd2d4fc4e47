"""Computes the diffs that a call would make, from its complete arguments and the current files, before it runs.

Pure except for the given file lookup."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Literal, TypeVar

import msgspec

from tools.edits.dialects.anchored_edits import AnchoredEdit, locate_anchored_edits
from tools.edits.dialects.apply_patch_format import PatchedFile, locate_patch_hunks, parse_patch
from tools.edits.dialects.old_text_matching import SearchableText
from tools.edits.dialects.old_text_replacement import (
    LocatedEdits,
    OldTextNotFoundError,
    TextReplacement,
    locate_replacements,
)
from tools.edits.diffs import (
    DIFF_CONTEXT_LINES,
    ChangedRegion,
    find_changed_regions,
    find_differing_lines,
    group_regions_into_hunks,
)
from tools.edits.edit_arguments import EditArguments
from tools.edits.edit_card import make_file_details
from tools.edits.editable_text import EditableText, sort_edit_spans
from tools.edits.files_named_by_edits import objects_in_list_argument
from tools.edits.shown_lines import NO_LINES_SHOWN_TO_MODEL, LinesShownToModel
from tools.files.shown_file_versions import ShownFileVersionText
from tools.tool_definition import ToolError

_T = TypeVar("_T")
MAX_PREVIEW_LINES: Final = 400
"""The maximum number of lines of one previewed diff."""
_MAX_PREVIEWED_FILES: Final = 20
_MAX_COMPARED_CHARS: Final = 4_000_000
"""The maximum of old lines times new lines; a larger change has no preview, because comparing would take too long."""


class FileBeforePreviewedCall(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a file before a call changes it, as a preview knows it: its text, or that it is missing or
    hidden."""

    state: Literal["text", "missing", "hidden"]
    """Whether the file's text is known, or the file is missing or hidden, that is too large, binary or not to be
    shown."""
    path: str = ""
    """The path of the file as shown to people."""
    real_path: str = ""
    """The absolute path of the file, with links resolved."""
    text: EditableText | None = None
    shown_lines: LinesShownToModel = NO_LINES_SHOWN_TO_MODEL
    shown_versions: tuple[ShownFileVersionText, ...] = ()
    error: ToolError | None = None
    """The error that a call would get which changes this file, if it is missing."""


LookUpPreviewedFile = Callable[[str], FileBeforePreviewedCall]
"""A function that returns what a preview knows of a file, given its path as the model wrote it."""


class CallDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The diff that a call would make in one file, cut at a number of lines."""

    path: str
    real_path: str
    patch: str
    omitted_lines: int
    """The number of lines that were cut from the diff."""
    added: int
    removed: int


class StreamingEditWithoutMatch(msgspec.Struct, frozen=True, kw_only=True):
    """An edit of a streaming call whose old text is not in its file."""

    reason: str
    path: str
    """The path of the file as the model wrote it."""
    real_path: str


def preview_edits(arguments: Mapping[str, Any], look: LookUpPreviewedFile) -> tuple[CallDiff, ...]:
    """Returns the diffs that an editing call would make; none if a file must not be shown or an edit has no place."""
    try:
        call = msgspec.convert(dict(arguments), EditArguments)
        found = islice(iterate_changed_regions(call, look), _MAX_PREVIEWED_FILES)
        return tuple(make_call_diff(seen, regions) for _, seen, regions in found)
    except (msgspec.ValidationError, ToolError):
        return ()


def preview_write(arguments: Mapping[str, Any], look: LookUpPreviewedFile) -> tuple[CallDiff, ...]:
    """Returns the diff that a write call would make in an existing file; none for a new file, whose text the arguments
    show."""
    path, content = arguments.get("path"), arguments.get("content")
    if not isinstance(path, str) or not path.strip() or not isinstance(content, str):
        return ()
    seen = look(path)
    if seen.text is None or seen.text.text.count("\n") * content.count("\n") > _MAX_COMPARED_CHARS:
        return ()
    return (make_call_diff(seen, find_differing_lines(seen.text.text, content.replace("\r\n", "\n"))),)


def find_first_unmatched_edit(
    arguments: Mapping[str, Any], look: LookUpPreviewedFile
) -> StreamingEditWithoutMatch | None:
    """Returns the first complete edit of a streaming call whose old text is not in its file."""
    for path, edits in _group_by_path(_complete_edits(arguments)).items():
        seen = look(path)
        try:
            if seen.error is not None:
                raise seen.error
            if seen.text is not None:
                locate_replacements(seen.text, edits, seen.path, seen.shown_lines)
        except ToolError as problem:
            if problem is seen.error or isinstance(problem, OldTextNotFoundError):
                return StreamingEditWithoutMatch(reason=str(problem), path=path, real_path=seen.real_path)
    return None


def make_diff_details(diffs: Sequence[CallDiff]) -> dict[str, Any]:
    """Returns the details of a tool result from which its card draws these diffs."""
    files: list[dict[str, Any]] = [
        {**make_file_details(diff.path, diff.patch, diff.added, diff.removed), "more": diff.omitted_lines}
        for diff in diffs
    ]
    totals = {name: sum(file[name] for file in files) for name in ("added", "removed", "more")}
    details = {"patch": "".join(file["patch"] for file in files), **totals}
    return {**details, "files": files} if len(files) > 1 else details


def _complete_edits(arguments: Mapping[str, Any]) -> Iterable[tuple[str, TextReplacement]]:
    """Yields the edits of a streaming call with their paths, up to the first incomplete one."""
    for part in objects_in_list_argument(arguments, "edits"):
        path, old, new = part.get("path") or arguments.get("path"), part.get("oldText"), part.get("newText")
        if not isinstance(path, str) or not isinstance(old, str) or not isinstance(new, str):
            return
        yield path, TextReplacement(old_text=old, new_text=new, replaces_all=bool(part.get("all")))


def _group_by_path(named: Iterable[tuple[str, _T]]) -> dict[str, list[_T]]:
    found: dict[str, list[_T]] = {}
    for path, one in named:
        found.setdefault(path, []).append(one)
    return found


def iterate_changed_regions(
    call: EditArguments, look: LookUpPreviewedFile
) -> Iterable[tuple[str, FileBeforePreviewedCall, Sequence[ChangedRegion]]]:
    """Yields for each file of an editing call its path as sent and the regions that would change. Raises `ToolError` if
    an edit has no place or a file must not be shown."""
    if call.input.strip():
        for patch in parse_patch(call.input):
            yield (patch.path, *_find_patch_regions(patch, look(patch.path)))
        return
    changes = _group_by_path(
        (
            change.path,
            AnchoredEdit(
                first_anchor=change.first,
                last_anchor=change.last,
                position=change.place or "replace",
                new_lines=change.lines,
            ),
        )
        for change in call.changes
    )  # fmt: skip
    for path, of_file in changes.items():
        seen = look(path)
        yield (
            path,
            seen,
            _find_placed_regions(
                seen, locate_anchored_edits(_require_text(seen), of_file, seen.path, seen.shown_versions)
            ),
        )
    edits = _group_by_path(
        (edit.path or call.path,
         TextReplacement(old_text=edit.old_text, new_text=edit.new_text, replaces_all=bool(edit.all)))
        for edit in call.edits
    )  # fmt: skip
    for path, of_file in edits.items():
        seen = look(path)
        yield (
            path,
            seen,
            _find_placed_regions(
                seen, locate_replacements(_require_text(seen), of_file, seen.path, seen.shown_lines)
            ),
        )


def _find_patch_regions(
    patch: PatchedFile, seen: FileBeforePreviewedCall
) -> tuple[FileBeforePreviewedCall, Sequence[ChangedRegion]]:
    if patch.kind == "add":
        if seen.state != "missing":
            raise ToolError(f"{patch.path} already exists.")
        return seen, (_make_whole_text_region((), [f"{line}\n" for line in patch.new_file_lines]),)
    text = _require_text(seen)
    if patch.kind == "remove":
        return seen, (_make_whole_text_region(text.text.splitlines(keepends=True), ()),)
    return seen, _find_placed_regions(
        seen, locate_patch_hunks(text, patch.hunks, seen.path, seen.shown_lines)
    )


def _require_text(seen: FileBeforePreviewedCall) -> EditableText:
    if seen.text is None:
        raise seen.error or ToolError(f"{seen.path} is not shown.")
    return seen.text


def _make_whole_text_region(old: Sequence[str], new: Sequence[str]) -> ChangedRegion:
    return ChangedRegion(old_start_index=0, new_start_index=0, old_lines=tuple(old), new_lines=tuple(new))


def _find_placed_regions(seen: FileBeforePreviewedCall, placed: LocatedEdits) -> Sequence[ChangedRegion]:
    text = _require_text(seen).text
    spans = [
        (span.start, span.end, span.new_text)
        for span in sort_edit_spans(SearchableText(text), placed.spans_by_edit, seen.path)
        if text[span.start : span.end] != span.new_text
    ]
    return find_changed_regions(text, spans)


def make_call_diff(seen: FileBeforePreviewedCall, regions: Sequence[ChangedRegion]) -> CallDiff:
    """Returns a unified diff of at most `MAX_PREVIEW_LINES` lines."""
    lines = seen.text.text.removesuffix("\n").split("\n") if seen.text is not None else []
    out = [f"--- a/{seen.path}", f"+++ b/{seen.path}"]
    more = 0
    for group in group_regions_into_hunks(regions, DIFF_CONTEXT_LINES):
        first, last = group[0], group[-1]
        start = max(0, first.old_start_index - DIFF_CONTEXT_LINES)
        end = min(len(lines), last.old_start_index + len(last.old_lines) + DIFF_CONTEXT_LINES)
        count = end - start + sum(len(region.new_lines) for region in group)
        room = max(0, MAX_PREVIEW_LINES + 2 - len(out))
        if room:
            out.append(f"@@ -{start + 1},1 +{start + 1 + first.new_start_index - first.old_start_index},1 @@")
            out += islice(_format_diff_rows(lines, group, start, end), room)
        more += max(0, count - room)
    return CallDiff(
        path=seen.path,
        real_path=seen.real_path,
        patch="\n".join(out) + "\n",
        omitted_lines=more,
        added=sum(len(region.new_lines) for region in regions),
        removed=sum(len(region.old_lines) for region in regions),
    )


def _format_diff_rows(
    lines: Sequence[str], group: Sequence[ChangedRegion], start: int, end: int
) -> Iterable[str]:
    at = start
    for region in group:
        yield from (f" {line}" for line in lines[at : region.old_start_index])
        yield from ("-" + line.removesuffix("\n") for line in region.old_lines)
        yield from ("+" + line.removesuffix("\n") for line in region.new_lines)
        at = region.old_start_index + len(region.old_lines)
    yield from (f" {line}" for line in lines[at:end])
