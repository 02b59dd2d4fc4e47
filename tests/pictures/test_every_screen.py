"""Every screen and state of the running application, in two sizes, dark and light. Widgets alone: `tests/widgets`."""

import asyncio
import fcntl
from pathlib import Path

import pytest

from app.engine.tree.session_paths import SessionPaths
from app.providers.scripted import ScriptedModel, call, fail, say, think
from app.resources.paths import BayouPaths
from app.sessions.session_library import rename_session
from app.sessions.session_log import SessionLog
from app.tui.features.extensions.trust_screen import TRUST_KEY_GRACE_SECONDS
from app.tui.features.sessions.screen import SessionsScreen
from app.tui.features.tree.screen import SessionTreeScreen
from tests.sessions.make_entries import assistant_entry
from tests.sessions.make_entries import user_entry as said
from tests.support.photographs import Photographs
from tests.support.screens import Screen, text_of
from tests.support.sizes import resize
from widgets.editor.prompt_chips import ImageAttachment
from widgets.screens.dialogs import QuestionScreen, TextInputDialog
from widgets.screens.picker import PickerScreen

SHOT = ImageAttachment(name="shot.png", mime_type="image/png", byte_count=48_000, width=800, height=600)


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("app.tui.features.tree.entries", "app.tui.entry_texts", "widgets.lists.tree_rows"):
        monkeypatch.setattr(f"{place}.format_time_of_day", lambda stamp: "09:30")
    # On a busy machine a picture takes long enough for the model to be told silent.
    monkeypatch.setattr(
        "app.engine.models.model_requests.ModelRequests._on_connection_state",
        lambda self, state, seconds: None,
    )
    monkeypatch.setattr("app.tui.features.sessions.page.format_age", lambda seconds: "2 h")
    monkeypatch.setattr("app.tui.features.sessions.page.format_ago", lambda seconds: "2 h ago")
    monkeypatch.setattr("app.tui.features.jobs.page.format_age", lambda seconds: "3 m")


async def test_the_editor(screen: Screen, photographs: Photographs) -> None:
    async with photographs.of(screen.app(theme=photographs.theme)) as tour:
        await tour.until("shows its work")
        await tour.photograph("start")
        await tour.photograph_small("start")
        await tour.photograph_small("start", (30, 6))
        await tour.press("/")
        await tour.photograph("commands")
        await tour.photograph_small("commands")
        await tour.press("escape", "ctrl+u", *"/theme ")
        await tour.photograph("arguments")
        await tour.press("escape", "ctrl+u", *"see @fl")
        await tour.until("› boats/fleet.py")  # the first screen names it too
        await tour.photograph("files")
        await tour.press("escape", "ctrl+u", *"@boats/fleet.py:")
        await tour.until("launch")
        await tour.photograph("symbols")
        await tour.press("escape", "ctrl+u", *"!ls")
        await tour.photograph("shell-mode")
        await tour.press("enter")
        await tour.until("pyproject.toml")
        editor = tour.app.editor
        editor.insert("Look at ")
        editor.attach_image(SHOT)
        editor.insert(" and at what the log says: ")
        editor.paste("a line of the log\n" * 120)
        await tour.photograph("chips")
        editor.clear()
        await tour.press("up", "ctrl+r")
        await tour.photograph("older-prompts")


async def test_thinking_levels(screen: Screen, photographs: Photographs) -> None:
    script = ScriptedModel([think("Wood is light.") + say("Boats float.")])
    async with photographs.of(screen.app(theme=photographs.theme, script=script)) as tour:
        await tour.say("why do boats float?")
        await tour.idle()
        for level in ("off", "high"):
            await tour.app.session.models.use_thinking_level(level)
            await tour.photograph(f"thinking-{level}")
        await tour.press("ctrl+t")
        await tour.photograph("thinking-shown")


async def test_pages(screen: Screen, photographs: Photographs) -> None:
    script = ScriptedModel([say("Boats float."), say("They do.")])
    async with photographs.of(screen.app(theme=photographs.theme, script=script)) as tour:
        await tour.say("why do boats float?")
        await tour.idle()
        await tour.say("really?")
        await tour.idle()
        for command in (
            "hotkeys",
            "help",
            "thinking",
            "theme",
            "model",
            "scoped-models",
            "settings",
            "fork",
            "login",
        ):
            await tour.say(f"/{command}")
            await tour.until(lambda: isinstance(tour.app.screen, PickerScreen))
            await tour.photograph(command)
            await tour.photograph_small(command)
            await tour.press("escape")
        await tour.press("ctrl+k")
        await tour.photograph("palette")
        await tour.press(*"theme")
        await tour.photograph("palette-search")
        await tour.press("escape")
        await tour.say("/hotkeys")
        await tour.press("enter")
        await tour.photograph("another-key")
        await tour.press("escape", "escape")
        await tour.say("/settings")
        await tour.press(*"retry")
        await tour.photograph("settings-search")
        await tour.press("down", "enter")
        await tour.photograph("settings-value")
        await tour.press("escape", "escape", "escape")
        await tour.say("/login deepseek")
        await tour.press(*"secret")
        await tour.photograph("login-key")
        await tour.press("escape")
        await tour.say("/login anthropic")
        await tour.photograph("login-how")
        await tour.press("escape")


async def test_what_commands_tell(screen: Screen, photographs: Photographs) -> None:
    script = ScriptedModel([say("Boats float.")])
    async with photographs.of(screen.app(theme=photographs.theme, script=script)) as tour:
        for command in ("logout", "tree", "fork", "jobs", "trust", "name Boats", "kill 7", "zzz"):
            await tour.say(f"/{command}")
            await tour.press("escape") if command == "zzz" else None
        await tour.photograph("told")


async def test_the_tree(screen: Screen, photographs: Photographs) -> None:
    answers = [
        call("read", path="boats/fleet.py"),
        say("A boat has a name and oars."),
        call("write", path="boats/sail.py", content="def sail() -> str:\n    return 'off'\n"),
        say("Now it sails."),
        say("A motor is heavier, and needs fuel."),
    ]
    app = screen.app(theme=photographs.theme, script=ScriptedModel(answers), is_kept=True)
    async with photographs.of(app) as tour:
        await tour.say("what is a boat?")
        await tour.idle()
        await tour.say("let it sail")
        await tour.idle()
        sailing = next(entry.id for entry in app.session.log.entries if "let it sail" in str(entry))
        await app.session.branches.go_to_entry(sailing)
        await tour.say("give it a motor")
        await tour.idle()
        app.session.log.set_label(sailing, "sails")
        await tour.say("/tree")
        await tour.photograph("tree")
        await tour.photograph_small("tree")
        await tour.press("slash", *"sail")
        await tour.photograph("search")
        await tour.press("escape", "tab", "tab")
        await tour.photograph("prompts")
        await tour.press("tab")
        await tour.photograph("labelled")
        await tour.press("tab")
        await tour.photograph("everything")
        await tour.press("tab", "home", "left")
        await tour.photograph("folded")
        await tour.press("right", "L")
        await tour.until(lambda: isinstance(app.screen, TextInputDialog))
        await tour.photograph("label")
        await tour.press("escape", "end", "d")
        await tour.photograph("compare-with")
        await tour.press(*"kk", "d")
        await tour.until(lambda: not isinstance(app.screen, SessionTreeScreen))
        await tour.photograph("compared")
        await tour.press("escape", "end", "k", "f")
        await tour.until(lambda: isinstance(app.screen, QuestionScreen))
        await tour.photograph("fork")
        await tour.answer("escape")
        await tour.until(lambda: isinstance(app.screen, SessionTreeScreen))
        await tour.press("home", "enter")
        await tour.until(lambda: not isinstance(app.screen, SessionTreeScreen))
        await tour.photograph("leave")
        await tour.press("escape", "escape")


def written(screen: Screen, text: str, name: str = "", cwd: Path | None = None) -> Path:
    """A session's file."""
    paths = BayouPaths.from_env({"HOME": str(screen.home)}, cwd or screen.project)
    log = SessionLog.create(
        SessionPaths(default_root=paths.sessions_dir, cwd=paths.cwd).project_folder, paths.cwd
    )
    log.append(said(text))
    log.append(assistant_entry(f"{text} It is so."))
    log.close()
    assert log.path is not None
    if name:
        rename_session(log.path, name)
    return log.path


async def test_sessions(screen: Screen, photographs: Photographs) -> None:
    (screen.home / "elsewhere").mkdir()
    written(screen, "How deep is the harbour?", cwd=screen.home / "elsewhere")
    written(screen, "Make the oars longer, please.", "Oars")
    written(screen, "Why does the boat leak?")
    app = screen.app("--offline", theme=photographs.theme, is_kept=True)
    async with photographs.of(app) as tour:
        await tour.say("/resume")
        await tour.until(lambda: isinstance(app.screen, SessionsScreen))
        app.session_texts._reading.join()
        await resize(tour.pilot, 120, 40)  # with room for a look into the session
        await tour.until("It is so")
        await tour.photograph("sessions")
        await tour.photograph_small("sessions")
        await tour.press("tab")
        await tour.photograph("everywhere")
        await resize(tour.pilot, 120, 40)
        await tour.press(*"deep")
        await tour.until(
            lambda: text_of(app).count("It is so") == 2
        )  # where it was said, and the look into it
        await tour.photograph("search")
        await tour.press("ctrl+u", "tab", "ctrl+r")
        await tour.until(lambda: isinstance(app.screen, TextInputDialog))
        await tour.photograph("rename")
        await resize(tour.pilot, 120, 40)
        await tour.press("escape", "ctrl+d")
        await tour.until("restores it")
        await tour.until("please. It is")
        await tour.photograph("deleted")
        await tour.press("escape")


async def test_questions_about_a_session(screen: Screen, photographs: Photographs) -> None:
    held = written(screen, "written elsewhere").rename(screen.home / "boats.jsonl")
    with held.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        app = screen.app("--offline", "--session", str(held), theme=photographs.theme, is_kept=True)
        app.assembled.lock_error.holder = 4711  # type: ignore[union-attr]
        async with photographs.of(app) as tour:
            await tour.until(lambda: isinstance(app.screen, QuestionScreen))
            await tour.photograph("locked")
            await tour.photograph_small("locked")
            await tour.press("1")
            await tour.until("written elsewhere")
            await tour.photograph("read-only")
            await tour.say("and how deep is it?")
            await tour.until("Continue in a copy")
            await tour.photograph("read-only-refused")


async def test_a_session_without_its_folder(screen: Screen, photographs: Photographs) -> None:
    gone = screen.home / "gone"
    gone.mkdir()
    lost = written(screen, "about a folder that is gone", cwd=gone).rename(screen.home / "boats.jsonl")
    gone.rmdir()
    app = screen.app("--offline", "--session", str(lost), theme=photographs.theme, is_kept=True)
    async with photographs.of(app) as tour:
        await tour.until(lambda: isinstance(app.screen, QuestionScreen))
        await tour.photograph("gone")


async def test_trust_and_extensions(screen: Screen, photographs: Photographs) -> None:
    for name, text in {
        "extensions/greet.py": "def activate(bayou):\n    bayou.register_command('greet', run=None)\n",
        "settings.json": '{"theme": "nord", "externalEditor": "edit\\u202eteg", "shellCommandPrefix": "true;'
        + " " * 90
        + 'source ./env.sh;"}',
        "prompts/review.md": "---\ndescription: look over what changed\n---\nReview $ARGUMENTS.\n",
    }.items():
        file = screen.project / ".bayou" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    app = screen.app("--offline", theme=photographs.theme, has_extensions=True)
    async with photographs.of(app) as tour:
        await tour.until(lambda: isinstance(app.screen, QuestionScreen))
        await tour.photograph("trust")
        await tour.photograph_small("trust")
        await tour.photograph_small("trust", (200, 60))
        await tour.answer("ctrl+y", seconds=TRUST_KEY_GRACE_SECONDS)
        await tour.until("is trusted")
        await tour.say("/extensions")
        await tour.until(lambda: isinstance(app.screen, PickerScreen))
        await tour.photograph("extensions")
        await tour.press("escape")


async def test_while_the_agent_runs(screen: Screen, photographs: Photographs) -> None:
    gate = asyncio.Event()
    script = ScriptedModel(
        [say("First I look at the hull,\n\n- then the oars", gate=gate), say("Done."), say("Done too.")]
    )
    app = screen.app(theme=photographs.theme, script=script)
    async with photographs.of(app) as tour:
        await tour.say("check the boat")
        await tour.until("then the oars")
        await tour.photograph("streaming")
        await tour.say("leave out the mast")
        tour.app.editor.set_text("and tell me what it costs")
        await tour.press("alt+enter")
        await tour.photograph("queue")
        await tour.photograph_small("queue")
        await tour.press("alt+q")
        await tour.photograph("queue-focused")
        await tour.press("escape")
        gate.set()
        await tour.idle()
        await tour.photograph("answered")


async def test_failures(screen: Screen, photographs: Photographs) -> None:
    gate = asyncio.Event()
    script = ScriptedModel(
        [
            fail("overloaded", status=529),
            fail("The key is not valid.", status=401),
            say("This goes on and", gate=gate),
            say("cut off here", stop="length"),
            call("bash", command="echo building; sleep 600"),
        ]
    )
    app = screen.app(theme=photographs.theme, script=script)
    async with photographs.of(app) as tour:
        await tour.say("check the boat")
        await tour.until("Retrying")
        await tour.photograph("retry")
        app.session.retry_countdown.retry_now()
        await tour.idle()
        await tour.photograph("failed")
        await tour.say("again")
        await tour.until("This goes on and")
        await tour.press("escape")
        await tour.idle()
        await tour.photograph("stopped")
        await tour.say("in full")
        await tour.idle()
        await tour.photograph("cut-off")
        await tour.say("build it")
        await tour.until("│ building")
        await tour.press("escape")
        await tour.idle()
        await tour.photograph("stopped-in-a-call")


async def test_tools_and_jobs(screen: Screen, photographs: Photographs) -> None:
    script = ScriptedModel(
        [
            call("bash", command="echo building; sleep 600"),
            say("It is built in the background."),
            call(
                "edit",
                path="boats/fleet.py",
                edits=[{"oldText": "oars: int = 2", "newText": "oars: int = 4"}],
            )
            + call("grep", pattern="Boat", path="boats")
            + call("bash", command="echo no such boat; exit 3"),
            say("It has four oars now."),
        ]
    )
    app = screen.app(theme=photographs.theme, script=script)
    async with photographs.of(app) as tour:
        await tour.say("build it")
        await tour.until("│ building")  # the command's name says it too
        await tour.photograph("running")
        await tour.press("ctrl+b")
        await tour.idle()
        await tour.photograph("in-the-background")
        await tour.say("/jobs")
        await tour.until(lambda: isinstance(app.screen, PickerScreen))
        await tour.photograph("jobs")
        await tour.photograph_small("jobs")
        await tour.press("enter")
        await tour.photograph("job")
        await tour.press("escape")
        await app.session.jobs.close()
        await tour.say("give it four oars")
        await tour.idle()
        await tour.photograph("cards")
        await tour.press("ctrl+o")
        await tour.photograph("cards-open")
        await tour.press("ctrl+o", "f6", "k")
        await tour.photograph("reading")
        await tour.press("escape", "ctrl+f", *"oar")
        await tour.until(" of ")
        await tour.photograph("searching")
