"""Changes that wait when the agent is done: asked about above the editor, applied and discarded by a key."""

from pathlib import Path

from textual.pilot import Pilot

from app.assembly.command_line_options import CommandLineOptions
from app.engine.files.pending_changes import RequestedFileChange
from app.providers.scripted import RequestContext, ScriptedAnswer, call, say
from app.values.messages import CustomMessage
from tests.tui.scripted_app import ScriptedApp, make_app, submit, wait_for_runs
from tests.tui.test_approvals import wait

REWRITE = call("ast_edit", rewrites=[{"pattern": "old($A)", "replacement": "new($A)"}])
OPTIONS = CommandLineOptions(no_session=True, use_theme="bayou-dark", tools="+ast_edit", permissions="full")


def staging_app(home: Path, *more: object) -> ScriptedApp:
    app = make_app(home, REWRITE, say("Shall I?"), *more, options=OPTIONS)  # type: ignore[arg-type]
    (home / "project" / "a.py").write_text("old(1)\n")
    return app


async def asked(app: ScriptedApp, pilot: Pilot[int], count: int = 1) -> None:
    await app.is_ready.wait()
    await submit(app, pilot, "go")
    await wait_for_runs(app, pilot, count)
    await app.settling_until(pilot, lambda: app.approval_bar.asked is not None)
    await pilot.pause()


async def test_alt_a_applies_what_waits_once_it_has_stood_there(tmp_path: Path) -> None:
    app = staging_app(tmp_path)
    file = tmp_path / "project" / "a.py"
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(app, pilot)
        assert "Apply the changes staged by ast_edit?" in app.screen_text
        assert "? Waiting to apply · 1 staged change: /pending" in app.screen_text
        app.presenter.rebuild_transcript()
        await pilot.pause()
        assert app.screen_text.count("new(1)") == 1
        assert app.focused is app.editor
        await pilot.press("alt+a")
        await pilot.pause()
        assert app.session.pending.waiting_actions, "it had just appeared"
        wait(app)
        await pilot.press("alt+a")
        await app.settling_until(pilot, lambda: not app.session.pending.waiting_actions)
        await app.settling_until(pilot, lambda: app.approval_bar.asked is None)
        assert file.read_text() == "new(1)\n"
        await app.settling_until(pilot, lambda: ", applied" in app.screen_text)
        assert "Done   a.py +1 −1   alt+g review   alt+z undo" in app.screen_text
        assert app.screen_text.count("Done") == 1 and "Waiting to apply" not in app.screen_text


async def test_alt_x_discards_it_with_the_words_in_the_editor(tmp_path: Path) -> None:
    heard: list[str] = []

    def listen(context: RequestContext, count: int) -> ScriptedAnswer:
        heard.extend(str(one.content) for one in context.messages if isinstance(one, CustomMessage))
        return say("I see.")

    app = staging_app(tmp_path, listen)
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(app, pilot)
        app.editor.set_text("not that one")
        wait(app)
        await pilot.press("alt+x")
        await app.settling_until(pilot, lambda: not app.session.pending.waiting_actions)
        await app.settling_until(pilot, lambda: ", discarded" in app.screen_text)
        assert app.editor.text == ""
        await submit(app, pilot, "and now?")
        await wait_for_runs(app, pilot, 2)
    assert (tmp_path / "project" / "a.py").read_text() == "old(1)\n"
    assert any("The user discarded" in text and "not that one" in text for text in heard)


async def test_the_bar_goes_when_the_agent_works_and_comes_again(tmp_path: Path) -> None:
    seen: list[bool] = []

    def look(context: RequestContext, count: int) -> ScriptedAnswer:
        seen.append(app.approval_bar.asked is None)
        return say("Not yet.")

    app = staging_app(tmp_path, look)
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(app, pilot)
        await asked(app, pilot, 2)
        assert seen == [True]
        assert len(app.session.pending.waiting_actions) == 1


async def test_several_are_asked_about_one_after_the_other(tmp_path: Path) -> None:
    app = make_app(tmp_path, say("ok"), options=OPTIONS)
    async with app.run_test(size=(100, 30)) as pilot:
        await app.is_ready.wait()
        for name in ("first", "second"):
            await app.session.pending.stage_changes(
                name, "mine", [RequestedFileChange(path=f"{name}.txt", text="new\n")]
            )
        await app.settling_until(pilot, lambda: app.approval_bar.asked is not None)
        for left in (1, 0):
            await pilot.pause()
            await pilot.pause()
            wait(app)
            await pilot.press("alt+a")
            await app.settling_until(
                pilot, lambda left=left: len(app.session.pending.waiting_actions) == left
            )
        await app.settling_until(pilot, lambda: app.approval_bar.asked is None)
    assert (tmp_path / "project" / "second.txt").read_text() == "new\n"


async def test_each_of_several_is_asked_about_once_and_not_while_the_agent_works(tmp_path: Path) -> None:
    seen: list[bool] = []

    def look(context: RequestContext, count: int) -> ScriptedAnswer:
        seen.append(app.approval_bar.asked is None)
        return say("ok")

    app = make_app(tmp_path, look, options=OPTIONS)
    async with app.run_test(size=(100, 30)) as pilot:
        await app.is_ready.wait()
        for name in ("first", "second"):
            await app.session.pending.stage_changes(
                name, "mine", [RequestedFileChange(path=f"{name}.txt", text="new\n")]
            )
        await app.settling_until(pilot, lambda: app.approval_bar.asked is not None)
        await pilot.pause()
        await pilot.pause()
        wait(app)
        await pilot.press("alt+a")
        await app.settling_until(pilot, lambda: "second" in getattr(app.approval_bar.asked, "text", ""))
        await submit(app, pilot, "go on")
        await wait_for_runs(app, pilot)
        await app.settling_until(pilot, lambda: app.approval_bar.asked is not None)
    assert seen == [True]


async def test_an_answer_from_elsewhere_closes_the_question(tmp_path: Path) -> None:
    app = staging_app(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(app, pilot)
        await app.session.pending.apply_or_discard(None, "discard", "by a program", by="program")
        await app.settling_until(pilot, lambda: app.approval_bar.asked is None)
        wait(app)
        await pilot.press("alt+a")
        await pilot.pause()
    assert (tmp_path / "project" / "a.py").read_text() == "old(1)\n"


async def test_all_of_it_is_shown_before_it_is_answered(tmp_path: Path) -> None:
    app = staging_app(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press("alt+v")
        await app.settling_until(
            pilot, lambda: "new(1)" in app.screen_text and app.screen is not app.screen_stack[0]
        )
        await pilot.press("escape")
        await pilot.pause()
        assert app.session.pending.waiting_actions
