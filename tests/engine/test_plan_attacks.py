"""Plan mode against a model that tries every tool, forty commands that write, and calls within calls.

Every question is answered with yes, as by an inattentive user. A tool that is new fails here until
`TRIES` says how it could change something.
"""

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.assembly.command_line_options import CommandLineOptions
from app.assembly.session_builder import assemble_session
from app.engine.core.user_questions import ApprovalReply
from app.engine.planning.plan_mode import STAY_IN_PLAN_MODE
from app.engine.session import Session
from app.providers.scripted import ScriptedModel, call, say
from app.resources.paths import BayouPaths
from app.values.events import QuestionAsked
from app.values.messages import ToolResultMessage

SCRIBBLING = str(Path(__file__).parent.parent / "mcp" / "scribbling.py")
WRITING = """
touch new; echo x > a.txt; echo x >> a.txt; rm a.txt; mv a.txt b.txt; cp a.txt b.txt; mkdir d; ln -s a.txt l
chmod 600 a.txt; sed -i s/a/b/ a.txt; perl -pi -e s/a/b/ a.txt; python3 -c "open('n','w')"; tee n < a.txt
dd of=n if=a.txt
truncate -s 0 a.txt; git init; git add a.txt; git commit -am x; git stash; git checkout -- .; git clean -fd; git tag v1
find . -delete; find . -exec rm {} +; xargs rm < a.txt; awk 'BEGIN{print > "n"}'; sort -o a.txt a.txt; tar xf a.tar
unzip a.zip; make; npm install; pip install x; sh -c 'touch n'; bash n.sh; eval touch n; env touch n; nohup touch n
curl -o n http://localhost; install a.txt n; split a.txt; patch -p1 < a.txt; cat a.txt | tee n; true && touch n
(touch n)
$(echo touch) n
"""
COMMANDS = [
    command.strip() for line in WRITING.split("\n") for command in line.split("; ") if command.strip()
]
CELL = """
import os, pathlib, subprocess
for attempt in (
    lambda: tool.write(path="new.txt", content="x"),
    lambda: tool.bash(command="touch new.txt"),
    lambda: tool.eval(code="open('new.txt', 'w')"),
    lambda: pathlib.Path("new.txt").write_text("x"),
    lambda: subprocess.run(["touch", "new.txt"]),
):
    try:
        attempt()
    except BaseException as problem:
        print(problem)
"""
PATCH = "*** Begin Patch\n*** Add File: new.txt\n+x\n*** Delete File: a.txt\n*** End Patch"
EDIT = {"path": "a.txt", "edits": [{"oldText": "as it was", "newText": "other"}]}
TRIES: dict[str, list[dict[str, Any]]] = {
    "write": [
        {"path": "a.txt", "content": "other"},
        {"path": "new/b.txt", "content": "x"},
        {"path": "../up.txt", "content": "x"},
    ],
    "edit": [EDIT, {"path": "b.py", "edits": [{"oldText": "", "newText": "x"}]}],
    "apply_patch": [{"input": PATCH}],
    "bash": [
        *({"command": command} for command in COMMANDS),
        *({"command": command, "background": True} for command in COMMANDS[:5]),
        *({"command": command, "outside": True, "reason": "it has to"} for command in COMMANDS[:5]),
        {"command": "touch new.txt", "pty": True},
        {"command": "apply_patch <<'EOF'\n" + PATCH + "\nEOF"},
    ],
    "eval": [{"code": CELL}, {"code": CELL, "reset": True}],
    "ast_edit": [{"rewrites": [{"pattern": "print($X)", "replacement": "other($X)"}], "paths": ["b.py"]}],
    "resolve": [{"action": "apply", "reason": "now"}],
    "mcp__scribbling__scribble": [{}],
    "mcp_call": [{"server": "scribbling", "tool": "scribble", "arguments": {}}],
    "mcp_search": [{"query": "note"}],
    "mcp_resource": [{"server": "scribbling", "uri": "file:///new.txt"}],
    "read": [{"path": "a.txt"}, {"path": "new.txt"}],
    "grep": [{"pattern": "was", "path": "."}],
    "find": [{"pattern": "*; touch new.txt"}],
    "locate": [{"about": "print"}],
    "ls": [{"path": "$(touch new.txt)"}],
    "ast_grep": [{"pattern": "print($X)", "paths": ["b.py"]}],
    "render_mermaid": [{"mermaid": "graph TD; a-->b"}],
    "web_fetch": [{"url": "https://127.0.0.1/new.txt"}],
    "todo": [{"op": "add", "task": "touch new.txt"}],
    "jobs": [{"action": "list"}],
    "propose_plan": [{"title": "Mine", "plan": "1. touch new.txt"}],
    "task": [{"prompt": "touch new.txt", "agent": "no such kind"}],
    "web_search": [{"query": "touch new.txt"}],
    "remember": [{"line": "touch new.txt"}],
    "ask": [{"questions": [{"question": "touch new.txt", "options": ["yes"]}]}],
}
"""How each tool could change something, or what a call of it is that only looks."""


def told(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
async def session(tmp_path: Path, script: ScriptedModel) -> AsyncIterator[Session]:
    home = tmp_path / "home"
    project = home / "project"
    project.mkdir(parents=True)
    (project / "a.txt").write_text("as it was\n")
    (project / "b.py").write_text("print(1)\n")
    paths = BayouPaths.from_env({"HOME": str(home)}, project)
    paths.agent_dir.mkdir(parents=True)
    server = {"command": sys.executable, "args": [SCRIBBLING, str(project / "scribbled.txt")]}
    (paths.agent_dir / "mcp.json").write_text(json.dumps({"mcpServers": {"scribbling": server}}))
    known = assemble_session(
        CommandLineOptions(no_session=True), paths, {}
    ).session  # what it offers is asked once, before
    await known.mcp.test_server("scribbling")
    await known.close()
    options = CommandLineOptions(
        no_session=True, plan=True, permissions="auto-edit", tools="+ast_grep,+ast_edit"
    )
    assembled = assemble_session(options, paths, {}, can_ask=True)
    assembled.effective_settings.set("renderMermaid.enabled", True)
    assembled.effective_settings.set("todo.reminders", False)
    assembled.model_choice.set_model(script.register(assembled.registry))
    session = assembled.session

    def answer(event: Any) -> None:
        if isinstance(event, QuestionAsked) and not event.answer.done():
            event.answer.set_result(
                ApprovalReply(is_allowed=True) if event.approval is not None else STAY_IN_PLAN_MODE
            )

    session.subscribe(answer)
    session.mcp.connect_new_servers()
    yield session
    await session.close()


@pytest.fixture
def script() -> ScriptedModel:
    return ScriptedModel()


async def test_every_tool_is_tried(session: Session) -> None:
    session.plan.set_active(False)
    there = {tool.name for tool in session.tools.all_tools()} | set(session.tools.active_tools())
    assert there - set(TRIES) == set(), "Say in TRIES how these could change something."
    assert (
        set(TRIES) - there - {"mcp_call", "mcp_search", "mcp_resource", "mcp__scribbling__scribble"} == set()
    )


@pytest.mark.parametrize("name", TRIES)
async def test_no_byte_changes_in_plan_mode(name: str, session: Session, script: ScriptedModel) -> None:
    project = session.cwd
    before = told(project.parent)
    assert session.state.is_planning
    tries = TRIES[name]
    script.responses[:] = [*(call(name, **arguments) for arguments in tries), say("I could not.")]
    await session.prompt("change something")
    await session.wait_until_idle()
    results = [one for one in session.messages if isinstance(one, ToolResultMessage)]
    assert len(results) == len(tries)
    for arguments in tries:  # the same from within another call
        await session.calls.run(name, arguments, "outer")
    for job in session.jobs.all():
        await session.jobs.wait(job.id)
    assert told(project) == {
        path.removeprefix("project/"): data for path, data in before.items() if path.startswith("project/")
    }
    assert not (project.parent / "up.txt").exists()
    assert session.state.is_planning


async def test_the_same_calls_change_something_where_they_may(
    session: Session, script: ScriptedModel
) -> None:
    """So that what is tried above could be seen."""
    session.plan.set_active(False)
    session.permissions.rules.set_mode("full")
    script.responses[:] = [say("Now the servers' tools are declared.")]
    await session.prompt("go on")
    await session.wait_until_idle()
    for name, arguments in (
        ("write", TRIES["write"][1]),
        ("bash", {"command": "touch by-bash"}),
        ("eval", {"code": "tool.write(path='by-eval', content='x')"}),
        ("mcp__scribbling__scribble", {}),
    ):
        result = await session.calls.run(name, arguments, "outer")
        assert not result.is_error, (name, result.text)
    assert {path.name for path in session.cwd.iterdir()} >= {"new", "by-bash", "by-eval", "scribbled.txt"}
