"""Applies the user's key file, and handles key chords."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from textual.app import App
from textual.events import Key

from app.tui.keys.action_table import ActionTable
from app.tui.keys.keymap import UserKeyMap, read_user_key_map
from app.tui.page_protocols import ShowMessage
from tools.files.watched_files import FileChangeStamp, compute_file_change_stamp
from widgets.editor.line_input import LineInput
from widgets.editor.prompt_editor import PromptEditor
from widgets.key_chords import KeyChordMatcher
from widgets.key_labels import format_key_name
from widgets.transcript.transcript_blocks import AppNoteKind


class UserKeyBindings(msgspec.Struct):
    """Applies one user's key bindings to one application."""

    file: Path
    table: ActionTable
    app: App[Any]
    show_message: ShowMessage
    show_chord: Callable[[str], None]
    """Shows the chord being typed; an empty text hides it."""
    on_changed: Callable[[], None]
    """Called when the key bindings have changed."""
    _chords: KeyChordMatcher = msgspec.field(default_factory=lambda: KeyChordMatcher({}))
    _file_stamp: FileChangeStamp = None

    def reload_if_changed(self) -> None:
        """Reads the user's key file again if it has changed; checked at each key press."""
        if compute_file_change_stamp(self.file) == self._file_stamp:
            return
        problems = self.apply_key_file()
        for text in problems:
            self.show_message(text, AppNoteKind.WARNING)
        if not problems:
            self.show_message("Your keys were reloaded.")

    def apply_key_file(self) -> tuple[str, ...]:
        """Applies the user's key bindings; returns the errors in their file."""
        is_first = self._file_stamp is None
        self._file_stamp = compute_file_change_stamp(self.file)
        keymap = (
            UserKeyMap()
            if self._file_stamp is None
            else read_user_key_map(self.file, self.table.binding_groups)
        )
        if not keymap.is_readable:
            self.on_changed()
            what_stays = "The default keys stay in use." if is_first else "The previous keys stay in use."
            return tuple(f"{problem}. {what_stays}" for problem in keymap.problems)
        self.table.user_keymap = keymap
        self.app.set_keymap(keymap.keys_by_action)
        self._chords = KeyChordMatcher(
            {action: keys.split(",") for action, keys in keymap.keys_by_action.items()}
        )
        self.on_changed()
        clashes = [
            f"{self.file}: the key sequence {chord} of {action} conflicts with a key sequence of {owner}"
            for chord, owner, action in self._chords.conflicts
        ]
        return (*keymap.problems, *clashes)

    async def handle_key(self, event: Key) -> bool:
        """Handles a key that may belong to a chord: runs the action of a complete one; returns whether the key is used
        up."""
        self.reload_if_changed()
        is_text = event.is_printable and isinstance(self.app.focused, PromptEditor | LineInput)
        if is_text and not self._chords.pending_chord_keys:
            return False
        step = self._chords.press(event.key)
        if step.is_waiting:
            further = " · ".join(
                f"{format_key_name(key)} {self._action_title(action)}"
                for key, action in self._chords.choices().items()
            )
            self.show_chord(f"{format_key_name(self._chords.pending_chord_keys)} … · {further}")
        elif step.was_key_consumed:
            self.show_chord("")
        if step.action:
            await self._run_action(step.action)
        return step.was_key_consumed

    def _action_title(self, action: str) -> str:
        return next((row.title for row in self.table.key_rows() if row.id == action), action)

    async def _run_action(self, action: str) -> None:
        """Runs the action of a chord for the widget that has it active now; does nothing if none has."""
        for active in self.app.screen.active_bindings.values():
            if active.binding.id == action and active.enabled:
                await self.app.run_action(active.binding.action, active.node)
                return
