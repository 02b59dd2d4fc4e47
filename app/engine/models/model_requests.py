"""Sends requests to the model: prompt and tools to declare, context, credential, hooks, and tracking of
delivery."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

import msgspec

from app.agent.abort_signal import Aborted, AbortSignal
from app.agent.tool_results import describe_error_in_one_line
from app.engine.core.conversation import Conversation, join_prompt_sections
from app.engine.core.delivery import MessageDeliveries
from app.engine.core.event_bus import EventBus
from app.engine.core.hook_results import RequestIds
from app.engine.core.hooks import Hooks
from app.engine.core.model_choice import ModelChoice
from app.engine.core.request_budget import SessionUsageBudget, UsageLimitReached
from app.engine.core.session_options import SessionOptions
from app.engine.core.toolbox import Toolbox, sorted_tool_declarations
from app.engine.models.prompt_cache import PromptCacheLossWarner
from app.engine.secrets.session_mask import SessionSecretMask
from app.providers.adapter_registry import AdapterRegistry
from app.providers.credentials import CredentialError
from app.providers.image_limits import RequestImageFilter
from app.providers.model_stream import AssistantStream, Credential, HttpRequestHooks, RequestContext
from app.providers.request_cache import EncodedPrefixCache
from app.values.codec import encode_json
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
    Message,
    SystemMessage,
    user_message,
)
from app.values.models import Model, ThinkingLevel
from app.values.prefix_view import PrefixView
from app.values.wire import new_id, now_ms, to_wire
from tools.tool_definition import Tool

BuildPromptSections = Callable[[Mapping[str, Tool]], Mapping[str, str]]
"""A function that builds the sections of the system prompt from files and settings, for these tools."""


class EncodedPromptAndTools(msgspec.Struct, frozen=True, kw_only=True):
    """The system prompt and the tools of a request as raw JSON."""

    encoded_prompt: msgspec.Raw
    encoded_tools: msgspec.Raw


class EncodedPromptAndToolsCache:
    """Caches the encoded prompt and tools of the last request until the sections or the tools change."""

    def __init__(self) -> None:
        self._sections: Mapping[str, str] = {}
        self._tools: tuple[Tool, ...] = ()
        self._last_head = _encode_head({}, ())

    def encoded_prompt_and_tools_for(
        self, sections: Mapping[str, str], tools: Sequence[Tool]
    ) -> EncodedPromptAndTools:
        asked = tuple(tools)
        if asked != self._tools or sections != self._sections:
            self._last_head = _encode_head(sections, asked)
            self._sections, self._tools = dict(sections), asked
        return self._last_head


def _encode_head(sections: Mapping[str, str], tools: Sequence[Tool]) -> EncodedPromptAndTools:
    told = sorted_tool_declarations({tool.name: tool for tool in tools})
    return EncodedPromptAndTools(
        encoded_prompt=msgspec.Raw(encode_json(join_prompt_sections(sections))),
        encoded_tools=msgspec.Raw(encode_json(to_wire(told))),
    )


class ModelRequests:
    """Sends the model requests of one session and publishes their events."""

    def __init__(
        self,
        registry: AdapterRegistry,
        *,
        conversation: Conversation,
        choice: ModelChoice,
        toolbox: Toolbox,
        sections: BuildPromptSections,
        options: SessionOptions,
        hooks: Hooks,
        masking: SessionSecretMask,
        deliveries: MessageDeliveries,
        event_bus: EventBus,
        cache: PromptCacheLossWarner,
        budget: SessionUsageBudget,
    ) -> None:
        self.stream: AssistantStream | None = None
        """The stream of the answer that is arriving, or of the last one."""
        self._registry = registry
        self._conversation = conversation
        self._choice = choice
        self._toolbox = toolbox
        self._sections = sections
        self._added_sections: dict[str, str] = {}
        self._options = options
        self._hooks = hooks
        self._masking = masking
        self._deliveries = deliveries
        self._event_bus = event_bus
        self._cache = cache
        self.budget = budget
        self._request_of_message: dict[str, str] = {}
        self._request_cache = EncodedPrefixCache(conversation.reading_token)
        self._images = RequestImageFilter()
        self._head_cache = EncodedPromptAndToolsCache()
        self._current_request: str | None = None
        """The request whose answer is arriving, until it is known to be delivered; None otherwise."""

    # Prompt and tools

    def prompt_sections(self) -> dict[str, str]:
        """Returns the current sections of the system prompt."""
        return self._masked_sections(self._toolbox.active_tools())

    def prompt_and_tools_of_next_request(self) -> EncodedPromptAndTools:
        """Returns the system prompt and the tools of the next request."""
        tools = self._toolbox.active_tools()
        return self._head_cache.encoded_prompt_and_tools_for(
            self._masked_sections(tools), tuple(tools.values())
        )

    def prompt_update(self) -> SystemMessage | None:
        """Returns what has changed in the system prompt and tools since the model was last sent them."""
        declared = self._conversation.declared_prompt
        was_declared = bool(declared.sections or declared.tools)
        tools = self._toolbox.active_tools()
        update = declared.system_message_for_update(
            self._masked_sections(tools), self._toolbox.active_declarations()
        )
        if update is not None and was_declared:
            self._cache.warn_if_cache_lost("prompt")
        return update

    def set_prompt_section(self, name: str, text: str | None) -> None:
        """Sets a section of the system prompt; None removes it."""
        if text is None:
            self._added_sections.pop(name, None)
        else:
            self._added_sections[name] = text

    def _masked_sections(self, tools: Mapping[str, Tool]) -> dict[str, str]:
        usual = {**self._sections(tools), **self._added_sections}
        return self._masking.mask_sections(
            {**self._hooks.prompt_sections(usual), **self._conversation.active_skill_sections}
        )

    # One request

    def partial_answer(self) -> AssistantMessage | None:
        """Returns the model's unfinished answer, as far as it has arrived."""
        return self.stream.partial_message if self.stream is not None else None

    def _current_model(self) -> Model:
        """Returns the chosen model as models.json defines it now."""
        for problem in self._choice.reread_models_file():
            self._event_bus.publish_now(Notice(level="warning", text=problem))
        return self._choice.require_model()

    async def request_answer(self, abort: AbortSignal) -> AssistantStream:
        """Sends the conversation to the chosen model and returns the answer's stream. A failed request gives a
        stream that ends with an error."""
        model = self._current_model()
        try:
            if self.budget.rate_limit is not None:
                with abort.cancel_when_set():
                    await self.budget.rate_limit.wait_for_pause_end(model.provider)
            self.budget.check_limits(is_turn=True)
            with abort.cancel_when_set():
                self.stream = self.budget.count_usage_of_stream(await self._send_conversation(model))
        except UsageLimitReached as problem:
            self.stream = make_failed_stream(model, str(problem))
        except Aborted:
            self.stream = make_failed_stream(model, "Request was aborted", reason="aborted")
        except Exception as problem:  # noqa: BLE001  (hooks and credentials are foreign code)
            self.stream = make_failed_stream(
                model, f"The request could not be made: {describe_error_in_one_line(problem)}"
            )
        return self.stream

    async def _send_conversation(self, model: Model) -> AssistantStream:
        credential, failure = await self._find_credential(model.provider)
        context, message_ids, stretch = await self._build_context()
        request_id, reply_id = f"req_{uuid.uuid4().hex[:12]}", new_id()
        session_id = self._conversation.log.session_id
        self._deliveries.note_request_sent(request_id, message_ids, stretch)
        try:
            await self._event_bus.publish(
                ProviderRequestPrepared(
                    request_id=request_id,
                    session_id=session_id,
                    message_ids=self._deliveries.undelivered_ids(message_ids, stretch),
                )
            )
        except BaseException:  # cancelled while a listener was waited for: the request is not sent
            self._deliveries.note_request_failed(request_id)
            raise
        self._request_of_message[reply_id] = request_id
        if failure is not None:
            return make_failed_stream(model, failure, message_id=reply_id)
        if stretch is not self._request_cache.conversation_token:
            self._request_cache = self._request_cache.for_conversation_token(stretch)
        options = msgspec.structs.replace(
            self._options.stream_options,
            credential=credential,
            thinking=self._choice.thinking,
            session_id=session_id,
            hooks=self._request_hooks(
                RequestIds(request_id=request_id, message_ids=message_ids), model, credential
            ),
            request_cache=self._request_cache,
        )
        return self._registry.stream_answer(model, context, options, message_id=reply_id)

    async def _build_context(self) -> tuple[RequestContext, Sequence[str], object]:
        """Returns the context of the next request, the ids of its messages, and a key for its beginning: None
        where a hook changed the messages."""
        conversation = self._conversation
        said = PrefixView(conversation.messages_without_system)
        message_ids, stretch = PrefixView(conversation.ids_without_system), conversation.reading_token
        context = await self._apply_hooks(said)
        if context.messages is not said:
            message_ids, stretch = tuple(message.id for message in context.messages), None
        elif not self._conversation.has_images:
            return context, message_ids, stretch
        return self._sendable_context(context), message_ids, stretch

    async def _apply_hooks(self, messages: Sequence[Message]) -> RequestContext:
        """Returns the context of a request as changed by extensions."""
        declared = self._conversation.declared_prompt
        prompt, tools = declared.sent_prompt_and_tools()
        return await self._hooks.change_request(
            RequestContext(
                system_prompt=prompt if declared.sections else join_prompt_sections(self.prompt_sections()),
                messages=await self._hooks.change_messages(messages),
                tools=tools,
            )
        )

    def _sendable_context(self, context: RequestContext) -> RequestContext:
        """Returns the context of a request without the images that are not to be sent."""
        messages = self._images.replace_unsendable_images(
            context.messages, are_blocked=not self._options.should_send_images
        )
        return (
            context if messages is context.messages else msgspec.structs.replace(context, messages=messages)
        )

    async def request_unrecorded(self, messages: Sequence[Message]) -> AssistantStream:
        """Requests an answer to other messages with the same system prompt and tools; nothing is recorded or
        published."""
        context = self._sendable_context(await self._apply_hooks(messages))
        return await self._request_unrecorded(
            context, self._choice.thinking, self._conversation.log.session_id
        )

    async def search_web(self, prompt: str, question: str) -> AssistantStream:
        """Requests an answer for which the provider searches the web. The request contains nothing of the
        conversation."""
        context = RequestContext(system_prompt=prompt, messages=(user_message(question),))
        return await self._request_unrecorded(context, "low", None, searches_web=True)

    async def _request_unrecorded(
        self,
        context: RequestContext,
        thinking: ThinkingLevel,
        session_id: str | None,
        *,
        searches_web: bool = False,
    ) -> AssistantStream:
        model = self._current_model()
        credential, failure = await self._find_credential(model.provider)
        try:
            self.budget.check_limits()
        except UsageLimitReached as problem:
            failure = str(problem)
        if failure is not None:
            return make_failed_stream(model, failure)
        options = msgspec.structs.replace(
            self._options.stream_options,
            credential=credential,
            thinking=thinking,
            session_id=session_id,
            searches_web=searches_web,
        )
        return self.budget.count_usage_of_stream(self._registry.stream_answer(model, context, options))

    async def _find_credential(self, provider: str) -> tuple[Credential, str | None]:
        """Returns the provider's credential, or why there is none (a failing command, for example), which
        becomes the request's error."""
        try:
            return await self._choice.credentials.resolve_credential(provider) or Credential(), None
        except CredentialError as problem:
            return Credential(), str(problem)

    def _request_hooks(self, ids: RequestIds, model: Model, credential: Credential) -> HttpRequestHooks:
        listener = self._hooks.payload_editor(model, ids)

        async def on_payload(payload: dict[str, Any]) -> dict[str, Any] | None:
            return await listener(payload, model) if listener is not None else None

        async def on_response(status: int, headers: Mapping[str, str]) -> None:
            if self.budget.rate_limit is not None:
                self.budget.rate_limit.record_response(model.provider, status, headers)
            if status < 400:
                await self._mark_delivered(ids.request_id, status, headers)
            if status == 401:
                with suppress(CredentialError):  # the refusal is what gets reported
                    await self._choice.credentials.mark_token_refused(model.provider, credential)
            await self._hooks.on_response_headers(status, headers, ids)

        return HttpRequestHooks(
            on_request_payload=on_payload if listener is not None else None,
            on_request_headers=self._hooks.change_request_headers,
            on_response_headers=on_response,
            on_raw_event=self._hooks.stream_listener(model),
            on_flow_state_changed=self._on_connection_state,
        )

    def _on_connection_state(self, state: str, seconds: float) -> None:
        self._event_bus.publish_now(ProviderWaiting(state=state, seconds=seconds))

    # Its delivery

    async def handle_event(self, event: RunEvent) -> None:
        """Marks the request of `event` as delivered if no response headers were seen (in-process models)."""
        if isinstance(event, MessageUpdate):
            if self._current_request is not None:
                await self._mark_delivered(self._current_request, 200, {})
                self._current_request = None
        elif isinstance(event, MessageStart) and isinstance(event.message, AssistantMessage):
            self._current_request = self._request_of_message.get(event.message.id)
        elif isinstance(event, MessageEnd) and isinstance(event.message, AssistantMessage):
            await self._close_request(event.message)

    async def _close_request(self, message: AssistantMessage) -> None:
        request_id = self._request_of_message.pop(message.id, None)
        if request_id is None or not self._deliveries.is_request_open(request_id):
            return
        if message.stop_reason in ("error", "aborted"):
            self._deliveries.note_request_failed(request_id)
            await self._event_bus.publish(
                ProviderRequestFailed(
                    request_id=request_id, error_message=message.error_message or message.stop_reason
                )
            )
        else:
            await self._mark_delivered(request_id, 200, {})

    async def _mark_delivered(self, request_id: str, status: int, headers: Mapping[str, str]) -> None:
        if not self._deliveries.is_request_open(request_id):
            return
        self._deliveries.note_request_delivered(request_id)
        await self._event_bus.publish(
            ProviderRequestDelivered(request_id=request_id, status=status, headers=dict(headers))
        )

    async def close(self) -> None:
        """Closes network connections that are open for the next request."""
        await self._registry.close_connections()


def make_failed_stream(
    model: Model, text: str, *, reason: Literal["error", "aborted"] = "error", message_id: str | None = None
) -> AssistantStream:
    """Returns a response that failed before it began."""

    async def produce(stream: AssistantStream) -> None:
        stream.draft.stop_reason = reason
        stream.draft.error_message = text

    return AssistantStream(model, message_id=message_id or new_id(), timestamp=now_ms()).start_producer(
        produce
    )
