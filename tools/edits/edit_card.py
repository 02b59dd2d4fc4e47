"""Returns the card of a call that changes files: a diff for each file, with notes beneath."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tools.number_formatting import format_changed_lines
from tools.streaming_arguments import number_in_result_details, text_in_result_details
from tools.text_sanitizing import escape_controls, one_line
from tools.tool_result_values import (
    Block,
    Card,
    DiffBlock,
    Json,
    TextBlock,
    ToolResult,
    make_failed_call_card,
)


def make_edit_card(title: str, path: str, result: ToolResult | None, preview: Callable[[], str]) -> Card:
    """Returns the card of an edit call. `preview` returns the diff that the arguments alone show, while they stream in
    or wait for approval."""
    if result is not None and result.is_error:
        return make_failed_call_card(title, path, result)
    details = result.details if result else None
    blocks = list(make_file_diffs(details, path))
    if result and not blocks and result.details and not text_in_result_details(details, "patch"):
        shown = text_in_result_details(details, "diff")
        blocks = [_make_diff_block(path, shown)] if shown else []
    if not blocks and (result is None or details is None):
        patch = preview()
        blocks = [_make_diff_block(path, patch)] if patch else []
    added = number_in_result_details(details, "added") if result else None
    removed = number_in_result_details(details, "removed") if result else None
    if added is None:
        added, removed = sum(block.added for block in blocks), sum(block.removed for block in blocks)
    summary = format_changed_lines(added, removed or 0) if blocks else ""
    more: list[Block] = []
    if warning := text_in_result_details(details, "warning"):
        count = warning.count("New syntax error")
        summary += f", {count} new syntax error{'' if count == 1 else 's'}"
        more.append(TextBlock(text=escape_controls(warning)))
    elif result is not None and not blocks and result.text:
        more.append(TextBlock(text=result.text))
        summary = "nothing to do"
    if len(blocks) > 1:
        path = f"{path} and {len(blocks) - 1} more"
    return Card(title=title, subject=path, summary=summary, blocks=(*blocks, *more))


def make_file_details(path: str, patch: str, added: int, removed: int) -> dict[str, Any]:
    """Returns the entry of one changed file for the details of a tool result, from which `make_file_diffs` draws it."""
    return {"path": one_line(path), "patch": escape_controls(patch), "added": added, "removed": removed}


def make_file_diffs(details: Mapping[str, Any] | None, path: str = "") -> Sequence[DiffBlock]:
    """Returns the diff blocks of the changed files in a result's details; `path` is for diffs that name no file."""
    files: Json = details.get("files") if details else None
    if isinstance(files, list) and files:
        told: list[Mapping[str, Any]] = [file for file in files if isinstance(file, dict)]
        return [
            DiffBlock(
                path=one_line(text_in_result_details(file, "path")),
                diff=text_in_result_details(file, "patch"),
                added=number_in_result_details(file, "added") or 0,
                removed=number_in_result_details(file, "removed") or 0,
                more=number_in_result_details(file, "more") or 0,
            )
            for file in told
            if file.get("patch")
        ]
    patch = text_in_result_details(details, "patch")
    return [_make_diff_block(path, patch, number_in_result_details(details, "more") or 0)] if patch else []


def _make_diff_block(path: str, patch: str, more: int = 0) -> DiffBlock:
    return DiffBlock(
        path=path,
        diff=patch,
        more=more,
        added=sum(line.startswith("+") and not line.startswith("+++") for line in patch.split("\n")),
        removed=sum(line.startswith("-") and not line.startswith("---") for line in patch.split("\n")),
    )
