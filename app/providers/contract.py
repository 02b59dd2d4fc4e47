"""The one way to ask a model: `stream(model, context, options)` returns at once an `AssistantStream`.

After it has returned nothing is raised: every failure is the stream's single terminal `error` event. Who
speaks which wire format is the adapters' business; which adapter serves a model is `registry`'s.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import msgspec

from app.values.content import AssistantContent
from app.values.messages import AssistantMessage, Message, StopReason, ToolDeclaration
from app.values.models import Model, ThinkingLevel
from app.values.stream import StreamDone, StreamError, StreamEvent, StreamStart
from app.values.usage import Usage


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What the model is to read."""

    system_prompt: str = ""
    messages: tuple[Message, ...] = ()
    tools: tuple[ToolDeclaration, ...] = ()


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """What proves who pays. `key` is sent as the provider expects it; never logged, never shown."""

    key: str = ""
    is_bearer: bool = False
    headers: Mapping[str, str] = {}
    env: Mapping[str, str] = {}
    """Settings that came with a stored key (region, resource name)."""

    def __repr__(self) -> str:
        return "Credential(…)"


class RequestHooks(msgspec.Struct, frozen=True, kw_only=True):
    """Told, and asked, around one HTTP request."""

    on_payload: Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]] | None = None
    """May replace the payload."""
    on_headers: Callable[[dict[str, str | None]], Awaitable[None]] | None = None
    """May change the request headers in place; None suppresses one."""
    on_response: Callable[[int, Mapping[str, str]], Awaitable[None]] | None = None
    """Status and headers of the response, before its body is read."""
    on_state: Callable[[str, float], None] | None = None
    """`waiting` or `stalled` with seconds, for display."""


class StreamOptions(msgspec.Struct, frozen=True, kw_only=True):
    credential: Credential = Credential()
    thinking: ThinkingLevel = "off"
    thinking_budgets: Mapping[str, int] = {}
    max_tokens: int | None = None
    temperature: float | None = None
    session_id: str | None = None
    """Groups requests for the provider's prompt cache."""
    is_long_cache: bool = False
    use_cache: bool = True
    headers: Mapping[str, str] = {}
    proxy: str | None = None
    first_event_seconds: float = 300.0
    idle_seconds: float = 300.0
    hooks: RequestHooks = RequestHooks()


Produce = Callable[["AssistantStream"], Awaitable[None]]
"""An adapter's body: reads the response, updates the draft and emits; returns or raises when it is over."""


class Draft(msgspec.Struct, kw_only=True):
    """The message that is being received."""

    content: list[AssistantContent] = []
    usage: Usage = Usage()
    stop_reason: StopReason = "pending"
    error_message: str | None = None
    response_id: str | None = None
    response_model: str | None = None
    raw_stop_reason: str | None = None
    diagnostics: Any = None


class AssistantStream:
    """One response on its way: iterate over its events, or await `result()`; `cancel()` at any time."""

    def __init__(self, model: Model, *, message_id: str, timestamp: int, thinking: str | None = None) -> None:
        self.draft = Draft()
        self._model = model
        self._message_id = message_id
        self._timestamp = timestamp
        self._thinking = thinking
        self._events: asyncio.Queue[StreamEvent | None] = asyncio.Queue()
        self._final: asyncio.Future[AssistantMessage] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None
        self._is_cancelled = False

    def run(self, produce: Produce) -> "AssistantStream":
        """Starts the adapter's body; returns itself."""
        self._task = asyncio.get_running_loop().create_task(self._guard(produce))
        return self

    def emit(self, event: StreamEvent) -> None:
        if not self._final.done():
            self._events.put_nowait(event)

    @property
    def partial(self) -> AssistantMessage:
        """The message so far."""
        draft = self.draft
        return AssistantMessage(
            id=self._message_id,
            timestamp=self._timestamp,
            content=tuple(draft.content),
            api=self._model.api,
            provider=self._model.provider,
            model=self._model.id,
            response_model=draft.response_model,
            response_id=draft.response_id,
            thinking_level=self._thinking,
            diagnostics=draft.diagnostics,
            usage=draft.usage,
            stop_reason=draft.stop_reason,
            error_message=draft.error_message,
            raw_stop_reason=draft.raw_stop_reason,
        )

    async def result(self) -> AssistantMessage:
        return await asyncio.shield(self._final)

    def cancel(self) -> None:
        """Ends the response as `aborted`, keeping what has arrived."""
        self._is_cancelled = True
        if self._task is not None:
            self._task.cancel()

    async def closed(self) -> None:
        """Waits until the adapter has let go of its connection."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def __aiter__(self) -> AsyncIterator[StreamEvent]:
        while (event := await self._events.get()) is not None:
            yield event

    async def _guard(self, produce: Produce) -> None:
        self.emit(StreamStart())
        try:
            await produce(self)
        except asyncio.CancelledError:
            self._fail("aborted", "Request was aborted" if self._is_cancelled else "Request was cancelled")
        except Exception as problem:  # noqa: BLE001  (the contract: a failure is an event, never an exception)
            self._fail("error", str(problem) or type(problem).__name__)
        else:
            self._finish()

    def _finish(self) -> None:
        draft = self.draft
        if draft.stop_reason in ("error", "aborted"):
            self._close(StreamError(reason=draft.stop_reason, message=self.partial))
            return
        if draft.stop_reason == "pending":
            draft.stop_reason = "toolUse" if self.partial.tool_calls else "stop"
        self._close(StreamDone(reason=draft.stop_reason, message=self.partial))

    def _fail(self, reason: StopReason, text: str) -> None:
        self.draft.stop_reason = reason
        self.draft.error_message = text
        self._close(StreamError(reason=reason, message=self.partial))

    def _close(self, event: StreamDone | StreamError) -> None:
        if self._final.done():
            return
        self._events.put_nowait(event)
        self._events.put_nowait(None)
        self._final.set_result(event.message)


Adapter = Callable[[Model, Context, StreamOptions, AssistantStream], Awaitable[None]]
"""Speaks one `api`: reads the response into the stream. It may raise; the stream turns that into its end."""
