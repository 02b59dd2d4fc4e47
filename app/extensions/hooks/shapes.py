"""Arguments, results and requests in the shapes that hooks see, and back."""

from collections.abc import Sequence
from typing import Any

import msgspec

from app.extensions.hooks import payloads as p
from app.providers.contract import Context
from app.values.content import Image, Text, text_of
from app.values.messages import Message, SystemMessage, ToolDeclaration
from tools.results import ImagePart, TextPart, ToolResult


def decoded(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return data.decode("utf-8", "replace")


def copy_of(arguments: dict[str, Any]) -> dict[str, Any]:
    """A handler changes its own copy; the message keeps what the model said."""
    return {key: _copied(value) for key, value in arguments.items()}


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return copy_of(value)
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value


def changed_result(result: ToolResult, payload: p.ToolResultPayload) -> ToolResult:
    return msgspec.structs.replace(
        result,
        content=tuple(
            TextPart(text=part.text)
            if isinstance(part, Text)
            else ImagePart(data=part.data, mime_type=part.mime_type)
            for part in _known(payload.content)
        ),
        details=payload.details,
        structured_content=payload.structured_content,
        is_error=payload.is_error,
    )


def _known(content: Sequence[Any]) -> tuple[Text | Image, ...]:
    return tuple(part for part in content if isinstance(part, Text | Image))


def context_of(messages: Sequence[Message]) -> Context:
    systems = [message for message in messages if isinstance(message, SystemMessage)]
    texts: list[str | None] = []
    tools: dict[str, ToolDeclaration] = {}
    for system in systems:
        texts += [text_of(system.content), *(system.sections or {}).values()]
        for removed in system.tools_removed or ():
            tools.pop(removed.name, None)
        tools |= {tool.name: tool for tool in system.tools_added or ()}
    return Context(
        system_prompt="\n\n".join(text for text in texts if text),
        messages=tuple(message for message in messages if not isinstance(message, SystemMessage)),
        tools=tuple(sorted(tools.values(), key=lambda tool: tool.name)),
    )
