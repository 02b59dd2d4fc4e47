"""A long conversation is shown from its end; in the end it is the same as if it had been shown at once."""

import random
from typing import Any

import pytest

from app.tui.transcript import earlier_blocks as earlier
from app.tui.transcript import message_blocks
from app.tui.transcript.earlier_blocks import (
    EarlierBlockLoader,
    first_shown_entry_index,
    turn_start_index_before,
)
from app.tui.transcript.renderers import EntryRenderers
from app.tui.transcript.turn_end import TurnEndCollector
from app.values.content import Text, ToolCall
from app.values.entries import CustomMessageEntry, Entry, MessageEntry
from app.values.messages import AssistantMessage, Message, ToolResultMessage, user_message
from tests.widgets.transcript.page import Page
from tools.tool_definition import make_generic_tool_card
from tools.tool_result_values import ToolResult
from widgets.transcript.transcript_blocks import Block

MADE_BY: dict[str, Any] = {"api": "a", "provider": "p", "model": "m"}


def renderers() -> EntryRenderers:
    def card(call: ToolCall, result: ToolResult | None):
        return make_generic_tool_card(call.name, call.arguments, result)

    return EntryRenderers(card, lambda _, usual: usual)


def conversation(turns: int, seed: int) -> list[Entry]:
    chance = random.Random(seed)
    entries: list[Entry] = []

    def say(message: Message) -> None:
        entries.append(MessageEntry(parent_id=None, message=message))

    for turn in range(turns):
        say(user_message(f"prompt {turn}"))
        for step in range(chance.randrange(4)):
            calls = [
                ToolCall(id=f"call{turn}.{step}.{n}", name="read", arguments={})
                for n in range(chance.randrange(1, 4))
            ]
            say(
                AssistantMessage(
                    content=(Text(text=f"step {step}"), *calls), stop_reason="toolUse", **MADE_BY
                )
            )
            if chance.random() < 0.2:
                say(user_message("steering, while the calls run"))
            for call in calls:
                say(ToolResultMessage(tool_call_id=call.id, tool_name="read", content=(Text(text="done"),)))
            if chance.random() < 0.3:
                entries.append(
                    CustomMessageEntry(
                        parent_id=None, custom_type="background-result", content="the job's end", display=True,
                        details={"jobId": "job1", "state": "done"},
                    )
                )  # fmt: skip
        ending = chance.choice(("stop", "stop", "error", "aborted"))
        say(AssistantMessage(content=(Text(text="so"),), stop_reason=ending, error_message="no", **MADE_BY))
    return entries


def at_once(entries: list[Entry]) -> list[Block]:
    return message_blocks.transcript_blocks_of_branch(entries, renderers(), TurnEndCollector())


@pytest.mark.parametrize("seed", range(8))
async def test_what_comes_later_is_what_would_have_been_there(seed: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(earlier, "MAX_ENTRIES_DRAWN_AT_ONCE", 30)
    monkeypatch.setattr(earlier, "FIRST_DRAWN_ENTRIES", 12)
    monkeypatch.setattr(earlier, "ENTRIES_DRAWN_PER_SLICE", 7)
    monkeypatch.setattr(earlier, "_EARLIER_BLOCKS_PAUSE_SECONDS", 0)
    monkeypatch.setattr(earlier, "_EARLIER_BLOCKS_DELAY_SECONDS", 0)
    entries = conversation(60, seed)
    drawn = renderers()
    page = Page()
    async with page.run_test(size=(60, 20)) as pilot:
        transcript = page.transcript
        coming = EarlierBlockLoader(transcript, drawn)
        end = coming.take_entries_to_show_first(entries)
        assert 0 < len(end) < len(entries)
        transcript.replace_all(message_blocks.transcript_blocks_of_branch(end, drawn, TurnEndCollector()))
        assert coming.has_more
        for _ in range(20):
            await pilot.pause()
        assert len(transcript.column.items) < len(entries) // 2, "it came before the page was there"
        coming.start_adding_earlier_blocks()
        for _ in range(len(entries)):
            await pilot.pause()
            if not coming.has_more:
                break
        expected = at_once(entries)
        assert [transcript.find_block(block.id) for block in expected] == expected
        assert [item.block.id for item in transcript.column.items] == [block.id for block in expected]
        assert [transcript.column.index_of(block.id) for block in expected] == list(range(len(expected)))
        shown = [item.gap for item in transcript.column.items]
        transcript.replace_all(expected)
        assert [item.gap for item in transcript.column.items] == shown


async def test_the_view_stays_where_it_is_while_more_comes_above():
    page = Page()
    async with page.run_test(size=(60, 12)) as pilot:
        transcript = page.transcript
        blocks = at_once(conversation(40, 3))
        transcript.replace_all(blocks[80:])
        await pilot.pause()
        end = transcript.viewport.rows[-1]
        transcript.arriving.prepend_blocks(blocks[60:80])
        await pilot.pause()
        assert transcript.viewport.is_following
        assert transcript.viewport.rows[-1].item is end.item
        transcript.viewport.scroll_by(-15)
        await pilot.pause()
        before = [(row.item.block.id, row.row) for row in transcript.viewport.rows]
        transcript.arriving.prepend_blocks(blocks[:60])
        await pilot.pause()
        assert [(row.item.block.id, row.row) for row in transcript.viewport.rows] == before
        transcript.remove_block(blocks[70].id)
        assert transcript.column.index_of(blocks[71].id) == 70


def test_a_short_conversation_is_shown_at_once():
    entries = conversation(40, 1)
    assert len(entries) < earlier.MAX_ENTRIES_DRAWN_AT_ONCE
    assert first_shown_entry_index(entries) == 0


@pytest.mark.parametrize("seed", range(4))
def test_no_part_begins_between_a_call_and_its_result(seed: int):
    entries = conversation(60, seed)
    for at in range(len(entries)):
        begin = turn_start_index_before(entries, at)
        assert begin <= at
        calls = {
            call.id
            for entry in entries[:begin]
            if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage)
            for call in entry.message.tool_calls
        }
        results = {
            entry.message.tool_call_id
            for entry in entries[begin:]
            if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResultMessage)
        }
        assert not calls & results
