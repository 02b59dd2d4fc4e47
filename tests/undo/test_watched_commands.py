"""Commands that look like reads and write all the same are watched: what they made can be taken back."""

from pathlib import Path

import pytest

from tests.undo.test_in_sessions import Page, bash, page

__all__ = ["page"]

COMMANDS = {
    "prompt expansion": """x='$(touch made)'; echo "${x@P}" """,
    "callback of mapfile": "mapfile -c 1 -C 'touch made #' lines < data; true",
    "jobs that run a program": "sleep 0 & jobs -x touch made",
    "subscript of wait": "true & wait -n -p 'a[$(touch made)]'",
    "arithmetic on what was read": "read x < index; echo $((x))",
    "arithmetic on a variable of a loop": "for x in 'a[$(touch made)]'; do echo $((x)); done",
    "default that is kept": """: "${x:=$(touch made)}" """,
    "an option that writes": "sort -o made data",
    "a program of the project": "./script",
}


@pytest.mark.parametrize("name", COMMANDS)
async def test_a_command_that_only_seems_to_read_is_taken_back(page: Page, name: str) -> None:
    project: Path = page.project
    (project / "data").write_text("one\ntwo\n")
    (project / "index").write_text("a[$(touch made)]\n")
    (project / "script").write_text("#!/bin/sh\ntouch made\n")
    (project / "script").chmod(0o755)
    await page.prompt("look", bash(COMMANDS[name]))
    assert (project / "made").exists()
    await page.undo()
    assert not (project / "made").exists()
