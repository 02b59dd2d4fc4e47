"""Shows a long conversation from its end; earlier turns are added above after the first paint, a few at a time."""

import asyncio
from collections.abc import Callable, Sequence

from app.tui.transcript.message_blocks import add_turn_end, transcript_blocks_of_branch
from app.tui.transcript.renderers import EntryRenderers
from app.tui.transcript.turn_end import TurnEndCollector
from app.values.entries import Entry, MessageEntry
from app.values.messages import AssistantMessage, ToolResultMessage, UserMessage
from widgets.transcript.transcript_blocks import Block
from widgets.transcript.view import Transcript

MAX_ENTRIES_DRAWN_AT_ONCE = 2_000
"""The maximum number of entries that are shown at once."""
FIRST_DRAWN_ENTRIES = 200
"""The number of entries shown first if there are more than `MAX_ENTRIES_DRAWN_AT_ONCE`."""
ENTRIES_DRAWN_PER_SLICE = 200
"""The number of earlier entries added at a time."""
_EARLIER_BLOCKS_DELAY_SECONDS = 0.05
_EARLIER_BLOCKS_PAUSE_SECONDS = 0.004
"""Seconds between two slices, for keys and frames."""


def first_shown_entry_index(entries: Sequence[Entry]) -> int:
    """Returns the index of the entry from which on a long conversation is shown at once; 0 for a short one."""
    return (
        turn_start_index_before(entries, len(entries) - FIRST_DRAWN_ENTRIES)
        if len(entries) > MAX_ENTRIES_DRAWN_AT_ONCE
        else 0
    )


def turn_start_index_before(entries: Sequence[Entry], at: int) -> int:
    """Returns the nearest index at or before `at` where a prompt stands before which every call has its result."""
    for index in range(max(0, at), 0, -1):
        entry = entries[index]
        is_prompt = isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)
        if is_prompt and _has_all_results_at(entries, index):
            return index
    return 0


def _has_all_results_at(entries: Sequence[Entry], at: int) -> bool:
    answered: set[str] = set()
    for index in range(at - 1, -1, -1):
        entry = entries[index]
        if not isinstance(entry, MessageEntry):
            continue
        if isinstance(entry.message, ToolResultMessage):
            answered.add(entry.message.tool_call_id)
        elif isinstance(entry.message, AssistantMessage):
            return all(call.id in answered for call in entry.message.tool_calls)
    return True


class EarlierBlockLoader:
    """Adds the earlier part of a long conversation above the visible blocks, a few turns at a time."""

    def __init__(
        self,
        transcript: Transcript,
        renderers: EntryRenderers,
        finish: Callable[[list[Block]], list[Block]] = list,
    ) -> None:
        """Creates it for a transcript. `finish`: adapts earlier blocks to what has happened since, such as undone
        changes."""
        self._transcript = transcript
        self._renderers = renderers
        self._finish = finish
        self._entries: Sequence[Entry] = ()
        self._next: asyncio.TimerHandle | None = None
        self._has_begun = False

    @property
    def has_more(self) -> bool:
        return bool(self._entries)

    def start_adding_earlier_blocks(self) -> None:
        """Starts to add earlier blocks, after the first paint."""
        self._has_begun = True
        if self._entries:
            self._schedule_slice(_EARLIER_BLOCKS_DELAY_SECONDS)

    def take_entries_to_show_first(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Returns the entries of a conversation to show at once; stores the rest, which is added later."""
        if self._next is not None:
            self._next.cancel()
            self._next = None
        at = first_shown_entry_index(entries)
        self._entries = entries[:at]
        if self._entries and self._has_begun:
            self._schedule_slice(_EARLIER_BLOCKS_DELAY_SECONDS)
        return entries[at:]

    def redraw_entries(self, entries: Sequence[Entry]) -> None:
        """Draws entries again whose look has changed; those not shown yet are drawn with the new look later."""
        for block in transcript_blocks_of_branch(entries, self._renderers, TurnEndCollector()):
            if not self.has_more or self._transcript.find_block(block.id) is not None:
                self._transcript.add(block)

    def _schedule_slice(self, seconds: float) -> None:
        self._next = asyncio.get_running_loop().call_later(seconds, self._show_next_slice)

    def _show_next_slice(self) -> None:
        self._next = None
        if not self._transcript.is_attached:
            return
        at = turn_start_index_before(self._entries, len(self._entries) - ENTRIES_DRAWN_PER_SLICE)
        self._transcript.arriving.prepend_blocks(self._draw_turns(self._entries[at:]))
        self._entries = self._entries[:at]
        if self._entries:
            self._schedule_slice(_EARLIER_BLOCKS_PAUSE_SECONDS)

    def _draw_turns(self, entries: Sequence[Entry]) -> list[Block]:
        """Returns the transcript blocks of earlier turns, with the end of the last of them."""
        changed = TurnEndCollector()
        blocks = transcript_blocks_of_branch(entries, self._renderers, changed, goes_on=True)
        add_turn_end(blocks, changed.unfinished_turn_end())
        return self._finish(blocks)
