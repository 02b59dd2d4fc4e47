"""Converts a session's entries to a trajectory in Harbor's format ATIF, which training and evaluation tools read.

Each message is a step; the results of an answer's tool calls are its observation. Pictures are named, not held.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, assert_never

from app.values.content import Image, Text
from app.values.entries import Entry, MessageEntry, SessionHeader
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolDeclaration,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
)
from app.values.usage import Usage, total_usage
from app.version import VERSION

ATIF_SCHEMA_VERSION = "ATIF-v1.7"


def trajectory(header: SessionHeader, entries: Iterable[Entry]) -> dict[str, Any]:
    """Returns the whole document as JSON data. A session without messages has no steps, which ATIF forbids."""
    messages = [entry.message for entry in entries if isinstance(entry, MessageEntry)]
    results = {
        message.tool_call_id: message for message in messages if isinstance(message, ToolResultMessage)
    }
    steps = [step for message in messages if (step := _message_step(message, results)) is not None]
    answers = [message for message in messages if isinstance(message, AssistantMessage)]
    agent: dict[str, Any] = {"name": "bayou", "version": VERSION}
    if answers:
        agent["model_name"] = _model_key(answers[-1])
    tools = {tool.name: tool for message in messages for tool in _added_tools(message)}
    if tools:
        agent["tool_definitions"] = [_declared_tool(tool) for tool in tools.values()]
    used = total_usage([answer.usage for answer in answers])
    return {
        "schema_version": ATIF_SCHEMA_VERSION,
        "session_id": header.id,
        "agent": agent,
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
        "final_metrics": {
            "total_prompt_tokens": _prompt_tokens(used),
            "total_completion_tokens": used.output,
            "total_cached_tokens": used.cache_read,
            "total_cost_usd": used.cost.total,
            "total_steps": len(steps),
        },
    }


def _message_step(message: Message, results: dict[str, ToolResultMessage]) -> dict[str, Any] | None:
    """Returns a message as a step, still without its number; None for results, which belong to a step."""
    match message:
        case AssistantMessage():
            return _agent_step(message, results)
        case SystemMessage():
            return _text_step("system", message, _content_text(message.content))
        case UserMessage() | CustomMessage():
            return _text_step("user", message, _content_text(message.content))
        case BashExecutionMessage():
            return _text_step("user", message, f"$ {message.command}\n{message.output}")
        case BranchSummaryMessage() | CompactionSummaryMessage():
            return _text_step("user", message, message.summary)
        case ToolResultMessage() | UnknownMessage():
            return None
        case _:
            assert_never(message)


def _text_step(source: str, message: Message, text: str) -> dict[str, Any]:
    return {"timestamp": _iso_time(message), "source": source, "message": text}


def _agent_step(message: AssistantMessage, results: dict[str, ToolResultMessage]) -> dict[str, Any]:
    usage = message.usage
    step = {
        **_text_step("agent", message, message.text or message.error_message or ""),
        "model_name": _model_key(message),
        "llm_call_count": 1,
        "metrics": {
            "prompt_tokens": _prompt_tokens(usage),
            "completion_tokens": usage.output,
            "cached_tokens": usage.cache_read,
            "cost_usd": usage.cost.total,
        },
    }
    if message.thinking:
        step["reasoning_content"] = message.thinking
    if message.thinking_level:
        step["reasoning_effort"] = message.thinking_level
    if message.tool_calls:
        step["tool_calls"] = [
            {"tool_call_id": call.id, "function_name": call.name, "arguments": call.arguments}
            for call in message.tool_calls
        ]
    answered = [results[call.id] for call in message.tool_calls if call.id in results]
    if answered:
        step["observation"] = {
            "results": [
                {
                    "source_call_id": result.tool_call_id,
                    "content": _content_text(result.content),
                    "extra": {"is_error": result.is_error},
                }
                for result in answered
            ]
        }
    return step


def _added_tools(message: Message) -> tuple[ToolDeclaration, ...]:
    return message.tools_added or () if isinstance(message, SystemMessage) else ()


def _declared_tool(tool: ToolDeclaration) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _content_text(content: str | tuple[Any, ...]) -> str:
    if isinstance(content, str):
        return content
    parts = [
        block.text if isinstance(block, Text) else f"[a picture: {block.mime_type}]"
        for block in content
        if isinstance(block, Text | Image)
    ]
    return "\n".join(parts)


def _prompt_tokens(usage: Usage) -> int:
    return usage.input + usage.cache_read + usage.cache_write


def _model_key(message: AssistantMessage) -> str:
    return f"{message.provider}/{message.model}"


def _iso_time(message: Message) -> str:
    return datetime.fromtimestamp(message.timestamp / 1000, UTC).isoformat(timespec="milliseconds")
