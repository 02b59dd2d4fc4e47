"""What of a conversation's wire form is kept from one request to the next, so that a turn costs the same however many
came before it, and what was sent once is sent again in the same bytes.

A conversation is settled up to its last answer: what stands before that changes no more. Of one model, in one session.
"""

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

from app.providers.projection import Sent
from app.values.codec import decode_json, encode_json
from app.values.content import IMAGE_CHARACTERS, Image, Text, Thinking, ToolCall
from app.values.messages import Message, ToolResultMessage
from app.values.models import Model

Spell = Callable[[Sequence[Sent], int], list[dict[str, Any]]]
"""An adapter's JSON for some messages that stand behind so many others."""

Piece = bytearray | dict[str, Any]
"""The JSON of messages in a row, or one message as data."""
_LARGE = 256 * 1024
"""Encoded so large (images), a message is encoded anew each time rather than held in memory twice."""


class Settled:
    """The beginning of one conversation as one model reads it."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.sources: list[Message] = []
        """The messages as they came, to be known again."""
        self.names: Any = None
        """The ids of calls that were given out."""
        self.count = 0
        self.measure = Measure()
        self.pieces: list[Piece] = []

    def take(self, items: Sequence[dict[str, Any]]) -> None:
        for item in items:
            encoded = encode_json(item)
            if len(encoded) >= _LARGE:
                self.pieces.append(item)
            elif self.pieces and isinstance(self.pieces[-1], bytearray):
                self.pieces[-1] += b","
                self.pieces[-1] += encoded
            else:
                self.pieces.append(bytearray(encoded))


class Measure:
    """What requests have to know of all their messages."""

    def __init__(self, messages: Sequence[Sent] = ()) -> None:
        self.characters = 0
        self.images = 0
        self.has_results = False
        self.add(messages)

    def include(self, other: "Measure") -> None:
        self.characters += other.characters
        self.images += other.images
        self.has_results = self.has_results or other.has_results

    def add(self, messages: Sequence[Sent]) -> None:
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
                    case _:
                        pass


class Kept:
    """What a session keeps: of each wire format the conversation that was sent last."""

    def __init__(self) -> None:
        self._by_api: dict[str, Settled] = {}

    def begin(self, messages: Sequence[Message], model: Model) -> Settled:
        """What is settled of these messages. It is given away: only a request that comes to its end brings it back
        (`Pieces`), so that nothing half-made is used again.
        """
        settled = self._by_api.pop(model.api, None)
        if settled is None or settled.model != model or len(settled.sources) > len(messages):
            return Settled(model)
        return settled if all(map(is_, settled.sources, messages)) else Settled(model)

    def bring_back(self, settled: Settled) -> None:
        self._by_api[settled.model.api] = settled


class Pieces:
    """The growing list of a request: what was kept of it between what is new."""

    def __init__(self, head: list[dict[str, Any]], kept: list[Piece], tail: list[dict[str, Any]]) -> None:
        self.head = head
        self._kept = [(piece, len(piece)) for piece in kept]
        """The last of them may grow before this is sent."""
        self.tail = tail

    def encoded(self) -> list[bytes | bytearray]:
        """The list's JSON in parts, for the kept ones may be millions of bytes that need be copied only once."""
        kept = (
            encode_json(piece)
            if isinstance(piece, dict)
            else piece
            if len(piece) == length
            else piece[:length]
            for piece, length in self._kept
        )
        out: list[bytes | bytearray] = [b"["]
        for part in (*map(encode_json, self.head), *kept, *map(encode_json, self.tail)):
            out += (part, b",")
        out[-1] = b"]" if len(out) > 1 else b"[]"
        return out

    def items(self) -> list[dict[str, Any]]:
        """As data, for who wants to change it."""
        out = list(self.head)
        for piece, length in self._kept:
            out += [piece] if isinstance(piece, dict) else decode_json(b"[%b]" % piece[:length])
        return [*out, *self.tail]
