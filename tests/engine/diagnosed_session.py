"""A session with a small linter of the test, and its reports."""

import sys
from pathlib import Path
from typing import Any

from app.engine.files.file_diagnostics import DIAGNOSTICS_MESSAGE_TYPE
from app.engine.permissions.permission_context import PermissionContext
from app.providers.scripted import call
from app.values.content import text_of
from app.values.events import Notice
from app.values.messages import CustomMessage
from tests.engine.scripted_session import ScriptedSession
from tools.tool_registry import builtin_tools

LINT = """
import sys
from pathlib import Path
for name in sys.argv[1:]:
    for number, line in enumerate(Path(name).read_text().splitlines(), start=1):
        if "BAD" in line:
            print(f"{name}:{number}:{line.index('BAD') + 1}: error: {line.strip()}")
sys.exit(1)
"""
"""A linter that reports each line with BAD in it."""


async def yes() -> bool:
    return True


def diagnosed_session(
    folder: Path, *responses: Any, when: str = "turn", command: str = "", **more: Any
) -> ScriptedSession:
    project = folder / "project"
    project.mkdir(exist_ok=True)
    (folder / "lint.py").write_text(LINT)
    standing = more.pop("standing", None) or PermissionContext(
        approver="none", home=folder, agent_dir=folder / "agent", is_trusted=lambda: True, check_trust=yes
    )
    harness = ScriptedSession(
        folder, *responses, tools=builtin_tools(), standing=standing, cwd=project, **more
    )
    harness.effective_settings.set("diagnostics.when", when)
    harness.effective_settings.set(
        "diagnostics.commands", {"*.txt": command or f"{sys.executable} {folder}/lint.py {{files}}"}
    )
    return harness


def write(harness: ScriptedSession, name: str, text: str) -> Path:
    file = harness.session.cwd / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def diagnostic_texts(harness: ScriptedSession) -> list[str]:
    return [
        text_of(one.content)
        for one in harness.session.messages
        if isinstance(one, CustomMessage) and one.custom_type == DIAGNOSTICS_MESSAGE_TYPE
    ]


def warnings(harness: ScriptedSession) -> list[str]:
    return [one.text for one in harness.all(Notice) if one.level == "warning"]


def change(name: str, old: str, new: str) -> Any:
    return call("edit", path=name, edits=[{"oldText": old, "newText": new}])
