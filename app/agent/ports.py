"""What the loop is given: how to ask the model, which tools there are, whom to consult. It knows nobody else.

Each field has a default that does nothing, so that a test names only what it is about.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

import msgspec

from app.agent.abort import Abort
from app.agent.hooks import LoopHooks
from app.agent.queues import Queues
from app.agent.tool_pipeline import Gate, NoMasks, SecretMasks, allow_all_calls
from app.agent.watching import CallWatch
from app.providers.contract import AssistantStream
from app.values.content import ToolCall
from app.values.messages import AssistantMessage, SystemMessage
from tools.base import Tool, ToolContext
from tools.results import ToolResult

InterruptMode = Literal["wait", "immediate"]


async def _do_nothing(abort: Abort) -> None:
    return None


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    ask: Callable[[Abort], Awaitable[AssistantStream]]
    """Starts a request with everything that is in the conversation now."""
    tools: Callable[[], Mapping[str, Tool]] = dict
    tool_context: Callable[[ToolCall, Callable[[ToolResult], None]], ToolContext]
    queues: Queues
    abort: Abort
    hooks: LoopHooks = LoopHooks()
    gate: Gate = allow_all_calls
    """Asked about each call behind the hooks."""
    masks: SecretMasks = NoMasks()
    watch: CallWatch = CallWatch()
    """Looks at calls while they arrive."""
    interrupt_mode: Callable[[], InterruptMode] = lambda: "wait"
    system_update: Callable[[], SystemMessage | None] = lambda: None
    """What changed in prompt and tools since the last request."""
    before_request: Callable[[Abort], Awaitable[None]] = _do_nothing
    """May compact; runs after the turn's new messages are recorded."""
    will_retry: Callable[[AssistantMessage], bool] = lambda message: False
    is_interrupted: Callable[[], bool] = lambda: False
    """The answer that is arriving is not wanted: however it ends, it counts as stopped."""
    report: Callable[[str], None] = lambda text: None
    """Told of a hook that failed and was passed over."""
    unwind_seconds: float = 5.0
    """How long a cancelled tool may take to end before it is left behind."""
