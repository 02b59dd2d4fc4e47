"""Gathers a session's list entry and its searchable texts line by line.

A digest can be continued, so that a grown file costs only its new lines."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, assert_never

import msgspec

from app.sessions.entry_tree import one_line_session_name
from app.values.content import text_of
from app.values.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomEntry,
    CustomMessageEntry,
    Entry,
    LabelEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionInfoEntry,
    ThinkingLevelChangeEntry,
    UnknownEntry,
    UsageEntry,
)
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    ToolResultMessage,
    UserMessage,
)
from tools.lazy_patterns import lazy_regex

if TYPE_CHECKING:
    from app.sessions.index.session_line import SessionLine

MAX_SESSION_TITLE_CHARACTERS = 200
MAX_ENTRIES_SEARCHED_FOR_TITLE = 200
"""The number of first entries of a session among which its title is looked for."""
MAX_INDEXED_TEXT_CHARACTERS = 20_000
MAX_INDEXED_RESULT_CHARACTERS = 2_000
"""The number of characters of one message, or of one tool result, that are searchable."""

_GREETING_PATTERN = lazy_regex(
    r"(?:hi|hello|hey|yo|hallo|hola|salut|bonjour|ciao|moin|howdy|good (?:morning|day|evening|afternoon)|test|ping"
    r"|hi there|hello there|hey there)[\s!.,?]*",
    re.IGNORECASE,
)


class SearchableText(msgspec.Struct, frozen=True):
    """One text of a session entry that can be searched."""

    entry_id: str
    role: str
    time: str
    text: str
    offset: int = 0
    """The offset in the file of the line that has the text."""


class SessionDigest(msgspec.Struct, kw_only=True):
    """The values that a session list shows, counted over the session's lines read so far."""

    name: str | None = None
    first_prompt: str | None = None
    greeting: str | None = None
    messages: int = 0
    cost: float = 0.0
    modified: int = 0
    """The time of the newest user or assistant message in Unix milliseconds; 0 without one."""

    @property
    def title(self) -> str | None:
        """The session's title: the first prompt that is more than a greeting."""
        return self.first_prompt or self.greeting

    def add(self, line: "SessionLine", data: bytes) -> None:
        """Counts a decoded session line; `data` is the same line as bytes, from which the prompt's text is read."""
        used = line.counted_usage
        if used is not None:
            self.cost += used.cost.total
        if line.type == "session_info":
            self.name = text_valid_for_database(one_line_session_name(line.name or "")) or None
        elif line.type == "message":
            self.messages += 1
            role = line.role
            if role in ("user", "assistant"):
                self.modified = max(self.modified, line.message_time_ms or line.time_ms)
            if role == "user" and self.first_prompt is None:
                from app.sessions.file.session_reader import decode_session_entry  # noqa: PLC0415  (what reads is large; the page asks for a title only)

                entry = decode_session_entry(data)
                if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
                    self.consider_title(text_of(entry.message.content))

    def consider_title(self, text: str) -> None:
        """Uses a prompt as the session's title if it is more than a greeting and no title was found yet."""
        title = session_title_from_prompt(text)
        if not title:
            return
        if _GREETING_PATTERN.fullmatch(title):
            self.greeting = self.greeting or title
        else:
            self.first_prompt = title


def session_title_from_prompt(text: str) -> str:
    """Returns the title of a session that begins with this prompt: its first paragraph."""
    first = text.lstrip()[: MAX_SESSION_TITLE_CHARACTERS * 4].partition("\n\n")[0]
    return text_valid_for_database(" ".join(first.split())[:MAX_SESSION_TITLE_CHARACTERS])


def session_title_from_entries(entries: Iterable[Entry]) -> str | None:
    """Returns the title of an unnamed session: its first prompt that is more than a greeting."""
    digest = SessionDigest()
    for entry in islice(entries, MAX_ENTRIES_SEARCHED_FOR_TITLE):
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            digest.consider_title(text_of(entry.message.content))
            if digest.first_prompt is not None:
                break
    return digest.title


def searchable_texts_of_entry(entry: Entry, at: int) -> Iterator[SearchableText]:
    """Returns the searchable texts of a session entry."""
    role, text = _text(entry)
    if text.strip():
        yield SearchableText(
            text_valid_for_database(entry.id),
            role,
            text_valid_for_database(entry.timestamp),
            text_valid_for_database(text[:MAX_INDEXED_TEXT_CHARACTERS]),
            at,
        )


def text_valid_for_database(text: str) -> str:
    """Makes a text valid for the database: lone surrogates become question marks, NUL characters spaces."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


def _text(entry: Entry) -> tuple[str, str]:
    match entry:
        case MessageEntry(message=UserMessage(content=content)):
            return "user", text_of(content)
        case MessageEntry(message=AssistantMessage() as message):
            return "assistant", _answer_text(message)
        case MessageEntry(message=ToolResultMessage() as message):
            return "tool", text_of(message.content)[:MAX_INDEXED_RESULT_CHARACTERS]
        case MessageEntry(message=BashExecutionMessage() as message):
            return "bash", f"{message.command}\n{message.output[:MAX_INDEXED_RESULT_CHARACTERS]}"
        case SessionInfoEntry():
            return "name", one_line_session_name(entry.name or "")
        case CompactionEntry() | BranchSummaryEntry():
            return "summary", entry.summary
        case CustomMessageEntry():
            return "custom", text_of(entry.content)
        case (
            MessageEntry()
            | ModelChangeEntry()
            | ThinkingLevelChangeEntry()
            | UsageEntry()
            | CustomEntry()
            | ContextEditEntry()
            | LabelEntry()
            | UnknownEntry()
        ):
            return "", ""
        case _:
            assert_never(entry)


def _answer_text(message: AssistantMessage) -> str:
    calls = (f"{call.name} {_argument_texts(call.arguments)}" for call in message.tool_calls)
    return "\n".join([message.text, *calls])


def _argument_texts(arguments: dict[str, Any]) -> str:
    return " ".join(
        str(value)[:MAX_INDEXED_RESULT_CHARACTERS]
        for value in arguments.values()
        if isinstance(value, str | int)
    )
