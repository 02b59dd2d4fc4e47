"""`/add-dir`: folders are added by their path, listed and removed with Enter; a refusal is told."""

from pathlib import Path

from app.tui.features.permissions.page import ExtraFoldersPage
from app.tui.status.header_and_footer import FooterContext, footer_segments
from tests.engine.scripted_session import ScriptedSession
from tests.tui.pages.person import at_the_keyboard


async def test_a_folder_is_added_shown_and_removed(tmp_path: Path) -> None:
    work, library = tmp_path / "work", tmp_path / "library"
    for folder in (work, library):
        folder.mkdir()
    session = ScriptedSession(tmp_path, cwd=work).session

    def footer() -> str:
        [path] = footer_segments(session, FooterContext(home=tmp_path), ["path"])
        return path.text

    async with at_the_keyboard() as person:
        page = ExtraFoldersPage(session.folders, person.ask, person.say)
        await page.open()
        assert person.heard[-1].startswith("No folders are added")
        await page.open("../nowhere")
        assert "does not exist" in person.warned[-1]
        await page.open("../library")
        assert (session.folders.all_folders, footer()) == ((library,), "~/work + ~/library")
        async with person.asked(page.open()):
            assert "enter: remove" in person.sees
            await person.press("enter")
        assert (session.folders.all_folders, footer()) == ((), "~/work")
        assert library.is_dir()
