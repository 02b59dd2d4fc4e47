"""Hooks: what extensions may change, and how the answers of several become one."""

import pytest

from app.agent.hooks import FinishedTurn
from app.engine.core.conversation import join_prompt_sections
from app.engine.core.hook_results import RequestIds
from app.engine.core.prompt_intake import PromptInput
from app.extensions.hooks.hook_table import HOOK_DEFINITIONS, decode_hook_answer
from app.extensions.hooks.payloads import (
    CancelAnswer,
    CompactionText,
    InputAnswer,
    ProjectTrust,
    ResourcesDiscover,
    SessionBeforeCompact,
    SessionBeforeFork,
    ToolCallAnswer,
    TrustAnswer,
)
from app.extensions.hooks.session_hooks import ExtensionHooks
from app.providers.model_stream import RequestContext
from app.providers.offline.model import offline_model
from app.values.content import Text, ToolCall
from app.values.entries import CustomEntry
from app.values.messages import (
    AssistantMessage,
    CustomMessage,
    SystemMessage,
    ToolDeclaration,
    ToolName,
    user_message,
)
from bayou import ExtensionApi
from tests.extensions.extension_host import ExtensionHost
from tools.tool_result_values import text_result

CALL = ToolCall(id="c1", name="bash", arguments={"command": "rm -rf /", "list": [1]})


async def test_results_are_changed_one_after_the_other(load):
    def one(api: ExtensionApi):
        api.on(
            "tool_result",
            lambda event, context: {"content": (Text(text=event.content[0].text + "1"),)},
        )

    def two(api: ExtensionApi):
        @api.on("tool_result")
        def change(event, context):
            return {
                "content": (Text(text=event.content[0].text + "2"),),
                "is_error": True,
                "details": {"a": 1},
            }

    result = await ExtensionHooks(await load(one, two)).after_tool(CALL, {}, text_result("0"))
    assert (result.text, result.is_error, result.details) == ("012", True, {"a": 1})


async def test_a_prompt_is_changed_and_then_handled(load):
    def one(api: ExtensionApi):
        api.on("input", lambda event, context: InputAnswer(action="transform", text=event.text.upper()))

    def two(api: ExtensionApi):
        api.on("input", lambda event, context: {"action": "handled"} if event.text == "STOP" else None)

    hooks = ExtensionHooks(await load(one, two))
    assert await hooks.change_prompt(PromptInput(text="hello")) == PromptInput(text="HELLO")
    assert await hooks.change_prompt(PromptInput(text="stop")) is None


async def test_messages_and_prompt_before_a_run(load, scene: ExtensionHost):
    def mine(api: ExtensionApi):
        @api.on("before_agent_start")
        def begin(event, context):
            event.sections["mood"] = "calm"
            return {
                "message": CustomMessage(custom_type="note", content="remember"),
                "system_prompt": event.system_prompt + "!",
            }

    def again(api: ExtensionApi):
        api.on("before_agent_start", lambda event, context: {"system_prompt": event.system_prompt + "?"})

    hooks = ExtensionHooks(await load(mine, again))
    before = join_prompt_sections(scene.session.requests.prompt_sections())
    assert [message.content for message in await hooks.messages_before_prompt(PromptInput(text="x"))] == [
        "remember"
    ]
    assert hooks.prompt_sections({"preamble": "usual"}) == {"preamble": before + "!?"}
    assert scene.bound.prompt_sections == {"mood": "calm"}


async def test_the_context_is_changed_with_and_without_prompt_and_tools(load):
    seen = []

    def mine(api: ExtensionApi):
        @api.on("context")
        def without(event, context):
            seen.append(len(event.messages))
            return {"messages": event.messages[-1:]}

        @api.on("context_with_system")
        def with_system(event, context):
            system, *others = event.messages
            seen.append(system.content)
            more = SystemMessage(content="Be brief.", tools_removed=(ToolName(name="bash"),))
            return {"messages": (system, more, *others)}

    hooks = ExtensionHooks(await load(mine))
    left = await hooks.change_messages((user_message("a"), user_message("b")))
    tools = (ToolDeclaration(name="bash"), ToolDeclaration(name="read"))
    sent = await hooks.change_request(RequestContext(system_prompt="You help.", messages=left, tools=tools))
    assert seen == [2, "You help."]
    assert sent == RequestContext(system_prompt="You help.\n\nBe brief.", messages=left, tools=tools[1:])


async def test_payload_and_headers_of_a_request(load):
    def mine(api: ExtensionApi):
        api.on("before_provider_request", lambda event, context: {"payload": {**event.payload, "b": 2}})
        api.on("before_provider_request", lambda event, context: {"payload": {**event.payload, "c": 3}})

        @api.on("before_provider_headers")
        def headers(event, context):
            event.headers["x-mine"] = "1"

    hooks = ExtensionHooks(await load(mine))
    listener = hooks.payload_editor(offline_model(), RequestIds(request_id="r", message_ids=()))
    assert listener is not None and await listener({"a": 1}, offline_model()) == {"a": 1, "b": 2, "c": 3}
    headers: dict[str, str | None] = {}
    await hooks.change_request_headers(headers)
    assert headers == {"x-mine": "1"}


async def test_a_message_keeps_its_role_and_id(load):
    def mine(api: ExtensionApi):
        api.on(
            "message_end", lambda event, context: {"message": AssistantMessage(content=(Text(text="new"),))}
        )

    def wrong(api: ExtensionApi):
        api.on("message_end", lambda event, context: {"message": user_message("x")})

    message = AssistantMessage(content=(Text(text="old"),))
    extensions = await load(mine, wrong)
    sealed = await ExtensionHooks(extensions).change_finished_answer(message)
    assert sealed.text == "new"
    assert sealed.id == message.id
    assert "same role" in extensions.hooks.problems[0].text


async def test_a_turns_end_adds_entries_and_may_end_the_run(load, scene: ExtensionHost):
    def mine(api: ExtensionApi):
        @api.on("turn_end")
        def end(event, context):
            entries = ({"type": "custom", "custom_type": "t", "data": event.turn_index},)
            return {"entries": entries, "continue": False if event.turn_index else None}

    hooks = ExtensionHooks(await load(mine))
    outcome = FinishedTurn(message=AssistantMessage(), results=())
    assert await hooks.after_turn(outcome) is False
    assert await hooks.after_turn(outcome) is True
    assert [entry.data for entry in scene.entries if isinstance(entry, CustomEntry)] == [0, 1]


async def test_going_on_before_settling(load, scene: ExtensionHost):
    def mine(api: ExtensionApi):
        api.on("agent_before_settle", lambda event, context: {"continue": True})

    assert await ExtensionHooks(await load(mine)).before_settle(None) is True
    assert await ExtensionHooks(await load()).before_settle(None) is False


async def test_compaction_and_moving_can_be_cancelled_or_supplied(load):
    asked = []

    def supplies(api: ExtensionApi):
        api.on("session_before_compact", lambda event, context: {"compaction": {"summary": "mine"}})

    def cancels(api: ExtensionApi):
        api.on("session_before_fork", lambda event, context: {"cancel": True})

    def third(api: ExtensionApi):
        api.on("session_before_fork", lambda event, context: asked.append(event))

    extensions = await load(supplies, cancels, third)
    answer = await extensions.hooks.emit(
        "session_before_compact", SessionBeforeCompact(reason="manual", messages=(user_message("x"),))
    )
    assert answer.compaction == CompactionText(summary="mine")
    answer = await extensions.hooks.emit("session_before_fork", SessionBeforeFork(entry_id="e"))
    assert answer == CancelAnswer(cancel=True)
    assert asked == []


async def test_trust_is_decided_by_the_first_yes_or_no_and_resources_add_up(load, scene: ExtensionHost):
    def one(api: ExtensionApi):
        api.on("project_trust", lambda event, context: {"trusted": "undecided"})
        api.on("resources_discover", lambda event, context: {"skill_paths": ("a",)})

    def two(api: ExtensionApi):
        api.on("project_trust", lambda event, context: {"trusted": "no", "remember": True})
        api.on("resources_discover", lambda event, context: {"skill_paths": ["b"], "theme_paths": ["t"]})

    def three(api: ExtensionApi):
        api.on("project_trust", lambda event, context: {"trusted": "yes"})

    extensions = await load(one, two, three)
    assert await extensions.hooks.emit("project_trust", ProjectTrust(cwd=scene.cwd)) == TrustAnswer(
        trusted="no", remember=True
    )
    found = await extensions.hooks.emit(
        "resources_discover", ResourcesDiscover(cwd=scene.cwd, reason="startup")
    )
    assert (found.skill_paths, found.theme_paths) == (("a", "b"), ("t",))


def test_answers_are_structs_or_dicts_with_known_keys():
    hook = HOOK_DEFINITIONS["tool_call"]
    assert decode_hook_answer(hook, {"block": True}) == ToolCallAnswer(block=True)
    assert decode_hook_answer(hook, None) is None
    for wrong in ({"blok": 1}, {"block": "maybe"}, 3):
        with pytest.raises(TypeError):
            decode_hook_answer(hook, wrong)
