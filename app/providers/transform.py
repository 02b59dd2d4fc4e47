"""The one transform before sending: a conversation as the target model may read it, whoever wrote it.

Pure. What is left to the adapters is spelling: which JSON a block becomes.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from app.providers.contract import Context
from app.providers.image_limits import within_limits
from app.providers.projection import Sent, to_provider_messages
from app.values.content import AssistantContent, Image, Text, Thinking, ToolCall, UserContent
from app.values.messages import AssistantMessage, ToolDeclaration, ToolResultMessage, UserMessage
from app.values.models import Model

__all__ = ["IdRule", "Prepared", "clean", "fitting_id", "plain_id", "prepare", "to_provider_messages"]

IdRule = Callable[[str], str]
"""A tool-call id as the target's format wants it."""

NO_RESULT = "No result provided"
NO_OUTPUT = "(no output)"
NO_IMAGE = "(An image was here; this model reads text only.)"


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """What an adapter spells out. Assistant messages hold only what may be replayed to this model."""

    system: str
    messages: tuple[Sent, ...]
    tools: tuple[ToolDeclaration, ...]

    @property
    def has_images(self) -> bool:
        return any(isinstance(block, Image) for message in self.messages for block in message.content)

    @property
    def ends_with_user(self) -> bool:
        return bool(self.messages) and isinstance(self.messages[-1], UserMessage)


def prepare(context: Context, model: Model, ids: IdRule | None = None) -> Prepared:
    """The context for `model`: see the issue's list in docs/providers.md."""
    usable = [message for message in to_provider_messages(context.messages) if not _is_broken(message)]
    usable = within_limits(usable, model)
    names = _Ids(ids or (lambda call_id: call_id))
    messages: list[Sent] = []
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
    return Prepared(
        system=clean(context.system_prompt),
        messages=tuple(messages),
        tools=tuple(_stable_tool(tool) for tool in sorted(context.tools, key=lambda tool: tool.name)),
    )


def fitting_id(call_id: str, limit: int = 64) -> str:
    """At most `limit` characters of `A-Za-z0-9_-`; the same id always gives the same one."""
    call_id = call_id.split("|", 1)[0]
    if len(call_id) <= limit and _PLAIN.fullmatch(call_id):
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{_OTHER.sub('_', call_id)[: limit - 13]}_{digest}"


def plain_id(call_id: str, length: int) -> str:
    """Exactly `length` letters and digits."""
    if len(call_id) == length and call_id.isascii() and call_id.isalnum():
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:length]


def clean(text: str) -> str:
    """Unpaired surrogates become replacement characters, pairs become the character they mean."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_OTHER = re.compile(r"[^A-Za-z0-9_-]")


class _Ids:
    """Ids of one conversation for one target; two that would become the same are kept apart."""

    def __init__(self, rule: IdRule) -> None:
        self._rule = rule
        self._given: dict[str, str] = {}
        self._taken: set[str] = set()

    def assign(self, call_id: str) -> str:
        """For a new call; a later message may use an id again (servers without ids of their own count from zero)."""
        given = self._rule(call_id)
        attempt = 0
        while given in self._taken or not given:
            attempt += 1
            given = self._rule(f"{fitting_id(call_id, 40)}_{attempt}")
        self._given[call_id] = given
        self._taken.add(given)
        return given

    def __getitem__(self, call_id: str) -> str:
        """For the answer to the latest call of that id."""
        return self._given.get(call_id) or self.assign(call_id)


def _is_broken(message: Sent) -> bool:
    return isinstance(message, AssistantMessage) and message.stop_reason in ("error", "aborted", "pending")


def _with_results_in_place(messages: Sequence[Sent]) -> list[Sent]:
    """Every call is answered right behind its message, in call order; results without a call are left out."""
    out: list[Sent] = []
    for index, message in enumerate(messages):
        if isinstance(message, ToolResultMessage):
            continue
        out.append(message)
        if isinstance(message, AssistantMessage) and message.tool_calls:
            results = _results_behind(messages, index)
            out.extend(results.get(call.id) or _no_result(call, message) for call in message.tool_calls)
    return out


def _results_behind(messages: Sequence[Sent], index: int) -> dict[str, ToolResultMessage]:
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
        content=(Text(text=NO_RESULT),),
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
            case _:
                pass
    return tuple(blocks)


def _replayed(message: AssistantMessage, model: Model, names: _Ids) -> AssistantMessage:
    """Thinking and signatures go back only to the provider and model that made them."""
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
                        arguments=_clean_data(block.arguments),
                        thought_signature=block.thought_signature if is_own else None,
                        namespace=block.namespace if is_own else None,
                    )
                )
            case _:
                pass
    if all(isinstance(block, Thinking) for block in blocks):
        blocks = []  # thinking that led to nothing: no provider accepts it alone
    return msgspec.structs.replace(message, content=tuple(blocks))


def _clean_data(data: Any) -> Any:
    match data:
        case str():
            return clean(data)
        case dict():
            return {
                clean(key) if isinstance(key, str) else key: _clean_data(item) for key, item in data.items()
            }
        case list():
            return [_clean_data(item) for item in data]
        case _:
            return data


def _stable_tool(tool: ToolDeclaration) -> ToolDeclaration:
    return msgspec.structs.replace(
        tool, description=clean(tool.description), parameters=_stable_schema(tool.parameters)
    )


def _stable_schema(schema: Any, *, is_properties: bool = False) -> Any:
    """Keywords in alphabetical order. Properties stay as declared: models write them in that order."""
    if isinstance(schema, dict):
        items = schema.items() if is_properties else sorted(schema.items())
        return {
            key: _stable_schema(item, is_properties=key == "properties" and not is_properties)
            for key, item in items
        }
    if isinstance(schema, list):
        return [_stable_schema(item) for item in schema]
    return schema
