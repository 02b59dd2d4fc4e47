"""Settings of what linters say."""

import sys
from typing import Any

from app.providers.scripted import call, say
from app.values.diagnostics import DiagnosticsEnd
from tests.compaction.project_session import ProjectSession
from tests.settings.in_sessions import LIVE

BY_ONE = {"*.odd": f"{sys.executable} -c \"print('a.odd:1:1: one')\""}
BY_OTHER = {"*.odd": f"{sys.executable} -c \"print('a.odd:1:1: other')\""}
SLOW = {"*.odd": f"{sys.executable} -c \"import time; time.sleep(1.5); print('a.odd:1:1: slow')\""}


async def said(scene: ProjectSession) -> Any:
    """What came of a file that was made."""
    found: list[DiagnosticsEnd] = []
    scene.write("a.odd", "before").unlink()
    leave = scene.session.subscribe(
        lambda event: found.append(event) if isinstance(event, DiagnosticsEnd) else None
    )
    scene.script.responses[:] = [call("write", path="a.odd", content="x"), say("ok"), say("I see")]
    await scene.prompt("go")
    leave()
    return [(bool(one.failures), [problem.text for problem in one.problems]) for one in found]


LIVE.add("diagnostics.when", "off", "turn", {"diagnostics.commands": BY_ONE})(said)
LIVE.add("diagnostics.commands", BY_ONE, BY_OTHER, {"diagnostics.when": "turn"})(said)
LIVE.add("diagnostics.timeoutSeconds", 1, 60, {"diagnostics.when": "turn", "diagnostics.commands": SLOW})(
    said
)
