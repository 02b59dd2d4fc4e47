"""Draws a Python cell that the user ran as a transcript block: code, output, and whether the model sees it."""

from typing import Any

from app.values.cells import cell_output_from_data
from app.values.content import Image, Text, UserContent
from tools.tool_result_values import Card, ImagePart, Part, TextPart, ToolResult
from widgets.transcript.transcript_blocks import CardState, CustomBlock, CustomBlockKind

PYTHON_CELL_PREVIEW_LINES = 12
"""The number of output lines shown without opening the block."""


def finished_cell_block(
    block_id: str, content: "str | tuple[UserContent, ...]", details: Any, *, is_excluded: bool
) -> CustomBlock:
    """Returns the transcript block of a Python cell that has ended. `content`: its output, without the text added for
    the model."""
    known: dict[str, Any] = details if isinstance(details, dict) else {}
    parts = (Text(text=content),) if isinstance(content, str) else content
    result = ToolResult(
        content=tuple(part for one in parts if (part := _result_part(one)) is not None),
        details=known,
        is_error=bool(known.get("isError")),
    )
    state = CardState.FAILED if result.is_error else CardState.DONE
    if known.get("stopped") == "abort":
        state = CardState.ABORTED
    # The running cell had another id; its block stays in place.
    return _make_block(str(known.get("id") or block_id), known, result, state, is_excluded=is_excluded)


def running_cell_block(block_id: str, arguments: Any, result: ToolResult | None) -> CustomBlock:
    """Returns the transcript block of a Python cell that runs, with its output so far."""
    known: dict[str, Any] = arguments if isinstance(arguments, dict) else {}
    return _make_block(block_id, known, result, CardState.RUNNING, is_excluded=False)


def excluded_cell_block(block_id: str, data: Any) -> CustomBlock:
    """Returns the transcript block of a Python cell that the model does not see."""
    return finished_cell_block(block_id, cell_output_from_data(data), data, is_excluded=True)


def _make_block(
    block_id: str,
    known: dict[str, Any],
    result: ToolResult | None,
    state: CardState,
    *,
    is_excluded: bool,
) -> CustomBlock:
    from tools.kernel.eval_card import make_eval_card  # noqa: PLC0415  (most sessions have no cells)

    shown = make_eval_card({"code": known.get("code"), "title": known.get("title")}, result)
    kept = "not sent to the model" if is_excluded else ""
    summary = ", ".join(part for part in (shown.summary, kept) if part)
    return CustomBlock(
        id=block_id,
        kind=CustomBlockKind.CELL,
        card=Card(title="", subject=shown.subject, summary=summary, blocks=shown.blocks),
        preview_lines=PYTHON_CELL_PREVIEW_LINES,
        state=state,
    )


def _result_part(one: UserContent) -> Part | None:
    if isinstance(one, Text):
        return TextPart(text=one.text)
    return ImagePart(data=one.data, mime_type=one.mime_type) if isinstance(one, Image) else None
