"""Model, tools and user act in random order: the loop keeps its invariants."""

import asyncio
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.agent.hooks import ToolCallVerdict
from app.agent.message_queues import AsideMessage
from app.providers.scripted import ScriptedAnswer, call, fail, say
from app.values.content import ToolCall
from app.values.events import (
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
)
from app.values.messages import AssistantMessage, CustomMessage, ToolResultMessage, user_message
from tests.agent.scripted_loop import ScriptedLoop, plain, tool
from tools.tool_definition import ToolContext, ToolError
from tools.tool_result_values import ToolResult, text_result

BEHAVIOURS = ("quick", "slow", "raises", "garbage", "chatty", "unknown", "blocked", "stubborn")
ACTIONS = ("steer", "follow", "aside", "abort", "nothing", "nothing", "nothing")

turns = st.lists(st.lists(st.sampled_from(BEHAVIOURS), max_size=4), max_size=5)
plans = st.fixed_dictionaries(
    {
        "turns": turns,
        "fails_at": st.integers(0, 8),
        "actions": st.lists(st.sampled_from(ACTIONS), max_size=30),
        "mode": st.sampled_from(("wait", "immediate")),
        "all": st.booleans(),
        "sequential": st.booleans(),
        "seed": st.integers(0, 1000),
    }
)


def answers(plan: dict[str, Any]) -> list[ScriptedAnswer]:
    made: list[ScriptedAnswer] = []
    for index, behaviours in enumerate(plan["turns"]):
        if index == plan["fails_at"]:
            made.append(fail("server fell over"))
            continue
        answer = say(f"turn {index}")
        for behaviour in behaviours:
            answer += call(behaviour)
        made.append(answer)
    return made + [say("done")] * 40


def tools(plan: dict[str, Any]) -> list[Any]:
    chance = random.Random(plan["seed"])

    async def behave(arguments: dict[str, Any], context: ToolContext, how: str) -> Any:
        if how == "slow":
            await asyncio.sleep(0.001)
        elif how == "raises":
            raise chance.choice((ToolError("no"), ValueError("bad"), SystemExit(1)))
        elif how == "garbage":
            return 42
        elif how == "chatty":
            for _ in range(3):
                context.progress(text_result("so far"))
                await asyncio.sleep(0)
        elif how == "stubborn":
            try:
                await asyncio.sleep(0.002)
            except asyncio.CancelledError:
                await asyncio.sleep(0.001)
        return text_result(how)

    def one(how: str) -> Any:
        async def run(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
            return await behave(arguments, context, how)

        is_sequential = plan["sequential"] and how == "slow"
        return tool(how, run, mode="sequential" if is_sequential else "parallel")

    return [one(how) for how in BEHAVIOURS if how != "unknown"]


async def block(tool_call: ToolCall, arguments: dict[str, Any], parent_id: str | None) -> ToolCallVerdict:
    return ToolCallVerdict(is_blocked=tool_call.name == "blocked")


@settings(max_examples=150, deadline=None)
@given(plans)
def test_the_loops_promises(plan: dict[str, Any]) -> None:
    stage = asyncio.run(harness(plan))
    check_grammar(stage.events)
    check_calls(stage)
    check_queues(stage, plan)


async def harness(plan: dict[str, Any]) -> ScriptedLoop:
    stage = ScriptedLoop(
        *answers(plan),
        tools=tools(plan),
        interrupt_mode=plan["mode"],
        queue_mode="all" if plan["all"] else "one-at-a-time",
        before_tool=block,
    )
    actions = list(plan["actions"])
    counts = {"steer": 0, "follow": 0, "aside": 0}

    def act(event: Event) -> None:
        if isinstance(event, MessageUpdate) or not actions:
            return
        action = actions.pop(0)
        if action in counts:
            counts[action] += 1
        match action:
            case "steer":
                stage.queues.add_message("steering", user_message(f"steer {counts['steer']}"))
            case "follow":
                stage.queues.add_message("follow_up", user_message(f"follow {counts['follow']}"))
            case "aside":
                message = CustomMessage(custom_type="note", content=f"aside {counts['aside']}")
                stage.queues.add_aside(AsideMessage(message=message))
            case "abort":
                asyncio.get_running_loop().call_soon(stage.abort.set)

    stage.on_event = act
    async with asyncio.timeout(20):
        await stage.run("go")
    return stage


def check_grammar(events: list[Event]) -> None:
    """Starts and ends nest as `app.values.events` says."""
    kinds = [str(type(event).__struct_config__.tag) for event in events]
    assert kinds[0] == "agent_start"
    assert kinds[-1] == "agent_end"
    assert kinds.count("agent_start") == kinds.count("agent_end") == 1
    in_turn = False
    open_message: str | None = None
    open_calls: set[str] = set()
    for event, kind in zip(events, kinds, strict=True):
        if kind == "turn_start":
            assert not in_turn
            in_turn = True
        elif kind == "turn_end":
            assert in_turn and open_message is None and not open_calls
            in_turn = False
        elif isinstance(event, MessageStart):
            assert in_turn and open_message is None
            open_message = event.message.id
        elif isinstance(event, MessageUpdate):
            assert open_message is not None
        elif isinstance(event, MessageEnd):
            assert event.message.id == open_message
            open_message = None
        elif isinstance(event, ToolExecutionStart):
            assert event.tool_call_id not in open_calls
            open_calls.add(event.tool_call_id)
        elif isinstance(event, ToolExecutionUpdate):
            assert event.tool_call_id in open_calls
        elif isinstance(event, ToolExecutionEnd):
            open_calls.remove(event.tool_call_id)
    assert not in_turn


def check_calls(stage: ScriptedLoop) -> None:
    """Every call of an answer that counts has exactly one result, right behind it, in call order."""
    messages = stage.conversation
    for index, message in enumerate(messages):
        if not isinstance(message, AssistantMessage) or message.stop_reason in ("error", "aborted"):
            continue
        wanted = [one.id for one in message.tool_calls]
        behind = messages[index + 1 : index + 1 + len(wanted)]
        assert [one.tool_call_id for one in behind if isinstance(one, ToolResultMessage)] == wanted
    for event in stage.all(TurnEnd):
        calls = [one.id for one in event.message.tool_calls]
        assert [one.tool_call_id for one in event.tool_results] in ([], calls)


def check_queues(stage: ScriptedLoop, plan: dict[str, Any]) -> None:
    """Messages leave a queue in the order they came; none is lost, delivered or still waiting."""
    texts = [plain(message) for message in stage.conversation]
    for prefix, queue in (("steer", "steering"), ("follow", "follow_up")):
        delivered = [text for text in texts if text.startswith(f"{prefix} ")]
        waiting = list(stage.queues.queued_texts(queue))  # pyright: ignore[reportArgumentType]  (one of the two names)
        numbers = [int(text.split()[1]) for text in [*delivered, *waiting]]
        assert numbers == list(range(1, len(numbers) + 1))
    asides = [text for text in texts if text.startswith("aside ")]
    asides += [plain(message) for message in stage.queues.take_asides()]
    assert sorted(asides) == sorted(f"aside {number + 1}" for number in range(len(asides)))
