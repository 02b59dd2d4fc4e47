"""Formats a helper's result for the agent, and its progress for the card."""

from typing import Any

import msgspec

from app.engine.helpers.helper_run import HelperAgentRun
from app.values.usage import format_dollars
from tools.number_formatting import count_with_noun, format_elapsed
from tools.number_formatting import format_token_count as short_tokens
from tools.tool_result_values import ToolResult, text_result

_MAX_HELPER_RESULT_CHARS = 30_000


def helper_result(helper: HelperAgentRun) -> ToolResult:
    """Returns the tool result of a helper agent that has ended."""
    text = helper.answer_text
    if len(text) > _MAX_HELPER_RESULT_CHARS:
        left_out = len(text) - _MAX_HELPER_RESULT_CHARS
        text = f"{text[:_MAX_HELPER_RESULT_CHARS]}\n[{left_out:,} more characters are in its session]"
    problem = f"The helper did not finish: {helper.problem}" if helper.problem else ""
    notes = filter(
        None, (problem, helper.start_remark, helper.delivery_text, helper_usage_footer(helper, is_exact=True))
    )
    result = text_result(
        "\n".join((text or "(no answer)", *(f"[{note}]" for note in notes))), details=helper_details(helper)
    )
    return msgspec.structs.replace(result, is_error=not text)


def helper_progress(helper: HelperAgentRun) -> ToolResult:
    now = helper.current_tool or helper.state
    return text_result(f"{now} · {helper_usage_footer(helper)}", details=helper_details(helper))


def helper_details(helper: HelperAgentRun) -> dict[str, Any]:
    return {
        "helperId": helper.id,
        "helper": helper.kind.name,
        "state": helper.state,
        "current": helper.current_tool,
        "footer": helper_usage_footer(helper),
        "lines": list(helper.progress_lines),
        "sessionFile": str(helper.session_file) if helper.session_file else None,
    }


def helper_usage_footer(helper: HelperAgentRun, *, is_exact: bool = False) -> str:
    """Returns a line with a helper agent's model, turns, tokens and cost. `is_exact`: for its end, with its time
    and its session."""
    used = helper.budget.usage_so_far
    file = helper.session_file
    tokens = f"{used.total_tokens:,}" if is_exact else short_tokens(used.total_tokens)
    parts = (
        helper.kind.name if is_exact else "",
        helper.model,
        "separate copy" if helper.is_isolated and not is_exact else "",
        count_with_noun(helper.budget.turns, "turn"),
        f"{tokens} tokens",
        format_dollars(used.cost.total) if used.cost.total else "",
        format_elapsed(helper.seconds) if is_exact else "",
        f"session {file.stem.rsplit('_', 1)[-1]}" if is_exact and file is not None else "",
    )
    return " · ".join(filter(None, parts))
