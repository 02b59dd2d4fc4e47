"""The editing tools: `edit`, with old and new texts or with anchors, and `apply_patch`. `tools.edits` implements
them.

The session declares one of them to the model; each tool also executes calls written for another."""

import json
from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec

from tools.argument_aliases import PATH_ARGUMENT_ALIASES, make_alias_resolver
from tools.argument_schema import make_arguments_schema
from tools.edits.dialects.edit_modes import EditMode
from tools.edits.diffs import make_diff_of_texts
from tools.edits.edit_arguments import (
    AnchoredChangeArgument,
    EditArguments,
    OldTextReplacementArgument,
    run_edit,
)
from tools.edits.edit_card import make_edit_card
from tools.edits.files_named_by_edits import objects_in_list_argument, paths_of_edit_call
from tools.streaming_arguments import first_text_argument
from tools.text_sanitizing import escape_controls, one_line
from tools.tool_definition import Tool
from tools.tool_result_values import Card, Json, ToolResult

if TYPE_CHECKING:
    from tools.edits.edit_preview import CallDiff, LookUpPreviewedFile


class _ReplaceArguments(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[str, msgspec.Meta(description="File to edit (relative or absolute)")]
    edits: Annotated[
        tuple[OldTextReplacementArgument, ...],
        msgspec.Meta(
            description="Replacements, each matched against the file as it is now; they must not overlap",
        ),
    ]


class _AnchoredArguments(msgspec.Struct, frozen=True, kw_only=True):
    changes: Annotated[
        tuple[AnchoredChangeArgument, ...],
        msgspec.Meta(description="Changes of one file or several; their ranges must not overlap"),
    ]


class _PatchArguments(msgspec.Struct, frozen=True, kw_only=True):
    input: Annotated[str, msgspec.Meta(description="The whole patch")]


def make_edit_tool_with_old_texts() -> Tool:
    return Tool(
        name="edit",
        description=(
            "Replace text in files. Every oldText must be in its file exactly once, unless all is set; all "
            "edits are "
            "matched against the original and applied together, or not at all. Put several changes of one "
            "file into one "
            "call. Notebooks are edited as read shows them."
        ),
        schema=make_arguments_schema(_ReplaceArguments),
        arguments=EditArguments,
        effects=EditArguments.effects,
        kind="edit",
        prepare=_repair_replace_arguments,
        run=run_edit,
        preview=_compute_preview_diffs,
        show=partial(_make_edit_call_card, "edit"),
        snippet="Make precise changes in a file",
        guidelines=(
            "Keep oldText as short as is unique, and merge changes that touch or are near each other into "
            "one edit",
        ),
    )


def make_edit_tool_with_anchors() -> Tool:
    return Tool(
        name="edit",
        description=(
            "Change lines of files by the anchors that read and grep show before them (41th|text: number "
            "and tag). "
            "Anchors stay good after your own edits and when lines move; ones that do not fit are refused, "
            "with the "
            "rows as they are now. All changes of a call are made, or none. New lines are given whole. Cover "
            "exactly the lines that change: what stands before and behind the range stays."
        ),
        schema=make_arguments_schema(_AnchoredArguments),
        arguments=EditArguments,
        effects=EditArguments.effects,
        kind="edit",
        prepare=_repair_anchored_arguments,
        run=run_edit,
        preview=_compute_preview_diffs,
        show=partial(_make_edit_call_card, "edit"),
        snippet="Make precise changes in a file, by the anchors of its lines",
        guidelines=("Copy anchors from what was shown last, and never compute one",),
    )


def make_apply_patch_tool() -> Tool:
    return Tool(
        name="apply_patch",
        description=(
            "Change files with a patch:\n"
            "*** Begin Patch\n*** Update File: PATH\n@@ LINE ABOVE\n context\n-old\n+new\n*** End Patch\n"
            "Each line of a hunk begins with a space, - or +; give 3 lines of context, and after @@ a line "
            "above (a "
            "function's head) where they are not unique. Other headers: *** Add File: PATH (all lines with "
            "+), *** "
            "Delete File: PATH, and *** Move to: PATH after an update. Without line numbers. All files are "
            "changed, "
            "or none."
        ),
        schema=make_arguments_schema(_PatchArguments),
        arguments=EditArguments,
        effects=EditArguments.effects,
        kind="edit",
        prepare=_repair_patch_arguments,
        run=run_edit,
        preview=_compute_preview_diffs,
        show=partial(_make_edit_call_card, "apply_patch"),
        snippet="Change, add, move and remove files by a patch",
        is_active=False,
    )


@cache
def make_edit_tool_for_mode(mode: EditMode) -> Tool:
    """Returns the editing tool that a model gets in this edit mode."""
    return {
        "replace": make_edit_tool_with_old_texts,
        "anchored": make_edit_tool_with_anchors,
        "patch": make_apply_patch_tool,
    }[mode]()


_resolve_aliases = make_alias_resolver(
    EditArguments,
    PATH_ARGUMENT_ALIASES,
    dict.fromkeys(("old", "old_string", "old_str", "search", "find", "old_text"), "oldText"),
    dict.fromkeys(("new", "new_string", "new_str", "replace", "replacement", "new_text"), "newText"),
    dict.fromkeys(("replacements", "edit"), "edits"),
    dict.fromkeys(("replace_all", "replaceAll", "every", "global"), "all"),
    dict.fromkeys(("patch", "diff", "patch_text"), "input"),
)


def _is_patch_text(text: str) -> bool:
    from tools.edits.dialects.apply_patch_format import is_patch_text  # noqa: PLC0415  (a start needs none of the dialects)

    return is_patch_text(text)


_FIELDS_OF_OLD_TEXT_REPLACEMENT = ("oldText", "newText", "all")


def _repair_replace_arguments(raw: dict[str, Any]) -> dict[str, Any]:
    out = _repair_common_forms(raw)
    if not ({"changes", "input"} & out.keys()):
        return out
    paths = paths_of_edit_call(out)
    return {"path": paths[0] if paths else "", "edits": [], **out}


def _repair_anchored_arguments(raw: dict[str, Any]) -> dict[str, Any]:
    out = _repair_common_forms(raw)
    return {"changes": [], **out} if {"edits", "input"} & out.keys() else out


def _repair_patch_arguments(raw: dict[str, Any]) -> dict[str, Any]:
    out = _repair_common_forms(raw)
    return {"input": "", **out} if {"edits", "changes"} & out.keys() else out


def _repair_common_forms(raw: dict[str, Any]) -> dict[str, Any]:
    """Repairs the arguments of an edit call that have a common other form: one pair at the top level, lists as JSON
    text, one edit without a list, a patch or anchored changes instead of replacements. Valid arguments stay
    unchanged."""
    out = _resolve_aliases(raw)
    edits, changes = _parse_as_list(out.pop("edits", None)), _parse_as_list(out.pop("changes", None))
    if any("from" not in change for change in _keep_only_objects(changes)):
        edits, changes = [*edits, *changes], []
    text: Json = out.get("input")
    if isinstance(text, str) and text.strip() and not _is_patch_text(text):
        edits.append({"oldText": out.pop("input"), "newText": ""})
    for_all = {"all": out.pop("all")} if "all" in out else {}
    if "oldText" in out and "newText" in out:
        edits.append({name: out.pop(name) for name in _FIELDS_OF_OLD_TEXT_REPLACEMENT if name in out})
    edits = [_add_common_fields(for_all, edit) for edit in edits]
    patches = [_find_patch_in_edit(edit) for edit in _keep_only_objects(edits)]
    if patches and len(patches) == len(edits) and all(patches):
        out["input"], edits = "\n".join(patch or "" for patch in patches), []
    if edits:
        out["edits"] = edits
        named = [edit.get("path") for edit in _keep_only_objects(edits)]
        if "path" not in out and named and all(named):
            out["path"] = named[0]
    if changes:
        path = {"path": out["path"]} if isinstance(out.get("path"), str) else {}
        out["changes"] = [{**path, **change} if isinstance(change, dict) else change for change in changes]
    return out


def _add_common_fields(for_all: dict[str, Any], edit: Any) -> Any:
    return {**for_all, **_resolve_aliases(cast("dict[str, Any]", edit))} if isinstance(edit, dict) else edit


def _parse_as_list(value: Json) -> list[Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return [{"oldText": value, "newText": ""}] if _is_patch_text(str(value)) else [value]
    return list(value) if isinstance(value, list) else [] if value is None else [value]


def _keep_only_objects(parts: list[Any]) -> list[dict[str, Any]]:
    return [part for part in parts if isinstance(part, dict)]


def _find_patch_in_edit(edit: Mapping[str, Any]) -> str | None:
    """Returns the patch that an edit passes as its old or new text, if the other of the two is empty."""
    texts = [
        text for text in (edit.get("oldText"), edit.get("newText")) if isinstance(text, str) and text.strip()
    ]
    return texts[0] if len(texts) == 1 and texts[0].lstrip().startswith("*** Begin Patch") else None


def _make_edit_call_card(title: str, arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    paths = paths_of_edit_call(arguments)
    path = one_line(paths[0].strip())[:500] if paths else first_text_argument(arguments, "path")
    return make_edit_card(title, path, result, lambda: _format_streaming_diff(path, arguments))


def _compute_preview_diffs(
    arguments: Mapping[str, Any], look: "LookUpPreviewedFile"
) -> "tuple[CallDiff, ...]":
    from tools.edits.edit_preview import preview_edits  # noqa: PLC0415  (a start needs none of the dialects)

    return preview_edits(arguments, look)


_MAX_STREAMED_EDIT_PREVIEW_CHARS = 20_000
"""The maximum number of characters of streaming arguments that are drawn as a preview."""


def _format_streaming_diff(path: str, arguments: Mapping[str, Any]) -> str:
    """Returns the diff that the arguments of an edit call alone show, while they stream in or the call waits for
    approval."""
    patch: Json = arguments.get("input")
    if isinstance(patch, str) and patch:
        # The heads of hunks name places by text; their line numbers are not known yet.
        lines = escape_controls(patch[:_MAX_STREAMED_EDIT_PREVIEW_CHARS]).split("\n")
        return "\n".join("@@ -1,1 +1,1 @@" if line.startswith(("***", "@@")) else line for line in lines)
    parts: list[str] = []
    room = _MAX_STREAMED_EDIT_PREVIEW_CHARS
    for edit in objects_in_list_argument(arguments, "edits"):
        old: Json = edit.get("oldText")
        new: Json = edit.get("newText")
        if isinstance(old, str) and room > 0:
            new = new if isinstance(new, str) else ""
            diff = make_diff_of_texts(
                path, escape_controls(old[:room]) + "\n", escape_controls(new[:room]) + "\n"
            )
            room -= len(old) + len(new)
            # The line numbers are not known yet.
            parts.append("\n".join(line for line in diff.patch.split("\n")[2:] if line))
    for change in objects_in_list_argument(arguments, "changes"):
        lines: Json = change.get("lines")
        if not isinstance(lines, list) or room <= 0:
            continue
        first, last = change.get("from"), change.get("to")
        parts.append(f"@@ {one_line(str(first))}{f' to {one_line(str(last))}' if last else ''}")
        for line in lines:
            if (room := room - len(str(line))) > 0:
                parts.append(f"+{escape_controls(str(line))}")
    return "\n".join(parts)
