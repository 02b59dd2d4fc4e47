"""Defines the dependencies of the agent loop: requests to the model, tools, queues and hooks.

Each field has a default that does nothing, so that a test sets only what it needs.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

import msgspec

from app.agent.abort import Abort
from app.agent.call_watch import CallWatch
from app.agent.hooks import LoopHooks
from app.agent.queues import Queues
from app.agent.tool_pipeline import Gate, NoMasks, SecretMasks, allow_every_call
from app.providers.model_stream import AssistantStream
from app.values.content import ToolCall
from app.values.messages import AssistantMessage, SystemMessage
from tools.base import Tool, ToolContext
from tools.results import ToolResult

InterruptMode = Literal["wait", "immediate"]


async def _do_nothing(abort: Abort) -> None:
    return None


class LoopPorts(msgspec.Struct, frozen=True, kw_only=True):
    """The dependencies of one run of the loop."""

    request_answer: Callable[[Abort], Awaitable[AssistantStream]]
    """A function that starts a request to the model with the whole conversation so far, and returns its stream."""
    tools: Callable[[], Mapping[str, Tool]] = dict
    reason_unavailable: Callable[[str], str] = lambda name: ""
    """A function that returns why a known tool cannot be called now."""
    tool_context: Callable[[ToolCall, Callable[[ToolResult], None]], ToolContext]
    queues: Queues
    abort: Abort
    hooks: LoopHooks = LoopHooks()
    gate: Gate = allow_every_call
    """The permission gate, which decides on each call after the hooks."""
    secret_masks: SecretMasks = NoMasks()
    call_watch: CallWatch = CallWatch()
    """The watch that inspects calls while their arguments arrive."""
    interrupt_mode: Callable[[], InterruptMode] = lambda: "wait"
    system_update: Callable[[], SystemMessage | None] = lambda: None
    """A function that returns the changes of prompt and tools since the last request."""
    before_request: Callable[[Abort], Awaitable[None]] = _do_nothing
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
