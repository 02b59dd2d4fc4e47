"""The feature for restoring files: the commands and keys for undo and redo."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices
from app.tui.keys.keymap import NO_KEY
from app.tui.keys.page_keys import PageKey
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.undo.page import FilesPage


class UndoFeature(Feature["FilesPage"]):
    slash_commands: Sequence[SlashCommand["FilesPage"]] = (
        SlashCommand(
            name="undo",
            hint="[prompts]",
            session_command="undo_files",
            run=lambda page, text: page.undo(text),
        ),
        SlashCommand(name="redo", session_command="redo_files", run=lambda page, _: page.redo()),
    )
    keys: Sequence[PageKey["FilesPage"]] = (
        PageKey(
            id="app.files.undo",
            keys="alt+z",
            session_command="undo_files",
            run_key=lambda page: page.undo(),
        ),
        PageKey(
            id="app.files.redo",
            keys=NO_KEY,
            session_command="redo_files",
            run_key=lambda page: page.redo(),
        ),
    )

    def page(self, screen: FeatureServices) -> "FilesPage":
        from app.tui.features.undo.page import FilesPage  # noqa: PLC0415  (when it is first used)

        return FilesPage(screen.session, screen.ask, screen.show_message)


UNDO = UndoFeature()
FEATURES = (UNDO,)
