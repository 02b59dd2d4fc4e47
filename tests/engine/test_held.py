"""What a request says is held, and worked out anew when somebody says that it is otherwise, and no more often."""

from collections.abc import Mapping
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from app.engine.conversation import Declared, prompt_text
from app.engine.runs import NextRun
from app.providers.scripted import say
from app.values.messages import SystemMessage, ToolDeclaration, ToolName
from tests.agent.stage import echo
from tests.engine.stage import Play
from tools.base import Tool


def counted(play: Play) -> list[int]:
    """How often it was asked what is withheld."""
    asked: list[int] = []

    def rule(tools: Mapping[str, Tool]) -> list[str]:
        asked.append(len(tools))
        return ["echo"] if play.in_force.settings.images.block_images else []

    play.toolbox.withhold(rule)
    return asked


async def test_tools_are_worked_out_when_something_has_changed_and_no_more_often(tmp_path: Path) -> None:
    play = Play(tmp_path, say("one"), say("two"), say("three"), tools=[echo()])
    asked = counted(play)
    await play.prompt("a")
    await play.prompt("b")
    assert len(asked) == 1
    play.in_force.set("images.blockImages", True)
    await play.prompt("c")
    assert len(asked) == 2
    assert "echo" not in play.session.active_tools()


async def test_another_model_is_told_its_tools_anew(tmp_path: Path) -> None:
    play = Play(tmp_path, tools=[echo()])
    asked = counted(play)
    assert play.script.model is not None
    for _ in range(2):
        play.session.active_tools()
    await play.session.set_model(play.script.model)
    play.session.active_tools()
    assert len(asked) == 2


async def test_the_section_and_the_tools_of_plan_mode_come_and_go_with_it(tmp_path: Path) -> None:
    play = Play(tmp_path, tools=[echo()])
    assert "plan_mode" not in play.session.sections()
    play.session.set_plan_mode(True)
    assert "plan_mode" in play.session.sections()
    play.session.permissions.set_mode("full")
    assert "plan_mode" not in play.session.sections()


def test_who_kept_something_for_a_run_is_called_once_when_the_next_begins() -> None:
    next_run, called = NextRun(), list[str]()

    def forget() -> None:
        called.append("forgotten")

    next_run.begin()
    next_run.calls(forget)
    next_run.calls(forget)
    assert called == []
    next_run.begin()
    next_run.begin()
    assert called == ["forgotten"]


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
    held = Declared()
    for message, is_read in told:
        held.apply(message)
        if is_read:
            prompt, tools = held.as_read()
            assert prompt == prompt_text(held.sections)
            assert list(tools) == sorted(held.tools.values(), key=lambda tool: tool.name)
