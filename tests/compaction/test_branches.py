"""What of a branch goes into its summary: the newest first, as far as the budget reaches."""

from pathlib import Path

import pytest

from app.compaction.branch_content import branch_content
from app.compaction.summary_requests import branch_summary_request
from app.engine.tree.tree_commands import navigate_tree
from app.providers.scripted import say
from app.values.content import Text, text_of
from app.values.entries import BranchSummaryEntry, ContextEditEntry, Entry, MessageEntry
from app.values.messages import AssistantMessage, ToolResultMessage, UserMessage
from tests.compaction.project_session import files_in, writes
from tests.engine.scripted_session import ScriptedSession

TOKENS_10 = "x" * 40


def entry(message: UserMessage | AssistantMessage | ToolResultMessage) -> Entry:
    return MessageEntry(parent_id=None, id=message.id, message=message)


def test_the_newest_come_first_and_what_is_left_out_is_reported() -> None:
    entries = [entry(UserMessage(content=f"{number}{TOKENS_10[1:]}")) for number in range(5)]
    branch = branch_content(entries, 25)
    assert [str(message.content)[0] for message in branch.messages if isinstance(message, UserMessage)] == [
        "3",
        "4",
    ]
    assert branch.omitted_count == 3
    assert "[3 older messages are left out here]" in branch_summary_request(branch)


def test_an_earlier_summary_may_exceed_the_budget() -> None:
    summary = BranchSummaryEntry(parent_id=None, from_id="x", summary=TOKENS_10 * 10)
    branch = branch_content([summary, entry(UserMessage(content=TOKENS_10))], 50)
    assert len(branch.messages) == 2 and branch.omitted_count == 0


def test_results_and_what_was_taken_out_are_left_out_but_the_files_are_known() -> None:
    asks = AssistantMessage(content=(Text(text="w"), writes("a.py")))
    done = ToolResultMessage(tool_call_id="1", tool_name="write", content=(Text(text="ok"),))
    secret = UserMessage(content="secret")
    edit = ContextEditEntry(parent_id=None, target_id=secret.id, replacement=None)
    entries = [entry(secret), entry(asks), entry(done), edit]
    assert branch_content(entries, 1_000).messages == (asks,)
    assert files_in(entries).modified_files == ("a.py",)


@pytest.mark.parametrize("replaces", [False, True])
async def test_the_persons_words_stand_beside_ours_or_instead_of_them(tmp_path: Path, replaces: bool) -> None:
    harness = ScriptedSession(tmp_path, say("one"), say("two"), say("the summary"))
    await harness.prompt("first")
    first = harness.session.log.leaf_id
    await harness.prompt("second")
    asked = {"entryId": first, "summarize": True, "customInstructions": "Only colours."}
    given = navigate_tree.decode_arguments({**asked, "replaceInstructions": replaces})
    answer = await navigate_tree(harness.session, **given)
    assert "summaryEntry" in answer and answer["summaryEntry"].summary
    [request] = harness.script.received_contexts[-1].messages
    assert isinstance(request, UserMessage)
    wanted = text_of(request.content).rpartition("</conversation>")[2]
    assert "Only colours." in wanted
    assert ("## Goal" in wanted) is not replaces
