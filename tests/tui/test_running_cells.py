"""`$ code` at the editor: it runs, is shown, is recorded; names are completed behind it."""

from pathlib import Path

from app.providers.scripted import say
from app.values.cells import CELL_ENTRY_TYPE
from tests.tui.scripted_app import make_app
from widgets.transcript.transcript_blocks import CardState, CustomBlock, CustomBlockKind


async def test_a_cell_is_shown_where_it_ran(tmp_path: Path) -> None:
    app = make_app(tmp_path, say("ok"))
    app.note_events()
    async with app.run_test(size=(100, 40)) as pilot:
        await app.is_ready.wait()
        app.editor.set_text("$ for n in range(3): print('row', n)\n'last'")
        await pilot.press("enter")
        await app.settling_until(pilot, lambda: "Out: 'last'" in app.screen_text)
        app.editor.set_text("$$ 1 / 0")
        await pilot.press("enter")
        await app.settling_until(pilot, lambda: "not sent to the model" in app.screen_text)
        text = app.screen_text
        assert "row 2" in text and "ZeroDivisionError: division by zero" in text
        await app.settling_until(pilot, lambda: not app.session.state.is_cell_running)
        last = app.transcript.last_block
        assert isinstance(last, CustomBlock) and last.kind is CustomBlockKind.CELL
        assert last.state is CardState.FAILED
        recorded = [
            entry for entry in app.session.log.entries if getattr(entry, "custom_type", "") == CELL_ENTRY_TYPE
        ]
        assert len(recorded) == 2
        app.presenter.rebuild_transcript()
        await pilot.pause()
        assert app.screen_text.count("Out: 'last'") == 1 and "not sent to the model" in app.screen_text


async def test_a_dollar_before_a_word_is_a_prompt(tmp_path: Path) -> None:
    app = make_app(tmp_path, say("about money"))
    app.note_events()
    async with app.run_test(size=(100, 40)) as pilot:
        await app.is_ready.wait()
        app.editor.set_text("$5 is how much in euro?")
        await pilot.press("enter")
        await app.settling_until(pilot, lambda: "about money" in app.screen_text)


async def test_names_are_completed_behind_a_dollar(tmp_path: Path) -> None:
    app = make_app(tmp_path, say("ok"))
    async with app.run_test(size=(100, 40)) as pilot:
        await app.is_ready.wait()
        await app.session.cells.run_cell("fathoms_deep = 6")
        await pilot.press(*"$", "space", *"fathom")
        await app.settling_until(pilot, lambda: "› fathoms_deep" in app.screen_text)
        await pilot.press("tab")
        await app.settling_until(pilot, lambda: app.editor.text.startswith("$ fathoms_deep"))


async def test_escape_interrupts_a_cell(tmp_path: Path) -> None:
    app = make_app(tmp_path, say("ok"))
    async with app.run_test(size=(100, 40)) as pilot:
        await app.is_ready.wait()
        app.editor.set_text("$ print('under way', flush=True)\nimport time; time.sleep(99)")
        await pilot.press("enter")
        await app.settling_until(pilot, lambda: "under way" in app.screen_text.split("\n│", 1)[-1])
        await app.settling_until(pilot, lambda: app.session.state.is_cell_running)
        await pilot.press("escape")
        await app.settling_until(pilot, lambda: "Interrupted; state kept." in app.screen_text)
