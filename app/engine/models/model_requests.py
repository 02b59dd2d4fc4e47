"""Sends requests to the model: prompt and tools to declare, context, credential, hooks, and tracking of
delivery."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

import msgspec

from app.agent.abort import Abort, Aborted
from app.agent.tool_results import describe_error
from app.engine.core.conversation import Conversation, prompt_text
from app.engine.core.delivery import MessageDeliveries
from app.engine.core.event_bus import EventBus
from app.engine.core.hook_results import RequestIds
from app.engine.core.hooks import Hooks
from app.engine.core.model_choice import ModelChoice
from app.engine.core.request_budget import LimitReached, RequestBudget
from app.engine.core.session_options import SessionOptions
from app.engine.core.toolbox import Toolbox, tool_declarations
from app.engine.models.prompt_cache import PromptCache
from app.engine.secrets.session_mask import SessionMask
from app.providers.credentials import CredentialError
from app.providers.model_stream import AssistantStream, Context, Credential, RequestHooks
from app.providers.registry import Registry
from app.providers.request_cache import RequestCache
from app.values.codec import encode_json
from app.values.content import Image, Text
from app.values.events import (
    MessageEnd,
    MessageStart,
    MessageUpdate,
    Notice,
    ProviderRequestDelivered,
    ProviderRequestFailed,
    ProviderRequestPrepared,
    ProviderWaiting,
    RunEvent,
)
from app.values.messages import (
    AssistantMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from app.values.models import Model
from app.values.prefix_view import PrefixView
from app.values.wire import new_id, now_ms, to_wire
from tools.base import Tool

Sections = Callable[[Mapping[str, Tool]], Mapping[str, str]]
"""Builds the sections of the system prompt from files and settings, for these tools."""


class RequestHead(msgspec.Struct, frozen=True, kw_only=True):
    """Prompt and tools as raw JSON."""

    prompt: msgspec.Raw
    tools: msgspec.Raw


class RequestHeads:
    """Caches the last head until the sections or the tools change."""

    def __init__(self) -> None:
        self._sections: Mapping[str, str] = {}
        self._tools: tuple[Tool, ...] = ()
        self._last = _encode_head({}, ())

    def of(self, sections: Mapping[str, str], tools: Sequence[Tool]) -> RequestHead:
        asked = tuple(tools)
        if asked != self._tools or sections != self._sections:
            self._last = _encode_head(sections, asked)
            self._sections, self._tools = dict(sections), asked
        return self._last


def _encode_head(sections: Mapping[str, str], tools: Sequence[Tool]) -> RequestHead:
    told = tool_declarations({tool.name: tool for tool in tools})
    return RequestHead(
        prompt=msgspec.Raw(encode_json(prompt_text(sections))), tools=msgspec.Raw(encode_json(to_wire(told)))
    )


class ModelRequests:
    """Sends the requests of one session and publishes their events."""

    def __init__(
        self,
        registry: Registry,
        *,
        conversation: Conversation,
        choice: ModelChoice,
        toolbox: Toolbox,
        sections: Sections,
        options: SessionOptions,
        hooks: Hooks,
        masking: SessionMask,
        deliveries: MessageDeliveries,
        event_bus: EventBus,
        cache: PromptCache,
        budget: RequestBudget,
    ) -> None:
        self.stream: AssistantStream | None = None
        """The answer that is arriving, or arrived last."""
        self._registry = registry
        self._conversation = conversation
        self._choice = choice
        self._toolbox = toolbox
        self._sections = sections
        self._more: dict[str, str] = {}
        self._options = options
        self._hooks = hooks
        self._masking = masking
        self._deliveries = deliveries
        self._event_bus = event_bus
        self._cache = cache
        self.budget = budget
        self._request_of_message: dict[str, str] = {}
        self._request_cache = RequestCache(conversation.stretch)
        self._image_blocker = ImageBlocker()
        self._heads = RequestHeads()
        self._current: str | None = None
        """The request whose answer is arriving and has not been seen as delivered."""

    # Prompt and tools

    def sections(self) -> dict[str, str]:
        """Returns the current sections of the system prompt."""
        return self._masked_sections(self._toolbox.active())

    def head(self) -> RequestHead:
        """Returns the system prompt and the tools of the next request."""
        tools = self._toolbox.active()
        return self._heads.of(self._masked_sections(tools), tuple(tools.values()))

    def system_update(self) -> SystemMessage | None:
        """Returns what has changed in prompt and tools since the model was last sent them."""
        declared = self._conversation.declared
        was_declared = bool(declared.sections or declared.tools)
        tools = self._toolbox.active()
        update = declared.update_to(self._masked_sections(tools), self._toolbox.declared())
        if update is not None and was_declared:
            self._cache.warn_if_dropped("prompt")
        return update

    def add_section(self, name: str, text: str | None) -> None:
        """Sets a section of the prompt; None removes it."""
        if text is None:
            self._more.pop(name, None)
        else:
            self._more[name] = text

    def _masked_sections(self, tools: Mapping[str, Tool]) -> dict[str, str]:
        usual = {**self._sections(tools), **self._more}
        return self._masking.sections({**self._hooks.sections(usual), **self._conversation.standing})

    # One request

    def partial(self) -> AssistantMessage | None:
        """Returns the unfinished answer, as far as it has arrived."""
        return self.stream.partial if self.stream is not None else None

    def _current_model(self) -> Model:
        """Returns the chosen model as models.json defines it now."""
        for problem in self._choice.reread():
            self._event_bus.publish_now(Notice(level="warning", text=problem))
        return self._choice.required()

    async def ask(self, abort: Abort) -> AssistantStream:
        """Sends the conversation to the chosen model. A failure is an answer, too."""
        model = self._current_model()
        try:
            if self.budget.rate_limit is not None:
                with abort.interrupting():
                    await self.budget.rate_limit.wait(model.provider)
            self.budget.admit(is_turn=True)
            with abort.interrupting():
                self.stream = self.budget.watch(await self._send(model))
        except LimitReached as problem:
            self.stream = failed_stream(model, str(problem))
        except Aborted:
            self.stream = failed_stream(model, "Request was aborted", reason="aborted")
        except Exception as problem:  # noqa: BLE001  (hooks and credentials are foreign code)
            self.stream = failed_stream(model, f"The request could not be made: {describe_error(problem)}")
        return self.stream

    async def _send(self, model: Model) -> AssistantStream:
        credential, failure = await self._credential(model.provider)
        context, message_ids, stretch = await self._context()
        request_id, reply_id = f"req_{uuid.uuid4().hex[:12]}", new_id()
        session_id = self._conversation.log.session_id
        self._deliveries.prepared(request_id, message_ids, stretch)
        try:
            await self._event_bus.publish(
                ProviderRequestPrepared(
                    request_id=request_id,
                    session_id=session_id,
                    message_ids=self._deliveries.undelivered(message_ids, stretch),
                )
            )
        except BaseException:  # cancelled while a listener was waited for: the request is not sent
            self._deliveries.failed(request_id)
            raise
        self._request_of_message[reply_id] = request_id
        if failure is not None:
            return failed_stream(model, failure, message_id=reply_id)
        if stretch is not self._request_cache.stretch:
            self._request_cache = self._request_cache.within(stretch)
        options = msgspec.structs.replace(
            self._options.stream,
            credential=credential,
            thinking=self._choice.thinking,
            session_id=session_id,
            hooks=self._request_hooks(
                RequestIds(request_id=request_id, message_ids=message_ids), model, credential
            ),
            kept=self._request_cache,
        )
        return self._registry.stream(model, context, options, message_id=reply_id)

    async def _context(self) -> tuple[Context, Sequence[str], object]:
        """Returns the context, the ids of its messages, and a key for its beginning: None where a hook changed
        the messages."""
        conversation = self._conversation
        said = PrefixView(conversation.said)
        message_ids, stretch = PrefixView(conversation.said_ids), conversation.stretch
        context = await self._apply_hooks(said)
        if context.messages is not said:
            message_ids, stretch = tuple(message.id for message in context.messages), None
        return self._sendable(context), message_ids, stretch

    async def _apply_hooks(self, messages: Sequence[Message]) -> Context:
        """Returns the context as changed by extensions."""
        declared = self._conversation.declared
        prompt, tools = declared.as_read()
        return await self._hooks.change_request(
            Context(
                system_prompt=prompt if declared.sections else prompt_text(self.sections()),
                messages=await self._hooks.change_messages(messages),
                tools=tools,
            )
        )

    def _sendable(self, context: Context) -> Context:
        """Returns the context without images where images are blocked."""
        if self._options.sends_images:
            return context
        without = tuple(map(self._image_blocker.strip, context.messages))
        return msgspec.structs.replace(context, messages=without)

    async def beside(self, messages: Sequence[Message]) -> AssistantStream:
        """Requests an answer to other messages with the same prompt and tools; nothing is recorded or published."""
        model = self._current_model()
        credential, failure = await self._credential(model.provider)
        try:
            self.budget.admit()
        except LimitReached as problem:
            failure = str(problem)
        if failure is not None:
            return failed_stream(model, failure)
        context = self._sendable(await self._apply_hooks(messages))
        options = msgspec.structs.replace(
            self._options.stream,
            credential=credential,
            thinking=self._choice.thinking,
            session_id=self._conversation.log.session_id,
        )
        return self.budget.watch(self._registry.stream(model, context, options))

    async def _credential(self, provider: str) -> tuple[Credential, str | None]:
        """Returns the credential, or why there is none (a failing command, for example), which becomes the
        request's error."""
        try:
            return await self._choice.credentials.resolve(provider) or Credential(), None
        except CredentialError as problem:
            return Credential(), str(problem)

    def _request_hooks(self, ids: RequestIds, model: Model, credential: Credential) -> RequestHooks:
        listener = self._hooks.listener_of_payload(model, ids)

        async def on_payload(payload: dict[str, Any]) -> dict[str, Any] | None:
            return await listener(payload, model) if listener is not None else None

        async def on_response(status: int, headers: Mapping[str, str]) -> None:
            if self.budget.rate_limit is not None:
                self.budget.rate_limit.note(model.provider, status, headers)
            if status < 400:
                await self._delivered(ids.request_id, status, headers)
            if status == 401:
                with suppress(CredentialError):  # the refusal is what gets reported
                    await self._choice.credentials.refused(model.provider, credential)
            await self._hooks.on_response(status, headers, ids)

        return RequestHooks(
            on_payload=on_payload if listener is not None else None,
            on_headers=self._hooks.on_headers,
            on_response=on_response,
            on_event=self._hooks.listener_of_stream(model),
            on_state=self._on_state,
        )

    def _on_state(self, state: str, seconds: float) -> None:
        self._event_bus.publish_now(ProviderWaiting(state=state, seconds=seconds))

    # Its delivery

    async def note(self, event: RunEvent) -> None:
        """Marks the request of `event` as delivered if its headers were not seen (in-process models)."""
        if isinstance(event, MessageUpdate):
            if self._current is not None:
                await self._delivered(self._current, 200, {})
                self._current = None
        elif isinstance(event, MessageStart) and isinstance(event.message, AssistantMessage):
            self._current = self._request_of_message.get(event.message.id)
        elif isinstance(event, MessageEnd) and isinstance(event.message, AssistantMessage):
            await self._ended(event.message)

    async def _ended(self, message: AssistantMessage) -> None:
        request_id = self._request_of_message.pop(message.id, None)
        if request_id is None or not self._deliveries.is_open(request_id):
            return
        if message.stop_reason in ("error", "aborted"):
            self._deliveries.failed(request_id)
            await self._event_bus.publish(
                ProviderRequestFailed(
                    request_id=request_id, error_message=message.error_message or message.stop_reason
                )
            )
        else:
            await self._delivered(request_id, 200, {})

    async def _delivered(self, request_id: str, status: int, headers: Mapping[str, str]) -> None:
        if not self._deliveries.is_open(request_id):
            return
        self._deliveries.delivered(request_id)
        await self._event_bus.publish(
            ProviderRequestDelivered(request_id=request_id, status=status, headers=dict(headers))
        )

    async def close(self) -> None:
        """Closes connections kept open for the next request."""
        await self._registry.close()


def failed_stream(
    model: Model, text: str, *, reason: Literal["error", "aborted"] = "error", message_id: str | None = None
) -> AssistantStream:
    """Returns a response that failed before it began."""

    async def produce(stream: AssistantStream) -> None:
        stream.draft.stop_reason = reason
        stream.draft.error_message = text

    return AssistantStream(model, message_id=message_id or new_id(), timestamp=now_ms()).run(produce)


_IMAGE_BLOCKED = "[An image stood here. It is not sent: the user's setting images.blockImages is on.]"


class ImageBlocker:
    """Replaces images by a short text while `images.blockImages` is on.

    The same message always becomes the same one, so that requests begin alike."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[Message, Message]] = {}

    def strip(self, message: Message) -> Message:
        if not isinstance(message, UserMessage | ToolResultMessage | CustomMessage) or not _has_image(
            message
        ):
            return message
        known = self._made.get(message.id)
        if known is None or known[0] is not message:
            content = tuple(
                Text(text=_IMAGE_BLOCKED) if isinstance(block, Image) else block for block in message.content
            )
            known = self._made[message.id] = message, msgspec.structs.replace(message, content=content)
        return known[1]


def _has_image(message: UserMessage | ToolResultMessage | CustomMessage) -> bool:
    return not isinstance(message.content, str) and any(isinstance(block, Image) for block in message.content)
