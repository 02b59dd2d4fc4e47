"""Where a conversation is cut: never between a call and its result, enough of the end stays, files are carried on."""

import pytest

from app.compaction.compaction_plan import CompactionPlan, NothingToCompact, plan_compaction
from app.compaction.context_meter import ContextLimits, ContextTokenMeter, estimate_message_tokens
from app.compaction.touched_files import FileLists
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
from tests.compaction.project_session import files_in, writes

SMALL = ContextLimits(reserve_tokens=100, keep_recent_tokens=20)
TOKENS_10 = "x" * 40


def user(text: str = TOKENS_10) -> UserMessage:
    return UserMessage(content=text)


def said(text: str = TOKENS_10, *calls: ToolCall, **more) -> AssistantMessage:
    return AssistantMessage(content=(Text(text=text), *calls), **more)


def result(call: ToolCall, text: str = TOKENS_10) -> ToolResultMessage:
    return ToolResultMessage(tool_call_id=call.id, tool_name=call.name, content=(Text(text=text),))


def files(prepared: CompactionPlan) -> FileLists:
    return files_in(prepared.recorded_entries, prepared.previous_details)


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


def test_whole_turns_are_summarised_and_the_last_stay():
    old, answer, new, last = user(), said(), user(), said()
    prepared = plan_compaction(path(old, answer, new, last), SMALL, 500)
    assert prepared.to_summarise == (old, answer)
    assert prepared.first_kept_entry_id == new.id
    assert not prepared.turn_prefix
    assert prepared.tokens_before == 500


def test_a_turn_that_is_too_long_is_cut_in_two():
    prompt, first, second, last = user(), said(), said("y" * 40), said("z" * 40)
    prepared = plan_compaction(path(prompt, first, second, last), SMALL, 0)
    assert prepared.to_summarise == ()
    assert prepared.turn_prefix == (prompt, first)
    assert prepared.first_kept_entry_id == second.id
    assert prepared.turn_prefix


def test_a_cut_is_never_before_a_result():
    call = ToolCall(id="1", name="read", arguments={"path": "a.py"})
    prompt, asks, answer, last = user(), said("look", call), result(call, "r" * 400), said()
    prepared = plan_compaction(path(user(), said(), prompt, asks, answer, last), SMALL, 0)
    assert prepared.first_kept_entry_id in (asks.id, last.id)
    cut_away = {message.id for message in (*prepared.to_summarise, *prepared.turn_prefix)}
    assert (asks.id in cut_away) == (answer.id in cut_away)


def test_a_cut_is_never_before_a_message_sent_during_tools():
    call = ToolCall(id="1", name="bash", arguments={"command": "make"})
    asks, answer = said("look", call), result(call, "r" * 40)
    note = CustomMessageEntry(parent_id=None, custom_type="note", content=TOKENS_10)
    prepared = plan_compaction(path(user(), said(), user(), asks, note, answer), SMALL, 0)
    assert prepared.first_kept_entry_id == asks.id


def test_only_the_first_kept_message_may_exceed_the_budget():
    long, last = said("y" * 4_000), said()
    prepared = plan_compaction(path(user(), said(), long, last), SMALL, 0)
    assert prepared.first_kept_entry_id == long.id
    assert (
        sum(map(estimate_message_tokens, prepared.kept_messages)) - estimate_message_tokens(long)
        < SMALL.keep_recent_tokens
    )


def test_a_message_with_its_results_stays_whole_however_large_it_is():
    calls = [ToolCall(id=str(number), name="read", arguments={"path": "a.py"}) for number in range(3)]
    asks = said("look", *calls)
    prepared = plan_compaction(path(user(), asks, *(result(call, "r" * 4_000) for call in calls)), SMALL, 0)
    assert prepared.first_kept_entry_id == asks.id
    assert len(prepared.kept_messages) == 4


def test_an_extension_may_cut_elsewhere_and_the_files_follow_the_cut():
    call = writes("new.py")
    old, asks, done, answer, new, last = user(), said("w", call), result(call), said(), user(), said()
    entries = path(old, asks, done, answer, new, last)
    assert files(plan_compaction(entries, SMALL, 0)).modified_files == ("new.py",)
    earlier = plan_compaction(entries, SMALL, 0, first_kept_entry_id=asks.id)
    assert earlier.discarded_messages == (old,) and files(earlier).modified_files == ()
    later = plan_compaction(entries, SMALL, 0, first_kept_entry_id=last.id)
    assert later.kept_messages == (last,) and files(later).modified_files == ("new.py",)
    for place, words in (
        (done.id, "its result, which must stay together"),
        ("nowhere", "not on this branch"),
    ):
        with pytest.raises(NothingToCompact, match=words):
            plan_compaction(entries, SMALL, 0, first_kept_entry_id=place)


def test_a_call_that_failed_with_its_answer_has_changed_nothing():
    failed = said("", writes("never.py"), stop_reason="error", error_message="overloaded")
    assert files(plan_compaction(path(user(), failed, user(), said()), SMALL, 0)).modified_files == ()


def test_files_are_listed_by_the_effects_of_the_tools_that_were_called():
    """Also as pi and older versions wrote their calls; a folder that is searched is no file that was read."""
    patch = "*** Begin Patch\n*** Delete File: gone.py\n*** Add File: made.py\n+x\n*** End Patch"
    calls = [
        ("read", {"path": "/project/a.py", "offset": 3}),
        ("read", {"file_path": "./b.py"}),
        ("edit", {"path": "c.py", "oldText": "x", "newText": "y"}),
        ("edit", {"path": "d.py", "edits": [{"oldText": "x", "newText": "y", "path": "e.py"}]}),
        ("apply_patch", {"input": patch}),
        ("grep", {"pattern": "x", "path": "/tmp"}),
        ("write", {"path": "refused.py"}),
        ("unknown", {"path": "other.py"}),
    ]
    made = [
        ToolCall(id=str(number), name=name, arguments=arguments)
        for number, (name, arguments) in enumerate(calls)
    ]
    assert files_in(path(user(), said("look", *made))) == FileLists(
        read_files=("a.py", "b.py"), modified_files=("c.py", "e.py", "gone.py", "made.py")
    )


def test_compaction_takes_over_file_lists_of_branch_summaries():
    branch = BranchSummaryEntry(
        parent_id=None, from_id="x", summary="s", details={"readFiles": ["r.py"], "modifiedFiles": ["b.py"]}
    )
    prepared = plan_compaction(path(user(), branch, said(), user(), said()), SMALL, 0)
    assert files(prepared) == FileLists(modified_files=("b.py",), read_files=("r.py",))


def test_directly_after_a_compaction_there_is_nothing_to_do():
    entries = path(
        user(), said(), CompactionEntry(parent_id=None, summary="s", first_kept_entry_id="x", tokens_before=9)
    )
    with pytest.raises(NothingToCompact, match="Already compacted"):
        plan_compaction(entries, SMALL, 0)


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
    with pytest.raises(NothingToCompact, match="Nothing to compact"):
        plan_compaction(entries, SMALL, 0)


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
    prepared = plan_compaction(entries, SMALL, 0)
    assert prepared.first_kept_entry_id == opening.id
    assert not prepared.turn_prefix


def test_changes_of_state_stay_with_what_follows_them():
    change = ModelChangeEntry(parent_id=None, provider="p", model_id="m")
    prepared = plan_compaction(path(user(), said(), change, user(), said()), SMALL, 0)
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
    prepared = plan_compaction(entries, SMALL, 0)
    assert prepared.previous_summary == "what was"
    assert before not in prepared.to_summarise
    assert keeps in prepared.to_summarise
    assert files(prepared) == FileLists(modified_files=("changed.py",), read_files=("old.py",))


def test_what_was_left_out_of_the_context_does_not_come_back_through_a_summary():
    secret = said("secret")
    entries = path(user(), secret, user(), said(), user(), said())
    entries.append(ContextEditEntry(parent_id=None, target_id=secret.id, replacement=None))
    assert secret not in plan_compaction(entries, SMALL, 0).to_summarise


def test_what_was_kept_is_not_lost_when_its_first_message_is_left_out():
    first, answer = user(), said("kept")
    wall = CompactionEntry(parent_id=None, summary="s", first_kept_entry_id=first.id, tokens_before=9)
    edit = ContextEditEntry(parent_id=None, target_id=first.id, replacement=None)
    prepared = plan_compaction(path(user("gone"), first, answer, wall, edit, user(), said()), SMALL, 0)
    assert prepared.to_summarise == (answer,)


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
    assert estimate_message_tokens(message) == tokens


def test_context_size_is_the_last_answers_count_plus_an_estimate():
    meter = ContextTokenMeter()
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
    meter = ContextTokenMeter()
    meter.reset([user(), said(usage=Usage(input=190_000, output=1))], trusted=())
    assert meter.tokens == 20
    meter.count_message(said(usage=Usage(input=50, output=5)))
    assert meter.tokens == 55
