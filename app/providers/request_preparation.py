"""Transforms a conversation into one that the target model accepts, whichever model wrote its answers. Pure.

The adapters then only encode the blocks as JSON."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, assert_never

import msgspec

from app.providers.image_limits import drop_old_images, message_has_image
from app.providers.model_stream import RequestContext
from app.providers.provider_messages import ProviderMessage, to_provider_messages
from app.providers.request_cache import (
    EncodedConversationPrefix,
    EncodedPrefixCache,
    EncodeMessages,
    RequestMessageCounts,
    RequestMessageList,
)
from app.values.content import AssistantContent, Image, Text, Thinking, ToolCall, UnknownContent, UserContent
from app.values.messages import AssistantMessage, Message, ToolDeclaration, ToolResultMessage, UserMessage
from app.values.models import Model
from tools.lazy_patterns import lazy_regex

CallIdConverter = Callable[[str], str]
"""A function that converts a tool-call id to the form that the target's format accepts."""

MISSING_TOOL_RESULT_TEXT = "No result provided"
NO_TOOL_OUTPUT_TEXT = "(no output)"
IMAGE_NOT_SUPPORTED_TEXT = (
    "(An image was here; this model reads text only. Ask the user about it, or inspect it with bash.)"
)


class PreparedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation that is ready for an adapter. Its assistant messages hold only content that this model
    may receive."""

    system_prompt: str
    messages: tuple[ProviderMessage, ...]
    """The messages to encode; with a cached prefix, only those behind it."""
    tools: tuple[ToolDeclaration, ...]
    stats: RequestMessageCounts
    """Counts over all messages, including those of the cached prefix."""
    cached_prefix: EncodedConversationPrefix | None = None
    """The beginning of the conversation that is already encoded; None without a cache."""
    messages_to_cache: tuple[ProviderMessage, ...] = ()
    """Messages that no longer change since the last request, and are now added to the cached prefix."""
    request_cache: EncodedPrefixCache | None = None

    @property
    def has_images(self) -> bool:
        return self.stats.images > 0

    @property
    def has_tool_results(self) -> bool:
        return self.stats.has_tool_results

    @property
    def ends_with_user_message(self) -> bool:
        return bool(self.messages) and isinstance(self.messages[-1], UserMessage)


def prepare_request(
    context: RequestContext,
    model: Model,
    rule: CallIdConverter = str,
    *,
    kept: EncodedPrefixCache | None = None,
) -> PreparedRequest:
    """Converts the conversation to one that `model` accepts (see docs/providers.md). With the cache `kept`, only
    messages newer than the last request are processed."""
    settled = (
        kept.take_matching_prefix(context.messages, model)
        if kept is not None
        else EncodedConversationPrefix(model)
    )
    usable, places = _to_usable_messages(context.messages, len(settled.source_messages))
    if kept is None or (model.input_limits and (settled.stats.images or any(map(message_has_image, usable)))):
        # Images beyond the limits are taken from the beginning: then nothing of it is settled.
        usable, _ = _to_usable_messages(context.messages, 0)
        messages = _adapt_to_model(drop_old_images(usable, model), model, _CallIdMap(rule))
        return _make_prepared_request(context, messages=tuple(messages), stats=RequestMessageCounts(messages))
    names = settled.call_ids or _CallIdMap(rule)
    end = _last_answer_index(usable)
    newly_cached = _adapt_to_model(usable[:end], model, names)
    settled.call_ids = names
    settled.source_messages += context.messages[
        len(settled.source_messages) : places[end] if end else len(settled.source_messages)
    ]
    settled.stats.count_messages(newly_cached)
    messages = _adapt_to_model(usable[end:], model, names.copy_for_append())
    measure = RequestMessageCounts(messages)
    measure.add_message_counts(settled.stats)
    return _make_prepared_request(
        context,
        messages=tuple(messages),
        stats=measure,
        cached_prefix=settled,
        messages_to_cache=tuple(newly_cached),
        request_cache=kept,
    )


def encode_request_messages(
    prepared: PreparedRequest, head: list[dict[str, Any]], spell: EncodeMessages
) -> "list[dict[str, Any]] | RequestMessageList":
    """Returns the messages as an adapter's JSON, behind `head`; the unchanged beginning comes from the cache."""
    settled, kept = prepared.cached_prefix, prepared.request_cache
    if settled is None or kept is None:
        return [*head, *spell(prepared.messages, 0)]
    settled.append_encoded_messages(spell(prepared.messages_to_cache, settled.message_count))
    settled.message_count += len(prepared.messages_to_cache)
    kept.put_back_prefix(settled)
    return RequestMessageList(head, settled.encoded_parts(), spell(prepared.messages, settled.message_count))


def _make_prepared_request(context: RequestContext, **fields: Any) -> PreparedRequest:
    return PreparedRequest(
        system_prompt=replace_lone_surrogates(context.system_prompt),
        tools=tuple(_sort_tool_schema(tool) for tool in sorted(context.tools, key=lambda tool: tool.name)),
        **fields,
    )


def _to_usable_messages(messages: Sequence[Message], start: int) -> tuple[list[ProviderMessage], list[int]]:
    """Converts the messages from `start` on to provider messages without broken answers; also returns the
    index that each came from."""
    usable: list[ProviderMessage] = []
    places: list[int] = []
    for place in range(start, len(messages)):
        for message in to_provider_messages((messages[place],)):
            if not _is_incomplete_answer(message):
                usable.append(message)
                places.append(place)
    return usable, places


def _last_answer_index(messages: Sequence[ProviderMessage]) -> int:
    """Returns the index of the last answer that does not directly follow another answer, because some formats
    join neighbours of one side. The messages before it no longer change."""
    found = 0
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, ToolResultMessage) or not _has_content(message):
            continue
        if isinstance(message, AssistantMessage) and not (found and message.tool_calls):
            found = index
        elif found:  # tool results or a user message are in between
            return found
    return 0


def _has_content(message: ProviderMessage) -> bool:
    """Says whether a message has content that is not blank; other messages are not sent."""
    if isinstance(message.content, str):
        return bool(message.content.strip())
    return any(
        isinstance(block, ToolCall | Image) or (isinstance(block, Text) and block.text.strip())
        for block in message.content
    )


def _adapt_to_model(
    usable: Sequence[ProviderMessage], model: Model, names: "_CallIdMap"
) -> list[ProviderMessage]:
    messages: list[ProviderMessage] = []
    for message in _place_results_after_calls(usable):
        match message:
            case UserMessage():
                content = _user_content(message.content, model)
                if content:
                    messages.append(UserMessage(id=message.id, timestamp=message.timestamp, content=content))
            case AssistantMessage():
                replayed = _prepare_answer_for_replay(message, model, names)
                if replayed.content:
                    messages.append(replayed)
            case ToolResultMessage():
                content = _user_content(message.content, model) or (Text(text=NO_TOOL_OUTPUT_TEXT),)
                messages.append(
                    msgspec.structs.replace(
                        message, tool_call_id=names[message.tool_call_id], content=content
                    )
                )
            case _:
                assert_never(message)
    return messages


def shorten_tool_call_id(call_id: str, limit: int = 64) -> str:
    """Shortens an id to at most `limit` characters of `A-Za-z0-9_-`; the same id always gives the same
    result."""
    call_id = call_id.split("|", 1)[0]
    if len(call_id) <= limit and _VALID_CALL_ID_PATTERN.fullmatch(call_id):
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{_INVALID_CALL_ID_CHARACTERS_PATTERN.sub('_', call_id)[: limit - 13]}_{digest}"


def alphanumeric_tool_call_id(call_id: str, length: int) -> str:
    """Converts an id to exactly `length` letters and digits."""
    if len(call_id) == length and call_id.isascii() and call_id.isalnum():
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:length]


def replace_lone_surrogates(text: str) -> str:
    """Replaces unpaired surrogates by replacement characters, and pairs by the character they encode."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


_VALID_CALL_ID_PATTERN = lazy_regex(r"[A-Za-z0-9_-]+")
_INVALID_CALL_ID_CHARACTERS_PATTERN = lazy_regex(r"[^A-Za-z0-9_-]")


class _CallIdMap:
    """Converts the tool-call ids of a conversation to the target's form and keeps them distinct."""

    def __init__(self, rule: CallIdConverter, before: "_CallIdMap | None" = None) -> None:
        self._convert_call_id = rule
        self._id_by_original: dict[str, str] = {}
        self._used_ids: set[str] = set()
        self._attempts_by_id: dict[str, int] = {}
        """The number of changes that made an id distinct; the next search starts from there."""
        self._earlier_map = before

    def copy_for_append(self) -> "_CallIdMap":
        """Returns a map for later messages that extends this one without changing it."""
        return _CallIdMap(self._convert_call_id, self)

    def assign_new_id(self, call_id: str) -> str:
        """Returns the converted id for a new call. The original id may occur again in a later call, because servers
        without ids count from zero."""
        given = self._convert_call_id(call_id)
        attempt = self._attempts_by_id.get(call_id) or (
            self._earlier_map._attempts_by_id.get(call_id, 0) if self._earlier_map else 0
        )
        while (
            not given
            or given in self._used_ids
            or (self._earlier_map and given in self._earlier_map._used_ids)
        ):
            attempt += 1
            given = self._convert_call_id(f"{shorten_tool_call_id(call_id, 40)}_{attempt}")
        if attempt:
            self._attempts_by_id[call_id] = attempt
        self._id_by_original[call_id] = given
        self._used_ids.add(given)
        return given

    def __getitem__(self, call_id: str) -> str:
        """Returns the id for the result of the latest call with that id."""
        before = self._earlier_map._id_by_original.get(call_id) if self._earlier_map else None
        return self._id_by_original.get(call_id) or before or self.assign_new_id(call_id)


def _is_incomplete_answer(message: ProviderMessage) -> bool:
    return isinstance(message, AssistantMessage) and message.stop_reason in ("error", "aborted", "pending")


def _place_results_after_calls(messages: Sequence[ProviderMessage]) -> list[ProviderMessage]:
    """Moves each call's result right behind its message, in call order, and drops results without a call."""
    out: list[ProviderMessage] = []
    for index, message in enumerate(messages):
        if isinstance(message, ToolResultMessage):
            continue
        out.append(message)
        if isinstance(message, AssistantMessage) and message.tool_calls:
            results = _results_following(messages, index)
            out.extend(
                results.get(call.id) or _missing_result_message(call, message) for call in message.tool_calls
            )
    return out


def _results_following(messages: Sequence[ProviderMessage], index: int) -> dict[str, ToolResultMessage]:
    found: dict[str, ToolResultMessage] = {}
    for message in messages[index + 1 :]:
        if isinstance(message, AssistantMessage):
            break
        if isinstance(message, ToolResultMessage):
            found.setdefault(message.tool_call_id, message)
    return found


def _missing_result_message(call: ToolCall, message: AssistantMessage) -> ToolResultMessage:
    return ToolResultMessage(
        timestamp=message.timestamp,
        tool_call_id=call.id,
        tool_name=call.name,
        content=(Text(text=MISSING_TOOL_RESULT_TEXT),),
        is_error=True,
    )


def _user_content(content: str | tuple[UserContent, ...], model: Model) -> tuple[UserContent, ...]:
    blocks: list[UserContent] = []
    for block in (Text(text=content),) if isinstance(content, str) else content:
        match block:
            case Text():
                if block.text.strip():
                    blocks.append(Text(text=replace_lone_surrogates(block.text)))
            case Image() if model.reads_images:
                blocks.append(block)
            case Image():
                if not (blocks and blocks[-1] == Text(text=IMAGE_NOT_SUPPORTED_TEXT)):
                    blocks.append(Text(text=IMAGE_NOT_SUPPORTED_TEXT))
            case UnknownContent():
                pass
            case _:
                assert_never(block)
    return tuple(blocks)


def _prepare_answer_for_replay(
    message: AssistantMessage, model: Model, names: _CallIdMap
) -> AssistantMessage:
    """Prepares an answer for replay; thinking and signatures go only to the provider and model that made
    them."""
    is_own = (message.provider, message.model, message.api) == (model.provider, model.id, model.api)
    blocks: list[AssistantContent] = []
    for block in message.content:
        match block:
            case Text():
                if block.text.strip():
                    signature = block.text_signature if is_own else None
                    blocks.append(Text(text=replace_lone_surrogates(block.text), text_signature=signature))
            case Thinking() if is_own:
                if block.thinking.strip() or block.thinking_signature:
                    blocks.append(
                        msgspec.structs.replace(block, thinking=replace_lone_surrogates(block.thinking))
                    )
            case ToolCall():
                blocks.append(
                    ToolCall(
                        id=names.assign_new_id(block.id),
                        name=block.name,
                        arguments=_replace_surrogates_in_data(block.arguments),
                        thought_signature=block.thought_signature if is_own else None,
                        namespace=block.namespace if is_own else None,
                    )
                )
            case Thinking() | UnknownContent():
                pass
            case _:
                assert_never(block)
    if all(isinstance(block, Thinking) for block in blocks):
        blocks = []  # thinking that led to nothing: no provider accepts it alone
    return msgspec.structs.replace(message, content=tuple(blocks))


def _replace_surrogates_in_data(data: Any) -> Any:
    match data:
        case str():
            return replace_lone_surrogates(data)
        case dict():
            return {
                replace_lone_surrogates(key) if isinstance(key, str) else key: _replace_surrogates_in_data(
                    item
                )
                for key, item in data.items()
            }
        case list():
            return [_replace_surrogates_in_data(item) for item in data]
        case _:
            return data


def _sort_tool_schema(tool: ToolDeclaration) -> ToolDeclaration:
    return msgspec.structs.replace(
        tool,
        description=replace_lone_surrogates(tool.description),
        parameters=_sort_schema_keywords(tool.parameters),
    )


def _sort_schema_keywords(schema: Any, *, is_properties: bool = False) -> Any:
    """Sorts a schema's keywords alphabetically. Properties keep their order, because models write them in
    that order."""
    if isinstance(schema, dict):
        items = schema.items() if is_properties else sorted(schema.items())
        return {
            key: _sort_schema_keywords(item, is_properties=key == "properties" and not is_properties)
            for key, item in items
        }
    if isinstance(schema, list):
        return [_sort_schema_keywords(item) for item in schema]
    return schema
