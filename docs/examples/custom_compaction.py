"""A compaction that asks no model: what the person said, word for word, and the files that were touched.

Cheap and instant, and it never invents anything. `/compact full` still has bayou's own summary written.
"""

from bayou import (
    AssistantMessage,
    CompactAnswer,
    CompactionText,
    Context,
    ExtensionApi,
    SessionBeforeCompact,
    UserMessage,
    text_of,
)

WRITES = ("write", "edit")


def extension(api: ExtensionApi) -> None:
    @api.on("session_before_compact")
    def summarise(event: SessionBeforeCompact, context: Context) -> CompactAnswer | None:
        if event.custom_instructions == "full":
            return None
        return CompactAnswer(
            compaction=CompactionText(summary=summary(event), details={"by": "custom_compaction"})
        )


def summary(event: SessionBeforeCompact) -> str:
    said = [text_of(message.content) for message in event.messages if isinstance(message, UserMessage)]
    calls = [
        call
        for message in event.messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    ]
    touched = sorted({str(call.arguments.get("path")) for call in calls if call.name in WRITES})
    parts = [event.previous_summary or "", "The person said, in this order:"]
    parts += [f"- {text}" for text in said]
    if touched:
        parts += ["", "Files that were changed: " + ", ".join(touched)]
    return "\n".join(parts).strip()
