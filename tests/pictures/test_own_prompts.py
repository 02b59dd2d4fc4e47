"""Prompts that bayou writes for the person: what changed, to be reviewed."""

import subprocess

from app.providers.scripted import ScriptedModel, call, say
from tests.support.photographs import Photographs
from tests.support.screens import Screen

FOUND = """\
`boats/fleet.py:7` **A boat begins with four oars**, and `launch` still counts two: every third launch fails.

1. `oars: int = 4` changes what old callers get.
2. No test launches a boat with four.
"""


def _commit(screen: Screen) -> None:
    git = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@harbour.example")
    for words in (("init", "-q", "-b", "harbour"), ("add", "-A"), ("commit", "-qm", "boats")):
        subprocess.run([*git, *words], cwd=screen.project, check=True)


async def test_a_review(screen: Screen, photographs: Photographs) -> None:
    """Of what is not committed: the prompt tells which files, the answer what is wrong with them."""
    _commit(screen)
    fleet = screen.project / "boats" / "fleet.py"
    fleet.write_text(fleet.read_text("utf-8").replace("oars: int = 2", "oars: int = 4"), "utf-8")
    (screen.project / "boats" / "sail.py").write_text("def sail() -> str:\n    return 'off'\n", "utf-8")
    script = ScriptedModel([call("bash", command="git diff HEAD"), say(FOUND)])
    async with photographs.of(screen.app(theme=photographs.theme, script=script)) as tour:
        await tour.say("/review")
        await tour.until("No test launches")
        await tour.idle()
        await tour.photograph("reviewed")
