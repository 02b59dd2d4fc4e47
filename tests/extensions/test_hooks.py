"""Hooks: who is asked in which order, how answers become one, and what a failing extension can do (nothing)."""

import asyncio
import inspect
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from app.agent.hooks import FinishedTurn
from app.engine.core.hook_results import RequestIds, UserCommandOverride
from app.engine.core.prompt_intake import PromptInput
from app.extensions.hooks.hook_table import HOOK_DEFINITIONS, SESSION_EVENTS
from app.extensions.hooks.payloads import (
    SessionStart,
)
from app.extensions.hooks.session_hooks import ExtensionHooks
from app.providers.model_stream import RequestContext
from app.providers.offline.model import offline_model
from app.values.content import Text, ToolCall
from app.values.events import AgentStart, TurnStart
from app.values.messages import AssistantMessage, user_message
from bayou import ExtensionApi
from tests.extensions.extension_host import ExtensionHost, settled
from tools.tool_result_values import text_result

CALL = ToolCall(id="c1", name="bash", arguments={"command": "rm -rf /", "list": [1]})


async def test_handlers_are_asked_in_the_order_of_loading(load):
    order = []

    def one(api: ExtensionApi):
        api.on("session_start", lambda event, context: order.append("one"))

    async def two(api: ExtensionApi):
        @api.on("session_start")
        async def begin(event, context):
            await asyncio.sleep(0)
            order.append("two")

        api.on("session_start", lambda event, context: order.append("two again"))

    extensions = await load(one, two)
    await extensions.start()
    assert order == ["one", "two", "two again"]


async def test_who_comes_later_has_its_place_in_the_order_of_loading(load):
    order = []

    def one(api: ExtensionApi):
        @api.on("session_start")
        def begin(event, context):
            api.on("turn_start", lambda event, context: order.append("one"))

    def two(api: ExtensionApi):
        api.on("turn_start", lambda event, context: order.append("two"))

    extensions = await load(one, two)
    await extensions.start()
    await extensions.handle_event(TurnStart())
    assert order == ["one", "two"]


async def test_an_event_without_listeners_costs_a_look_up(load):
    extensions = await load()
    assert "context" not in extensions.hooks.handlers
    assert await extensions.hooks.emit("context", None) is None


async def test_session_events_are_told_by_their_type(load):
    heard = []

    def mine(api: ExtensionApi):
        api.on("agent_start", lambda event, context: heard.append(event))

    extensions = await load(mine)
    await extensions.handle_event(AgentStart())
    await extensions.handle_event(TurnStart())
    assert heard == [AgentStart()]


def test_every_hook_says_what_it_is_for():
    for hook in HOOK_DEFINITIONS.values():
        assert hook.help.endswith("."), hook.name
        assert (hook.answer is None) == (hook.kind == "notify")
    assert "agent_settled" in SESSION_EVENTS
    assert "turn_end" not in SESSION_EVENTS  # a hook of that name asks


# Gates


async def test_the_first_that_blocks_a_tool_call_counts(load):
    asked = []

    def first(api: ExtensionApi):
        api.on("tool_call", lambda event, context: {"block": True, "reason": "no", "terminate": True})

    def second(api: ExtensionApi):
        api.on("tool_call", lambda event, context: asked.append(event))

    verdict = await ExtensionHooks(await load(first, second)).before_tool(CALL, dict(CALL.arguments))
    assert (verdict.is_blocked, verdict.reason, verdict.should_end_run) == (True, "no", True)
    assert asked == []


async def test_arguments_are_changed_in_place_and_the_message_keeps_its_own(load):
    def mine(api: ExtensionApi):
        @api.on("tool_call")
        def change(event, context):
            event.input["command"] = "ls"
            event.input["list"].append(2)

    verdict = await ExtensionHooks(await load(mine)).before_tool(CALL, CALL.arguments)
    assert verdict.arguments == {"command": "ls", "list": [1, 2]}
    assert CALL.arguments == {"command": "rm -rf /", "list": [1]}


async def fails(event, context):
    raise RuntimeError("broken")


async def never_answers(event, context):
    await asyncio.Event().wait()


def blocks_for_ever(event, context):
    while True:
        time.sleep(0.01)


async def blocks_and_swallows(event, context):
    for _ in range(3):
        try:
            while True:
                time.sleep(0.01)  # noqa: ASYNC251  (blocking is what this is about)
        except Exception:
            pass


async def ignores_being_stopped(event, context):
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass


async def answers_nonsense(event, context):
    return {"blok": True}


async def cancels_itself(event, context):
    raise asyncio.CancelledError


async def leaves(event, context):
    raise SystemExit(3)


BAD = [
    fails,
    never_answers,
    ignores_being_stopped,
    blocks_for_ever,
    blocks_and_swallows,
    cancels_itself,
    leaves,
]


@pytest.mark.parametrize("bad", [*BAD, answers_nonsense])
async def test_a_gate_whose_check_fails_is_closed(load, bad):
    def mine(api: ExtensionApi):
        api.on("tool_call", bad)

    extensions = await load(mine)
    verdict = await ExtensionHooks(extensions).before_tool(CALL, {})
    assert verdict.is_blocked
    assert "mine could not check this" in verdict.reason
    assert (
        await ExtensionHooks(extensions).before_user_command("ls", False) == UserCommandOverride()
    )  # no handler is registered there


@pytest.mark.parametrize("bad", BAD)
async def test_every_hook_survives_a_bad_handler(load, scene: ExtensionHost, bad):
    """Handlers that raise, hang or block the loop: the others run anyway, and the failure is reported once."""
    heard = []

    def mine(api: ExtensionApi):
        api.on("session_start", bad)

    def other(api: ExtensionApi):
        api.on("session_start", lambda event, context: heard.append(event))

    extensions = await load(mine, other)
    await extensions.start()
    await extensions.start()
    await settled()
    assert len(heard) == 2
    assert [(error.extension_path, error.event) for error in scene.errors()] == [
        ("/x/mine.py", "session_start")
    ]


async def test_raising_in_every_hook_leaves_everything_as_it_was(load):
    def mine(api: ExtensionApi):
        for name in [*HOOK_DEFINITIONS, *SESSION_EVENTS]:
            api.on(name, fails)

    extensions = await load(mine)
    hooks = ExtensionHooks(extensions)
    message = AssistantMessage(content=(Text(text="hi"),))
    result = text_result("ok")
    assert await hooks.after_tool(CALL, {}, result) == result
    assert await hooks.change_finished_answer(message) is message
    assert await hooks.change_messages((user_message("x"),)) != ()
    assert await hooks.change_request(RequestContext(system_prompt="x")) == RequestContext(system_prompt="x")
    assert await hooks.after_turn(FinishedTurn(message=message, results=())) is False
    assert await hooks.before_settle(message) is False
    listener = hooks.payload_editor(offline_model(), RequestIds(request_id="r", message_ids=()))
    assert listener is not None and await listener({"a": 1}, offline_model()) == {"a": 1}
    assert await hooks.change_prompt(PromptInput(text="x")) == PromptInput(text="x")
    for name, event in SESSION_EVENTS.items():
        await extensions.hooks.emit(name, event)
    assert {problem.event for problem in extensions.hooks.problems} >= {
        "tool_result",
        "message_end",
        "context",
        "turn_end",
    }


async def test_one_that_cleans_up_when_it_is_stopped_has_the_time_for_it(load):
    steps = []

    def mine(api: ExtensionApi):
        @api.on("session_start")
        async def begin(event, context):
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                steps.append("cleaned up")

    extensions = await load(mine)
    await extensions.start()
    assert steps == ["cleaned up"]
    assert "did not answer" in extensions.hooks.problems[0].text


async def test_cancelling_the_run_cancels_the_handler(load):
    started = asyncio.Event()

    def mine(api: ExtensionApi):
        @api.on("session_start")
        async def wait(event, context):
            started.set()
            await asyncio.Event().wait()

    extensions = await load(mine)
    task = asyncio.create_task(extensions.start())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert extensions.hooks.problems == []


async def test_a_handler_cancelled_before_its_first_step_causes_no_warning(load):
    """As at the end of the program, whose loop stops all that is under way."""
    made: list[Coroutine[Any, Any, None]] = []

    async def never() -> None:
        raise AssertionError

    def mine(api: ExtensionApi):
        @api.on("session_start")
        def wait(event, context):
            others = asyncio.all_tasks()
            asyncio.get_running_loop().call_soon(
                lambda: [task.cancel() for task in asyncio.all_tasks() - others]
            )
            made.append(never())
            return made[0]

    await (await load(mine)).start()
    assert inspect.getcoroutinestate(made[0]) == inspect.CORO_CLOSED


async def test_waiting_for_a_person_does_not_count_against_the_limit(load, scene: ExtensionHost):
    told = []

    class SlowUi(type(scene.ui)):
        async def confirm(self, title, message="", *, timeout=None):
            await asyncio.sleep(0.3)  # longer than the handler's limit of 0.2
            return True

    scene.ui = SlowUi()

    def mine(api: ExtensionApi):
        @api.on("tool_call")
        async def ask(event, context):
            return {"block": not await context.ui.confirm("Really?")}

        for name in ("ui_prompt_start", "ui_prompt_end"):
            api.on(name, lambda event, context, name=name: told.append((name, event.kind, event.title)))

    extensions = await load(mine)
    verdict = await ExtensionHooks(extensions).before_tool(CALL, {})
    assert not verdict.is_blocked
    assert told == [("ui_prompt_start", "confirm", "Really?"), ("ui_prompt_end", "confirm", "Really?")]
    assert extensions.hooks.problems == []


# Taking back


async def test_a_handler_can_be_taken_back_while_it_is_running(load):
    heard = []

    def mine(api: ExtensionApi):
        def first(event, context):
            heard.append("first")
            stop_first()
            stop_second()

        stop_first = api.on("session_start", first)
        stop_second = api.on("session_start", lambda event, context: heard.append("second"))

    extensions = await load(mine)
    await extensions.start()
    await extensions.start()
    assert heard == ["first"]
    assert "session_start" not in extensions.hooks.handlers


async def test_an_unknown_hook_is_refused_by_name(load):
    extensions = await load(lambda_with_unknown_hook)
    assert "There is no hook 'tool_cal'" in extensions.hooks.problems[0].text


def lambda_with_unknown_hook(api: ExtensionApi):
    api.on("tool_cal", lambda event, context: None)


async def test_session_start_says_why(load):
    reasons = []

    def mine(api: ExtensionApi):
        api.on("session_start", lambda event, context: reasons.append(event))

    extensions = await load(mine)
    await extensions.hooks.emit("session_start", SessionStart(reason="fork"))
    assert reasons[0].reason == "fork"
