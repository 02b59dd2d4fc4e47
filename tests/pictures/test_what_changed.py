"""What a run changed in files: the line behind its answer, the prompts of the tree, and the files one by one."""

import subprocess
from pathlib import Path

import pytest
from textual.widgets import TextArea

from app.providers.scripted import ScriptedModel, call, say
from tests.support.photographs import Photographs
from tests.support.screens import Screen

FLEET = '''\
"""The boats of the harbour."""

from dataclasses import dataclass, field


@dataclass
class Boat:
    name: str
    oars: int = 2
    crew: list[str] = field(default_factory=list)

    def is_ready(self) -> bool:
        return len(self.crew) >= self.oars


@dataclass
class Fleet:
    boats: list[Boat] = field(default_factory=list)

    def find(self, name: str) -> Boat | None:
        return next((boat for boat in self.boats if boat.name == name), None)


def launch(boat: Boat) -> str:
    return f"{boat.name} is afloat"


def land(boat: Boat) -> str:
    return f"{boat.name} is ashore"
'''
KNOTS = "def tie(knot):\n  if knot:\n    return 1\n  return 0\n\n\ndef untie(knot):\n  return not knot\n"
ROPES = "def splice(one: str, other: str) -> str:\n    return one + other\n"
LOCKED = '[[package]]\nname = "lib{}"\nversion = "1.{}.0"\n\n'
TESTED = """\
import pytest

from boats.fleet import Boat, launch


def test_a_boat_without_a_crew_stays_ashore() -> None:
    with pytest.raises(ValueError, match="no crew"):
        launch(Boat("Ada"))
"""


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("app.tui.features.tree.entries", "app.tui.entry_texts", "widgets.lists.tree_rows"):
        monkeypatch.setattr(f"{place}.format_time_of_day", lambda stamp: "09:30")
    # On a busy machine a picture takes long enough for the model to be told silent.
    monkeypatch.setattr(
        "app.engine.models.model_requests.ModelRequests._on_connection_state",
        lambda self, state, seconds: None,
    )


async def test_what_changed(screen: Screen, photographs: Photographs) -> None:
    script = ScriptedModel(
        [
            call("write", path="oars.py", content="def row(strokes: int) -> int:\n    return strokes * 2\n"),
            say("A module for oars."),
            call(
                "edit",
                path="oars.py",
                edits=[{"oldText": "strokes * 2", "newText": "strokes * 2 if strokes else 0"}],
            )
            + call("write", path="anchor.md", content="# Anchor\n\nDown.\n"),
            say("It does not row without strokes, and there is an anchor."),
        ]
    )
    async with photographs.of(screen.app(theme=photographs.theme, script=script)) as tour:
        await tour.say("make oars")
        await tour.idle()
        await tour.say("mind no strokes at all, and add an anchor")
        await tour.idle()
        await tour.photograph("line")
        await tour.press("alt+g")
        await tour.until("prompt 2 of 2")
        await tour.press("n")
        await tour.until("strokes else 0")
        await tour.photograph("prompt")
        await tour.photograph_small("prompt")
        await tour.press("shift+tab")
        await tour.until("Changed by this session")
        await tour.photograph("session")


def _git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@harbour.example")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


async def test_a_desk_of_many_kinds_of_changes(screen: Screen, photographs: Photographs) -> None:
    """An edit with two hunks, indentation only, a moved file, a new one, and a lock file, which is folded."""
    project = screen.project
    (project / "boats" / "fleet.py").write_text(FLEET, "utf-8")
    (project / "boats" / "knots.py").write_text(KNOTS, "utf-8")
    (project / "boats" / "ropes.py").write_text(ROPES, "utf-8")
    (project / "uv.lock").write_text("".join(LOCKED.format(n, 0) for n in range(40)), "utf-8")
    for words in (("init", "-q", "-b", "harbour"), ("add", "-A"), ("commit", "-qm", "boats")):
        _git(project, *words)
    launched = '    return f"{boat.name} is afloat"'
    ready = '    if not boat.is_ready():\n        raise ValueError(f"{boat.name} has no crew")\n'
    changed = FLEET.replace("oars: int = 2", "oars: int = 4").replace(launched, ready + launched)
    (project / "boats" / "fleet.py").write_text(changed, "utf-8")
    (project / "boats" / "knots.py").write_text(KNOTS.replace("  ", "    "), "utf-8")
    (project / "boats" / "ropes.py").rename(project / "boats" / "lines.py")
    (project / "tests").mkdir()
    (project / "tests" / "test_fleet.py").write_text(TESTED, "utf-8")
    (project / "uv.lock").write_text("".join(LOCKED.format(n, n % 3) for n in range(40)), "utf-8")
    async with photographs.of(screen.app(theme=photographs.theme)) as tour:
        await tour.say("/diff git")
        await tour.until("file 1 of 5")
        await tour.until("oars: int = 4")
        await tour.photograph("many")
        await tour.photograph_small("many")
        await tour.press("space", "x")
        await tour.until("file 2 of 5")
        await tour.photograph("decided")


async def test_a_change_before_it_is_made(screen: Screen, photographs: Photographs) -> None:
    edits = [{"oldText": "oars: int = 2", "newText": "oars: int = 4"}]
    script = ScriptedModel([call("edit", path="boats/fleet.py", edits=edits), say("It has two oars still.")])
    app = screen.app("--permissions", "ask", theme=photographs.theme, script=script)
    async with photographs.of(app) as tour:
        await tour.say("give it four oars")
        await tour.until("Change boats/fleet.py?")
        await tour.press("alt+v")
        await tour.until("x exclude")
        await tour.photograph("asked")
        await tour.photograph_small("asked")
        await tour.press("e")
        await tour.until("ctrl+s save")
        assert not app.screen.query_one(TextArea).cursor_blink, "a page at rest sends nothing"
        await tour.photograph("lines")
        await tour.press("escape")
        await tour.until("x exclude")
        await tour.press("escape")
        await tour.heard()
        await tour.press("alt+x")
        await tour.idle()
