"""The activity line is derived from events alone; a fixed clock makes every text predictable."""

import asyncio
from typing import Any

import pytest

from app.tui.status.activity import ActivityTracker
from app.values.approvals import Approval
from app.values.diagnostics import DiagnosticsEnd, DiagnosticsStart
from app.values.events import (
    AgentSettled,
    AgentStart,
    AutoRetryStart,
    CompactionStart,
    MessageUpdate,
    ProviderRequestPrepared,
    ProviderWaiting,
    QuestionAsked,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolOutcome,
)
from app.values.mcp_servers import McpServersChange, McpServerState
from app.values.stream import BlockEvent, TextDelta, ThinkingDelta
from app.values.usage import Usage
from tests.support.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock(100.0)


@pytest.fixture
def activity(clock: Clock) -> ActivityTracker:
    return ActivityTracker(
        clock=clock,
        provider=lambda: "anthropic",
        call=lambda name, arguments: name,
        key_label=lambda action, usual: usual,
    )


def asked_about(call_id: str) -> QuestionAsked:
    approval = Approval(
        tool_call_id=call_id,
        tool_name="read",
        arguments={},
        parts=(),
        letter="safe",
        why="",
        decided_by="",
        mode="ask",
    )
    return QuestionAsked(
        id="q", method="confirm", approval=approval, answer=asyncio.get_running_loop().create_future()
    )


def request() -> ProviderRequestPrepared:
    return ProviderRequestPrepared(request_id="r", session_id="s", message_ids=())


def part(event: BlockEvent, output: int = 0) -> MessageUpdate:
    return MessageUpdate(usage=Usage(output=output), assistant_message_event=event)


def start(call_id: str, **arguments: Any) -> ToolExecutionStart:
    return ToolExecutionStart(tool_call_id=call_id, tool_name="read", args=arguments)


def end(call_id: str) -> ToolExecutionEnd:
    return ToolExecutionEnd(tool_call_id=call_id, tool_name="read", result=ToolOutcome(), is_error=False)


def test_nothing_is_said_of_a_page_at_rest(activity: ActivityTracker) -> None:
    assert not activity.is_active and activity.current_status().text_with_figures == ""
    activity.handle_event(AgentStart())
    activity.handle_event(AgentSettled(aborted=False))
    assert not activity.is_active and activity.current_status().text_with_figures == ""


def test_what_is_waited_for_and_since_when(activity: ActivityTracker, clock: Clock) -> None:
    activity.handle_event(AgentStart())
    assert activity.handle_event(request())
    assert activity.current_status().text_with_figures == "Waiting for anthropic"
    clock.now += 3
    assert activity.current_status().text_with_figures == "Waiting for anthropic · 3 s"
    assert activity.current_status().hints == "esc stop"


def test_the_activity_line_counts_received_tokens(activity: ActivityTracker, clock: Clock) -> None:
    activity.handle_event(AgentStart())
    activity.handle_event(request())
    assert activity.handle_event(part(ThinkingDelta(content_index=0, delta="x" * 396)))
    clock.now += 12
    assert activity.current_status().text_with_figures == "Thinking · 12 s"
    assert activity.handle_event(part(TextDelta(content_index=1, delta="x" * 404)))
    assert not activity.handle_event(part(TextDelta(content_index=1, delta="more"))), (
        "a delta changes nothing else"
    )
    assert activity.current_status().text_with_figures == "Writing · ↓ 201"
    activity.handle_event(part(TextDelta(content_index=1, delta="x"), output=1_250))
    assert activity.current_status().text_with_figures == "Writing · ↓ 1.2k", (
        "the provider's own figure counts"
    )


def test_a_running_tool_is_named(activity: ActivityTracker, clock: Clock) -> None:
    activity.handle_event(AgentStart())
    activity.handle_event(start("1", path="a.py"))
    clock.now += 61
    activity.handle_event(start("2", path="b.py"))
    assert activity.current_status().text_with_figures == "Running read and 1 more · 1 m 1 s"
    activity.handle_event(end("1"))
    clock.now += 2
    assert activity.current_status().text_with_figures == "Running read · 2 s"
    activity.handle_event(end("2"))
    assert activity.current_status().text_with_figures == "Working"


def test_calls_within_a_call_are_its_own_business(activity: ActivityTracker) -> None:
    activity.handle_event(AgentStart())
    inner = ToolExecutionStart(tool_call_id="i", tool_name="read", args={}, parent_tool_call_id="1")
    assert not activity.handle_event(inner)
    assert activity.current_status().text_with_figures == "Working"


async def test_who_is_waited_for_is_the_person_until_there_is_an_answer(
    activity: ActivityTracker, clock: Clock
) -> None:
    activity.handle_event(AgentStart())
    activity.handle_event(start("1", path="a.py"))
    activity.handle_event(start("2", path="b.py"))
    question = asked_about("1")
    assert activity.handle_event(question)
    clock.now += 9
    activity.handle_event(end("2"))
    assert activity.current_status().text_with_figures == "Waiting for your answer · 9 s"
    assert activity.current_status().is_waiting_for_person
    question.answer.set_result(None)
    await asyncio.sleep(0)
    clock.now += 2
    assert activity.current_status().text_with_figures == "Running read · 2 s", "it begins with the answer"


async def test_a_question_without_a_run_ends_with_its_answer(activity: ActivityTracker) -> None:
    question = asked_about("")
    activity.handle_event(question)
    assert activity.is_active
    question.answer.cancel()
    await asyncio.sleep(0)
    assert not activity.is_active


def test_a_call_to_a_server_that_does_not_answer_yet_says_so(activity: ActivityTracker) -> None:
    def stands(state: str) -> McpServersChange:
        return McpServersChange(servers=(McpServerState(name="docs", state=state),))

    activity.handle_event(AgentStart())
    activity.handle_event(stands("starting"))
    assert activity.current_status().text_with_figures == "Working", "the user does not wait for it"
    activity.handle_event(ToolExecutionStart(tool_call_id="1", tool_name="mcp__docs__find", args={}))
    assert activity.current_status().text_with_figures == "Starting the MCP server docs"
    activity.handle_event(stands("ready"))
    assert activity.current_status().text_with_figures == "Running mcp__docs__find"


def test_a_retry_counts_down(activity: ActivityTracker, clock: Clock) -> None:
    activity.handle_event(AgentStart())
    activity.handle_event(
        AutoRetryStart(attempt=2, max_attempts=3, delay_ms=8_000, error_message="overloaded")
    )
    assert activity.current_status().text_with_figures == "Retrying 2 of 3 in 8 s"
    clock.now += 5
    assert activity.current_status().text_with_figures == "Retrying 2 of 3 in 3 s"
    clock.now += 50
    assert activity.current_status().text_with_figures == "Retrying 2 of 3 in 0 s"


def test_silence_is_reported_with_its_end(activity: ActivityTracker) -> None:
    activity.handle_event(AgentStart())
    activity.handle_event(request())
    activity.handle_event(ProviderWaiting(state="waiting", seconds=90))
    assert (
        activity.current_status().text_with_figures == "No response yet from anthropic, times out in 1 m 30 s"
    )
    activity.handle_event(ProviderWaiting(state="stalled", seconds=0))
    assert activity.current_status().text_with_figures == "No further response from anthropic"
    activity.handle_event(ProviderWaiting(state="flowing", seconds=0))
    assert activity.current_status().text_with_figures == "Waiting for anthropic"


def test_the_users_command_is_shown_before_a_compaction(activity: ActivityTracker, clock: Clock) -> None:
    activity.handle_event(CompactionStart(reason="manual"))
    activity.show_activity("$ make", is_stoppable=True)
    clock.now += 4
    assert (activity.current_status().text_with_figures, activity.current_status().hints) == (
        "$ make · 4 s",
        "esc stop",
    )
    activity.show_activity("")
    assert activity.current_status().text_with_figures == "Compacting · 4 s"


def test_without_a_key_that_stops_none_is_reported(clock: Clock) -> None:
    bare = ActivityTracker(
        clock=clock,
        provider=lambda: "x",
        call=lambda name, arguments: "",
        key_label=lambda action, usual: "",
    )
    bare.handle_event(AgentStart())
    assert bare.current_status().hints == ""


def test_who_looks_at_what_was_changed_and_since_when(activity: ActivityTracker, clock: Clock) -> None:
    activity.handle_event(AgentStart())
    activity.handle_event(DiagnosticsStart(programs=("ruff", "tsc"), files=2))
    clock.now += 4
    assert activity.current_status().text_with_figures == "Checking with ruff, tsc · 4 s"
    assert activity.current_status().hints == "esc stop"
    activity.handle_event(DiagnosticsEnd())
    assert activity.current_status().text_with_figures == "Working"
