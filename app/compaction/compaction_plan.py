"""Decides where a compaction cuts the conversation: what is summarised and what is kept verbatim. Pure.

A cut never separates a call from its result."""

from collections.abc import Sequence
from typing import Any

import msgspec

from app.compaction.context_meter import ContextLimits, estimate_message_tokens
from app.compaction.touched_files import FileLists
from app.sessions.context_projection import (
    apply_edit_to_context_message,
    message_from_entry,
    sort_results_in_call_order,
)
from app.values.entries import (
    CompactionEntry,
    ContextEditEntry,
    CustomEntry,
    CustomMessageEntry,
    Entry,
    MessageEntry,
)
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from app.values.user_errors import UserError

_OMITTED_ENTRY_TYPE = "bayou.left-out"
_TYPICAL_SUMMARY_TOKENS = 1_500
"""The usual size of a summary in tokens."""


TOO_SMALL_TO_COMPACT_TEXT = "Nothing to compact (session too small)"


class NothingToCompact(UserError):
    """Raised if there are no messages that a summary could replace."""


class CompactionPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of a compaction: which messages are summarised and which are kept."""

    to_summarise: tuple[Message, ...]
    """The messages of whole turns that the summary replaces."""
    turn_prefix: tuple[Message, ...] = ()
    """The messages at the beginning of the turn that the cut splits; empty if it splits none."""
    kept_messages: tuple[Message, ...] = ()
    """The messages that are kept verbatim."""
    first_kept_entry_id: str
    previous_summary: str | None = None
    recorded_entries: tuple[Entry, ...] = ()
    """The summarised entries as recorded, before context edits: files changed by an edited call remain
    listed."""
    previous_details: Any = None
    """The details of the previous compaction, which list its files; None without one."""
    files: FileLists = FileLists()
    """The files that the summarised entries and the previous compaction touched; the session fills this in later."""
    tokens_before: int

    @property
    def discarded_messages(self) -> tuple[Message, ...]:
        return (*self.to_summarise, *self.turn_prefix)

    @property
    def freed_tokens(self) -> int:
        """Estimates the tokens that are freed: the removed messages and the earlier summary, less the new
        summary."""
        size = sum(estimate_message_tokens(message) for message in self.discarded_messages)
        size += len(self.previous_summary or "") // 4
        return max(0, size - min(_TYPICAL_SUMMARY_TOKENS, size // 2))


def plan_compaction(
    path: Sequence[Entry],
    limits: ContextLimits,
    tokens_before: int,
    *,
    first_kept_entry_id: str | None = None,
) -> CompactionPlan:
    """Cuts the branch `path` (root first), before `first_kept_entry_id` if given. Raises `NothingToCompact`.

    The kept part without its first message is smaller than `limits.keep_recent_tokens`. A message and
    the results of its calls stay together, however large they are."""
    edited_path = apply_context_edits(path)
    if edited_path and isinstance(edited_path[-1], CompactionEntry):
        raise NothingToCompact("Already compacted")
    previous, start = _last_compaction_and_start(edited_path)
    if first_kept_entry_id is None:
        cut = _find_cut_position(edited_path, start, limits.keep_recent_tokens)
    else:
        cut = _requested_position(edited_path, start, first_kept_entry_id)
    turn_start = _turn_start(edited_path, start, cut)
    is_split = turn_start < cut and turn_start >= start
    history = _messages_in_order(edited_path[start : turn_start if is_split else cut])
    prefix = _messages_in_order(edited_path[turn_start:cut]) if is_split else ()
    if not history and not prefix:
        raise NothingToCompact(TOO_SMALL_TO_COMPACT_TEXT)
    kept = _messages_in_order(edited_path[cut:])
    first_kept = edited_path[cut].id
    return CompactionPlan(
        to_summarise=history,
        turn_prefix=prefix,
        kept_messages=kept,
        first_kept_entry_id=first_kept,
        previous_summary=previous.summary if previous else None,
        recorded_entries=_entries_between(path, edited_path[start].id, first_kept),
        previous_details=previous.details if previous else None,
        tokens_before=tokens_before,
    )


def _entries_between(path: Sequence[Entry], first_id: str, end_id: str) -> tuple[Entry, ...]:
    ids = [entry.id for entry in path]
    return tuple(path[ids.index(first_id) : ids.index(end_id)])


def apply_context_edits(path: Sequence[Entry]) -> Sequence[Entry]:
    """Returns the entries of a branch as the model read them, so that removed or shortened content does not
    return through a summary."""
    edits = {entry.target_id: entry for entry in path if isinstance(entry, ContextEditEntry)}
    if not edits:
        return path
    found: list[Entry] = []
    for entry in path:
        edit = edits.get(entry.id)
        if edit is None:
            found.append(entry)
        elif edit.replacement is not None:
            found.append(_entry_after_context_edit(entry, edit))
        elif isinstance(entry, CompactionEntry):  # it still stands for what is before it, if without words
            found.append(msgspec.structs.replace(entry, summary=""))
        else:  # its place stays: what a compaction kept may begin with it
            found.append(CustomEntry(id=entry.id, parent_id=entry.parent_id, custom_type=_OMITTED_ENTRY_TYPE))
    return found


def _entry_after_context_edit(entry: Entry, edit: ContextEditEntry) -> Entry:
    if isinstance(entry, MessageEntry):
        changed = apply_edit_to_context_message(entry.message, edit)
        return entry if changed is None else msgspec.structs.replace(entry, message=changed)
    if isinstance(entry, CustomMessageEntry):
        message = apply_edit_to_context_message(
            CustomMessage(custom_type=entry.custom_type, content=entry.content), edit
        )
        if isinstance(message, CustomMessage):
            return msgspec.structs.replace(entry, content=message.content)
    return entry


def conversation_message_of_entry(entry: Entry) -> Message | None:
    """Returns the conversation message of an entry; None if the entry is not part of the conversation."""
    if isinstance(entry, MessageEntry):
        return None if isinstance(entry.message, SystemMessage) else entry.message
    return None if isinstance(entry, CompactionEntry) else message_from_entry(entry)


def _messages_in_order(entries: Sequence[Entry]) -> tuple[Message, ...]:
    return tuple(
        sort_results_in_call_order(
            [message for entry in entries if (message := conversation_message_of_entry(entry)) is not None]
        )
    )


def _last_compaction_and_start(path: Sequence[Entry]) -> tuple[CompactionEntry | None, int]:
    """Returns the last compaction of a branch and the position of the first entry that it kept."""
    for index in range(len(path) - 1, -1, -1):
        entry = path[index]
        if isinstance(entry, CompactionEntry):
            ids = {kept.id: position for position, kept in enumerate(path[:index])}
            return entry, ids.get(entry.first_kept_entry_id, index + 1)
    return None, 0


def _find_cut_position(path: Sequence[Entry], start: int, keep_tokens: int) -> int:
    """Finds the first entry that a compaction keeps: goes back from the newest until enough is kept, then to the
    next position for a cut."""
    total = 0
    reached = start
    for index in range(len(path) - 1, start - 1, -1):
        message = conversation_message_of_entry(path[index])
        if message is None:
            continue
        total += estimate_message_tokens(message)
        if total >= keep_tokens:
            reached = index
            break
    places = [index for index in _cut_positions(path) if index >= start]
    if not places:
        return start
    # One batch of results may be too large for the budget: it stays whole, with its calls.
    place = next((index for index in places if index >= reached), places[-1])
    return _move_above_state_entries(path, place, start)


def _requested_position(path: Sequence[Entry], start: int, entry_id: str) -> int:
    """Returns the position at which an extension requested to cut; entries that are already summarised stay so."""
    at = next((index for index, entry in enumerate(path) if entry.id == entry_id), None)
    if at is None:
        raise NothingToCompact(
            f"A summary cannot start before entry {entry_id}, because it is not on this branch."
        )
    if at < start:
        raise NothingToCompact(
            f"Entry {entry_id} is already part of an earlier summary, so history cannot be kept from there."
        )
    if at in _positions_splitting_calls(path):
        raise NothingToCompact(
            f"Entry {entry_id} is between a tool call and its result, which must stay together."
        )
    return at


def _cut_positions(path: Sequence[Entry]) -> list[int]:
    """Returns the positions of messages at which a kept part may begin."""
    closed = _positions_splitting_calls(path)
    return [index for index, entry in enumerate(path) if _can_start_context(entry) and index not in closed]


def _positions_splitting_calls(path: Sequence[Entry]) -> set[int]:
    """Returns positions that would separate a call from its result: the result, and messages recorded
    while the tool ran."""
    callers: dict[str, int] = {}
    closed: set[int] = set()
    for index, entry in enumerate(path):
        message = conversation_message_of_entry(entry)
        if isinstance(message, AssistantMessage):
            callers.update(dict.fromkeys((call.id for call in message.tool_calls), index))
        elif isinstance(message, ToolResultMessage):
            closed.update(range(callers.get(message.tool_call_id, index - 1) + 1, index + 1))
    return closed


def _can_start_context(entry: Entry) -> bool:
    return isinstance(
        conversation_message_of_entry(entry),
        UserMessage | AssistantMessage | BashExecutionMessage | CustomMessage | BranchSummaryMessage,
    )


def _move_above_state_entries(path: Sequence[Entry], cut: int, start: int) -> int:
    """Moves the cut up over entries directly before it that change the model or other state, because they belong to
    the messages after them."""
    while (
        cut > start
        and conversation_message_of_entry(path[cut - 1]) is None
        and not isinstance(path[cut - 1], CompactionEntry)
    ):
        cut -= 1
    return cut


def _turn_start(path: Sequence[Entry], start: int, cut: int) -> int:
    """Returns the start of the turn that the compaction's cut splits, or the cut itself if it is between turns."""
    first = next(
        (index for index in range(cut, len(path)) if conversation_message_of_entry(path[index]) is not None),
        cut,
    )
    if first >= len(path) or _starts_turn(path[first]):
        return cut
    for index in range(first, start - 1, -1):
        if _starts_turn(path[index]):
            return index
    return cut


def _starts_turn(entry: Entry) -> bool:
    message = conversation_message_of_entry(entry)
    return message is not None and not isinstance(message, AssistantMessage | ToolResultMessage)
