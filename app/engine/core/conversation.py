"""The current conversation: the session's log and the messages that the model reads, kept in step.

Appending takes constant time; only navigation, compaction and context edits project the log again."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from app.engine.core.active_skills import ActiveSkills
from app.sessions.context_projection import project_context, unix_milliseconds
from app.sessions.file.partial_answer import PartialAnswerFile, read_unrecorded_answer
from app.sessions.session_log import SessionLog
from app.values.content import Image, Text, ToolCall
from app.values.entries import (
    CompactionEntry,
    ContextEditEntry,
    CustomEntry,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    ModelChangeEntry,
    SessionHeader,
    SessionInfoEntry,
    ThinkingLevelChangeEntry,
)
from app.values.messages import (
    AssistantMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolDeclaration,
    ToolName,
    ToolResultMessage,
    UserMessage,
)
from app.values.wire import prepare_wire_types
from tools.call_effects import FilesOfRecordedCall


def report_no_files_of_call(call: ToolCall) -> FilesOfRecordedCall:
    """Returns no files, as the default for conversations without tools."""
    return FilesOfRecordedCall()


PROMPT_SECTION_ORDER = (
    "preamble",
    "tools",
    "rules",
    "docs",
    "addendum",
    "project_context",
    "skills",
    "active_skills",
    "cwd",
)
"""The order of the known prompt sections; all others follow by name."""


class SentPrompt:
    """The prompt sections and tools that the model has been sent so far."""

    def __init__(self) -> None:
        self.sections: dict[str, str] = {}
        self.tools: dict[str, ToolDeclaration] = {}
        self._as_sent: tuple[str, tuple[ToolDeclaration, ...]] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SentPrompt) and (self.sections, self.tools) == (
            other.sections,
            other.tools,
        )

    def sent_prompt_and_tools(self) -> tuple[str, tuple[ToolDeclaration, ...]]:
        """Returns the declared system prompt as one text and the tools in sending order, unchanged between
        updates."""
        if self._as_sent is None:
            tools = tuple(sorted(self.tools.values(), key=lambda tool: tool.name))
            self._as_sent = join_prompt_sections(self.sections), tools
        return self._as_sent

    def record_sent_system_message(self, message: SystemMessage) -> None:
        self._as_sent = None
        for name, text in (message.sections or {}).items():
            if text is None:
                self.sections.pop(name, None)
            else:
                self.sections[name] = text
        for removed in message.tools_removed or ():
            self.tools.pop(removed.name, None)
        for tool in message.tools_added or ():
            self.tools[tool.name] = tool

    def system_message_for_update(
        self, sections: dict[str, str], tools: tuple[ToolDeclaration, ...]
    ) -> SystemMessage | None:
        """Returns the system message that brings the model to exactly `sections` and `tools`; None: nothing has
        changed."""
        wanted = {tool.name: tool for tool in tools}
        changed: dict[str, str | None] = {
            name: text for name, text in sections.items() if self.sections.get(name) != text
        }
        changed.update(dict.fromkeys(name for name in self.sections if name not in sections))
        added = tuple(tool for name, tool in wanted.items() if self.tools.get(name) != tool)
        removed = tuple(ToolName(name=name) for name in self.tools if name not in wanted)
        if not (changed or added or removed):
            return None
        return SystemMessage(
            sections=changed or None, tools_added=added or None, tools_removed=removed or None
        )


def join_prompt_sections(sections: Mapping[str, str]) -> str:
    """Joins the sections of the system prompt: the preamble unchanged, each other section between tags of its
    name."""
    order = {name: at for at, name in enumerate(PROMPT_SECTION_ORDER)}
    parts: list[str] = []
    for name in sorted(sections, key=lambda name: (order.get(name, len(order)), name)):
        text = sections[name].strip("\n")
        if text:
            parts.append(text if name == "preamble" else f"<{name}>\n{text}\n</{name}>")
    return "\n\n".join(parts)


def _has_image(message: Message) -> bool:
    return (
        isinstance(message, UserMessage | ToolResultMessage | CustomMessage)
        and not isinstance(message.content, str)
        and any(isinstance(block, Image) for block in message.content)
    )


class Conversation:
    """One session log with the messages that the model reads."""

    def __init__(
        self, log: SessionLog, files_of: Callable[[ToolCall], FilesOfRecordedCall] = report_no_files_of_call
    ) -> None:
        """Reads the context from the log. `files_of` returns the files of a stored tool call."""
        self.log = log
        self._files_of = files_of
        self._partial = PartialAnswerFile(log)
        self._skills = ActiveSkills(files_of)
        self.messages: list[Message] = []
        self.messages_without_system: list[Message] = []
        """The messages of the context except system messages, which are sent as prompt and tools."""
        self.ids_without_system: list[str] = []
        self.reading_token = object()
        """A token that is replaced whenever the context is read anew; while it stays the same, messages were only
        appended."""
        self.has_images = False
        """Whether a message of the context has an image."""
        self.declared_prompt = SentPrompt()
        self._recent: list[Entry] = []
        """The part of the branch from which the context was read."""
        self._cached_skills: tuple[object, dict[str, str]] | None = None
        """The skills that were found last, with the part of the branch in which they were found."""
        self._skills_lock = threading.Lock()
        self.reload_context()

    def switch_log(self, log: SessionLog) -> SessionLog:
        """Switches the conversation to another session log; returns the previous log, still open."""
        before, self.log = self.log, log
        self._partial = PartialAnswerFile(log)
        self._skills = ActiveSkills(self._files_of)
        self.reload_context()
        return before

    def reload_context(self) -> None:
        """Projects the context from the session log again, after the leaf moved or the context was edited."""
        self._recent = self.log.path_since_compaction()
        self.messages = list(project_context(self._recent).messages)
        self._cached_skills = (
            None if self.messages else (self._recent, {})
        )  # a compacted part has left a summary
        self.declared_prompt = SentPrompt()
        for message in self.messages:
            if isinstance(message, SystemMessage):
                self.declared_prompt.record_sent_system_message(message)
        self.messages_without_system = [
            message for message in self.messages if not isinstance(message, SystemMessage)
        ]
        self.ids_without_system = [message.id for message in self.messages_without_system]
        self.has_images = any(map(_has_image, self.messages_without_system))
        self.reading_token = object()

    def warm_up_encoders(self) -> None:
        """Prepares the JSON encoders of the first entries; for a thread."""
        prepare_wire_types(SessionHeader, MessageEntry, SystemMessage, ToolDeclaration, UserMessage, Text)

    @property
    def active_skill_sections(self) -> dict[str, str]:
        """Prompt sections for compacted content that stays active, such as skills. Computed on demand, in any
        thread, since it takes longer than a frame in a long session."""
        with self._skills_lock:
            log, recent, standing = self.log, self._recent, self._cached_skills
            if standing is None or standing[0] is not recent:
                found = self._skills.sections_after_compaction(
                    recent, lambda: log.path_to(recent[-1].id), self._parent_entry
                )
                self._cached_skills = standing = (recent, found)
        return standing[1]

    def active_skill_sections_after(self, more: Sequence[Entry]) -> dict[str, str]:
        """Returns the prompt sections for compacted content as they will be after `more` entries."""
        with self._skills_lock:
            return self._skills.sections_after_compaction(
                [*self.log.path_since_compaction(), *more],
                lambda: [*self.log.path_to(), *more],
                self._parent_entry,
            )

    def _parent_entry(self, entry_id: str) -> Entry | None:
        above = self.log.parent(entry_id) if entry_id in self.log else None
        return None if above is None else self.log.entry(above)

    def record_message(self, message: Message) -> Message:
        """Writes a message to the session log and adds it to the context. If the disk is full the message stays
        in memory (`SessionLog.append_or_hold_entry`)."""
        entry: Entry
        if isinstance(message, CustomMessage):
            entry = CustomMessageEntry(
                id=message.id,
                parent_id=None,
                custom_type=message.custom_type,
                content=message.content,
                display=message.display,
                details=message.details,
            )
        else:
            entry = MessageEntry(id=message.id, parent_id=None, message=message)
        stored = self.log.append_or_hold_entry(entry)
        if stored.id != message.id:
            message = msgspec.structs.replace(message, id=stored.id)
        if isinstance(stored, CustomMessageEntry):  # its line has one time, that of its entry
            message = msgspec.structs.replace(message, timestamp=unix_milliseconds(stored.timestamp))
        self._insert_message(message)
        return message

    def save_partial_answer(self, answer: Callable[[], AssistantMessage | None]) -> None:
        """Saves the unfinished answer beside the session file, so that a crash loses at most a second of it."""
        self._partial.schedule_write(answer, self.log.leaf_id)

    def discard_partial_answer(self) -> None:
        self._partial.discard()

    def recover_partial_answer(self) -> AssistantMessage | None:
        """Records an answer that a crash cut off as an aborted message; returns the message, if there was one."""
        partial = read_unrecorded_answer(self.log)
        if partial is None or partial.leaf_id != self.log.leaf_id or self.log.is_read_only:
            return None
        recovered = self.record_message(partial.recovered_message())
        self.log.problems.append(
            "bayou ended while an answer was being written; the part that had arrived is kept."
        )
        self.discard_partial_answer()
        return recovered if isinstance(recovered, AssistantMessage) else None

    def record_entry(self, entry: Entry) -> Entry:
        """Writes an entry that is not a message to the session log."""
        stored = self.log.append(entry)
        if isinstance(entry, ContextEditEntry):
            self.reload_context()
        return stored

    def record_model_change(self, provider: str, model_id: str) -> Entry:
        return self.record_entry(ModelChangeEntry(parent_id=None, provider=provider, model_id=model_id))

    def record_thinking_level(self, level: str) -> Entry:
        return self.record_entry(ThinkingLevelChangeEntry(parent_id=None, thinking_level=level))

    def record_session_name(self, name: str) -> Entry:
        return self.record_entry(SessionInfoEntry(parent_id=None, name=name))

    def remove_entry_from_context(self, entry_id: str) -> Entry:
        """Removes an entry from the context; the entry stays in the session file."""
        return self.record_entry(ContextEditEntry(parent_id=None, target_id=entry_id, replacement=None))

    def record_custom_entry(self, custom_type: str, data: Any) -> Entry:
        return self.record_entry(CustomEntry(parent_id=None, custom_type=custom_type, data=data))

    @property
    def context_message_ids(self) -> frozenset[str]:
        return frozenset(message.id for message in self.messages)

    def entry_ids_since_context_edit(self) -> frozenset[str]:
        """Returns the ids of the entries since the context was last cut or edited. Omitting a failed answer does
        not count."""
        found: list[str] = []
        for entry in reversed(self.log.path_since_compaction()):
            if isinstance(entry, CompactionEntry):
                break
            if isinstance(entry, ContextEditEntry) and not self._is_failed_answer(entry.target_id):
                break
            found.append(entry.id)
        return frozenset(found)

    def _is_failed_answer(self, entry_id: str) -> bool:
        entry = self.log.entry(entry_id) if entry_id in self.log else None
        message = entry.message if isinstance(entry, MessageEntry) else None
        return isinstance(message, AssistantMessage) and message.stop_reason in ("error", "aborted")

    @property
    def last_answer(self) -> AssistantMessage | None:
        for message in reversed(self.messages):
            if isinstance(message, AssistantMessage):
                return message
        return None

    @property
    def last_answer_text(self) -> str | None:
        """Returns the text of the last answer, ignoring those that failed or were stopped before any text; None if
        there is none."""
        for message in reversed(self.messages):
            if isinstance(message, AssistantMessage) and (
                message.text or message.stop_reason not in ("error", "aborted")
            ):
                return message.text or None
        return None

    def _insert_message(self, message: Message) -> None:
        """Inserts a message into the context; tool results are recorded as they arrive and read in call order,
        as in a resumed session."""
        if isinstance(message, SystemMessage):
            self.declared_prompt.record_sent_system_message(message)
            self.messages.append(message)
            return
        self.has_images = self.has_images or _has_image(message)
        behind = 0
        if isinstance(message, ToolResultMessage):
            behind = len(self.messages) - self._position_for_result(message)
        self.messages.insert(len(self.messages) - behind, message)
        self.messages_without_system.insert(
            len(self.messages_without_system) - behind, message
        )  # only results of the same batch follow it
        self.ids_without_system.insert(len(self.ids_without_system) - behind, message.id)

    def _position_for_result(self, message: ToolResultMessage) -> int:
        index = len(self.messages)
        while index and isinstance(self.messages[index - 1], ToolResultMessage):
            index -= 1
        caller = self.messages[index - 1] if index else None
        if not isinstance(caller, AssistantMessage):
            return len(self.messages)
        order = {call.id: position for position, call in enumerate(caller.tool_calls)}
        mine = order.get(message.tool_call_id, len(order))
        while index < len(self.messages):
            other = self.messages[index]
            if isinstance(other, ToolResultMessage) and order.get(other.tool_call_id, len(order)) > mine:
                break
            index += 1
        return index
