"""Cases of the settings of edits."""

import time
from typing import Any

from app.values.content import text_of
from tests.compaction.stage import Scene
from tests.settings.in_sessions import LIVE, result_of


async def way_to_edit(scene: Scene) -> Any:
    """What the model is told of, and how it sees a file."""
    file = scene.write(f"few{time.monotonic_ns()}.txt", "one\n")
    told = {name: list(tool.schema["properties"]) for name, tool in scene.session.active_tools().items()}
    result = await result_of(scene, "read", path=str(file))
    return told.get("edit"), told.get("apply_patch"), text_of(result.content)


LIVE.add("edit.mode", "replace", "hashline")(way_to_edit)
LIVE.add("edit.models", {"*other*": "patch"}, {"*": "patch"})(way_to_edit)
