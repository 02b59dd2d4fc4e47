"""Keeps the encoded messages of a conversation between requests, so that the cost of a turn does not grow with the
conversation and repeated messages have the same bytes.

The messages before the last answer no longer change; they are called settled. A cache belongs to one model in one
session.
"""

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, assert_never

from app.providers.provider_messages import ProviderMessage
from app.values.codec import decode_json, encode_json
from app.values.content import ESTIMATED_IMAGE_CHARACTERS, Image, Text, Thinking, ToolCall, UnknownContent
from app.values.messages import Message, ToolResultMessage
from app.values.models import Model

EncodeMessages = Callable[[Sequence[ProviderMessage], int], list[dict[str, Any]]]
"""An adapter's encoder: turns messages into JSON objects, given the number of messages before them."""

PayloadPart = bytes | dict[str, Any]
"""The JSON of consecutive messages, each followed by a comma; or one message that is not encoded yet."""
_MAX_CACHED_MESSAGE_BYTES = 256 * 1024
"""The maximum size of a cached message's JSON; a larger message, such as one with images, is encoded for each
request and not held in memory twice."""
_MAX_CACHED_REQUEST_PART_BYTES = 512 * 1024
"""The size at which a part is closed: later messages start a new part, and requests reuse the closed one without a
copy."""


class EncodedConversationPrefix:
    """The beginning of a conversation that no longer changes, encoded for one model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.source_messages: list[Message] = []
        """The original messages, by which later requests recognise the prefix."""
        self.call_ids: Any = None
        """The ids that the conversation's tool calls were given for this format."""
        self.message_count = 0
        self.stats = RequestMessageCounts()
        self.conversation_token: object = None
        """The token of the conversation whose request last used the prefix (see `EncodedPrefixCache`)."""
        self._complete_parts: list[PayloadPart] = []
        self._open_part = bytearray()

    def append_encoded_messages(self, items: Sequence[dict[str, Any]]) -> None:
        for item in items:
            encoded = encode_json(item)
            if len(encoded) >= _MAX_CACHED_MESSAGE_BYTES:
                self._close_open_part()
                self._complete_parts.append(item)
                continue
            self._open_part += encoded
            self._open_part += b","
            if len(self._open_part) >= _MAX_CACHED_REQUEST_PART_BYTES:
                self._close_open_part()

    def encoded_parts(self) -> list[PayloadPart]:
        """Returns the cached beginning of the conversation as encoded JSON parts."""
        return (
            [*self._complete_parts, bytes(self._open_part)] if self._open_part else list(self._complete_parts)
        )

    def _close_open_part(self) -> None:
        if self._open_part:
            self._complete_parts.append(bytes(self._open_part))
            self._open_part = bytearray()


class RequestMessageCounts:
    """Counts over all messages of a request: characters and images, and whether there are tool results."""

    def __init__(self, messages: Sequence[ProviderMessage] = ()) -> None:
        self.characters = 0
        self.images = 0
        self.has_tool_results = False
        self.count_messages(messages)

    def add_message_counts(self, other: "RequestMessageCounts") -> None:
        self.characters += other.characters
        self.images += other.images
        self.has_tool_results = self.has_tool_results or other.has_tool_results

    def count_messages(self, messages: Sequence[ProviderMessage]) -> None:
        for message in messages:
            self.has_tool_results = self.has_tool_results or isinstance(message, ToolResultMessage)
            for block in message.content:
                match block:
                    case str():
                        self.characters += len(block)
                    case Text():
                        self.characters += len(block.text)
                    case Thinking():
                        self.characters += len(block.thinking)
                    case Image():
                        self.characters += ESTIMATED_IMAGE_CHARACTERS
                        self.images += 1
                    case ToolCall():
                        self.characters += len(block.name)
                        self.characters += sum(len(str(value)) for value in block.arguments.values())
                    case UnknownContent():
                        pass
                    case _:
                        assert_never(block)


class EncodedPrefixCache:
    """The cached prefixes of a session: for each API the prefix of the latest request."""

    def __init__(self, stretch: object = None) -> None:
        self._prefix_by_api: dict[str, EncodedConversationPrefix] = {}
        self.conversation_token = stretch
        """A token that all requests of one unchanged conversation share: they begin with the same messages, which
        need no comparison with the cached ones. None: the messages are compared."""

    def for_conversation_token(self, stretch: object) -> "EncodedPrefixCache":
        """Returns a cache that shares the prefixes, for requests with another conversation token."""
        same = EncodedPrefixCache(stretch)
        same._prefix_by_api = self._prefix_by_api
        return same

    def take_matching_prefix(self, messages: Sequence[Message], model: Model) -> EncodedConversationPrefix:
        """Removes the prefix with which these messages begin from the cache and returns it, or a new empty one.
        Only a request that completes puts it back (`put_back_prefix`), so that a half-finished prefix is never
        reused."""
        settled = self._prefix_by_api.pop(model.api, None)
        if settled is None or settled.model != model or not self._is_prefix_of(settled, messages):
            settled = EncodedConversationPrefix(model)
        settled.conversation_token = self.conversation_token
        return settled

    def _is_prefix_of(self, settled: EncodedConversationPrefix, messages: Sequence[Message]) -> bool:
        if len(settled.source_messages) > len(messages):
            return False
        if self.conversation_token is not None and settled.conversation_token is self.conversation_token:
            return True
        return all(map(is_, settled.source_messages, messages))

    def put_back_prefix(self, settled: EncodedConversationPrefix) -> None:
        self._prefix_by_api[settled.model.api] = settled


class RequestMessageList:
    """The message list of a request: cached parts and new messages."""

    def __init__(
        self, head: list[dict[str, Any]], kept: list[PayloadPart], tail: list[dict[str, Any]]
    ) -> None:
        self.first_messages = head
        self._cached_parts = kept
        self.new_messages = tail

    def encoded_parts(self) -> list[bytes]:
        """Returns the JSON of the message list in parts; the cached parts may be megabytes and are not copied."""
        out = [b"["]
        for part in (*self.first_messages, *self._cached_parts, *self.new_messages):
            out += (part,) if isinstance(part, bytes) else (encode_json(part), b",")
        if len(out) > 1:
            out[-1] = out[-1][:-1]  # the last comma
        out.append(b"]")
        return out

    def to_messages(self) -> list[dict[str, Any]]:
        """Returns the message list as decoded data, for hooks that change it."""
        out = list(self.first_messages)
        for piece in self._cached_parts:
            out += [piece] if isinstance(piece, dict) else decode_json(b"[%b]" % piece[:-1])
        return [*out, *self.new_messages]
