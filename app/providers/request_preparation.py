"""Transforms a conversation into one that the target model accepts, whichever model wrote its answers. Pure.

The adapters then only encode the blocks as JSON."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, assert_never

import msgspec

from app.providers.image_limits import drop_old_images, has_image
from app.providers.model_stream import Context
from app.providers.provider_messages import ProviderMessage, to_provider_messages
from app.providers.request_cache import CachedPrefix, EncodeMessages, MessageStats, PayloadParts, RequestCache
from app.values.content import AssistantContent, Image, Text, Thinking, ToolCall, UnknownContent, UserContent
from app.values.messages import AssistantMessage, Message, ToolDeclaration, ToolResultMessage, UserMessage
from app.values.models import Model
from tools.patterns import late

IdRule = Callable[[str], str]
"""Converts a tool-call id to the form that the target's format accepts."""

MISSING_RESULT = "No result provided"
NO_OUTPUT = "(no output)"
NO_IMAGE = "(An image was here; this model reads text only. Ask the user about it, or inspect it with bash.)"


class PreparedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation that is ready for an adapter. Its assistant messages hold only content that this model
    may receive."""

    system: str
    messages: tuple[ProviderMessage, ...]
    """All messages; with `settled`, only those behind the cached prefix."""
    tools: tuple[ToolDeclaration, ...]
    measure: MessageStats
    """Counts over all messages, the settled ones included."""
    settled: CachedPrefix | None = None
    """The prefix that is already encoded."""
    newly_cached: tuple[ProviderMessage, ...] = ()
    """Messages that have become settled since the last request."""
    kept: RequestCache | None = None

    @property
    def has_images(self) -> bool:
        return self.measure.images > 0

    @property
    def has_results(self) -> bool:
        return self.measure.has_results

    @property
    def ends_with_user(self) -> bool:
        return bool(self.messages) and isinstance(self.messages[-1], UserMessage)


def prepare_request(
    context: Context, model: Model, rule: IdRule = str, *, kept: RequestCache | None = None
) -> PreparedRequest:
    """Prepares the context for `model`: see docs/providers.md. With `kept`, only messages newer than the last
    request are processed."""
    settled = kept.begin(context.messages, model) if kept is not None else CachedPrefix(model)
    usable, places = _usable(context.messages, len(settled.sources))
    if kept is None or (model.input_limits and (settled.measure.images or any(map(has_image, usable)))):
        # Images beyond the limits are taken from the beginning: then nothing of it is settled.
        usable, _ = _usable(context.messages, 0)
        messages = _readable_by(drop_old_images(usable, model), model, _Ids(rule))
        return _prepared(context, messages=tuple(messages), measure=MessageStats(messages))
    names = settled.names or _Ids(rule)
    end = _last_answer(usable)
    newly_cached = _readable_by(usable[:end], model, names)
    settled.names = names
    settled.sources += context.messages[len(settled.sources) : places[end] if end else len(settled.sources)]
    settled.measure.add(newly_cached)
    messages = _readable_by(usable[end:], model, names.copy_for_append())
    measure = MessageStats(messages)
    measure.include(settled.measure)
    return _prepared(
        context,
        messages=tuple(messages),
        measure=measure,
        settled=settled,
        newly_cached=tuple(newly_cached),
        kept=kept,
    )


def encode_messages(
    prepared: PreparedRequest, head: list[dict[str, Any]], spell: EncodeMessages
) -> "list[dict[str, Any]] | PayloadParts":
    """Returns the messages in an adapter's JSON after `head`; the settled ones come from the cache."""
    settled, kept = prepared.settled, prepared.kept
    if settled is None or kept is None:
        return [*head, *spell(prepared.messages, 0)]
    settled.take(spell(prepared.newly_cached, settled.count))
    settled.count += len(prepared.newly_cached)
    kept.give_back(settled)
    return PayloadParts(head, settled.pieces(), spell(prepared.messages, settled.count))


def _prepared(context: Context, **fields: Any) -> PreparedRequest:
    return PreparedRequest(
        system=clean(context.system_prompt),
        tools=tuple(_stable_tool(tool) for tool in sorted(context.tools, key=lambda tool: tool.name)),
        **fields,
    )


def _usable(messages: Sequence[Message], start: int) -> tuple[list[ProviderMessage], list[int]]:
    """Converts the messages from `start` on to provider messages without broken answers; also returns the
    index that each came from."""
    usable: list[ProviderMessage] = []
    places: list[int] = []
    for place in range(start, len(messages)):
        for message in to_provider_messages((messages[place],)):
            if not _is_broken(message):
                usable.append(message)
                places.append(place)
    return usable, places


def _last_answer(messages: Sequence[ProviderMessage]) -> int:
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
    """Says whether a message has content that is not blank; blank messages are not sent."""
    if isinstance(message.content, str):
        return bool(message.content.strip())
    return any(
        isinstance(block, ToolCall | Image) or (isinstance(block, Text) and block.text.strip())
        for block in message.content
    )


def _readable_by(usable: Sequence[ProviderMessage], model: Model, names: "_Ids") -> list[ProviderMessage]:
    messages: list[ProviderMessage] = []
    for message in _with_results_in_place(usable):
        match message:
            case UserMessage():
                content = _user_content(message.content, model)
                if content:
                    messages.append(UserMessage(id=message.id, timestamp=message.timestamp, content=content))
            case AssistantMessage():
                replayed = _replayed(message, model, names)
                if replayed.content:
                    messages.append(replayed)
            case ToolResultMessage():
                content = _user_content(message.content, model) or (Text(text=NO_OUTPUT),)
                messages.append(
                    msgspec.structs.replace(
                        message, tool_call_id=names[message.tool_call_id], content=content
                    )
                )
            case _:
                assert_never(message)
    return messages


def fitting_id(call_id: str, limit: int = 64) -> str:
    """Shortens an id to at most `limit` characters of `A-Za-z0-9_-`; the same id always gives the same
    result."""
    call_id = call_id.split("|", 1)[0]
    if len(call_id) <= limit and _PLAIN.fullmatch(call_id):
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{_OTHER.sub('_', call_id)[: limit - 13]}_{digest}"


def plain_id(call_id: str, length: int) -> str:
    """Converts an id to exactly `length` letters and digits."""
    if len(call_id) == length and call_id.isascii() and call_id.isalnum():
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:length]


def clean(text: str) -> str:
    """Replaces unpaired surrogates by replacement characters, and pairs by the character they encode."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


_PLAIN = late(r"[A-Za-z0-9_-]+")
_OTHER = late(r"[^A-Za-z0-9_-]")


class _Ids:
    """Maps tool-call ids of a conversation to the target's form and keeps them distinct."""

    def __init__(self, rule: IdRule, before: "_Ids | None" = None) -> None:
        self._rule = rule
        self._given: dict[str, str] = {}
        self._taken: set[str] = set()
        self._attempts: dict[str, int] = {}
        """The number of changes that made an id distinct; the next search starts from there."""
        self._before = before

    def copy_for_append(self) -> "_Ids":
        """Returns a map for later messages that extends this one without changing it."""
        return _Ids(self._rule, self)

    def assign(self, call_id: str) -> str:
        """Returns a new id for a new call. A later call may reuse an id, because servers without ids count
        from zero."""
        given = self._rule(call_id)
        attempt = self._attempts.get(call_id) or (
            self._before._attempts.get(call_id, 0) if self._before else 0
        )
        while not given or given in self._taken or (self._before and given in self._before._taken):
            attempt += 1
            given = self._rule(f"{fitting_id(call_id, 40)}_{attempt}")
        if attempt:
            self._attempts[call_id] = attempt
        self._given[call_id] = given
        self._taken.add(given)
        return given

    def __getitem__(self, call_id: str) -> str:
        """Returns the id for the result of the latest call with that id."""
        before = self._before._given.get(call_id) if self._before else None
        return self._given.get(call_id) or before or self.assign(call_id)


def _is_broken(message: ProviderMessage) -> bool:
    return isinstance(message, AssistantMessage) and message.stop_reason in ("error", "aborted", "pending")


def _with_results_in_place(messages: Sequence[ProviderMessage]) -> list[ProviderMessage]:
    """Moves each call's result right behind its message, in call order, and drops results without a call."""
    out: list[ProviderMessage] = []
    for index, message in enumerate(messages):
        if isinstance(message, ToolResultMessage):
            continue
        out.append(message)
        if isinstance(message, AssistantMessage) and message.tool_calls:
            results = _results_behind(messages, index)
            out.extend(results.get(call.id) or _no_result(call, message) for call in message.tool_calls)
    return out


def _results_behind(messages: Sequence[ProviderMessage], index: int) -> dict[str, ToolResultMessage]:
    found: dict[str, ToolResultMessage] = {}
    for message in messages[index + 1 :]:
        if isinstance(message, AssistantMessage):
            break
        if isinstance(message, ToolResultMessage):
            found.setdefault(message.tool_call_id, message)
    return found


def _no_result(call: ToolCall, message: AssistantMessage) -> ToolResultMessage:
    return ToolResultMessage(
        timestamp=message.timestamp,
        tool_call_id=call.id,
        tool_name=call.name,
        content=(Text(text=MISSING_RESULT),),
        is_error=True,
    )


def _user_content(content: str | tuple[UserContent, ...], model: Model) -> tuple[UserContent, ...]:
    blocks: list[UserContent] = []
    for block in (Text(text=content),) if isinstance(content, str) else content:
        match block:
            case Text():
                if block.text.strip():
                    blocks.append(Text(text=clean(block.text)))
            case Image() if model.reads_images:
                blocks.append(block)
            case Image():
                if not (blocks and blocks[-1] == Text(text=NO_IMAGE)):
                    blocks.append(Text(text=NO_IMAGE))
            case UnknownContent():
                pass
            case _:
                assert_never(block)
    return tuple(blocks)


def _replayed(message: AssistantMessage, model: Model, names: _Ids) -> AssistantMessage:
    """Prepares an answer for replay; thinking and signatures go only to the provider and model that made
    them."""
    is_own = (message.provider, message.model, message.api) == (model.provider, model.id, model.api)
    blocks: list[AssistantContent] = []
    for block in message.content:
        match block:
            case Text():
                if block.text.strip():
                    signature = block.text_signature if is_own else None
                    blocks.append(Text(text=clean(block.text), text_signature=signature))
            case Thinking() if is_own:
                if block.thinking.strip() or block.thinking_signature:
                    blocks.append(msgspec.structs.replace(block, thinking=clean(block.thinking)))
            case ToolCall():
                blocks.append(
                    ToolCall(
                        id=names.assign(block.id),
                        name=block.name,
                        arguments=_without_surrogates(block.arguments),
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


def _without_surrogates(data: Any) -> Any:
    match data:
        case str():
            return clean(data)
        case dict():
            return {
                clean(key) if isinstance(key, str) else key: _without_surrogates(item)
                for key, item in data.items()
            }
        case list():
            return [_without_surrogates(item) for item in data]
        case _:
            return data


def _stable_tool(tool: ToolDeclaration) -> ToolDeclaration:
    return msgspec.structs.replace(
        tool, description=clean(tool.description), parameters=_stable_schema(tool.parameters)
    )


def _stable_schema(schema: Any, *, is_properties: bool = False) -> Any:
    """Sorts a schema's keywords alphabetically. Properties keep their order, because models write them in
    that order."""
    if isinstance(schema, dict):
        items = schema.items() if is_properties else sorted(schema.items())
        return {
            key: _stable_schema(item, is_properties=key == "properties" and not is_properties)
            for key, item in items
        }
    if isinstance(schema, list):
        return [_stable_schema(item) for item in schema]
    return schema
