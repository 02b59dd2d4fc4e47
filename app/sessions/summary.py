"""What a list shows of a session, and the texts of it that can be searched, gathered line by line.

A digest can be continued where it stopped, so that a grown file costs only what was added.
"""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from app.sessions.projection import milliseconds
from app.sessions.reading import read_entry
from app.sessions.tree import one_line
from app.values.content import text_of
from app.values.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    SessionInfoEntry,
    UsageEntry,
)
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    Message,
    ToolResultMessage,
    UserMessage,
)

LONGEST_TITLE = 200
LONGEST_TEXT = 20_000
LONGEST_RESULT = 2_000
"""Characters of one message, or of one tool result, that are searched."""

_GREETING = re.compile(
    r"(?:hi|hello|hey|yo|hallo|hola|salut|bonjour|ciao|moin|howdy|good (?:morning|day|evening|afternoon)|test|ping"
    r"|hi there|hello there|hey there)[\s!.,?]*",
    re.IGNORECASE,
)


class Found(msgspec.Struct, frozen=True):
    """One searchable text."""

    entry: str
    role: str
    time: str
    text: str


class Digest(msgspec.Struct, kw_only=True):
    """Counts and texts of the lines read so far."""

    name: str | None = None
    first_prompt: str | None = None
    greeting: str | None = None
    messages: int = 0
    entries: int = 0
    cost: float = 0.0
    modified: int = 0
    """Newest message of a person or a model, Unix milliseconds; 0: none."""
    texts: list[Found] = []

    @property
    def title(self) -> str | None:
        """The first thing said that is more than a greeting."""
        return self.first_prompt or self.greeting

    def take(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            entry = read_entry(line)
            if entry is not None:
                self._add(entry)

    def _add(self, entry: Entry) -> None:
        self.entries += 1
        match entry:
            case MessageEntry(message=message):
                self.messages += 1
                self._add_message(entry, message)
            case SessionInfoEntry():
                self.name = one_line(entry.name or "") or None
                self._text(entry, "name", self.name or "")
            case CompactionEntry() | BranchSummaryEntry():
                self.cost += entry.usage.cost.total if entry.usage else 0.0
                self._text(entry, "summary", entry.summary)
            case CustomMessageEntry():
                self._text(entry, "custom", text_of(entry.content))
            case UsageEntry():
                self.cost += entry.usage.cost.total
            case _:
                pass

    def _add_message(self, entry: Entry, message: Message) -> None:
        match message:
            case UserMessage():
                text = text_of(message.content)
                self._prompt(text)
                self._say(entry, "user", text, message.timestamp)
            case AssistantMessage():
                self.cost += message.usage.cost.total
                self._say(entry, "assistant", _said(message), message.timestamp)
            case ToolResultMessage():
                self.cost += message.usage.cost.total if message.usage else 0.0
                self._text(entry, "tool", text_of(message.content)[:LONGEST_RESULT])
            case BashExecutionMessage():
                self._text(entry, "bash", f"{message.command}\n{message.output[:LONGEST_RESULT]}")
            case _:
                pass

    def _prompt(self, text: str) -> None:
        title = " ".join(text.split())[:LONGEST_TITLE]
        if not title or self.first_prompt is not None:
            return
        if _GREETING.fullmatch(title):
            self.greeting = self.greeting or title
        else:
            self.first_prompt = title

    def _say(self, entry: Entry, role: str, text: str, timestamp: float) -> None:
        self.modified = max(self.modified, int(timestamp or milliseconds(entry.timestamp)))
        self._text(entry, role, text)

    def _text(self, entry: Entry, role: str, text: str) -> None:
        if text.strip():
            clean = text[:LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")
            self.texts.append(Found(entry.id, role, entry.timestamp, clean))


def _said(message: AssistantMessage) -> str:
    calls = (f"{call.name} {_words(call.arguments)}" for call in message.tool_calls)
    return "\n".join([message.text, *calls])


def _words(arguments: dict[str, Any]) -> str:
    return " ".join(
        str(value)[:LONGEST_RESULT] for value in arguments.values() if isinstance(value, str | int)
    )
