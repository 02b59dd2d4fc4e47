"""The feature for restoring files: the commands and keys for undo and redo."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, TuiFeature
from app.tui.keys.keymap import UNBOUND_KEY_LABEL
from app.tui.keys.page_keys import PageKey
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.undo.page import FileRestorePage


class UndoFeature(TuiFeature["FileRestorePage"]):
    slash_commands: Sequence[SlashCommand["FileRestorePage"]] = (
        SlashCommand(
            name="undo",
            hint="[prompts]",
            session_command="undo_files",
            run=lambda page, text: page.undo(text),
        ),
        SlashCommand(name="redo", session_command="redo_files", run=lambda page, _: page.redo()),
    )
    keys: Sequence[PageKey["FileRestorePage"]] = (
        PageKey(
            id="app.files.undo",
            slash_command="undo",
            keys="alt+z",
            session_command="undo_files",
            run_key_action=lambda page: page.undo(),
        ),
        PageKey(
            id="app.files.redo",
            slash_command="redo",
            keys=UNBOUND_KEY_LABEL,
            session_command="redo_files",
            run_key_action=lambda page: page.redo(),
        ),
    )

    def page(self, screen: FeatureServices) -> "FileRestorePage":
        from app.tui.features.undo.page import FileRestorePage  # noqa: PLC0415  (when it is first used)

        return FileRestorePage(screen.session, screen.ask, screen.show_message)


UNDO_FEATURE = UndoFeature()
TUI_FEATURES = (UNDO_FEATURE,)
