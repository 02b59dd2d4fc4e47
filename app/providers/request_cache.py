"""What of a conversation's wire form is kept from one request to the next, so that a turn costs the same however many
came before it, and what was sent once is sent again in the same bytes.

A conversation is settled up to its last answer: what stands before that changes no more. Of one model, in one session.
"""

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, assert_never

from app.providers.projection import ProviderMessage
from app.values.codec import decode_json, encode_json
from app.values.content import IMAGE_CHARACTERS, Image, Text, Thinking, ToolCall, UnknownContent
from app.values.messages import Message, ToolResultMessage
from app.values.models import Model

Spell = Callable[[Sequence[ProviderMessage], int], list[dict[str, Any]]]
"""An adapter's JSON for some messages that stand behind so many others."""

PayloadPart = bytes | dict[str, Any]
"""The JSON of messages in a row, each with the comma behind it; or one message as data."""
_LARGE_BYTES = 256 * 1024
"""Encoded so large (images), a message is encoded anew each time rather than held in memory twice."""
_MAX_PART_BYTES = 512 * 1024
"""A piece of this size grows no more: requests hand it on as it is, and copy only what stands behind it."""


class CachedPrefix:
    """The beginning of one conversation as one model reads it."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.sources: list[Message] = []
        """The messages as they came, to be known again."""
        self.names: Any = None
        """The ids of calls that were given out."""
        self.count = 0
        self.measure = MessageStats()
        self.stretch: object = None
        """What the conversation was a part of when it was last looked at."""
        self._whole: list[PayloadPart] = []
        self._growing = bytearray()

    def take(self, items: Sequence[dict[str, Any]]) -> None:
        for item in items:
            encoded = encode_json(item)
            if len(encoded) >= _LARGE_BYTES:
                self._close()
                self._whole.append(item)
                continue
            self._growing += encoded
            self._growing += b","
            if len(self._growing) >= _MAX_PART_BYTES:
                self._close()

    def pieces(self) -> list[PayloadPart]:
        """As they are now."""
        return [*self._whole, bytes(self._growing)] if self._growing else list(self._whole)

    def _close(self) -> None:
        if self._growing:
            self._whole.append(bytes(self._growing))
            self._growing = bytearray()


class MessageStats:
    """What requests have to know of all their messages."""

    def __init__(self, messages: Sequence[ProviderMessage] = ()) -> None:
        self.characters = 0
        self.images = 0
        self.has_results = False
        self.add(messages)

    def include(self, other: "MessageStats") -> None:
        self.characters += other.characters
        self.images += other.images
        self.has_results = self.has_results or other.has_results

    def add(self, messages: Sequence[ProviderMessage]) -> None:
        for message in messages:
            self.has_results = self.has_results or isinstance(message, ToolResultMessage)
            for block in message.content:
                match block:
                    case str():
                        self.characters += len(block)
                    case Text():
                        self.characters += len(block.text)
                    case Thinking():
                        self.characters += len(block.thinking)
                    case Image():
                        self.characters += IMAGE_CHARACTERS
                        self.images += 1
                    case ToolCall():
                        self.characters += len(block.name)
                        self.characters += sum(len(str(value)) for value in block.arguments.values())
                    case UnknownContent():
                        pass
                    case _:
                        assert_never(block)


class RequestCache:
    """What a session keeps: of each wire format the conversation that was sent last."""

    def __init__(self, stretch: object = None) -> None:
        self._by_api: dict[str, CachedPrefix] = {}
        self.stretch = stretch
        """Requests of one begin with the same messages, so that those of the one before need not be compared. None:
        they may be others."""

    def within(self, stretch: object) -> "RequestCache":
        """The same for requests of another stretch."""
        same = RequestCache(stretch)
        same._by_api = self._by_api
        return same

    def begin(self, messages: Sequence[Message], model: Model) -> CachedPrefix:
        """What is settled of these messages. It is given away: only a request that comes to its end brings it back
        (`give_back`), so that nothing half-made is used again.
        """
        settled = self._by_api.pop(model.api, None)
        if settled is None or settled.model != model or not self._continues(settled, messages):
            settled = CachedPrefix(model)
        settled.stretch = self.stretch
        return settled

    def _continues(self, settled: CachedPrefix, messages: Sequence[Message]) -> bool:
        if len(settled.sources) > len(messages):
            return False
        if self.stretch is not None and settled.stretch is self.stretch:
            return True
        return all(map(is_, settled.sources, messages))

    def give_back(self, settled: CachedPrefix) -> None:
        self._by_api[settled.model.api] = settled


class PayloadParts:
    """The growing list of a request: what was kept of it between what is new."""

    def __init__(
        self, head: list[dict[str, Any]], kept: list[PayloadPart], tail: list[dict[str, Any]]
    ) -> None:
        self.head = head
        self._kept = kept
        self.tail = tail

    def encoded(self) -> list[bytes]:
        """The list's JSON in parts: the kept ones may be millions of bytes, which are not copied."""
        out = [b"["]
        for part in (*self.head, *self._kept, *self.tail):
            out += (part,) if isinstance(part, bytes) else (encode_json(part), b",")
        if len(out) > 1:
            out[-1] = out[-1][:-1]  # the last comma
        out.append(b"]")
        return out

    def items(self) -> list[dict[str, Any]]:
        """As data, for who wants to change it."""
        out = list(self.head)
        for piece in self._kept:
            out += [piece] if isinstance(piece, dict) else decode_json(b"[%b]" % piece[:-1])
        return [*out, *self.tail]
