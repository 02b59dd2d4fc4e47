"""Where a conversation is cut: never between a call and its result, enough of the end stays, files are carried on."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.compaction.budget import ContextMeter, Limits, estimate_tokens
from app.compaction.cut import CannotCompact, message_of, prepare
from app.values.content import Image, Text, ToolCall
from app.values.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    ModelChangeEntry,
    ThinkingLevelChangeEntry,
)
from app.values.messages import AssistantMessage, Message, ToolResultMessage, UserMessage
from app.values.usage import Usage

SMALL = Limits(reserve_tokens=100, keep_recent_tokens=20)
TOKENS_10 = "x" * 40


def user(text: str = TOKENS_10) -> UserMessage:
    return UserMessage(content=text)


def said(text: str = TOKENS_10, *calls: ToolCall, **more) -> AssistantMessage:
    return AssistantMessage(content=(Text(text=text), *calls), **more)


def result(call: ToolCall, text: str = TOKENS_10) -> ToolResultMessage:
    return ToolResultMessage(tool_call_id=call.id, tool_name=call.name, content=(Text(text=text),))


def path(*parts: Message | Entry) -> list[Entry]:
    """A branch, root first."""
    entries: list[Entry] = []
    for part in parts:
        parent = entries[-1].id if entries else None
        if isinstance(part, Message):
            entries.append(MessageEntry(parent_id=parent, id=part.id, message=part))
        else:
            entries.append(part)
    return entries


def kept(entries: Sequence[Entry], first: str | None) -> list[str]:
    ids = [entry.id for entry in entries]
    return ids[ids.index(first) :] if first in ids else []


def test_whole_turns_are_summarised_and_the_last_stay():
    old, answer, new, last = user(), said(), user(), said()
    prepared = prepare(path(old, answer, new, last), SMALL, 500)
    assert prepared.to_summarise == (old, answer)
    assert prepared.first_kept_entry_id == new.id
    assert not prepared.is_split_turn
    assert prepared.tokens_before == 500


def test_a_turn_that_is_too_long_is_cut_in_two():
    prompt, first, second, last = user(), said(), said("y" * 40), said("z" * 40)
    prepared = prepare(path(prompt, first, second, last), SMALL, 0)
    assert prepared.to_summarise == ()
    assert prepared.turn_prefix == (prompt, first)
    assert prepared.first_kept_entry_id == second.id
    assert prepared.is_split_turn


def test_a_result_is_no_place_to_cut():
    call = ToolCall(id="1", name="read", arguments={"path": "a.py"})
    prompt, asks, answer, last = user(), said("look", call), result(call, "r" * 400), said()
    prepared = prepare(path(user(), said(), prompt, asks, answer, last), SMALL, 0)
    assert prepared.first_kept_entry_id in (asks.id, last.id)
    cut_away = {message.id for message in (*prepared.to_summarise, *prepared.turn_prefix)}
    assert (asks.id in cut_away) == (answer.id in cut_away)


def test_directly_after_a_compaction_there_is_nothing_to_do():
    entries = path(
        user(), said(), CompactionEntry(parent_id=None, summary="s", first_kept_entry_id="x", tokens_before=9)
    )
    with pytest.raises(CannotCompact, match="Already compacted"):
        prepare(entries, SMALL, 0)


@pytest.mark.parametrize(
    "entries",
    [
        [],
        path(user("hi")),
        path(
            ModelChangeEntry(parent_id=None, provider="p", model_id="m"),
            ThinkingLevelChangeEntry(parent_id=None, thinking_level="low"),
        ),
    ],
    ids=["nothing", "one prompt", "changes of state only"],
)
def test_what_is_too_small_is_left_alone(entries):
    with pytest.raises(CannotCompact, match="Nothing to compact"):
        prepare(entries, SMALL, 0)


@pytest.mark.parametrize(
    "opening",
    [
        BranchSummaryEntry(parent_id=None, from_id="x", summary=TOKENS_10),
        CustomMessageEntry(parent_id=None, custom_type="note", content=TOKENS_10, display=True),
    ],
    ids=["branch summary", "custom message"],
)
def test_summaries_and_custom_messages_open_a_turn(opening):
    entries = path(user(), said(), opening, said())
    prepared = prepare(entries, SMALL, 0)
    assert prepared.first_kept_entry_id == opening.id
    assert not prepared.is_split_turn


def test_changes_of_state_stay_with_what_follows_them():
    change = ModelChangeEntry(parent_id=None, provider="p", model_id="m")
    prepared = prepare(path(user(), said(), change, user(), said()), SMALL, 0)
    assert prepared.first_kept_entry_id == change.id


def test_the_last_compaction_is_a_wall_and_its_summary_is_carried_on():
    before, keeps, answer = user("gone"), user(), said()
    wall = CompactionEntry(
        parent_id=None,
        summary="what was",
        first_kept_entry_id=keeps.id,
        tokens_before=9,
        details={"readFiles": ["old.py"], "modifiedFiles": ["changed.py"]},
    )
    entries = path(before, keeps, answer, wall, user(), said(), user(), said())
    prepared = prepare(entries, SMALL, 0)
    assert prepared.previous_summary == "what was"
    assert before not in prepared.to_summarise
    assert keeps in prepared.to_summarise
    assert prepared.files.modified_files == ("changed.py",)
    assert prepared.files.read_files == ("old.py",)


def test_what_was_left_out_of_the_context_does_not_come_back_through_a_summary():
    secret = said("secret")
    entries = path(user(), secret, user(), said(), user(), said())
    entries.append(ContextEditEntry(parent_id=None, target_id=secret.id, replacement=None))
    assert secret not in prepare(entries, SMALL, 0).to_summarise


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (user("12345"), 2),
        (UserMessage(content=(Text(text="1234"), Image(data="", mime_type="image/png"))), 1201),
        (AssistantMessage(content=(ToolCall(id="1", name="read", arguments={"a": 1}),)), 3),
        (user(""), 0),
    ],
)
def test_estimates(message: Message, tokens: int):
    assert estimate_tokens(message) == tokens


def test_the_context_is_what_the_last_answer_counted_and_an_estimate_of_what_came_after():
    meter = ContextMeter()
    meter.reset(
        [
            user(),
            said(usage=Usage(input=900, output=100)),
            user(),
            said(stop_reason="error", usage=Usage(input=5)),
        ]
    )
    assert meter.tokens == 1000 + 10 + 10
    meter.reset([user(), said(stop_reason="error")])
    assert meter.tokens == 20 and not meter.is_exact


def test_counts_from_before_a_compaction_mean_nothing():
    meter = ContextMeter()
    meter.reset([user(), said(usage=Usage(input=190_000, output=1))], trusted=())
    assert meter.tokens == 20
    meter.add(said(usage=Usage(input=50, output=5)))
    assert meter.tokens == 55


# -- whatever was said -----------------------------------------------------------------------------------------


@st.composite
def conversations(draw) -> list[Entry]:
    """Turns of prompts, answers, calls with results in any order, changes of state, and compactions."""
    entries: list[Entry] = []
    number = 0
    for _ in range(draw(st.integers(1, 8))):
        entries.append(_entry(user("u" * draw(st.integers(0, 200)))))
        for _ in range(draw(st.integers(0, 4))):
            calls = []
            for _ in range(draw(st.integers(0, 3))):
                number += 1
                name = draw(st.sampled_from(["read", "edit", "bash"]))
                calls.append(ToolCall(id=f"c{number}", name=name, arguments={"path": f"f{number % 7}.py"}))
            entries.append(_entry(said("a" * draw(st.integers(0, 200)), *calls)))
            for call in draw(st.permutations(calls)):
                entries.append(_entry(result(call, "r" * draw(st.integers(0, 400)))))
            if draw(st.booleans()):
                entries.append(ModelChangeEntry(parent_id=None, provider="p", model_id="m"))
    return entries


def _entry(message: Message) -> Entry:
    return MessageEntry(parent_id=None, id=message.id, message=message)


@given(conversations(), st.integers(1, 300))
def test_no_call_is_parted_from_its_result_and_enough_of_the_end_stays(entries: list[Entry], keep: int):
    try:
        prepared = prepare(entries, Limits(keep_recent_tokens=keep), 0)
    except CannotCompact:
        return
    after = kept(entries, prepared.first_kept_entry_id)
    by_id = {entry.id: entry for entry in entries}
    messages = [message for id in after if (message := message_of(by_id[id])) is not None]
    calls = {
        call.id
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    }
    results = {message.tool_call_id for message in messages if isinstance(message, ToolResultMessage)}
    assert calls == results
    # Everything is either summarised or kept, once and in order.
    summarised = [message.id for message in (*prepared.to_summarise, *prepared.turn_prefix)]
    all_ids = [entry.id for entry in entries if message_of(entry) is not None]
    assert summarised + [message.id for message in messages] == all_ids
    # What stays is what was asked for, but for the last batch, which stays whole.
    last_place = (
        max(i for i, m in enumerate(messages) if not isinstance(m, ToolResultMessage)) if messages else 0
    )
    assert sum(estimate_tokens(m) for m in messages[:last_place][1:]) <= keep


@given(st.lists(conversations(), min_size=2, max_size=4))
def test_every_changed_file_is_carried_through_compaction_after_compaction(parts: list[list[Entry]]):
    entries: list[Entry] = []
    changed: set[str] = set()
    details = None
    for part in parts:
        entries += part
        try:
            prepared = prepare(entries, Limits(keep_recent_tokens=1), 0)
        except CannotCompact:
            continue
        after = set(kept(entries, prepared.first_kept_entry_id))
        changed |= {
            call.arguments["path"]
            for entry in entries
            if entry.id not in after and isinstance(message := message_of(entry), AssistantMessage)
            for call in message.tool_calls
            if call.name == "edit"
        }
        details = {
            "readFiles": list(prepared.files.read_files),
            "modifiedFiles": list(prepared.files.modified_files),
        }
        assert set(prepared.files.modified_files) == changed
        assert not set(prepared.files.read_files) & changed
        entries.append(
            CompactionEntry(
                parent_id=None,
                summary="s",
                first_kept_entry_id=prepared.first_kept_entry_id or "",
                tokens_before=0,
                details=details,
            )
        )
