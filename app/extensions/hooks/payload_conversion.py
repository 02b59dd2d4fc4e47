"""Converts arguments, results and requests to the shapes that hooks see, and back."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from app.compaction.compaction_plan import CompactionPlan
from app.engine.core.hook_results import CompactionOverride, UserCommandOverride
from app.extensions.hooks import payloads as p
from app.providers.model_stream import RequestContext
from app.values.content import Image, Text, text_of
from app.values.events import CompactionResult
from app.values.messages import Message, SystemMessage, ToolDeclaration
from tools.diagnostics.code_problems import (
    CodeProblem,
    FileChangeTexts,
    select_code_problems_in_changed_lines,
)
from tools.diagnostics.output_parsers import MAX_PARSED_PROBLEM_CHARS, clean_problem_text
from tools.running.user_shell.user_commands import UserCommandResult
from tools.tool_result_values import ImagePart, TextPart, ToolResult


def decode_arguments(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return data.decode("utf-8", "replace")


def copy_tool_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Copies the arguments for a handler to change; the message keeps the model's own."""
    return {key: _copy_value(value) for key, value in arguments.items()}


def _copy_value(value: Any) -> Any:
    if isinstance(value, dict):
        return copy_tool_arguments(value)
    if isinstance(value, list):
        return [_copy_value(item) for item in value]
    return value


def tool_result_from_payload(result: ToolResult, payload: p.ToolResultPayload) -> ToolResult:
    return msgspec.structs.replace(
        result,
        content=tuple(
            TextPart(text=part.text)
            if isinstance(part, Text)
            else ImagePart(data=part.data, mime_type=part.mime_type)
            for part in _supported_content(payload.content)
        ),
        details=payload.details,
        structured_content=payload.structured_content,
        is_error=payload.is_error,
    )


def _supported_content(content: Sequence[Any]) -> tuple[Text | Image, ...]:
    return tuple(part for part in content if isinstance(part, Text | Image))


def messages_to_request_context(messages: Sequence[Message]) -> RequestContext:
    systems = [message for message in messages if isinstance(message, SystemMessage)]
    texts: list[str | None] = []
    tools: dict[str, ToolDeclaration] = {}
    for system in systems:
        texts += [text_of(system.content), *(system.sections or {}).values()]
        for removed in system.tools_removed or ():
            tools.pop(removed.name, None)
        tools |= {tool.name: tool for tool in system.tools_added or ()}
    return RequestContext(
        system_prompt="\n\n".join(text for text in texts if text),
        messages=tuple(message for message in messages if not isinstance(message, SystemMessage)),
        tools=tuple(sorted(tools.values(), key=lambda tool: tool.name)),
    )


def shell_override_from_answer(answer: p.UserBashAnswer) -> UserCommandOverride:
    if answer.block:
        return UserCommandOverride(refusal=answer.reason or "An extension blocked this command.")
    result = answer.result
    if result is None:
        return UserCommandOverride(command=answer.command)
    return UserCommandOverride(result=UserCommandResult(output=result.output, exit_code=result.exit_code))


def compaction_override_from_answer(answer: Any, preparation: CompactionPlan) -> CompactionOverride:
    result = None
    if answer.compaction is not None:
        given = answer.compaction
        result = CompactionResult(
            summary=given.summary,
            first_kept_entry_id=given.first_kept_entry_id or preparation.first_kept_entry_id,
            tokens_before=preparation.tokens_before if (count := given.tokens_before) is None else count,
            details=given.details,
            usage=given.usage,
        )
    return CompactionOverride(
        is_cancelled=answer.cancel, result=result, instructions=answer.custom_instructions
    )


def new_problems(
    said: Sequence[p.FoundProblem], changed: Sequence[FileChangeTexts], folder: Path
) -> list[CodeProblem]:
    """Returns the new problems: those that an extension marks as new and, of those without a mark, the ones
    in changed lines."""
    known: list[CodeProblem] = []
    unknown: list[CodeProblem] = []
    for one in said:
        problem = CodeProblem(
            path=os.path.realpath(folder / one.path),
            line=max(1, one.line),
            column=max(0, one.column),
            text=clean_problem_text(one.text, MAX_PARSED_PROBLEM_CHARS),
            rule_name=clean_problem_text(one.code),
            checker_name=clean_problem_text(one.source) or "extension",
            severity=one.severity,
        )
        if one.is_new is not False:
            (known if one.is_new else unknown).append(problem)
    alignments = {one.path: one.map_old_lines_to_new() for one in changed}
    return [*known, *select_code_problems_in_changed_lines(unknown, alignments)]
