"""What the editor of the whole application completes: files and their symbols, and what extensions suggest."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from app.providers.scripted import say
from tests.tui.scripted_app import ScriptedApp, make_app, wait_for_runs
from tests.widgets.typing import type_text
from widgets.completion.completion_popup import CompletionPopup
from widgets.completion.completion_source import CompletionRequest

BOAT = "class Boat:\n    def launch(self):\n        pass\n\n\ndef moor():\n    pass\n"
TAGS = """
    from bayou import Completion

    def extension(api):
        @api.autocomplete
        async def tags(text, cursor):
            word = text[:cursor].rsplit(" ", 1)[-1]
            known = ("#harbour", "#harpoon", "#tide")
            return [Completion(value=tag, description="a tag") for tag in known if word and tag.startswith(word)]
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def files(home: Path, **texts: str) -> Path:
    project = home / "project"
    for name, text in texts.items():
        file = project / name.replace("__", "/").replace("_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return project


def offered(app: ScriptedApp) -> list[str]:
    answer = app.query_one(CompletionPopup)._completions
    return [item.label or item.text for item in answer.items] if answer is not None else []


async def type_until(app: ScriptedApp, pilot: Pilot[int], text: str, *wanted: str) -> None:
    """Types, and waits until exactly this is offered."""
    await type_text(pilot, text)
    await app.settling_until(pilot, lambda: offered(app) == list(wanted))
    await pilot.pause()


async def test_a_symbol_is_chosen_in_a_file_and_sent_by_its_name(home: Path) -> None:
    files(home, src__boat_py=BOAT)
    app = make_app(home, say("done"))
    async with app.run_test(size=(100, 30)) as pilot:
        await type_until(app, pilot, "explain @src/boat.py:", "Boat", "launch", "moor")
        assert "line 6" in app.screen_text
        await type_until(app, pilot, "la", "launch")
        await pilot.press("tab")
        assert app.editor.text.strip() == "explain @src/boat.py:launch"
        await pilot.press("enter")
        await wait_for_runs(app, pilot)
        assert "explain @src/boat.py:launch" in app.screen_text


async def test_symbols_of_a_file_that_was_written_just_now(home: Path) -> None:
    files(home, old_py="x = 1\n")
    app = make_app(home, say("done"))
    async with app.run_test(size=(100, 30)) as pilot:
        await type_until(app, pilot, "@old", "old.py")
        files(home, boat_py=BOAT)
        app.editor.clear()
        await type_until(app, pilot, "@boat.py:mo", "moor")


async def test_symbols_of_hidden_files_are_not_completed(home: Path) -> None:
    files(home, boat_py=BOAT, kept_py=BOAT, _env_local="KEY=1\n")
    app = make_app(home, say("done"))
    async with app.run_test(size=(100, 30)) as pilot:
        app.session.settings.save_setting("permissions.deny", ("read: kept.py",))
        await type_until(app, pilot, "@boat.py:moo", "moor")
        popup = app.query_one("#completion", CompletionPopup)

        async def offered(line: str) -> list[str]:
            request = CompletionRequest(line=line, column=len(line))
            source = next(source for source in popup.sources if source.accepts(request))
            return [item.label async for found in source.complete(request) for item in found.items]

        assert await offered("@boat.py:") == ["Boat", "launch", "moor"]
        assert await offered("@kept.py:") == []
        assert await offered("@.env.local:") == []


async def test_a_file_without_symbols_offers_none(home: Path) -> None:
    files(home, notes_txt="calm sea\n")
    app = make_app(home, say("done"))
    async with app.run_test(size=(100, 30)) as pilot:
        await type_until(app, pilot, "@notes", "notes.txt")
        await type_until(app, pilot, ".txt:sea")


async def test_ignored_files_come_last(home: Path) -> None:
    project = files(home, build__tide_js="", src__the_tide_js="", _gitignore="build/\n")
    (project / ".git").mkdir()  # which is all that a repository needs for its .gitignore to count
    app = make_app(home, say("done"))
    async with app.run_test(size=(100, 30)) as pilot:
        await type_until(app, pilot, "@tide", "src/the.tide.js", "build/tide.js")
        row = next(line for line in app.screen_text.splitlines() if "build/tide.js" in line)
        assert "ignored" in row


async def test_what_was_mentioned_in_an_earlier_session_comes_first(home: Path) -> None:
    files(home, tide_a="", tide_b="", tide_c="")
    first = make_app(home, say("done"))
    async with first.run_test(size=(100, 30)) as pilot:
        await first.is_ready.wait()
        await type_until(first, pilot, "@tide", "tide.a", "tide.b", "tide.c")
        await pilot.press("down", "down", "tab")
        assert first.editor.text == "@tide.c "
        for key in ("b", "c"):
            await type_text(pilot, f"@tide.{key}")
            await first.settling_until(pilot, lambda key=key: offered(first) == [f"tide.{key}"])
            await pilot.press("tab")
        assert first.editor.text == "@tide.c @tide.b @tide.c "
    second = make_app(home, say("done"))
    async with second.run_test(size=(100, 30)) as pilot:
        await second.is_ready.wait()
        await type_until(second, pilot, "@tide", "tide.c", "tide.b", "tide.a")


async def test_extensions_suggest_where_bayou_has_nothing(home: Path) -> None:
    files(home, tide_a="")
    app = make_app(home, say("done"), extension=TAGS)
    async with app.run_test(size=(100, 30)) as pilot:
        await app.is_ready.wait()
        await type_until(app, pilot, "see #har", "#harbour", "#harpoon")
        assert "a tag" in app.screen_text
        await pilot.press("down", "tab")
        assert app.editor.text == "see #harpoon "
        await type_until(app, pilot, "and @ti", "tide.a")
