"""Turns one model response into events: start, updates, end."""

import time
from collections.abc import AsyncGenerator, Callable
from typing import assert_never

import msgspec

from app.agent.hooks import AgentLoopHooks
from app.agent.loop_ports import AgentLoopDependencies
from app.agent.tool_results import describe_error_in_one_line
from app.providers.model_stream import AssistantStream
from app.values.content import AssistantContent, ToolCall
from app.values.events import MessageEnd, MessageStart, MessageUpdate, RunEvent
from app.values.messages import AssistantMessage
from app.values.stream import (
    StreamDone,
    StreamError,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from app.values.wire import new_id


async def response_events(stream: AssistantStream, ports: AgentLoopDependencies) -> AsyncGenerator[RunEvent]:
    """Yields one `MessageStart`, updates, and one `MessageEnd`, however the response ends."""
    started = time.monotonic()
    message_id: str | None = None
    forget = ports.abort.on_set(stream.cancel_response)
    try:
        async for event in stream:
            match event:
                case (
                    TextDelta()
                    | ThinkingDelta()
                    | ToolCallDelta()
                    | TextStart()
                    | TextEnd()
                    | ThinkingStart()
                    | ThinkingEnd()
                    | ToolCallStart()
                    | ToolCallEnd()
                ):
                    ports.call_watch.handle_stream_event(event)
                    yield MessageUpdate(
                        usage=stream.draft.usage, assistant_message_event=event, message_id=message_id
                    )
                case StreamStart():
                    begun = stream.partial_message
                    message_id = begun.id
                    ports.call_watch.start_watching_answer(begun.id, stream.cancel_response)
                    yield MessageStart(
                        message=msgspec.structs.replace(begun, content=()), message_id=begun.id
                    )
                case StreamDone() | StreamError():
                    ended = event.message
                    if event.reason == "aborted" and not ports.abort.is_set:
                        ended = ports.call_watch.cut_before_doomed_call(ended) or ended
                    if ended is not event.message:
                        yield _last_call_end(ended)
                    message = msgspec.structs.replace(
                        ended,
                        content=_with_unique_call_ids(ended.content),
                        duration_ms=round((time.monotonic() - started) * 1000),
                    )
                    message = await _apply_finish_hook(message, ports.hooks, ports.report_problem)
                    if ports.is_interrupted():
                        message = _interrupted_answer(message)
                    yield MessageEnd(message=message, message_id=message.id)
                case _:
                    assert_never(event)
    finally:
        forget()
        stream.cancel_response()


def _last_call_end(cut: AssistantMessage) -> MessageUpdate:
    """Returns the missing end event of the last tool call, for an answer that was cut right behind that call."""
    call = cut.content[-1]
    assert isinstance(call, ToolCall)
    end = ToolCallEnd(content_index=len(cut.content) - 1, tool_call=call)
    return MessageUpdate(usage=cut.usage, assistant_message_event=end, message_id=cut.id)


def _interrupted_answer(message: AssistantMessage) -> AssistantMessage:
    return msgspec.structs.replace(
        message, stop_reason="aborted", error_message="The answer was interrupted."
    )


def _with_unique_call_ids(content: tuple[AssistantContent, ...]) -> tuple[AssistantContent, ...]:
    """Replaces missing and duplicate call ids, which some servers send, so that results can be matched."""
    seen: set[str] = set()
    blocks: list[AssistantContent] = []
    for block in content:
        if isinstance(block, ToolCall) and (not block.id or block.id in seen):
            block = msgspec.structs.replace(block, id=f"{block.id or 'call'}_{new_id()}")
        if isinstance(block, ToolCall):
            seen.add(block.id)
        blocks.append(block)
    return tuple(blocks)


async def _apply_finish_hook(
    message: AssistantMessage, hooks: AgentLoopHooks, report: Callable[[str], None]
) -> AssistantMessage:
    try:
        return await hooks.change_finished_answer(message)
    except Exception as problem:  # noqa: BLE001  (a failing hook must not lose what the model said)
        report(
            f"The answer stands as it came, because a hook behind it failed: {describe_error_in_one_line(problem)}"
        )
        return message
