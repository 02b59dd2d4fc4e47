"""The contract of all models: `stream(model, context, options)` returns an `AssistantStream` at once.

Afterwards nothing is raised: each failure becomes the stream's single terminal `error` event. The adapters
speak the wire formats; `adapter_registry` chooses the adapter of a model."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from app.providers.errors import ProviderError
from app.providers.request_cache import EncodedPrefixCache
from app.providers.stream.event_queue import MIN_DELTA_INTERVAL_SECONDS, DeltaKind, StreamEventQueue
from app.providers.stream.watchdog import FlowStateCallback, ResponseSilenceWatchdog
from app.providers.web_search import WebSearchFindings
from app.values.content import AssistantContent
from app.values.messages import AssistantMessage, Message, StopReason, ToolDeclaration
from app.values.models import Model, ThinkingLevel
from app.values.stream import StreamDone, StreamError, StreamEvent, StreamStart
from app.values.usage import Usage


class RequestContext(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a request: system prompt, messages and tools."""

    system_prompt: str = ""
    messages: Sequence[Message] = ()
    tools: tuple[ToolDeclaration, ...] = ()


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """The key, headers and settings that authorize a request. `key` is never logged and never shown."""

    key: str = ""
    is_bearer: bool = False
    headers: Mapping[str, str] = {}
    env: Mapping[str, str] = {}
    """Settings that were stored with the key or come from the environment, such as region and resource name."""

    def __repr__(self) -> str:
        return "Credential(…)"


EventCallback = Callable[[str, bytes], Awaitable[None]]
"""A callback that receives one raw event of a response: its name, if the format has names, and its data."""


PayloadCallback = Callable[[dict[str, Any], Model], Awaitable[dict[str, Any] | None]]
"""A callback that receives a request's payload and model, and returns a replacement for the payload or None."""


class HttpRequestHooks(msgspec.Struct, frozen=True, kw_only=True):
    """Callbacks around one HTTP request, for observing and changing it."""

    on_request_payload: Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]] | None = None
    """A callback that receives the request's payload and may return a replacement."""
    on_request_headers: Callable[[dict[str, str | None]], Awaitable[None]] | None = None
    """A callback that may change the request's headers in place; the value None removes a header."""
    on_response_headers: Callable[[int, Mapping[str, str]], Awaitable[None]] | None = None
    """A callback that receives status and headers of the response before its body is read."""
    on_raw_event: EventCallback | None = None
    on_flow_state_changed: Callable[[str, float], None] | None = None
    """A callback for the display of silence: receives `waiting` (no event yet) or `stalled` (no further event) with
    the seconds until the timeout, then `flowing` when events arrive again."""


class StreamOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of one request: credential, thinking, limits, network, timeouts and hooks."""

    credential: Credential = Credential()
    thinking: ThinkingLevel = "off"
    thinking_budgets: Mapping[str, int] = {}
    max_tokens: int | None = None
    temperature: float | None = None
    session_id: str | None = None
    """The id by which the provider groups requests for its prompt cache."""
    is_long_cache: bool = False
    use_cache: bool = True
    headers: Mapping[str, str] = {}
    proxy: str | None = None
    ca_bundle: str | None = None
    """A file with certificates to trust besides the usual ones."""
    sampling: Mapping[str, Any] = {}
    """Further fields (such as temperature) that the request sends unchanged."""
    tool_choice: Literal["auto", "any", "none"] | None = None
    searches_web: bool = False
    """Whether the model gets its provider's own tool for searching the web."""
    first_event_seconds: float = 300.0
    idle_seconds: float = 300.0
    delta_interval_seconds: float = MIN_DELTA_INTERVAL_SECONDS
    """The time in seconds within which deltas of a block are joined into one event; 0 passes each delta on."""
    is_person_reading: bool = False
    """Whether a person reads the answer as it arrives; offline models then send at a readable pace."""
    hooks: HttpRequestHooks = HttpRequestHooks()
    request_cache: EncodedPrefixCache | None = None
    """The cache of encoded messages of the session's earlier requests."""


StreamProducer = Callable[["AssistantStream"], Awaitable[None]]
"""The body of an adapter: a function that reads the response, updates the draft and emits events until the response
ends."""


class PartialAnswer(msgspec.Struct, kw_only=True):
    """The message that is being received."""

    content: list[AssistantContent] = []
    usage: Usage = Usage()
    stop_reason: StopReason = "pending"
    error_message: str | None = None
    response_id: str | None = None
    response_model: str | None = None
    raw_stop_reason: str | None = None
    diagnostics: Any = None
    web_findings: WebSearchFindings = msgspec.field(default_factory=WebSearchFindings)


class AssistantStream:
    """A response in progress: iterate over its events, or await `final_message()`; `cancel_response()` ends it.

    An adapter updates `draft` and emits events. It may hold open blocks in a form that is cheap to grow;
    `before_snapshot` then copies them into the draft when a snapshot is taken. A response that is silent
    for longer than its timeouts ends with an error; zero means no limit."""

    def __init__(
        self,
        model: Model,
        *,
        message_id: str,
        timestamp: int,
        thinking: str | None = None,
        merge_seconds: float = MIN_DELTA_INTERVAL_SECONDS,
        first_event_seconds: float = 0.0,
        idle_seconds: float = 0.0,
        on_state: FlowStateCallback | None = None,
    ) -> None:
        self.draft = PartialAnswer()
        self.before_snapshot: Callable[[bool], None] | None = None
        """A function that is called before a snapshot of the draft, to copy open blocks into it; its argument says
        whether the snapshot is the last."""
        self._model = model
        self._message_id = message_id
        self._timestamp = timestamp
        self._thinking = thinking
        self._events = StreamEventQueue(merge_seconds)
        self._has_listener = False
        self._final_message: asyncio.Future[AssistantMessage] = asyncio.get_running_loop().create_future()
        self._producer_task: asyncio.Task[None] | None = None
        self._watchdog: ResponseSilenceWatchdog | None = None
        if first_event_seconds > 0 or idle_seconds > 0:
            self._watchdog = ResponseSilenceWatchdog(
                first_event_seconds=first_event_seconds,
                idle_seconds=idle_seconds,
                on_state=on_state,
                on_timeout=self._time_out,
            )

    def start_producer(self, produce: StreamProducer) -> "AssistantStream":
        """Starts the adapter's body as a task, and returns the stream itself."""
        if self._final_message.done():
            return self
        self._events.put_event(StreamStart())
        if self._watchdog is not None:
            self._watchdog.start()
        self._producer_task = asyncio.get_running_loop().create_task(self._run_producer(produce))
        return self

    def emit(self, event: StreamEvent) -> None:
        if self._final_message.done():
            return
        self._events.put_event(event)
        self.report_alive()

    def emit_delta(self, kind: DeltaKind, index: int, text: str) -> None:
        """Emits a delta without building an event object for each."""
        if not self._final_message.done():
            self._events.put_delta(kind, index, text)

    def report_alive(self) -> None:
        """Reports to the watchdog that the response is alive. Adapters do not call it for keep-alives."""
        if self._watchdog is not None:
            self._watchdog.record_event()

    async def wait_for_space(self) -> None:
        """Waits while the listener is far behind; adapters call it between two pieces. The timeouts do not
        run meanwhile."""
        if self._events.has_room or not self._has_listener:
            return
        if self._watchdog is not None:
            self._watchdog.stop()
        await self._events.wait_for_space()
        if self._watchdog is not None:
            self._watchdog.record_event()
            self._watchdog.start()

    @property
    def is_over(self) -> bool:
        return self._final_message.done()

    @property
    def partial_message(self) -> AssistantMessage:
        """Returns the message as received so far."""
        return (
            self._final_message.result() if self._final_message.done() else self._make_message(is_last=False)
        )

    def _make_message(self, *, is_last: bool) -> AssistantMessage:
        if self.before_snapshot is not None:
            self.before_snapshot(is_last)
        draft = self.draft
        return AssistantMessage(
            id=self._message_id,
            timestamp=self._timestamp,
            content=tuple(draft.content),
            api=self._model.api,
            provider=self._model.provider,
            model=self._model.id,
            response_model=server_value_to_text(draft.response_model),
            response_id=server_value_to_text(draft.response_id),
            thinking_level=self._thinking,
            diagnostics=draft.diagnostics,
            usage=draft.usage,
            stop_reason=draft.stop_reason,
            error_message=draft.error_message,
            raw_stop_reason=server_value_to_text(draft.raw_stop_reason),
        )

    async def final_message(self) -> AssistantMessage:
        return await asyncio.shield(self._final_message)

    def cancel_response(self) -> None:
        """Ends the response as `aborted` and keeps what has arrived. The listener receives the end at once."""
        self._end_with_failure("aborted", "Request was aborted")
        if self._producer_task is not None:
            self._producer_task.cancel()

    async def wait_until_closed(self) -> None:
        """Waits until the adapter has released its connection."""
        if self._producer_task is not None:
            await asyncio.wait([self._producer_task])

    async def __aiter__(self) -> AsyncIterator[StreamEvent]:
        self._has_listener = True
        while (event := await self._events.get_event()) is not None:
            yield event

    async def _run_producer(self, produce: StreamProducer) -> None:
        try:
            await produce(self)
            self._emit_end()
        except asyncio.CancelledError:
            self._end_with_failure("aborted", "Request was aborted")
        except ProviderError as problem:
            self._end_with_failure("error", str(problem), diagnostics=problem.to_diagnostics)
        except MemoryError:
            self.before_snapshot = (
                None  # what has come so far goes with it: there is no room to put it together
            )
            self._end_with_failure(
                "error", "There is not enough memory on this machine for so long an answer."
            )
        except Exception as problem:  # noqa: BLE001  (the contract: a failure is an event, never an exception)
            self._end_with_failure("error", str(problem) or type(problem).__name__)

    def _time_out(self, sentence: str) -> None:
        self._end_with_failure(
            "error", sentence, diagnostics=ProviderError(sentence, kind="timeout").to_diagnostics
        )
        if self._producer_task is not None:
            self._producer_task.cancel()

    def _emit_end(self) -> None:
        if self._final_message.done():
            return
        draft = self.draft
        if draft.stop_reason in ("error", "aborted"):
            self._close_with(StreamError(reason=draft.stop_reason, message=self._make_message(is_last=True)))
            return
        if draft.stop_reason == "pending":
            draft.stop_reason = "toolUse" if self.partial_message.tool_calls else "stop"
        self._close_with(StreamDone(reason=draft.stop_reason, message=self._make_message(is_last=True)))

    def _end_with_failure(
        self, reason: StopReason, text: str, diagnostics: list[dict[str, Any]] | None = None
    ) -> None:
        if self._final_message.done():
            return
        self.draft.stop_reason = reason
        self.draft.error_message = text
        if diagnostics:
            self.draft.diagnostics = [*(self.draft.diagnostics or []), *diagnostics]
        try:
            message = self._make_message(is_last=True)
        except Exception:  # noqa: BLE001  (as above: what cannot be put together is left out, and there is an end)
            self.before_snapshot = None
            message = self._make_message(is_last=True)
        self._close_with(StreamError(reason=reason, message=message))

    def _close_with(self, event: StreamDone | StreamError) -> None:
        if self._watchdog is not None:
            self._watchdog.stop()
        self._events.put_event(event)
        self._events.close()
        self._final_message.set_result(event.message)


def server_value_to_text(said: Any) -> str | None:
    """Converts a name or an id from a server to text. Some servers send numbers for them."""
    if isinstance(said, str):
        return said
    return str(said) if isinstance(said, int) and not isinstance(said, bool) else None


Adapter = Callable[[Model, RequestContext, StreamOptions, AssistantStream], Awaitable[None]]
"""The type of an adapter, which serves one or more `api`s: reads the response into the stream. An exception that it
raises becomes the stream's error event."""


def declare_adapter_apis(*apis: str) -> Callable[[Adapter], Adapter]:
    """Declares which APIs an adapter serves; a model of another `api` is an error before any request."""

    def decorate(adapter: Adapter) -> Adapter:
        async def checked(
            model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
        ) -> None:
            if model.api not in apis:
                expected = " or ".join(apis)
                raise ProviderError(f"Mismatched api: {model.key} uses '{model.api}', not {expected}.")
            await adapter(model, context, options, stream)

        return checked

    return decorate
