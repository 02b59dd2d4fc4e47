"""Cases of the settings of edits."""

import time
from typing import Any

from app.providers.scripted import ScriptedModel, call, say
from app.values.content import text_of
from app.values.messages import AssistantMessage
from tests.compaction.project_session import ProjectSession
from tests.settings.in_sessions import LIVE, result_of


async def way_to_edit(scene: ProjectSession) -> Any:
    """The tools declared to the model, and how it sees a file."""
    file = scene.write(f"few{time.monotonic_ns()}.txt", "one\n")
    told = {
        name: list(tool.schema["properties"]) for name, tool in scene.session.tools.active_tools().items()
    }
    result = await result_of(scene, "read", path=str(file))
    return told.get("edit"), told.get("apply_patch"), text_of(result.content)


LIVE.add("edit.mode", "replace", "hashline")(way_to_edit)
LIVE.add("edit.models", {"*other*": "patch"}, {"*": "patch"})(way_to_edit)


@LIVE.add("edit.streamingAbort", False, True)
async def hopeless_edits(scene: ProjectSession) -> Any:
    """How many edits of a call the agent got to write, of which the first has no place in its file."""
    scene.write("there.txt", "one\n")
    edits = [{"oldText": "two", "newText": "x"}, {"oldText": "one", "newText": "a line\n" * 100}]
    slow = [call("edit", path="there.txt", edits=edits), say("ok")]
    ScriptedModel(slow, tokens_per_second=1_000, piece=(12, 16)).register(scene.assembled.registry)
    await scene.prompt("go")
    scene.script.register(scene.assembled.registry)
    calls = [one for one in scene.session.messages if isinstance(one, AssistantMessage) and one.tool_calls]
    return len(calls[-1].tool_calls[0].arguments["edits"])
