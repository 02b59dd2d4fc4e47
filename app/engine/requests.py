"""Asking the model: the request's context, its credential, its hooks, and the trace of its delivery."""

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from app.engine.delivery import Deliveries
from app.providers.contract import (
    AssistantStream,
    Context,
    OnEvent,
    OnPayload,
    RequestHooks,
    StreamOptions,
)
from app.providers.kept import Kept
from app.providers.registry import Registry
from app.values.events import (
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ProviderRequestDelivered,
    ProviderRequestFailed,
    ProviderRequestPrepared,
    ProviderWaiting,
)
from app.values.messages import AssistantMessage, Message, now_ms
from app.values.models import Model
from app.values.wire import new_id

Publish = Callable[[Event], Awaitable[None]]


async def _as_they_are(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    return messages


async def _whole_as_it_is(context: Context) -> Context:
    return context


def _nobody(model: Model) -> None:
    return None


class ContextHooks(msgspec.Struct, kw_only=True):
    """What extensions may change in a request; the defaults change nothing."""

    transform: Callable[[tuple[Message, ...]], Awaitable[tuple[Message, ...]]] = _as_they_are
    """Returns what it was given if it changes nothing."""
    transform_whole: Callable[[Context], Awaitable[Context]] = _whole_as_it_is
    """The same with prompt and tools."""
    payload_listener: Callable[[Model], OnPayload | None] = _nobody
    """Asked before each request; None, and the payload is sent as it is."""
    on_headers: Callable[[dict[str, str | None]], Awaitable[None]] | None = None
    on_response: Callable[[int, Mapping[str, str]], Awaitable[None]] | None = None
    event_listener: Callable[[Model], OnEvent | None] = _nobody
    """Asked before each request; None, and the response is read without telling anybody."""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One request."""

    model: Model
    context: Context
    message_ids: Sequence[str]
    """Of the context's messages, in their order; kept beside them, for going through all would cost more and more."""
    stretch: object = None
    """The same for requests that begin with the same messages; None: not known."""
    options: StreamOptions
    session_id: str


class Requests:
    """Sends requests and tells of them."""

    def __init__(
        self,
        registry: Registry,
        deliveries: Deliveries,
        publish: Publish,
        publish_now: Callable[[Event], None],
    ) -> None:
        self.registry = registry
        self.hooks = ContextHooks()
        self._publish_now = publish_now
        self._deliveries = deliveries
        self._publish = publish
        self._request_of_message: dict[str, str] = {}
        self._kept = Kept()
        self._current: str | None = None
        """The request whose answer is arriving and has not been seen as delivered."""

    async def send(self, ask: Ask, *, failure: str | None = None) -> AssistantStream:
        """Starts the request; its events tell the rest. With `failure` it fails in these words, unsent."""
        request_id = f"req_{uuid.uuid4().hex[:12]}"
        reply_id = new_id()
        context, message_ids, stretch = ask.context, ask.message_ids, ask.stretch
        messages = await self.hooks.transform(context.messages)
        if messages is not context.messages:
            context = msgspec.structs.replace(context, messages=messages)
        context = await self.hooks.transform_whole(context)
        if context.messages is not ask.context.messages:
            message_ids, stretch = tuple(message.id for message in context.messages), None
        self._deliveries.prepared(request_id, message_ids, stretch)
        try:
            await self._publish(
                ProviderRequestPrepared(
                    request_id=request_id,
                    session_id=ask.session_id,
                    message_ids=self._deliveries.undelivered(message_ids, stretch),
                )
            )
        except BaseException:  # stopped while a listener was waited for: it is not sent
            self._deliveries.failed(request_id)
            raise
        self._request_of_message[reply_id] = request_id
        if failure is not None:
            return failed_stream(ask.model, failure, message_id=reply_id)
        return self.registry.stream(
            ask.model,
            context,
            msgspec.structs.replace(
                ask.options, hooks=self._request_hooks(request_id, ask.model), kept=self._kept
            ),
            message_id=reply_id,
        )

    async def note(self, event: Event) -> None:
        """Settles the request that `event` belongs to, if its headers were not seen (in-process models)."""
        match event:
            case MessageStart(message=AssistantMessage() as message):
                self._current = self._request_of_message.get(message.id)
            case MessageUpdate():
                if self._current is not None:
                    await self._delivered(self._current, 200, {})
                    self._current = None
            case MessageEnd(message=AssistantMessage() as message):
                request_id = self._request_of_message.pop(message.id, None)
                if request_id is None or not self._deliveries.is_open(request_id):
                    return
                if message.stop_reason in ("error", "aborted"):
                    self._deliveries.failed(request_id)
                    await self._publish(
                        ProviderRequestFailed(
                            request_id=request_id, error_message=message.error_message or message.stop_reason
                        )
                    )
                else:
                    await self._delivered(request_id, 200, {})

    def _request_hooks(self, request_id: str, model: Model) -> RequestHooks:
        ask = self.hooks.payload_listener(model)

        async def on_payload(payload: dict[str, Any]) -> dict[str, Any] | None:
            return await ask(payload, model) if ask is not None else None

        async def on_response(status: int, headers: Mapping[str, str]) -> None:
            if status < 400:
                await self._delivered(request_id, status, headers)
            if self.hooks.on_response is not None:
                await self.hooks.on_response(status, headers)

        return RequestHooks(
            on_payload=on_payload if ask is not None else None,
            on_headers=self.hooks.on_headers,
            on_response=on_response,
            on_event=self.hooks.event_listener(model),
            on_state=self._on_state,
        )

    def _on_state(self, state: str, seconds: float) -> None:
        self._publish_now(ProviderWaiting(state=state, seconds=seconds))

    async def _delivered(self, request_id: str, status: int, headers: Mapping[str, str]) -> None:
        if not self._deliveries.is_open(request_id):
            return
        self._deliveries.delivered(request_id)
        await self._publish(
            ProviderRequestDelivered(request_id=request_id, status=status, headers=dict(headers))
        )


def failed_stream(
    model: Model, text: str, *, reason: Literal["error", "aborted"] = "error", message_id: str | None = None
) -> AssistantStream:
    """A response that is over before it began."""

    async def produce(stream: AssistantStream) -> None:
        stream.draft.stop_reason = reason
        stream.draft.error_message = text

    return AssistantStream(model, message_id=message_id or new_id(), timestamp=now_ms()).run(produce)
