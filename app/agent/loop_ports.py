"""Defines the dependencies of the agent loop: requests to the model, tools, queues and hooks.

Each field has a default that does nothing, so that a test sets only what it needs.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

import msgspec

from app.agent.abort_signal import AbortSignal
from app.agent.arriving_call_watch import ArrivingCallWatch
from app.agent.hooks import AgentLoopHooks
from app.agent.message_queues import MessageQueues
from app.agent.tool_pipeline import NoSecretMasks, SecretMasks, ToolCallGate, allow_every_call
from app.providers.model_stream import AssistantStream
from app.values.content import ToolCall
from app.values.messages import AssistantMessage, SystemMessage
from tools.tool_definition import Tool, ToolContext
from tools.tool_result_values import ToolResult

InterruptMode = Literal["wait", "immediate"]


async def _do_nothing(abort: AbortSignal) -> None:
    return None


class AgentLoopDependencies(msgspec.Struct, frozen=True, kw_only=True):
    """The dependencies of one run of the loop."""

    request_answer: Callable[[AbortSignal], Awaitable[AssistantStream]]
    """A function that starts a request to the model with the whole conversation so far, and returns its stream."""
    tools: Callable[[], Mapping[str, Tool]] = dict
    reason_unavailable: Callable[[str], str] = lambda name: ""
    """A function that returns why a known tool cannot be called now."""
    tool_context: Callable[[ToolCall, Callable[[ToolResult], None]], ToolContext]
    queues: MessageQueues
    abort: AbortSignal
    hooks: AgentLoopHooks = AgentLoopHooks()
    gate: ToolCallGate = allow_every_call
    """The permission gate, which decides on each call after the hooks."""
    secret_masks: SecretMasks = NoSecretMasks()
    call_watch: ArrivingCallWatch = ArrivingCallWatch()
    """The watch that inspects calls while their arguments arrive."""
    interrupt_mode: Callable[[], InterruptMode] = lambda: "wait"
    system_update: Callable[[], SystemMessage | None] = lambda: None
    """A function that returns the changes of prompt and tools since the last request."""
    before_request: Callable[[AbortSignal], Awaitable[None]] = _do_nothing
    """A function that runs after the turn's new messages are recorded and before the request; it may compact the
    conversation."""
    will_retry: Callable[[AssistantMessage], bool] = lambda message: False
    is_interrupted: Callable[[], bool] = lambda: False
    """A function that returns whether the arriving answer must be discarded, in which case it counts as stopped
    however it ends."""
    report_problem: Callable[[str], None] = lambda text: None
    """A function that reports a hook that failed and was ignored."""
    stop_grace_seconds: float = 5.0
    """The number of seconds that a cancelled tool may take to end before it is abandoned."""
