"""The recipes of the docs are carried out in a copy of the tree, and what they add is used there.

`docs/recipes.md` has the blocks; each test runs a program over the copy, in which all of them are carried out.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest

from tests.architecture.sources import ROOT, SHIPPED

BLOCK = re.compile(
    r"^(?:In )?`(?P<path>[\w/]+\.\w+)`(?:, (?P<where>behind|before|instead of) `(?P<line>[^\n]+)`)?[^\n`]*"
    r"(?:\n[^\n`]+)*:\n\n```\w+\n(?P<text>.*?)```$",
    re.DOTALL | re.MULTILINE,
)


class Edit(msgspec.Struct, frozen=True):
    """A block of the page: a new file, or what is done at one line of a file."""

    path: str
    where: str | None
    line: str
    text: str

    def carry_out(self, tree: Path) -> None:
        file = tree / self.path
        if self.where is None:
            file.parent.mkdir(exist_ok=True)
            file.write_text(self.text, encoding="utf-8")
            if file.suffix == ".py":
                (file.parent / "__init__.py").touch()
            return
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        (at,) = [number for number, line in enumerate(lines) if line.startswith(self.line)]
        lines[at] = {
            "behind": lines[at] + self.text,
            "before": self.text + lines[at],
            "instead of": self.text,
        }[self.where]
        file.write_text("".join(lines), encoding="utf-8")


def recipes() -> dict[str, list[Edit]]:
    """By the title of their section."""
    found: defaultdict[str, list[Edit]] = defaultdict(list)
    title = ""
    for section in re.split(
        r"^## ", (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )[1:]:
        title = section.split("\n", 1)[0]
        for block in BLOCK.finditer(section):
            found[title].append(Edit(block["path"], block["where"], block["line"] or "", block["text"]))
        assert section.count("```") == 2 * len(found[title]), f"a block of “{title}” has no place"
    return found


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the tree, with all recipes carried out."""
    tree = tmp_path_factory.mktemp("recipes") / "copy"
    for folder in (*SHIPPED, "styles"):
        shutil.copytree(ROOT / folder, tree / folder)
    for edits in recipes().values():
        for edit in edits:
            edit.carry_out(tree)
    return tree


def told_by(program: str, copy: Path, home: Path, **env: str) -> list[str]:
    """What a program prints that runs in the copy."""
    ran = subprocess.run(
        [sys.executable, "-c", program, str(home)],
        env={**os.environ, "PYTHONPATH": f"{copy}{os.pathsep}{ROOT}", **env},
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    first, *others = ran.stdout.splitlines()
    assert first == str(copy)
    return others


def test_each_recipe_needs_few_files() -> None:
    by_hand = {title: {edit.path for edit in edits} for title, edits in recipes().items()}
    assert {title: len(paths) for title, paths in by_hand.items()} == {
        "A tool": 2,
        "A setting": 2,
        "A command with slash": 3,
        "An event that the transcript shows": 3,
        "A provider": 2,
        "A page": 3,
    }


BEGIN = """
import asyncio, sys
from pathlib import Path

import app
print(Path(app.__file__).parent.parent)
home = Path(sys.argv[1])
"""
IN_A_SESSION = (
    BEGIN
    + """
from app.assembly.session_builder import assemble_session
from app.assembly.command_line_options import CommandLineOptions
from app.resources.paths import BayouPaths

project = home / "project"
project.mkdir(parents=True)
paths = BayouPaths.from_env({"HOME": str(home)}, project)
"""
)
ON_THE_PAGE = (
    BEGIN
    + """
from app.providers.scripted import call, say
from tests.tui.scripted_app import make_app, submit, wait_for_runs

def run(use, *answers):
    async def main():
        screen = make_app(home, *answers)
        async with screen.run_test(size=(100, 40)) as pilot:
            async def seen(words):
                await screen.settling_until(pilot, lambda: words in screen.screen_text)
                print(words)

            await screen.is_ready.wait()
            await use(screen, pilot, seen)

    asyncio.run(main())
"""
)


def test_a_tool_is_called_and_judged_by_what_it_touches(copy: Path, tmp_path: Path) -> None:
    program = (
        IN_A_SESSION
        + """
from app.providers.scripted import ScriptedModel, call, say
from app.values.messages import ToolResultMessage

(project / "log.txt").write_text("one\\ntwo\\n")
(project / ".env").write_text("KEY=1\\n")

async def main():
    options = CommandLineOptions(no_session=True)
    assembled = assemble_session(options, paths, {}, ends_with_answer=True)  # there is no user to ask
    calls = call("count", path="log.txt") + call("count", path=".env")
    assembled.model_choice.set_model(ScriptedModel([calls, say("done")]).register(assembled.registry))
    session = assembled.session
    await session.prompt("count")
    await session.wait_until_idle()
    for message in session.messages:
        if isinstance(message, ToolResultMessage):
            print(message.is_error, message.content[0].text.split(".")[0])
    await session.close()

asyncio.run(main())
"""
    )
    counted, stopped = told_by(program, copy, tmp_path)
    assert counted == "False 2 lines"
    assert stopped.startswith("True ") and "lines" not in stopped


def test_a_setting_is_read_and_shown(copy: Path, tmp_path: Path) -> None:
    program = (
        ON_THE_PAGE
        + """
from app.values.events import TodoReminder

async def use(screen, pilot, seen):
    events = []
    screen.session.subscribe(events.append)
    screen.session.settings.save_setting("todo.maxReminders", 1)
    await submit(screen, pilot, "go")
    await wait_for_runs(screen, pilot)
    print(sum(isinstance(event, TodoReminder) for event in events))
    await submit(screen, pilot, "/settings")
    await pilot.press(*"maxreminders")
    await seen("How many times the agent is reminded")

plan = call("todo", op="set", phases=[{"name": "One", "tasks": ["sail"]}])
run(use, plan, say("later"), call("ls"), say("later still"))
"""
    )
    assert told_by(program, copy, tmp_path) == ["1", "How many times the agent is reminded"]


def test_a_command_is_there_for_rpc_and_slash(copy: Path, tmp_path: Path) -> None:
    program = (
        ON_THE_PAGE
        + """
import json, subprocess

async def use(screen, pilot, seen):
    await submit(screen, pilot, "/began")
    await seen("This session began at 20")
    print(dict(screen.action_table.slash_command_descriptions())["began"])

run(use)
rpc = subprocess.run(
    [sys.executable, "-P", "-m", "app", "--mode", "rpc", "--no-session"],
    input='{"id": "1", "type": "get_beginning"}\\n', capture_output=True, text=True, cwd=home / "project",
)
answers = (json.loads(line) for line in rpc.stdout.splitlines())
print(next(answer["data"]["time"][:2] for answer in answers if answer.get("id") == "1"))
"""
    )
    assert told_by(program, copy, tmp_path) == ["This session began at 20", "when the session began", "20"]


def test_an_event_is_seen_in_the_transcript(copy: Path, tmp_path: Path) -> None:
    program = (
        ON_THE_PAGE
        + """
async def use(screen, pilot, seen):
    await submit(screen, pilot, "go")
    await wait_for_runs(screen, pilot)
    await seen("All 1 todos are closed.")

plan = call("todo", op="set", phases=[{"name": "One", "tasks": ["sail"]}])
run(use, plan, call("todo", op="done"), say("done"))
"""
    )
    assert told_by(program, copy, tmp_path) == ["All 1 todos are closed."]


def test_a_provider_answers(copy: Path, tmp_path: Path) -> None:
    program = (
        IN_A_SESSION
        + """
import json, os
from tests.providers.loopback import loopback, sse

async def main():
    async with loopback() as server:
        at = {"baseUrl": server.url, "apiKey": "$HARBOUR_API_KEY"}
        paths.agent_dir.mkdir(parents=True)
        (paths.agent_dir / "models.json").write_text(json.dumps({"providers": {"harbour": at}}))
        delta = {"choices": [{"index": 0, "delta": {"content": "Aye."}, "finish_reason": "stop"}]}
        server.sse(sse(delta, done=True))
        options = CommandLineOptions(no_session=True, provider="harbour")
        session = assemble_session(options, paths, os.environ).session
        await session.prompt("Ready?")
        await session.wait_until_idle()
        (asked,) = server.requests
        print(asked.json["model"], asked.headers["authorization"], session.messages[-1].text)
        await session.close()

asyncio.run(main())
"""
    )
    assert told_by(program, copy, tmp_path, HARBOUR_API_KEY="kk") == ["pilot-1 Bearer kk Aye."]


def test_a_page_is_opened_by_its_command_and_its_key(copy: Path, tmp_path: Path) -> None:
    program = (
        ON_THE_PAGE
        + """
async def use(screen, pilot, seen):
    await pilot.press("f9")
    await seen("high water at noon")
    await pilot.press("enter")
    await seen("It is high water at noon.")
    await submit(screen, pilot, "/tides")
    await seen("high water at noon")
    await pilot.press("escape")
    await screen.session.notes.rename("estuary")
    await seen("The tides of estuary stay the same.")
    print(dict(screen.action_table.slash_command_descriptions())["tides"])

run(use)
"""
    )
    assert told_by(program, copy, tmp_path) == [
        "high water at noon",
        "It is high water at noon.",
        "high water at noon",
        "The tides of estuary stay the same.",
        "when the water is high",
    ]


def test_a_block_without_a_place_would_be_noticed() -> None:
    page = 'In `app/a.py`, behind `NAMES = (`:\n\n```python\n    "x",\n```\n'
    (block,) = BLOCK.finditer(page)
    assert (block["path"], block["where"], block["line"]) == ("app/a.py", "behind", "NAMES = (")
    assert not list(BLOCK.finditer("Some words:\n\n```python\nx = 1\n```\n"))
