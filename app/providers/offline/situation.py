"""What the guide knows: the newest request, what was done for it, and what it may refer back to.

Everything is read from the context of each request; the guide remembers nothing itself.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from app.providers.contract import Context
from app.values.content import Image, ToolCall, text_of
from app.values.messages import (
    AssistantMessage,
    CustomMessage,
    Message,
    ToolDeclaration,
    ToolResultMessage,
    UserMessage,
)

_OFFER = re.compile(r"^(\d)\. `(.+)`$", re.MULTILINE)
_ASKED_ABOUT = re.compile(r"What should I change in (.+)\? Say")
_BESIDE = re.compile(r"A question beside the work\b.*?\n\n(?P<asked>.*)", re.DOTALL)
"""What comes before it is another's to answer."""
_MORE = re.compile(r"offset=(\d+)")


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A call and what came back."""

    call: ToolCall
    result: ToolResultMessage

    def argument(self, name: str) -> str:
        value = self.call.arguments.get(name)
        return value if isinstance(value, str) else ""

    @property
    def text(self) -> str:
        return text_of(self.result.content)


Round = tuple[Exchange, ...]
"""The calls of one answer, in call order."""


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    request: str
    """What the person said last; several messages are joined by line feeds."""
    image_count: int
    rounds: tuple[Round, ...]
    """What was done for this request."""
    fresh: Round
    """Results that no answer has told of yet."""
    notes: tuple[CustomMessage, ...]
    """What came besides results since the last answer."""
    earlier: tuple[Message, ...]
    """Everything before the request."""
    tools: dict[str, ToolDeclaration]

    @property
    def offers(self) -> tuple[str, ...]:
        """What the answer before the request offered to do, by number."""
        for message in reversed(self.earlier):
            if isinstance(message, AssistantMessage):
                return tuple(offer for _, offer in _OFFER.findall(message.text))
        return ()

    @property
    def last_path(self) -> str | None:
        """The file spoken of last before the request: one that was asked about, or one that a call reached."""
        failed = {m.tool_call_id for m in self.earlier if isinstance(m, ToolResultMessage) and m.is_error}
        for message in reversed(self.earlier):
            if not isinstance(message, AssistantMessage):
                continue
            asked = _ASKED_ABOUT.search(message.text)
            if asked:
                return asked[1]
            for call in reversed(message.tool_calls):
                path = call.arguments.get("path")
                if call.name in ("read", "edit", "write") and isinstance(path, str) and call.id not in failed:
                    return path
        return None

    @property
    def continuation(self) -> tuple[str, int] | None:
        """The file that was read last, and the line at which its next page begins."""
        for message in reversed(self.earlier):
            if isinstance(message, ToolResultMessage) and message.tool_name == "read":
                call = next((c for c in _calls_backwards(self.earlier) if c.id == message.tool_call_id), None)
                match = _MORE.search(text_of(message.content)[-400:])
                if call is None or match is None:
                    return None
                return str(call.arguments.get("path", "")), int(match[1])
        return None

    @property
    def earlier_requests(self) -> Iterator[str]:
        """The newest first."""
        for message in reversed(self.earlier):
            if isinstance(message, UserMessage):
                yield text_of(message.content)


def situation_of(context: Context) -> Situation:
    messages = context.messages
    answers = [number for number, message in enumerate(messages) if _is_answer(message)]
    begin, end = _request(messages)
    asked = [message for message in messages[begin:end] if isinstance(message, UserMessage)]
    last_answer = answers[-1] if answers else -1
    return Situation(
        request="\n".join(_words(message) for message in asked).strip(),
        image_count=sum(isinstance(part, Image) for message in asked for part in _parts(message)),
        rounds=tuple(_round(messages, number) for number in answers if number >= end),
        fresh=_round(messages, last_answer) if answers else (),
        notes=tuple(m for m in messages[last_answer + 1 :] if isinstance(m, CustomMessage)),
        earlier=tuple(messages[:begin]),
        tools={tool.name: tool for tool in context.tools},
    )


def _words(message: UserMessage) -> str:
    text = text_of(message.content)
    beside = _BESIDE.match(text)
    return text if beside is None else beside["asked"]


def _parts(message: UserMessage) -> Sequence[object]:
    return () if isinstance(message.content, str) else message.content


def _request(messages: Sequence[Message]) -> tuple[int, int]:
    """From the first to behind the last of the newest user messages that belong together."""
    users = [number for number, message in enumerate(messages) if isinstance(message, UserMessage)]
    if not users:
        return 0, 0
    begin = end = users[-1]
    last = messages[end]
    if isinstance(last, UserMessage) and _BESIDE.match(text_of(last.content)):
        return begin, end + 1
    for number in reversed(users[:-1]):
        if any(isinstance(message, AssistantMessage) for message in messages[number:begin]):
            break
        begin = number
    return begin, end + 1


def _is_answer(message: Message) -> bool:
    return isinstance(message, AssistantMessage) and message.stop_reason not in ("error", "aborted")


def _round(messages: Sequence[Message], number: int) -> Round:
    """The calls of the answer at `number` that have a result."""
    answer = messages[number]
    if not isinstance(answer, AssistantMessage):
        return ()
    results = {m.tool_call_id: m for m in messages[number + 1 :] if isinstance(m, ToolResultMessage)}
    return tuple(
        Exchange(call=call, result=results[call.id]) for call in answer.tool_calls if call.id in results
    )


def _calls_backwards(messages: Sequence[Message]) -> Iterator[ToolCall]:
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            yield from reversed(message.tool_calls)
