"""Runs a command in a box and says what came of it: `python -m tests.box.tried HOME PROJECT TEMPORARY COMMAND`.

For tests that start it where the system looks different: other mounts, another /proc.
"""

import asyncio
import json
import sys
from pathlib import Path

from app.engine.sandbox import sandbox_places as box_places
from tests.box.boxed_commands import BoxedCommands
from tools.box.sandbox_features import system_sandbox_features


async def main(home: str, project: str, temporary: str, command: str) -> None:
    box_places.temporary_folders = lambda: (temporary,)
    has = system_sandbox_features()
    hands = BoxedCommands(Path(home), Path(project), has.step)
    done = await hands.outcome(command)
    print(json.dumps({"step": has.step, "why": has.why, "text": done.output.text, "code": done.exit_code}))
    hands.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:5]))
