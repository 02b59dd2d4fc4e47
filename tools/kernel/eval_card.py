"""Draws a call of `eval` for people: its title, its code, then its outputs in order."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tools.running.command_file_watching import format_changed_files_summary
from tools.streaming_arguments import first_text_argument, text_in_result_details
from tools.text_sanitizing import escape_controls, last_nonempty_lines, one_line
from tools.tool_result_values import (
    Block,
    Card,
    FileBlock,
    ImageBlock,
    ImagePart,
    Json,
    ListBlock,
    MarkdownBlock,
    TextBlock,
    ToolResult,
    TreeBlock,
    TreeNode,
)

FOLDED_EVAL_CODE_LINES = 8
"""The number of lines of code that the card shows above the output."""
_SIGN_BY_CALL_STATE = {"running": "…", "done": "✓", "failed": "✗", "stopped": "■"}
_MAX_SHOWN_JSON_NODES = 400


def make_eval_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    code = arguments.get("code")
    code = escape_controls(code).strip("\n") if isinstance(code, str) else ""
    subject = first_text_argument(arguments, "title") or first_text_argument({"code": code}, "code")
    blocks: list[Block] = []
    if code:
        folds = FOLDED_EVAL_CODE_LINES if result is not None and result.content else 0
        blocks.append(FileBlock(path="cell.py", text=code, folds=folds))
    if result is None:
        return Card(title="eval", subject=subject, summary="", blocks=tuple(blocks))
    blocks += _make_tool_call_blocks(result.details)
    blocks += make_cell_output_blocks(result)
    shown = last_nonempty_lines(result.text) if not result.is_error else ()
    return Card(
        title="eval",
        subject=subject,
        summary=_summarize_outcome(result),
        blocks=tuple(blocks),
        last_lines=shown,
    )


def make_cell_output_blocks(result: ToolResult) -> list[Block]:
    """Returns the outputs of an `eval` call's cells as blocks of its card."""
    kinds: Json = (result.details or {}).get("parts")
    named: list[Json] = kinds if isinstance(kinds, list) else []
    blocks: list[Block] = []
    for at, part in enumerate(result.content):
        kind = named[at] if at < len(named) else "text"
        if isinstance(part, ImagePart):
            blocks.append(
                ImageBlock(mime_type=part.mime_type, byte_count=len(part.data) * 3 // 4, data=part.data)
            )
        elif kind == "markdown":
            blocks.append(MarkdownBlock(text=escape_controls(part.text)))
        elif kind == "json":
            blocks.append(_make_json_tree(part.text))
        elif part.text:
            blocks.append(TextBlock(text=escape_controls(part.text), tail=True))
    return blocks


def _summarize_outcome(result: ToolResult) -> str:
    details = result.details or {}
    job = text_in_result_details(details, "jobId")
    if job:
        return f"in the background, {job}"
    stopped = {"timeout": "timed out", "abort": "stopped"}.get(text_in_result_details(details, "stopped"), "")
    lost = "state lost" if details.get("stateLost") else ""
    failed = text_in_result_details(details, "error") if result.is_error and not stopped else ""
    return ", ".join(part for part in (stopped, failed, lost, format_changed_files_summary(details)) if part)


def _make_tool_call_blocks(details: Mapping[str, Any] | None) -> list[Block]:
    try:
        made = msgspec.convert((details or {}).get("calls") or [], list[dict[str, Any]])
    except msgspec.ValidationError:
        return []
    if not made:
        return []
    return [ListBlock(items=tuple(_format_tool_call_line(one) for one in made))]


def _format_tool_call_line(made: Mapping[str, Any]) -> str:
    words = (
        _SIGN_BY_CALL_STATE.get(str(made.get("state")), "·"),
        str(made.get("name", "")),
        str(made.get("subject", "")),
    )
    return one_line(" ".join(word for word in words if word))[:300]


def _make_json_tree(text: str) -> Block:
    try:
        value: Json = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return TextBlock(text=escape_controls(text))
    left = [_MAX_SHOWN_JSON_NODES]
    return TreeBlock(roots=(_make_json_node("", value, left, 0),))


def _make_json_node(name: str, value: Json, left: list[int], depth: int) -> TreeNode:
    before = f"{one_line(name)}: " if name else ""
    if isinstance(value, dict):
        pairs = [(str(key), inner) for key, inner in value.items()]
        label = f"{before}{{{len(pairs)}}}"
    elif isinstance(value, list):
        pairs = [(str(at), inner) for at, inner in enumerate(value)]
        label = f"{before}[{len(pairs)}]"
    else:
        shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        return TreeNode(label=f"{before}{one_line(shown)[:200]}")
    children: list[TreeNode] = []
    for key, inner in pairs:
        if left[0] <= 0 or depth > 20:
            children.append(TreeNode(label=f"… {len(pairs) - len(children)} more"))
            break
        left[0] -= 1
        children.append(_make_json_node(key, inner, left, depth + 1))
    return TreeNode(label=label, children=tuple(children))
