"""The built-in extension `builtin:read-recovery`: asks again for reads that steering has skipped.

With `interruptMode: immediate` a message from the user skips the rest of a tool batch. Skipped calls run no
hooks, so the skipped reads are found in the assistant's message at the turn's end.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from app.extensions.public import (
    AssistantMessage,
    Context,
    CustomMessage,
    Effects,
    ExtensionApi,
    ListBlock,
    ToolResultMessage,
    TurnEnded,
    View,
    text_of,
)

READ_RECOVERY_MESSAGE_TYPE = "read-recovery"
SKIPPED_CALL_RESULT_TEXT = "Skipped due to queued user message."


class SkippedRead(msgspec.Struct, frozen=True, kw_only=True):
    """A read that steering skipped, with its tool, path and arguments."""

    tool: str
    path: str
    arguments: dict[str, Any]
    """The arguments as the model gave them, with offset and limit."""

    @property
    def call_text(self) -> str:
        more = "".join(
            f", {name}={json.dumps(value)}"
            for name, value in self.arguments.items()
            if name != "path" and value is not None
        )
        return f"{self.tool}({json.dumps(self.path, ensure_ascii=False)}{more})"


def extension(api: ExtensionApi) -> None:
    api.message_renderer(READ_RECOVERY_MESSAGE_TYPE, _draw_recovered_reads)

    @api.on("turn_end")
    def recover(event: TurnEnded, context: Context) -> Awaitable[None] | None:
        skipped = skipped_reads(event.message, event.tool_results, context.session.effects_of)
        return ask_again(skipped) if skipped else None

    async def ask_again(skipped: tuple[SkippedRead, ...]) -> None:
        await api.send_message(
            READ_RECOVERY_MESSAGE_TYPE,
            read_recovery_text(skipped),
            details={"reads": [{"path": read.path, "arguments": read.arguments} for read in skipped]},
            deliver_as="follow_up",
        )


def skipped_reads(
    message: AssistantMessage,
    results: tuple[ToolResultMessage, ...],
    effects_of: Callable[[str, dict[str, Any]], Effects | None],
) -> tuple[SkippedRead, ...]:
    """Returns the skipped reads of this message, in call order, each once."""
    skipped = {
        result.tool_call_id
        for result in results
        if text_of(result.content).strip() == SKIPPED_CALL_RESULT_TEXT
    }
    found: list[SkippedRead] = []
    for call in message.tool_calls:
        path = call.arguments.get("path")
        effects = effects_of(call.name, call.arguments) if call.id in skipped else None
        if effects is None or not effects.reads or effects.writes or not isinstance(path, str) or not path:
            continue
        read = SkippedRead(tool=call.name, path=path, arguments=dict(call.arguments))
        if read not in found:
            found.append(read)
    return tuple(found)


def read_recovery_text(reads: tuple[SkippedRead, ...]) -> str:
    lines = "\n".join(f"- {read.call_text}" for read in reads)
    return (
        "These reads were skipped when a message came in between, and nothing of them was read:\n"
        f"{lines}\nIf you still need them, make these calls again now."
    )


def _draw_recovered_reads(message: CustomMessage, expanded: bool) -> View:
    details = message.details if isinstance(message.details, dict) else {}
    reads = details.get("reads")
    paths = tuple(str(read.get("path", "")) for read in reads) if isinstance(reads, list) else ()
    noun = "read" if len(paths) == 1 else "reads"
    return View(
        title="read recovery",
        summary=f"{len(paths)} skipped {noun} asked for again",
        body=(ListBlock(items=tuple(text_of(message.content).split("\n"))),),
        level="warning",
    )
