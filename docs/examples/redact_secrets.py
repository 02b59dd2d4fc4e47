"""Keeps keys out of the conversation: what looks like one in a tool's result is replaced before it is recorded."""

import re

from bayou import Context, ExtensionApi, Text, ToolResultAnswer, ToolResultPayload

SECRET = re.compile(
    r"(?P<name>\b\w*(?:api[_-]?key|secret|token|password)\w*\s*[=:]\s*)(?P<quote>['\"]?)(?P<value>[^\s'\"]{8,})(?P=quote)"
    r"|\b(?:sk|ghp|gho|xox[bp])[-_][A-Za-z0-9_-]{16,}",
    re.IGNORECASE,
)


def extension(api: ExtensionApi) -> None:
    @api.on("tool_result")
    def redact(event: ToolResultPayload, context: Context) -> ToolResultAnswer | None:
        content = tuple(
            Text(text=hide(part.text)) if isinstance(part, Text) else part for part in event.content
        )
        return ToolResultAnswer(content=content) if content != event.content else None


def hide(text: str) -> str:
    return SECRET.sub(lambda match: f"{match['name']}[hidden]" if match["name"] else "[hidden]", text)
