"""Executes a call of an editing tool in whichever form its edits are written, because models carry habits from one form
to another."""

from collections.abc import Sequence
from typing import Any

import msgspec

from tools.edits.dialects.anchored_edits import (
    AnchoredEdit,
    StaleAnchorsError,
    format_anchored_rows_around,
    locate_anchored_edits,
)
from tools.edits.dialects.apply_patch_format import PatchedFile, locate_patch_hunks, parse_patch
from tools.edits.dialects.old_text_replacement import TextReplacement
from tools.edits.diffs import make_diff_of_texts
from tools.edits.edit_arguments import AnchoredChangeArgument, EditArguments
from tools.edits.edit_results import make_anchored_result, make_patch_result, make_replace_result
from tools.edits.edited_text import EditedText, apply_located_edits, apply_replacements, open_editable_text
from tools.edits.locked_edits import FileLockedForEdit, FileToEdit, edit_files, resolve_edit_target
from tools.text_sanitizing import one_line
from tools.tool_definition import ToolContext, ToolError
from tools.tool_result_values import ToolResult


async def execute_edit(arguments: EditArguments, context: ToolContext) -> ToolResult:
    if any(not path.strip() for path in arguments.named_paths()):
        raise ToolError("The path is empty. Pass the file to edit.")
    if arguments.input.strip():
        return await _run_patch(arguments.input, context)
    if arguments.changes:
        return await _run_anchored_changes(arguments.changes, context)
    if not arguments.edits:
        raise ToolError("There is nothing to change in this call. Give at least one edit.")
    return await _run_replacements(arguments, context)


async def _group_edits_by_file(
    named: Sequence[tuple[str, Any]], context: ToolContext
) -> tuple[list[FileToEdit], list[list[Any]]]:
    """Groups the edits of a call by the file that they change; one file may have several names."""
    files: dict[str, FileToEdit] = {}
    jobs: dict[str, list[Any]] = {}
    known: dict[str, FileToEdit] = {}
    for raw, job in named:
        file = known[raw] = known.get(raw) or await resolve_edit_target(raw, context)
        files.setdefault(file.real_path, file)
        jobs.setdefault(file.real_path, []).append(job)
    return list(files.values()), list(jobs.values())


async def _run_replacements(arguments: EditArguments, context: ToolContext) -> ToolResult:
    named = [
        (
            edit.path or arguments.path,
            TextReplacement(old_text=edit.old_text, new_text=edit.new_text, replaces_all=bool(edit.all)),
        )
        for edit in arguments.edits
    ]
    files, jobs = await _group_edits_by_file(named, context)

    def make(givens: Sequence[FileLockedForEdit]) -> list[EditedText]:
        return [
            apply_replacements(
                given.data,
                edits,
                given.file.display_path,
                given.shown_lines,
                given.syntax_check_of,
                is_notebook=given.file.is_notebook,
            )
            for given, edits in zip(givens, jobs, strict=True)
        ]

    return make_replace_result(await edit_files(context, files, make))


async def _run_anchored_changes(
    changes: Sequence[AnchoredChangeArgument], context: ToolContext
) -> ToolResult:
    named = [
        (
            change.path,
            AnchoredEdit(
                first_anchor=change.first,
                last_anchor=change.last,
                position=change.place or "replace",
                new_lines=change.lines,
            ),
        )
        for change in changes
    ]
    files, jobs = await _group_edits_by_file(named, context)
    rows: list[str] = []

    def one(given: FileLockedForEdit, edits: Sequence[AnchoredEdit]) -> EditedText:
        target = open_editable_text(given.data, given.file.display_path, is_notebook=given.file.is_notebook)
        try:
            placed = locate_anchored_edits(target, edits, given.file.display_path, given.shown_versions)
        except StaleAnchorsError as problem:
            given.record_shown_lines(target.text, problem.row_numbers)
            raise
        edited = apply_located_edits(target, placed, given.file.display_path, given.syntax_check_of)
        text, numbers = (
            format_anchored_rows_around(edited.text, edited.changed_line_ranges)
            if edited.data is not None
            else ("", ())
        )
        rows.append(text)
        given.record_shown_lines(edited.text, numbers)
        return edited

    def make(givens: Sequence[FileLockedForEdit]) -> list[EditedText]:
        rows.clear()
        return [one(given, edits) for given, edits in zip(givens, jobs, strict=True)]

    return make_anchored_result(await edit_files(context, files, make), rows)


async def _run_patch(text: str, context: ToolContext) -> ToolResult:
    patches = parse_patch(text)
    named: list[tuple[str, Any]] = []
    for patch in patches:
        named.append((patch.path, patch))
        if patch.move_to is not None:
            named.append((patch.move_to, patch))
    files, jobs = await _group_edits_by_file(named, context)
    twice = next((file for file, of_it in zip(files, jobs, strict=True) if len(of_it) > 1), None)
    if twice is not None:
        raise ToolError(
            f"The patch names {one_line(twice.display_path)} more than once. Put its hunks under one heading. "
            "Nothing was changed."
        )
    return make_patch_result(
        await edit_files(context, files, lambda givens: _edit_patched_files(patches, givens))
    )


def _edit_patched_files(
    patches: Sequence[PatchedFile], givens: Sequence[FileLockedForEdit]
) -> list[EditedText]:
    """Applies a patch to its files in order; edits after a move apply to the new file."""
    made: list[EditedText] = []
    left = list(givens)
    for patch in patches:
        given = left.pop(0)
        if patch.kind == "add":
            made.append(_add_patched_file(given, "".join(f"{line}\n" for line in patch.new_file_lines)))
        elif patch.kind == "remove":
            made.append(_remove_patched_file(given))
        elif patch.move_to is None:
            made.append(_update_patched_file(given, patch))
        else:
            changed, to = _update_patched_file(given, patch), left.pop(0)
            if to.exists:
                raise ToolError(f"{one_line(to.file.display_path)} already exists. Nothing was changed.")
            made.append(
                msgspec.structs.replace(_remove_patched_file(given), moved_to=one_line(to.file.display_path))
            )
            made.append(
                _add_patched_file(to, changed.text, given.data if changed.data is None else changed.data)
            )
    return made


def _update_patched_file(given: FileLockedForEdit, patch: PatchedFile) -> EditedText:
    target = open_editable_text(given.data, given.file.display_path, is_notebook=given.file.is_notebook)
    return apply_located_edits(
        target,
        locate_patch_hunks(target, patch.hunks, given.file.display_path, given.shown_lines),
        given.file.display_path,
        given.syntax_check_of,
    )


def _add_patched_file(given: FileLockedForEdit, text: str, data: bytes | None = None) -> EditedText:
    if given.exists:
        raise ToolError(
            f'{one_line(given.file.display_path)} already exists. Use "*** Update File:" to change it. '
            "Nothing was changed."
        )
    return EditedText(
        data=text.encode("utf-8", "surrogatepass") if data is None else data,
        text=text,
        diff=make_diff_of_texts(given.file.display_path, "", text),
        strategies=(),
        replaced_count=1,
        is_new=True,
        is_syntax_checked=True,
    )


def _remove_patched_file(given: FileLockedForEdit) -> EditedText:
    text = ""
    try:
        text = open_editable_text(given.data, given.file.display_path).text
    except ToolError:
        pass  # A binary file is removed like any other, without a diff.
    return EditedText(
        data=None,
        text="",
        diff=make_diff_of_texts(given.file.display_path, text, ""),
        strategies=(),
        replaced_count=1,
        is_removed=True,
        is_syntax_checked=True,
    )
