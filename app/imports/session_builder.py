"""Builds the entries of a session from another program's conversation, and writes the session's file in one step.

The modules `…_sessions` read the programs' files; what bayou cannot represent is counted by its name."""

import base64
import binascii
import os
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from app.imports.tool_call_conversion import convert_to_bayou_tool_call
from app.sessions.session_ids import is_session_id, session_file_name
from app.sessions.session_library import session_folder_of_project
from app.values.codec import encode_line_in_pieces
from app.values.content import AssistantContent, Image, Text, Thinking, ToolCall, UserContent
from app.values.entries import (
    CompactionEntry,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    SessionHeader,
    SessionInfoEntry,
)
from app.values.messages import AssistantMessage, StopReason, ToolResultMessage, UserMessage
from app.values.usage import Cost, Usage
from app.values.user_errors import UserError
from app.values.wire import unused_id
from tools.files.atomic_replacement import FileChangedMeanwhile, swap_in_new_file
from tools.text_sanitizing import one_line

IMPORTED_CONTEXT_MESSAGE_TYPE = "imported-context"
"""The type of a message that the other program added for the model."""
MAX_IMPORTED_TOKEN_COUNT = 1 << 50
"""The largest number of tokens that is believed."""
_MAX_TIMESTAMP_MILLISECONDS = 253_402_300_799_000
_MAX_SESSION_TITLE_CHARS = 200
_IMPORTED_IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


class SessionNotImportable(UserError):
    """A conversation cannot become a session. `str` says why."""


class ImportedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session of another program in bayou's form."""

    id: str
    cwd: str
    entries: tuple[Entry, ...]
    left_out: dict[str, int]
    """How many things of each kind cannot be represented."""
    began: int
    """When it began and when its last message came, in milliseconds."""
    ended: int
    title: str = ""

    @property
    def file(self) -> str:
        return session_file_name(format_iso_time(self.began), self.id)

    def write(self, sessions_root: Path) -> Path:
        """Writes the whole file or nothing. Raises `OSError`, and `SessionNotImportable` when there is one already."""
        folder = session_folder_of_project(sessions_root, Path(self.cwd))
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / self.file
        header = SessionHeader(id=self.id, timestamp=format_iso_time(self.began), cwd=self.cwd)
        lines = (piece for value in (header, *self.entries) for piece in encode_line_in_pieces(value))
        ended = self.ended / 1000
        try:
            swap_in_new_file(
                str(target),
                b"".join(lines),
                mode=0o600,
                finish=lambda descriptor: os.utime(descriptor, (ended, ended)),
                durable=True,
                is_new=True,
            )
        except FileChangedMeanwhile:
            raise SessionNotImportable(f"{target} already exists") from None
        return target


class ImportedAnswerDraft(msgspec.Struct, kw_only=True):
    """An answer while its parts are still being read."""

    id: str
    parent_id: str | None
    time: int
    provider: str
    api: str
    model: str
    content: list[AssistantContent] = msgspec.field(default_factory=list)
    usage: Usage = Usage()
    stop_reason: StopReason | None = None
    error: str | None = None

    def entry(self) -> MessageEntry:
        calls = any(isinstance(block, ToolCall) for block in self.content)
        message = AssistantMessage(
            timestamp=self.time,
            content=tuple(self.content),
            api=self.api,
            provider=self.provider,
            model=self.model,
            usage=self.usage,
            stop_reason=self.stop_reason or ("toolUse" if calls else "stop"),
            error_message=self.error,
        )
        return MessageEntry(
            id=self.id, parent_id=self.parent_id, timestamp=format_iso_time(self.time), message=message
        )


class ImportedSessionBuilder:
    """Collects the messages of one conversation. Each is added below `leaf`, which a caller may move."""

    def __init__(self, program: str) -> None:
        self.leaf: str | None = None
        self.left_out: Counter[str] = Counter()
        self.title = ""
        self._program = program
        self._entries: list[Entry | ImportedAnswerDraft] = []
        self._ids: set[str] = set()
        self._calls: dict[str, str] = {}
        """The tools of the calls, by the id of the call."""
        self._answered: set[str] = set()
        self._time = 0
        self._began = 0

    def parse_time(self, value: Any) -> int:
        """Returns a time in milliseconds, from ISO text or a number; that of the message before if it is neither."""
        found = milliseconds(value)
        if found is not None:
            self._time = found
            self._began = self._began or found
        return self._time

    def add_prompt(self, content: Iterable[UserContent], time: int) -> str | None:
        """Adds a prompt of the person, and returns its entry; None if it is empty."""
        blocks = tuple(content)
        if not any(isinstance(block, Image) or (isinstance(block, Text) and block.text) for block in blocks):
            return None
        return self._add_entry(
            lambda fields: MessageEntry(message=UserMessage(content=blocks, timestamp=time), **fields), time
        )

    def add_context(self, text: str, time: int) -> str | None:
        """Adds a text that the model read and the person did not write."""
        if not text.strip():
            return None
        return self._add_entry(
            lambda fields: CustomMessageEntry(
                custom_type=IMPORTED_CONTEXT_MESSAGE_TYPE, content=text, display=False, **fields
            ),
            time,
        )

    def add_answer(self, time: int, provider: str, api: str, model: str) -> ImportedAnswerDraft:
        """Adds an answer, whose parts are added to the draft."""
        draft = ImportedAnswerDraft(
            id=self._new_id(), parent_id=self.leaf, time=time, provider=provider, api=api, model=model
        )
        self._entries.append(draft)
        self.leaf = draft.id
        return draft

    def add_call(self, draft: ImportedAnswerDraft, call_id: Any, name: Any, arguments: Any) -> None:
        """Adds a tool call to an answer, under bayou's name where there is one."""
        if not isinstance(call_id, str) or not call_id or call_id in self._calls:
            self.left_out["tool calls without an id"] += 1
            return
        tool, own = convert_to_bayou_tool_call(self._program, name, arguments)
        self._calls[call_id] = tool
        draft.content.append(ToolCall(id=call_id, name=tool, arguments=own))

    def add_result(
        self, call_id: Any, content: Iterable[UserContent], time: int, *, is_error: bool = False
    ) -> str | None:
        """Adds the result of a call; a result without a call, and a second one, are left out."""
        tool = self._calls.get(call_id) if isinstance(call_id, str) else None
        if tool is None or call_id in self._answered:
            self.left_out["results without a tool call"] += 1
            return None
        self._answered.add(call_id)
        message = ToolResultMessage(
            tool_call_id=call_id, tool_name=tool, content=tuple(content), is_error=is_error, timestamp=time
        )
        return self._add_entry(lambda fields: MessageEntry(message=message, **fields), time)

    def add_compaction(self, summary: str, time: int, tokens_before: int = 0) -> str | None:
        """Adds a summary that replaces all before it."""
        if not summary.strip():
            self.left_out["summaries that cannot be read"] += 1
            return None
        return self._add_entry(
            lambda fields: CompactionEntry(
                summary=summary, first_kept_entry_id=fields["id"], tokens_before=tokens_before, **fields
            ),
            time,
        )

    def _add_entry(self, make: Callable[[dict[str, Any]], Entry], time: int) -> str:
        entry_id = self._new_id()
        self._entries.append(
            make({"id": entry_id, "parent_id": self.leaf, "timestamp": format_iso_time(time)})
        )
        self.leaf = entry_id
        return entry_id

    def _new_id(self) -> str:
        found = unused_id(self._ids)
        self._ids.add(found)
        return found

    def build_session(
        self, session_id: Any, cwd: Any, *, default_cwd: Path, file_time: float
    ) -> ImportedSession:
        """Returns the session. Raises `SessionNotImportable` if it has no id or no messages."""
        if not isinstance(session_id, str) or not is_session_id(session_id):
            raise SessionNotImportable("has no session id that bayou can use")
        entries = _without_empty_answers(self._entries)
        if not any(isinstance(entry, MessageEntry) for entry in entries):
            raise SessionNotImportable("has no messages")
        title = one_line(self.title)[:_MAX_SESSION_TITLE_CHARS].strip()
        began = self._began or int(file_time * 1000)
        if title:
            entries.append(
                SessionInfoEntry(
                    id=self._new_id(),
                    parent_id=entries[-1].id if self.leaf is None else _existing_leaf(self.leaf, entries),
                    timestamp=format_iso_time(self._time or began),
                    name=title,
                )
            )
        is_path = isinstance(cwd, str) and cwd.startswith("/") and "\0" not in cwd
        return ImportedSession(
            id=session_id,
            cwd=cwd if is_path else str(default_cwd),
            entries=tuple(entries),
            left_out=dict(self.left_out),
            began=began,
            ended=self._time or began,
            title=title,
        )


def _without_empty_answers(drafts: Iterable[Entry | ImportedAnswerDraft]) -> list[Entry]:
    """Returns the entries without answers that have no content; the children of such an answer get its parent."""
    moved: dict[str, str | None] = {}
    kept: list[Entry] = []
    for draft in drafts:
        parent = moved.get(draft.parent_id, draft.parent_id) if draft.parent_id is not None else None
        if isinstance(draft, ImportedAnswerDraft):
            if not draft.content and draft.error is None:
                moved[draft.id] = parent
                continue
            draft.parent_id = parent
            kept.append(draft.entry())
        else:
            kept.append(
                draft if parent == draft.parent_id else msgspec.structs.replace(draft, parent_id=parent)
            )
    return kept


def _existing_leaf(leaf: str, entries: list[Entry]) -> str:
    return leaf if any(entry.id == leaf for entry in entries) else entries[-1].id


def milliseconds(value: Any) -> int | None:
    """Reads ISO text, or a number of milliseconds; None if it is no time."""
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value)
            found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
            value = found.timestamp() * 1000
        except (ValueError, OverflowError):
            return None
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 < value < _MAX_TIMESTAMP_MILLISECONDS
    ):
        return None
    return int(value)


def format_iso_time(time: int) -> str:
    moment = datetime.fromtimestamp(time / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def token_count(value: Any) -> int:
    """Returns a token count from a JSON value; 0 if the value is none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value < MAX_IMPORTED_TOKEN_COUNT else 0


def make_imported_usage(
    *, total: int, output: int, read: int = 0, write: int = 0, reasoning: int = 0, cost: Any = 0
) -> Usage:
    """Returns usage where `total` are the tokens of the input without the cached ones."""
    dollars = float(cost) if isinstance(cost, int | float) and 0 <= cost < 1e9 else 0.0
    return Usage(
        input=total,
        output=output,
        cache_read=read,
        cache_write=write,
        reasoning=reasoning or None,
        total_tokens=total + output + read + write,
        cost=Cost(total=dollars),
    )


def make_imported_image(data: Any, mime_type: Any) -> Image | None:
    """Returns an image that a model can be sent; None for anything else."""
    if not isinstance(data, str) or mime_type not in _IMPORTED_IMAGE_TYPES:
        return None
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return Image(data=data, mime_type=mime_type) if data else None


def image_from_data_url(url: Any) -> Image | None:
    """Returns the image of a `data:` address."""
    head, comma, data = url.partition(",") if isinstance(url, str) else ("", "", "")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    return make_imported_image(data, head.removeprefix("data:").removesuffix(";base64"))


def dict_or_empty(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""


def make_imported_thinking(value: str, signature: Any = None, *, is_redacted: bool = False) -> Thinking:
    return Thinking(
        thinking=value,
        thinking_signature=signature if isinstance(signature, str) and signature else None,
        redacted=True if is_redacted else None,
    )
