"""The line above the editor: what runs gives way, for how long it does and how to stop it stay."""

from textual.app import App, ComposeResult

from tests.support.idle import text_of
from widgets.editor.editor_painting import EditorBorderText
from widgets.editor.prompt_editor import PromptEditor


class Page(App[None]):
    def compose(self) -> ComposeResult:
        yield PromptEditor()


async def test_of_a_long_command_the_time_stays() -> None:
    page = Page()
    async with page.run_test(size=(60, 10)) as pilot:
        editor = page.query_one(PromptEditor)
        editor.surface.show_border_text(
            EditorBorderText(f"bash {'x' * 90}", "1 m 12 s · ↓ 1.2k", "◐", "esc stop")
        )
        await pilot.pause()
        rule = next(line for line in text_of(page.screen).splitlines() if "◐" in line)
        assert rule.startswith("◐ bash xxx") and "… · 1 m 12 s · ↓ 1.2k" in rule and "esc stop" in rule
        editor.surface.show_border_text(
            EditorBorderText(f"bash {'x' * 90}", "1 m 12 s · ↓ 1.2k", "◓", "esc stop")
        )
        await pilot.pause()
        assert rule.replace("◐", "◓") in text_of(page.screen)


async def test_a_command_changes_neither_line_nor_direction() -> None:
    page = Page()
    async with page.run_test(size=(60, 10)) as pilot:
        page.query_one(PromptEditor).surface.show_border_text(
            EditorBorderText("Running a\u2028b\u2029c\u202ed", "3 s", "◐")
        )
        await pilot.pause()
        rule = next(line for line in text_of(page.screen).split("\n") if "◐" in line)
        assert rule.startswith("◐ Running a b cd · 3 s")
