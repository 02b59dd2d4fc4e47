"""The head of a request is cached and recomputed only after a reported change."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.engine.core.conversation import SentPrompt, join_prompt_sections
from app.engine.core.hooks import Hooks
from app.engine.core.run_events import RunStartCallbacks
from app.engine.core.toolbox import Toolbox
from app.providers.model_stream import AssistantStream, RequestContext, StreamOptions
from app.providers.request_cache import EncodedPrefixCache
from app.providers.scripted import say
from app.values.messages import Message, SystemMessage, ToolDeclaration, ToolName
from app.values.models import Model
from tests.agent.scripted_loop import echo
from tests.engine.scripted_session import ScriptedSession
from tests.support.sessions import parts_of, workspace_of
from tools.tool_definition import Tool


def counted(harness: ScriptedSession) -> list[int]:
    """How often it was asked what is withheld."""
    asked: list[int] = []

    def rule(tools: Mapping[str, Tool]) -> list[str]:
        asked.append(len(tools))
        return ["echo"] if harness.effective_settings.settings.images.block_images else []

    harness.toolbox.add_withhold_rule(rule)
    return asked


async def test_tools_are_worked_out_when_something_has_changed_and_no_more_often(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("one"), say("two"), say("three"), tools=[echo()])
    asked = counted(harness)
    await harness.prompt("a")
    await harness.prompt("b")
    assert len(asked) == 1
    harness.effective_settings.set("images.blockImages", True)
    await harness.prompt("c")
    assert len(asked) == 2
    assert "echo" not in harness.session.tools.active_tools()


async def test_another_model_gets_its_tools_again(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, tools=[echo()])
    asked = counted(harness)
    assert harness.script.model is not None
    for _ in range(2):
        harness.session.tools.active_tools()
    await harness.session.models.use_model(harness.script.model)
    harness.session.tools.active_tools()
    assert len(asked) == 2


async def test_the_section_and_the_tools_of_plan_mode_come_and_go_with_it(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, tools=[echo()])
    assert "plan_mode" not in harness.session.requests.prompt_sections()
    harness.session.plan.set_active(True)
    assert "plan_mode" in harness.session.requests.prompt_sections()
    harness.session.permissions.rules.set_mode("full")
    assert "plan_mode" not in harness.session.requests.prompt_sections()


def test_who_kept_something_for_a_run_is_called_once_when_the_next_begins() -> None:
    next_run, called = RunStartCallbacks(), list[str]()

    def forget() -> None:
        called.append("forgotten")

    next_run.call_all()
    next_run.register(forget)
    next_run.register(forget)
    assert called == []
    next_run.call_all()
    next_run.call_all()
    assert called == ["forgotten"]


class _Changing(Hooks):
    changes = False

    async def change_messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        return tuple(messages) if self.changes else messages


async def test_what_is_kept_between_requests_is_of_the_stretch_that_each_belongs_to(tmp_path: Path) -> None:
    hooks = _Changing()
    harness = ScriptedSession(tmp_path, *[say("ok")] * 5, hooks=hooks)
    kept: list[tuple[EncodedPrefixCache | None, object]] = []
    conversation, really = parts_of(harness.session).core.conversation, harness.registry.stream_answer

    def noting(model: Model, context: RequestContext, options: StreamOptions, **more: Any) -> AssistantStream:
        kept.append((options.request_cache, conversation.reading_token))
        return really(model, context, options, **more)

    harness.registry.stream_answer = noting
    await harness.prompt("a")
    await harness.prompt("b")
    await harness.session.notes.edit_context(harness.session.messages[1].id, None)
    await harness.prompt("c")
    hooks.changes = True
    await harness.prompt("d")
    hooks.changes = False
    await harness.prompt("e")
    stretches = [(one.conversation_token if one is not None else "nothing", now) for one, now in kept]
    assert [stretch is now for stretch, now in stretches] == [True, True, True, False, True]
    assert stretches[3][0] is None and stretches[0][1] is not stretches[2][1]
    assert kept[0][0] is kept[1][0]


_NAMES = st.sampled_from(("preamble", "cwd", "tools", "zoo", "attic"))
_TOLD = st.builds(
    SystemMessage,
    sections=st.none() | st.dictionaries(_NAMES, st.none() | st.text("ab\n", max_size=3), max_size=3),
    tools_added=st.none()
    | st.lists(
        st.builds(ToolDeclaration, name=_NAMES, description=st.text("xy", max_size=2)), max_size=2
    ).map(tuple),
    tools_removed=st.none() | st.lists(st.builds(ToolName, name=_NAMES), max_size=2).map(tuple),
)


@given(st.lists(st.tuples(_TOLD, st.booleans()), max_size=8))
def test_prompt_and_tools_that_are_held_are_those_that_the_model_was_told_of(
    told: list[tuple[SystemMessage, bool]],
) -> None:
    held = SentPrompt()
    for message, is_read in told:
        held.record_sent_system_message(message)
        if is_read:
            prompt, tools = held.sent_prompt_and_tools()
            assert prompt == join_prompt_sections(held.sections)
            assert list(tools) == sorted(held.tools.values(), key=lambda tool: tool.name)


class _Overtaken(Toolbox):
    """Whose tools change while a thread is about to keep what it worked out of them."""

    def __setattr__(self, name: str, value: object) -> None:
        if (
            name == "_snapshot"
            and value is not None
            and "late" not in {tool.name for tool in self.all_tools()}
        ):
            self.register_tool(echo("late"), owner="test")
        super().__setattr__(name, value)


def test_what_a_thread_works_out_while_tools_change_is_not_kept(tmp_path: Path) -> None:
    toolbox = _Overtaken(lambda toolbox: [echo("early")], workspace_of(ScriptedSession(tmp_path).session))
    assert set(toolbox.active_tools()) == {"early"}
    assert set(toolbox.active_tools()) == {"early", "late"}
