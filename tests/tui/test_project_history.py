"""What a person wrote is never lost: older prompts, drafts that were not sent, images with them."""

import base64
from pathlib import Path

import pytest

from app.assembly.command_line_options import CommandLineOptions
from app.providers.scripted import call, say
from app.resources.paths import BayouPaths
from app.tui.prompt.project_history import ProjectPromptHistory
from app.values.content import Image
from app.values.messages import UserMessage
from app.values.todos import TodoItem, TodoPhase
from tests.agent.scripted_loop import BlockingTool
from tests.tui.scripted_app import make_app, submit, wait_for_runs

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def test_prompts_of_earlier_sessions_are_one_up_away(home: Path) -> None:
    first = make_app(home, say("x"))
    async with first.run_test(size=(100, 30)) as pilot:
        await submit(first, pilot, "what is in the harbour?")
        await wait_for_runs(first, pilot)
    second = make_app(home, say("x"))
    async with second.run_test(size=(100, 30)) as pilot:
        await second.is_ready.wait()
        await pilot.press("up")
        assert second.editor.text == "what is in the harbour?"
        await pilot.press("down")
        assert second.editor.model.is_blank


def test_a_file_that_is_mentioned_while_the_older_ones_are_read_counts(home: Path) -> None:
    paths = BayouPaths.from_env({"HOME": str(home)}, home)
    before, now = (ProjectPromptHistory(paths, most_prompts=lambda: 10) for _ in range(2))
    before.record_mentioned_files(["a", "b"])
    read = now.read_mentioned_file_scores()
    now.record_mentioned_files(["b"])
    newest = now.frecency.scores_and_times["b"]
    now.merge_mentioned_file_scores(read)
    assert list(now.frecency.scores_and_times) == ["a", "b"] and now.frecency.scores_and_times["b"] == newest


async def test_prompts_of_another_project_are_not(home: Path) -> None:
    first = make_app(home, say("x"))
    async with first.run_test(size=(100, 30)) as pilot:
        await submit(first, pilot, "a prompt")
        await wait_for_runs(first, pilot)
    second = make_app(home, say("x"), project="elsewhere")
    async with second.run_test(size=(100, 30)) as pilot:
        await second.is_ready.wait()
        await pilot.press("up")
        assert second.editor.model.is_blank


async def test_the_side_panel_keeps_its_place_in_each_project(home: Path) -> None:
    async def is_shown(*keys: str, project: str = "project", setting: bool | None = None) -> bool:
        app = make_app(home, say("x"), project=project)
        async with app.run_test(size=(130, 30)) as pilot:
            await app.is_ready.wait()
            await app.session.todos.replace_by_user(
                [TodoPhase(name="Work", tasks=(TodoItem(content="Tea"),))]
            )
            if setting is not None:
                app.assembled.effective_settings.save_value("sidePanel", setting)
            await pilot.press(*keys)
            await pilot.pause()
            return app.page.side_panel.display

    assert await is_shown()
    assert not await is_shown("alt+i")
    assert not await is_shown()
    assert await is_shown(project="elsewhere")
    assert await is_shown("alt+i")
    assert await is_shown()
    assert not await is_shown(setting=False, project="elsewhere")
    assert not list((home / "project").iterdir()), "nothing is written into the project"
    assert await is_shown(setting=True, project="elsewhere")
    assert await is_shown(project="a third one")
    for file in (home / ".bayou").rglob("side-panels/*"):
        file.write_text("[nonsense")
    assert await is_shown()
    assert not await is_shown("alt+i") and not await is_shown()
    assert not await is_shown(setting=False)
    assert await is_shown(setting=True), "a change of the setting applies at once"
    assert not await is_shown()


async def test_a_draft_of_a_session_that_never_began_is_in_the_history(home: Path) -> None:
    first = make_app(home, say("x"), options=CommandLineOptions(use_theme="bayou-dark"))
    async with first.run_test(size=(100, 30)):
        first.editor.set_text("half a thought")
        first.prompt.unsent_draft.save()
    second = make_app(home, say("x"), options=CommandLineOptions(use_theme="bayou-dark"))
    async with second.run_test(size=(100, 30)) as pilot:
        await second.is_ready.wait()
        assert "press ↑" in second.screen_text
        await pilot.press("up")
        assert second.editor.text == "half a thought"
        second.editor.set_text("")
        second.prompt.unsent_draft.editor_changed(second.editor.model.draft())
    third = make_app(home, say("x"), options=CommandLineOptions(use_theme="bayou-dark"))
    async with third.run_test(size=(100, 30)) as pilot:
        await third.is_ready.wait()
        assert "press ↑" not in third.screen_text


async def test_an_older_draft_is_not_one_up_away_of_another(home: Path) -> None:
    kept = CommandLineOptions(use_theme="bayou-dark")
    talked = make_app(home, say("x"), options=kept)
    async with talked.run_test(size=(100, 30)) as pilot:
        await submit(talked, pilot, "hello")
        await wait_for_runs(talked, pilot)
        talked.editor.set_text("what was being written")
        talked.prompt.unsent_draft.save()
        talked.session.log.close()
    silent = make_app(home, say("x"), options=kept)
    async with silent.run_test(size=(100, 30)):
        silent.editor.set_text("half a thought")
        silent.prompt.unsent_draft.save()
    again = make_app(home, say("x"), options=CommandLineOptions(use_theme="bayou-dark", continue_=True))
    async with again.run_test(size=(100, 30)) as pilot:
        await again.is_ready.wait()
        await pilot.pause()
        assert again.editor.text == "what was being written"
        assert "an unsent draft from last time: ctrl+r searches it." in again.screen_text


async def test_an_image_that_was_dropped_is_sent_with_what_is_in_it(home: Path, tmp_path: Path) -> None:
    shot = tmp_path / "shot.png"
    shot.write_bytes(PNG)
    app = make_app(home, say("x"))
    async with app.run_test(size=(100, 30)) as pilot:
        app.editor.post_message(_dropped(str(shot)))
        async with app.settling(pilot):
            while not app.editor.attachments:
                await pilot.pause()
        await pilot.press("enter")
        await wait_for_runs(app, pilot)
        message = next(one for one in app.session.messages if isinstance(one, UserMessage))
        images = [part for part in message.content if isinstance(part, Image)]
        assert [base64.b64decode(image.data) for image in images] == [PNG]


async def test_a_queued_image_comes_back_as_a_chip(home: Path, tmp_path: Path) -> None:
    shot = tmp_path / "shot.png"
    shot.write_bytes(PNG)
    gate = BlockingTool("gate")
    app = make_app(home, call("gate"), say("never"), tools=[gate.tool])
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "go")
        await gate.started.wait()
        app.editor.post_message(_dropped(str(shot)))
        async with app.settling(pilot):
            while not app.editor.attachments:
                await pilot.pause()
        await pilot.press("enter")
        async with app.settling(pilot):
            while not app.session.state.queued_count:
                await pilot.pause()
        assert "[1 image]" in app.screen_text
        await pilot.press("alt+up")
        assert [image.data for image in app.editor.attachments] == [PNG]
        await pilot.press("ctrl+u", "escape")
        await wait_for_runs(app, pilot)


def _dropped(path: str):
    from textual.events import Paste

    return Paste(path)
