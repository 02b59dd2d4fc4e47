"""Converts a session's entries to those of the session tree: kind, text, and what a branch did."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, assert_never

from app.sessions.session_log import SessionLog
from app.tui.entry_texts import one_line, session_entry_text
from app.undo.change_records import file_changes_data_of_entry, file_restore_data_of_entry
from app.undo.file_history import count_file_changes, path_with_file_entries
from app.values.cells import CELL_ENTRY_TYPE
from app.values.content import Text, ToolCall
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
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from app.values.usage import format_dollars
from tools.call_effects import FilesOfRecordedCall
from tools.number_formatting import format_changed_files, format_changed_lines, format_token_count
from tools.text_sanitizing import strip_markdown_marks
from tools.tool_result_values import ToolKind
from widgets.lists.list_rows import RowBadge, RowTone
from widgets.lists.tree_rows import SessionTreeEntry, TreeEntryKind, format_time_of_day
from widgets.screens.preview_pane import PreviewParagraph, PreviewText

_TREE_KIND_BY_MESSAGE_TYPE: dict[type, TreeEntryKind] = {
    UserMessage: "user",
    AssistantMessage: "assistant",
    ToolResultMessage: "tool",
    BashExecutionMessage: "shell",
    SystemMessage: "change",
}
_TREE_KIND_BY_ENTRY_TYPE: dict[type, TreeEntryKind] = {
    CompactionEntry: "compaction",
    BranchSummaryEntry: "summary",
    CustomMessageEntry: "custom",
    LabelEntry: "label",
}


_MAX_CHARS_READ_FOR_TREE_ROW = 4_000
"""The characters of a message from which a row is made."""
_MAX_PREVIEWED_CALLS = 60
"""The calls of an exchange that a preview lists."""
_ENTRY_KIND_HEADINGS: dict[TreeEntryKind, str] = {
    "user": "You",
    "assistant": "Answer",
    "tool": "Result",
    "shell": "Your command",
    "compaction": "Compaction",
    "summary": "Summary of a branch",
    "custom": "Hidden message to the model",
    "change": "Change",
    "label": "Label",
}


_TONE_BY_TOOL_KIND: dict[ToolKind, RowTone] = {
    **dict.fromkeys(("read", "search", "fetch"), "primary"),
    "execute": "secondary",
    **dict.fromkeys(("edit", "delete", "move"), "success"),
}
"""The colour of a call's verb, as in the transcript."""


class ToolKindsAndFiles(Protocol):
    """The protocol for what the session tree must know of tools: the files of a call and the kind of a tool."""

    def files_of_call(self, call: ToolCall) -> FilesOfRecordedCall: ...
    def kind_of_tool(self, name: str) -> ToolKind: ...


class SessionTreeEntries:
    """Provides the session tree's entries of one session. A large tree opens with its structure; texts are made for
    visible entries."""

    def __init__(self, log: SessionLog, tools: ToolKindsAndFiles) -> None:
        self._log = log
        self._tools = tools
        self._current_branch_ids: frozenset[str] | None = None
        """The entries of the current branch, computed on first use."""

    def tree_entries_without_texts(self) -> list[SessionTreeEntry]:
        """Returns all entries of the session tree without their texts: parent, kind and label."""
        labels = self._log.labels
        found: list[SessionTreeEntry] = []
        for entry in self._log.entries:
            kind = tree_entry_kind(entry)
            found.append(
                SessionTreeEntry(
                    id=entry.id,
                    parent=entry.parent_id,
                    kind=kind,
                    label=labels.get(entry.id) or "",
                    is_minor=kind == "assistant" and _has_only_tool_calls(entry),
                )
            )
        return found

    def tree_entry_with_text(self, bare: SessionTreeEntry) -> SessionTreeEntry:
        """Returns an entry of the session tree with its text, its time, and what its branch did."""
        entry = self._log.entry(bare.id)
        message = entry.message if isinstance(entry, MessageEntry) else None
        tool = message.tool_name if isinstance(message, ToolResultMessage) else ""
        return SessionTreeEntry(
            id=bare.id,
            parent=bare.parent,
            kind=bare.kind,
            lead=f"{tool} " if tool else "",
            lead_tone=_TONE_BY_TOOL_KIND.get(self._tools.kind_of_tool(tool), "muted"),
            text=self._call_text(entry) or full_session_entry_text(entry),
            label=bare.label,
            time=entry.timestamp,
            badges=self._entry_badges(entry),
            is_minor=bare.is_minor,
        )

    def preview(self, entry_id: str) -> PreviewText:
        """Returns a preview of an entry with the exchange that it belongs to: the prompt, what was done, and the
        answers. For entries that are neither prompt nor answer, their whole text comes first."""
        entry = self._log.entry(entry_id)
        exchange = self._exchange_of(entry)
        kind = tree_entry_kind(entry)
        if kind in ("user", "assistant") and exchange:
            return PreviewText(
                title=session_entry_heading(exchange[0]),
                parts=(
                    PreviewParagraph(text=session_entry_text(exchange[0]), is_markdown=True),
                    *self._parts_of_exchange(exchange[1:]),
                ),
            )
        own = PreviewParagraph(
            text=session_entry_text(entry) or full_session_entry_text(entry),
            is_markdown=kind in ("assistant", "compaction", "summary"),
        )
        above = self._parts_of_exchange(exchange) if kind in ("tool", "shell") else ()
        return PreviewText(title=session_entry_heading(entry), parts=(own, *above))

    def _exchange_of(self, entry: Entry) -> list[Entry]:
        """Returns the session entries of the exchange that an entry belongs to: from the prompt at or above it to the
        next prompt; none if there is no prompt above."""
        found = [entry]
        while not _is_prompt(found[-1]):
            parent = found[-1].parent_id
            if parent is None or parent not in self._log:
                return []
            found.append(self._log.entry(parent))
        return [*reversed(found), *self._entries_until_next_prompt(entry)]

    def _parts_of_exchange(self, exchange: Sequence[Entry]) -> Iterator[PreviewParagraph]:
        """Yields the preview paragraphs of an exchange: prompts and answers with headings, and a line for each call."""
        was_call, calls = False, 0
        for entry in exchange:
            message = entry.message if isinstance(entry, MessageEntry) else None
            text = session_entry_text(entry).strip()
            if isinstance(message, UserMessage | AssistantMessage) and text:
                yield PreviewParagraph(text=session_entry_heading(entry), is_heading=True)
                yield PreviewParagraph(text=text, is_markdown=True)
                was_call = False
            elif isinstance(message, ToolResultMessage):
                calls += 1
                if calls > _MAX_PREVIEWED_CALLS:
                    continue
                if not was_call:
                    yield PreviewParagraph(text="")
                yield self._call_part(entry, message)
                was_call = True
        if calls > _MAX_PREVIEWED_CALLS:
            yield PreviewParagraph(text=f"… {calls - _MAX_PREVIEWED_CALLS:,} more calls", tone="muted")

    def _call_part(self, entry: Entry, message: ToolResultMessage) -> PreviewParagraph:
        changed = self._changed_files_text(entry, message)
        words = (
            f"{message.tool_name} {self._argument(entry, message)}".rstrip(),
            f"± {changed}" if changed else "",
            "failed" if message.is_error else "",
        )
        return PreviewParagraph(
            text=" · ".join(word for word in words if word),
            tone="error" if message.is_error else "success" if changed else "muted",
            hanging_indent=2,
        )

    def _entry_badges(self, entry: Entry) -> tuple[RowBadge, ...]:
        """Returns the badges of an entry in the session tree: a change of model, changed files, cost, a compaction."""
        if isinstance(entry, CompactionEntry):
            return (
                RowBadge(text=f"compacted {format_token_count(entry.tokens_before)} tokens", tone="warning"),
            )
        if isinstance(entry, BranchSummaryEntry):
            return (RowBadge(text="branch summary", tone="warning"),)
        message = entry.message if isinstance(entry, MessageEntry) else None
        found: list[RowBadge] = []
        if isinstance(message, AssistantMessage):
            before = next((answer.model for answer in self._answers_above(entry) if answer.model), "")
            if before and message.model and message.model != before:
                found.append(RowBadge(text=message.model))
            if message.usage.cost.total:
                found.append(RowBadge(text=format_dollars(message.usage.cost.total), tone="dim"))
        elif isinstance(message, UserMessage):
            changed = count_file_changes(self._entries_until_next_prompt(entry))
            if changed.files:
                found.append(RowBadge(text=f"± {changed.summary}", tone="success"))
        elif isinstance(message, ToolResultMessage):
            changed = self._changed_files_text(entry, message)
            if changed:
                found.append(RowBadge(text=f"± {changed}", tone="success"))
        return tuple(found)

    def _entries_until_next_prompt(self, prompt: Entry) -> Iterator[Entry]:
        """Yields the entries that follow a prompt, along the current branch or else the newest."""
        if self._current_branch_ids is None:
            self._current_branch_ids = frozenset(entry.id for entry in self._log.path_to())
        here = self._current_branch_ids
        below = self._log.children(prompt.id)
        while below:
            entry = next((one for one in below if one.id in here), below[-1])
            if _is_prompt(entry):
                return
            yield entry
            below = self._log.children(entry.id)

    def _changed_files_text(self, entry: Entry, message: ToolResultMessage) -> str:
        """Returns the files that a tool call changed, as text: as recorded after its result, in older sessions as its
        arguments say."""
        behind = path_with_file_entries([entry], self._log.children)[1:]
        files = file_changes_data_of_entry(behind[0]) if behind else None
        if files is not None:
            if len(files.changes) != 1:
                return format_changed_files(files.total, files.added, files.removed) if files.total else ""
            name = files.changes[0].path.rpartition("/")[2]
            return f"{name} {format_changed_lines(files.added, files.removed)}".rstrip()
        call = None if message.is_error else self._find_call(entry, message)
        return _file_names_text(self._tools.files_of_call(call).writes) if call is not None else ""

    def _call_text(self, entry: Entry) -> str:
        """Returns the line for a tool result or a user's command: the call's argument or the command, and the start of
        the output. Empty for other entries."""
        message = entry.message if isinstance(entry, MessageEntry) else None
        if isinstance(message, ToolResultMessage):
            outcome = "failed: " if message.is_error else ""
            return (
                f"{self._argument(entry, message)} → {outcome}{one_line(session_entry_text(entry))}".lstrip()
            )
        if isinstance(message, BashExecutionMessage):
            return f"$ {one_line(message.command, 60)} → {one_line(message.output) or 'nothing'}"
        return ""

    def _argument(self, entry: Entry, result: ToolResultMessage) -> str:
        """Returns the first text among the arguments of the call that a result belongs to; empty if there is none."""
        call = self._find_call(entry, result)
        words = (value for value in call.arguments.values() if isinstance(value, str)) if call else iter(())
        return one_line(next(words, ""), 60)

    def _find_call(self, entry: Entry, result: ToolResultMessage) -> ToolCall | None:
        """Returns the tool call that a result belongs to, from the answers above it; None if it is not found."""
        calls = (call for answer in self._answers_above(entry) for call in answer.tool_calls)
        return next((call for call in calls if call.id == result.tool_call_id), None)

    def _answers_above(self, entry: Entry) -> Iterator[AssistantMessage]:
        """Yields the model's answers above an entry, nearest first."""
        parent = entry.parent_id
        while parent is not None and parent in self._log:
            above = self._log.entry(parent)
            if isinstance(above, MessageEntry) and isinstance(above.message, AssistantMessage):
                yield above.message
            parent = above.parent_id


def _file_names_text(paths: Sequence[str]) -> str:
    """Returns the name of a single changed file, or the number of files if there are several."""
    return format_changed_files(len(paths), 0, 0) if len(paths) > 1 else "".join(paths).rpartition("/")[2]


def paths_changed_by_entries(
    entries: Iterable[Entry], files_of_call: Callable[[ToolCall], FilesOfRecordedCall]
) -> list[str]:
    """Returns the paths that the entries changed: recorded after the results, or in older sessions taken from the tool
    calls."""
    entries = list(entries)
    recorded = [files for entry in entries if (files := file_changes_data_of_entry(entry)) is not None]
    if recorded:
        return sorted({change.path for files in recorded for change in files.changes}) + [
            f"{files.total} files by {files.tool}" for files in recorded if files.more is not None
        ]
    return sorted(
        {
            path
            for entry in entries
            if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage)
            for call in entry.message.tool_calls
            for path in files_of_call(call).writes
        }
    )


def full_session_entry_text(entry: Entry) -> str:
    match entry:
        case ModelChangeEntry():
            return f"model: {entry.provider}/{entry.model_id}"
        case ThinkingLevelChangeEntry():
            return f"thinking: {entry.thinking_level}"
        case LabelEntry():
            return f"label: {entry.label}" if entry.label else "label removed"
        case SessionInfoEntry():
            return f"name: {entry.name}" if entry.name else "name removed"
        case MessageEntry(message=SystemMessage()):
            return "system prompt"
        case CustomEntry():
            return _file_record_text(entry) or entry.custom_type
        case ContextEditEntry():
            return f"omits {entry.target_id}" if entry.replacement is None else f"edits {entry.target_id}"
        case MessageEntry(message=AssistantMessage() as message) if not message.text:
            failed = f"failed: {message.error_message}" if message.error_message else message.stop_reason
            return ", ".join(call.name for call in message.tool_calls) or failed
        case MessageEntry(message=AssistantMessage()) | CompactionEntry() | BranchSummaryEntry():
            return one_line(strip_markdown_marks(session_entry_text(entry)[:_MAX_CHARS_READ_FOR_TREE_ROW]))
        case CustomMessageEntry() | MessageEntry():
            return one_line(session_entry_text(entry))
        case UsageEntry() | UnknownEntry():
            return ""
        case _:
            assert_never(entry)


def _file_record_text(entry: CustomEntry) -> str:
    """Returns what an entry records about changed or restored files, as text; empty for other entries."""
    files, restored = file_changes_data_of_entry(entry), file_restore_data_of_entry(entry)
    if restored is not None:
        return f"files restored: {restored.total}"
    if files is None:
        return ""
    names = ", ".join(change.path for change in files.changes[:3])
    return f"files: {files.total}" + (f" ({names})" if names else "")


def session_entry_heading(entry: Entry) -> str:
    """Returns the heading of an entry in a preview: author and time, and for a tool result its call."""
    said = _ENTRY_KIND_HEADINGS[tree_entry_kind(entry)]
    message = entry.message if isinstance(entry, MessageEntry) else None
    if isinstance(message, AssistantMessage) and message.model:
        said = message.model
    elif isinstance(message, ToolResultMessage):
        said = f"{message.tool_name}, {'failed' if message.is_error else 'result'}"
    elif isinstance(entry, CustomMessageEntry) and entry.custom_type == CELL_ENTRY_TYPE:
        said = "Your cell"
    return f"{said} · {format_time_of_day(entry.timestamp)}"


def tree_entry_kind(entry: Entry) -> TreeEntryKind:
    if isinstance(entry, MessageEntry):
        return _TREE_KIND_BY_MESSAGE_TYPE.get(type(entry.message), "custom")
    return _TREE_KIND_BY_ENTRY_TYPE.get(type(entry), "change")


def _is_prompt(entry: Entry) -> bool:
    return isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)


def _has_only_tool_calls(entry: Entry) -> bool:
    """Returns whether a model's answer contains only tool calls and no text."""
    if not isinstance(entry, MessageEntry) or not isinstance(entry.message, AssistantMessage):
        return False
    message = entry.message
    is_silent = not any(isinstance(block, Text) and block.text for block in message.content)
    return is_silent and message.stop_reason not in ("error", "aborted")
