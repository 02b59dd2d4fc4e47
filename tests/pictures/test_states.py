"""What the application comes to by itself: maps, recovery, rules, a job that ended, images, questions, files back."""

import base64
import json
import struct
import sys
import zlib

import pytest

from app.engine.user_runs.shell_snapshot import ShellSnapshotSource
from app.providers.scripted import ScriptedModel, call, say
from app.tui.features.settings.user_shell_page import UserShellDefinitionsScreen
from app.tui.features.undo.screen import FileRestoreScreen
from app.values.content import Image
from tests.support.photographs import Photographs, Tour
from tests.support.screens import Screen
from tools.running.user_shell.shell_snapshot import UserShellSnapshot


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine a picture takes long enough for the model to be told silent.
    monkeypatch.setattr(
        "app.engine.models.model_requests.ModelRequests._on_connection_state",
        lambda self, state, seconds: None,
    )


def own(screen: Screen, name: str, text: str) -> None:
    """A file of the person's own in bayou's folder."""
    path = screen.home / ".bayou" / "agent" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def rigging(screen: Screen) -> None:
    """A file over the limits of one read."""
    text = "".join(
        f"class Rope{number}:\n    def haul(self, metres: int) -> int:\n        return metres\n\n\n"
        for number in range(700)
    )
    (screen.project / "boats" / "rigging.py").write_text(text, encoding="utf-8")


def png(width: int, height: int) -> bytes:
    """A sky over a sea, with a sail."""

    def colour(x: int, y: int) -> bytes:
        if y > height * 2 // 3:
            return bytes((20, 60 + 60 * y // height, 120))
        is_sail = abs(x - width // 2) < (y - height // 8) // 2 and y > height // 8
        return bytes((240, 235, 220)) if is_sail else bytes((110, 160 + 60 * y // height, 220))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"".join(colour(x, y) for x in range(width)) for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    ends = chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + ends


async def test_a_map_beside_a_large_read(screen: Screen, photographs: Photographs) -> None:
    """Closed, open in the transcript, and on a separate page."""
    rigging(screen)
    script = ScriptedModel([call("read", path="boats/rigging.py"), say("Ropes, and how they are hauled.")])
    app = screen.app(theme=photographs.theme, script=script, has_extensions=True)
    async with photographs.of(app) as tour:
        await app.is_ready.wait()
        await tour.say("what is the rigging?")
        await tour.idle()
        await tour.until("map rigging.py")
        await tour.photograph("map-closed")
        await tour.press("f6", "k", "ctrl+o")
        await tour.photograph("map-peek")
        await tour.press("ctrl+o")
        await tour.photograph("map-open")
        await tour.press("enter")
        await tour.until("enter open")
        await tour.photograph("map-page")


STEERS = """
def extension(api):
    @api.on("tool_call")
    async def steer(event, context):
        if event.input.get("path") == "README.md":
            await api.send_user_message("wait, look at the sail first", deliver_as="steer")
"""


async def test_reads_that_were_skipped_are_asked_for_again(screen: Screen, photographs: Photographs) -> None:
    own(screen, "settings.json", '{"interruptMode": "immediate"}')
    own(screen, "extensions/steer.py", STEERS)
    reads = call("read", path="README.md") + call("read", path="boats/fleet.py")
    script = ScriptedModel([reads, say("The sail it is."), say("Now the rest.")])
    app = screen.app(theme=photographs.theme, script=script, has_extensions=True)
    async with photographs.of(app) as tour:
        await app.is_ready.wait()
        await tour.say("look at all of it")
        await tour.idle()
        await tour.until("Now the rest.")
        await tour.photograph("recovery")


async def test_an_answer_that_breaks_a_rule(screen: Screen, photographs: Photographs) -> None:
    own(screen, "rules/no-notes.md", "---\ncondition: LATER\n---\nDo it now, leave no notes behind.")
    script = ScriptedModel([say("I leave this for LATER, and go on."), say("Done properly.")])
    app = screen.app(theme=photographs.theme, script=script, has_extensions=True)
    async with photographs.of(app) as tour:
        await app.is_ready.wait()
        await tour.say("caulk the hull")
        await tour.idle()
        await tour.until("Done properly.")
        await tour.photograph("rule")


async def test_the_end_of_a_job_is_delivered(screen: Screen, photographs: Photographs) -> None:
    command = "echo caulking; until [ -e ../go ]; do sleep 0.02; done; echo tight"
    script = ScriptedModel(
        [call("bash", command=command), say("It goes on beside us."), say("The hull is tight.")]
    )
    app = screen.app(theme=photographs.theme, script=script)
    async with photographs.of(app) as tour:
        await tour.say("caulk the hull")
        await tour.until("│ caulking")
        await tour.press("ctrl+b")
        await tour.idle()
        (screen.home / "go").touch()
        await tour.until("The hull is tight.")
        await tour.idle()
        await tour.photograph("delivered")


async def test_images(screen: Screen, photographs: Photographs) -> None:
    (screen.project / "sail.png").write_bytes(png(96, 64))
    script = ScriptedModel([say("A sail."), call("read", path="sail.png"), say("The same sail.")])
    app = screen.app(theme=photographs.theme, script=script)
    async with photographs.of(app) as tour:
        shot = Image(data=base64.b64encode(png(96, 64)).decode(), mime_type="image/png")
        await app.session.prompt("what is this?", (shot,))
        await tour.idle()
        await tour.photograph("image-shown")
        await tour.say("and in the project?")
        await tour.idle()
        await tour.press("ctrl+o")
        await tour.photograph("image-read")


DIAGRAM = """It goes so:

```mermaid
graph LR
  A[Harbour] --> B{Wind?}
  B -->|yes| C[Sail]
  B -->|no| D[Row]
```
"""


async def test_a_diagram(screen: Screen, photographs: Photographs) -> None:
    app = screen.app(theme=photographs.theme, script=ScriptedModel([say(DIAGRAM)]))
    async with photographs.of(app) as tour:
        await tour.say("how do we leave?")
        await tour.idle()
        await tour.photograph("mermaid")


async def test_what_programs_say_of_a_change(screen: Screen, photographs: Photographs) -> None:
    """A program that checks what was changed finds two things that were not there before."""
    check = screen.home / "check.py"
    check.write_text(
        "import sys\n"
        "path = sys.argv[1]\n"
        "if '2.5' not in open(path).read(): sys.exit()\n"
        "print(path + ':7:16: error: a boat cannot have half an oar')\n"
        "print(path + ':10:1: warning: launch is used nowhere')\n",
        encoding="utf-8",
    )
    command = json.dumps(f"{sys.executable} {check} {{files}}")
    own(screen, "settings.json", f'{{"diagnostics": {{"when": "edit", "commands": {{"*.py": {command}}}}}}}')
    edit = call(
        "edit", path="boats/fleet.py", edits=[{"oldText": "oars: int = 2", "newText": "oars: int = 2.5"}]
    )
    app = screen.app(
        "--approve",
        theme=photographs.theme,
        script=ScriptedModel([edit, say("Two and a half."), say("Whole ones.")]),
    )
    async with photographs.of(app) as tour:
        await tour.say("half an oar more")
        await tour.idle()
        await tour.until("cannot have half an oar")
        await tour.photograph("diagnostics")


SHELL = UserShellSnapshot(
    shell="bash",
    file="~/.bayou/shell.sh",
    aliases={"gs": "git status", "ll": "ls -l"},
    functions={"sail": "sail () \n{ \n    ls boats | sort\n}"},
    options=("extglob",),
    taken_at=1.0,
)


async def test_the_shell_of_ones_own(
    screen: Screen, photographs: Photographs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What commands have of a person's shell, behind its setting."""
    monkeypatch.setattr(ShellSnapshotSource, "current_snapshot", lambda self: SHELL)
    monkeypatch.setattr("app.tui.features.settings.user_shell_page.format_ago", lambda seconds: "3 m ago")
    app = screen.app(theme=photographs.theme, script=ScriptedModel([]))
    async with photographs.of(app) as tour:
        await tour.say("/settings")
        await tour.press(*"own shell")
        await tour.press("enter")
        await tour.photograph("own-shell-setting")
        await tour.press("ctrl+o")
        await tour.until(lambda: isinstance(app.screen, UserShellDefinitionsScreen))
        await tour.photograph("own-shell")


async def test_questions_before_a_call(screen: Screen, photographs: Photographs) -> None:
    script = ScriptedModel(
        [
            call(
                "edit",
                path="boats/fleet.py",
                edits=[{"oldText": "oars: int = 2", "newText": "oars: int = 4"}],
            ),
            call("bash", command="git push --force origin master && rm -rf build"),
            say("As you wish."),
        ]
    )
    app = screen.app("--permissions", "ask", theme=photographs.theme, script=script)
    async with photographs.of(app) as tour:
        await tour.say("four oars, then publish")
        for name in ("edit", "floor"):
            await tour.until(lambda: app.approval_bar.asked is not None)
            if name == "edit":
                await tour.until("class Boat")  # its diff in the file, which is looked at beside the page
            await tour.photograph(f"question-{name}")
            await tour.photograph_small(f"question-{name}")
            await _answer(tour)
        await tour.idle()
        await tour.photograph("questions-answered")


async def _answer(tour: Tour) -> None:
    """With a no."""
    bar = tour.app.approval_bar
    asked = bar.asked
    await tour.heard()
    await tour.press("alt+x")
    await tour.until(lambda: bar.asked is not asked)


async def test_files_back(screen: Screen, photographs: Photographs) -> None:
    script = ScriptedModel(
        [
            call("write", path="boats/sail.py", content="def sail() -> str:\n    return 'off'\n")
            + call(
                "edit",
                path="boats/fleet.py",
                edits=[{"oldText": "oars: int = 2", "newText": "oars: int = 4"}],
            ),
            say("Four oars, and a sail."),
        ]
    )
    app = screen.app(theme=photographs.theme, script=script, is_kept=True)
    async with photographs.of(app) as tour:
        await tour.say("four oars and a sail")
        await tour.idle()
        await tour.press("alt+z")
        await tour.until(lambda: isinstance(app.screen, FileRestoreScreen))
        await tour.until("7 -")
        await tour.photograph("undo")
        await tour.press("enter")
        await tour.until("2 files restored")
        await tour.photograph("put-back")
