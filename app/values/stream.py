"""Stream events: one model response as it arrives.

Order: `start`, then for each block `…_start`, its `…_delta`s, `…_end` (blocks may overlap), then
exactly one `done` or `error`. Deltas carry only the new part; the stream object has the message so far."""

from app.values.content import ToolCall
from app.values.messages import AssistantMessage, StopReason
from app.values.wire import Wire


class StreamStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="start"):
    pass


class _BlockEvent(Wire, frozen=True, kw_only=True, tag_field="type", tag="*block"):
    content_index: int


class TextStart(_BlockEvent, frozen=True, kw_only=True, tag_field="type", tag="text_start"):
    pass


class TextDelta(_BlockEvent, frozen=True, kw_only=True, tag_field="type", tag="text_delta"):
    """More text of a text block in the response."""

    delta: str


class TextEnd(_BlockEvent, frozen=True, kw_only=True, tag_field="type", tag="text_end"):
    """A text block of the response is complete."""

    content: str


class ThinkingStart(_BlockEvent, frozen=True, kw_only=True, tag_field="type", tag="thinking_start"):
    pass


class ThinkingDelta(_BlockEvent, frozen=True, kw_only=True, tag_field="type", tag="thinking_delta"):
    """More text of a thinking block in the response."""

    delta: str


class ThinkingEnd(_BlockEvent, frozen=True, kw_only=True, tag_field="type", tag="thinking_end"):
    """A thinking block of the response is complete."""

    content: str


class ToolCallStart(_BlockEvent, frozen=True, kw_only=True, tag_field="type", tag="toolcall_start"):
    """A tool call begins in the response."""

    id: str
    tool_name: str


class ToolCallDelta(_BlockEvent, frozen=True, kw_only=True, tag_field="type", tag="toolcall_delta"):
    """More text of a tool call's arguments in the response."""

    delta: str
    """Raw JSON text of the arguments."""


class ToolCallEnd(_BlockEvent, frozen=True, kw_only=True, tag_field="type", tag="toolcall_end"):
    """A tool call of the response is complete."""

    tool_call: ToolCall


class StreamDone(Wire, frozen=True, kw_only=True, tag_field="type", tag="done"):
    """The model's response is complete."""

    reason: StopReason
    message: AssistantMessage


class StreamError(Wire, frozen=True, kw_only=True, tag_field="type", tag="error"):
    """The model's response failed or was aborted; `message` holds the part that had arrived."""

    reason: StopReason
    message: AssistantMessage


BlockEvent = (
    TextStart
    | TextDelta
    | TextEnd
    | ThinkingStart
    | ThinkingDelta
    | ThinkingEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
)
Delta = TextDelta | ThinkingDelta | ToolCallDelta
StreamEvent = StreamStart | BlockEvent | StreamDone | StreamError
