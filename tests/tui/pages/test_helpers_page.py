"""`/tasks`, and a helper full screen: seen live, told something, stopped, and read after its end."""

import asyncio
from pathlib import Path

from app.providers.model_stream import RequestContext
from app.providers.scripted import ScriptedAnswer, call, say
from app.tui.features.helpers.page import HelperAgentsPage
from app.tui.transcript.renderers import EntryRenderers
from app.values.content import text_of
from app.values.messages import UserMessage
from tests.compaction.project_session import ProjectSession
from tests.engine.test_helpers import helped, until
from tests.tui.pages.person import Person, at_the_keyboard


def page_of(scene: ProjectSession, person: Person) -> HelperAgentsPage:
    return HelperAgentsPage(
        scene.session,
        person.ask,
        person.say,
        lambda action, default: default,
        EntryRenderers(
            scene.session.tools.draw_call_card, lambda action, default: default, lambda _: "", lambda _: ""
        ),
        open_log=lambda path: scene.assembled.session_paths.open_file(path, read_only=True),
    )


async def test_a_helper_is_followed_told_something_and_stopped(tmp_path: Path) -> None:
    gate, never = asyncio.Event(), asyncio.Event()

    def helper(context: RequestContext) -> ScriptedAnswer:
        said = [text_of(one.content) for one in context.messages if isinstance(one, UserMessage)]
        if said[-1] == "look around":
            return call("ls") + say("I look around.", gate=gate)
        return say("Only in docs, then.", gate=never)

    async with helped(tmp_path, [{"prompt": "look around", "agent": "scout"}], helper) as scene:
        await scene.session.prompt("go")
        await until(lambda: any(one.session is not None for one in scene.session.helpers.known_helpers()))
        async with at_the_keyboard() as person:
            page = page_of(scene, person)
            async with person.asked(page.open()):
                await person.sees_soon("scout: look around", "running", "stop")
                await person.press("enter")
                await person.sees_soon("h1 scout: look around", "message to the helper", "ctrl+x stop")
                await person.press(*"docs", "enter")
                gate.set()
                await person.sees_soon("I look around.", "Only in docs")
                await until(lambda: len(scene.asked) == 3)
                await person.press("ctrl+x")
                await person.sees_soon("stopped")
                await person.press("escape")
            await scene.session.wait_until_idle()
            [helper_run] = scene.session.helpers.known_helpers()
            async with person.asked(page.open_helper_of_card(f"message/{helper_run.call_id}")):
                await person.sees_soon("Only in docs", "stopped")
                await person.press("escape")
            assert not await page.open_helper_of_card("message/another")


async def test_the_helpers_page_without_helpers_says_so(tmp_path: Path) -> None:
    async with helped(tmp_path, [], lambda _: say("x")) as scene, at_the_keyboard() as person:
        await page_of(scene, person).open()
        assert person.heard == ["This session has no helpers or jobs."]
