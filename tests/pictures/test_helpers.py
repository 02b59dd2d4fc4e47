"""Helper agents in the running application: two at work, a question of one of them, the list, one of them full screen,
and their results."""

import asyncio

from app.providers.model_stream import RequestContext
from app.providers.scripted import ScriptedAnswer, ScriptedModel, call, say
from app.values.messages import ToolResultMessage
from tests.support.photographs import Photographs
from tests.support.screens import Screen


async def test_helpers(screen: Screen, photographs: Photographs) -> None:
    gate = asyncio.Event()

    def answer(context: RequestContext, count: int) -> ScriptedAnswer:
        has_results = any(isinstance(message, ToolResultMessage) for message in context.messages)
        if "the helper “scout”" in context.system_prompt:
            if has_results:
                return say(
                    "`boats/fleet.py:4` has the oars of every boat; nothing else names them.", gate=gate
                )
            return call("grep", pattern="oars")
        if "the helper “general”" in context.system_prompt:
            return say("Wrote it.") if has_results else call("write", path="oars.md", content="Four.\n")
        if has_results:
            return say("Both are done.")
        return call("task", agent="scout", title="who uses oars", prompt="Find every use of `oars`.") + call(
            "task", title="write it down", prompt="Write oars.md."
        )

    app = screen.app("--permissions", "ask", theme=photographs.theme, script=ScriptedModel([answer] * 20))
    async with photographs.of(app) as tour:
        await tour.say("four oars for every boat")
        await tour.until("Helper general")
        await tour.photograph("asked")
        await tour.heard()
        await tour.press("y")
        await tour.until(lambda: len(app.session.helpers.active_helpers()) == 1)
        await tour.photograph("working")
        await tour.until(lambda: app.session.helpers.known_helpers()[0].budget.turns == 2)
        await tour.say("/tasks")
        await tour.until("Helpers and jobs")
        await tour.photograph("list")
        await tour.press("enter")
        await tour.until("h1 scout: who uses oars")
        await tour.photograph("one")
        await tour.press("escape")
        gate.set()
        await tour.idle()
        await tour.photograph("done")
