"""Calls that change files, in the middle of being written: the text that has come; and changes that wait."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from app.providers.model_stream import AssistantStream, RequestContext, StreamOptions
from app.providers.scripted import SCRIPTED_API_NAME, ScriptedModel, call, say
from app.providers.stream.block_builder import ResponseBlockBuilder
from app.values.codec import encode_json
from app.values.models import Model
from tests.support.photographs import Photographs
from tests.support.screens import Screen
from tests.tui.scripted_app import BayouApp

FLEET = "".join(
    f"def leg_{number}(boat, weather):\n    if weather.is_rough:\n        return boat.wait({number})\n"
    f"    return boat.sail({number})\n\n\n"
    for number in range(1, 7)
)
EDITS = [
    {"oldText": "boat.sail(6)", "newText": "boat.sail(6, slowly=True)"},
    {
        "oldText": "def leg_3(boat, weather):\n    if weather.is_rough:\n        return boat.wait(3)\n",
        "newText": "def leg_3(boat, weather, crew):\n    if weather.is_rough or not crew.is_rested:\n"
        "        crew.rest()\n        return boat.wait(3)\n",
    },
]
PATCH = """*** Begin Patch
*** Update File: boats/legs.py
@@ def leg_2(boat, weather):
     if weather.is_rough:
-        return boat.wait(2)
+        return boat.stay(2)
     return boat.sail(2)
*** Add File: boats/crew.py
+class Crew:
+    is_rested = True
+
+    def rest(self):
+        self.is_rested = True
*** End Patch
"""


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine a picture takes long enough for the model to be told silent.
    monkeypatch.setattr(
        "app.engine.models.model_requests.ModelRequests._on_connection_state",
        lambda self, state, seconds: None,
    )


def paused(app: BayouApp, name: str, arguments: dict[str, Any], at: str) -> Callable[[], None]:
    """The next answer makes that call, and stops in the middle of its arguments; returns how it goes on."""
    goes_on = asyncio.Event()
    text = encode_json(arguments).decode()
    cut = text.index(at)
    calls = 0

    async def adapter(
        model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
    ) -> None:
        nonlocal calls
        calls += 1
        blocks = ResponseBlockBuilder(stream)
        if calls == 1:
            block = blocks.get_or_begin_tool_call("call", call_id="call_1", name=name)
            block.append_arguments(text[:cut])
            await goes_on.wait()
            block.append_arguments(text[cut:])
        else:
            blocks.get_or_begin_text("text").append_text("So it is.")
        blocks.end_all_blocks()

    app.assembled.registry.register_adapter(SCRIPTED_API_NAME, adapter, owner="test")
    return goes_on.set


async def test_an_edit_that_arrives(screen: Screen, photographs: Photographs) -> None:
    (screen.project / "boats" / "legs.py").write_text(FLEET, encoding="utf-8")
    app = screen.app(theme=photographs.theme, script=ScriptedModel([say("unused")]))
    async with photographs.of(app) as tour:
        goes_on = paused(app, "edit", {"path": "boats/legs.py", "edits": EDITS}, "        crew.rest")
        await tour.say("change the legs")
        await tour.until("crew.is_rested")
        await tour.photograph("mid-edit")
        goes_on()
        await tour.idle()
        await tour.until("crew.rest()")
        await tour.photograph("edit-done")


async def test_a_patch_that_arrives(screen: Screen, photographs: Photographs) -> None:
    (screen.project / "boats" / "legs.py").write_text(FLEET, encoding="utf-8")
    app = screen.app(theme=photographs.theme, script=ScriptedModel([say("unused")]))
    async with photographs.of(app) as tour:
        app.assembled.effective_settings.set("edit.mode", "patch")
        goes_on = paused(app, "apply_patch", {"input": PATCH}, "+    def rest")
        await tour.say("change the legs")
        await tour.until("is_rested")
        await tour.photograph("mid-patch")
        goes_on()
        await tour.idle()


async def test_changes_that_wait(screen: Screen, photographs: Photographs) -> None:
    (screen.project / "boats" / "legs.py").write_text(FLEET, encoding="utf-8")
    rewrite = call("ast_edit", rewrites=[{"pattern": "$B.wait($N)", "replacement": "$B.stay($N)"}])
    script = ScriptedModel([rewrite, say("Six places would change. Shall I?")])
    app = screen.app(theme=photographs.theme, script=script)
    async with photographs.of(app) as tour:
        app.session.tools.set_active_tools((*app.session.tools.active_tools(), "ast_edit", "resolve"))
        await tour.say("stay instead of wait")
        await tour.idle()
        await tour.until("Apply the changes staged by ast_edit?")
        await tour.photograph("staged")
        await tour.heard()
        await tour.press("alt+a")
        await tour.until("staged changes")
        await tour.photograph("staged-applied")
