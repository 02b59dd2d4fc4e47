"""Applies the user's key file, and handles key chords."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from textual.app import App
from textual.events import Key

from app.tui.keys.action_table import ActionTable
from app.tui.keys.keymap import KeyMap, read_keymap
from app.tui.page_protocols import ShowMessage
from tools.files.watched import Stamp, file_stamp
from widgets.chords import Chords
from widgets.editor.line_input import LineInput
from widgets.editor.prompt import PromptEditor
from widgets.key_labels import key_name
from widgets.transcript.blocks import NoteKind


class UserKeys(msgspec.Struct):
    """Applies one user's key bindings to one application."""

    file: Path
    table: ActionTable
    app: App[Any]
    say: ShowMessage
    tell: Callable[[str], None]
    """Shows the chord being typed; an empty text hides it."""
    changed: Callable[[], None]
    """Called when the key bindings have changed."""
    _chords: Chords = msgspec.field(default_factory=lambda: Chords({}))
    _stamp: Stamp = None

    def follow(self) -> None:
        """Reads the file again if it has changed; checked at each key press."""
        if file_stamp(self.file) == self._stamp:
            return
        problems = self.read()
        for text in problems:
            self.say(text, NoteKind.WARNING)
        if not problems:
            self.say("Your keys were reloaded.")

    def read(self) -> tuple[str, ...]:
        """Applies the user's key bindings; returns the errors in their file."""
        is_first = self._stamp is None
        self._stamp = file_stamp(self.file)
        keymap = KeyMap() if self._stamp is None else read_keymap(self.file, self.table.places)
        if not keymap.is_read:
            self.changed()
            what_stays = "The default keys stay in use." if is_first else "The previous keys stay in use."
            return tuple(f"{problem}. {what_stays}" for problem in keymap.problems)
        self.table.own = keymap
        self.app.set_keymap(keymap.keys)
        self._chords = Chords({action: keys.split(",") for action, keys in keymap.keys.items()})
        self.changed()
        clashes = [
            f"{self.file}: the key sequence {chord} of {action} starts like another of {owner}"
            for chord, owner, action in self._chords.conflicts
        ]
        return (*keymap.problems, *clashes)

    async def take(self, event: Key) -> bool:
        """Handles a key that may belong to a chord; returns whether it is used up."""
        self.follow()
        is_text = event.is_printable and isinstance(self.app.focused, PromptEditor | LineInput)
        if is_text and not self._chords.pending_keys:
            return False
        step = self._chords.press(event.key)
        if step.is_waiting:
            further = " · ".join(
                f"{key_name(key)} {self._words(action)}" for key, action in self._chords.choices().items()
            )
            self.tell(f"{key_name(self._chords.pending_keys)} … · {further}")
        elif step.is_used:
            self.tell("")
        if step.action:
            await self._run(step.action)
        return step.is_used

    def _words(self, action: str) -> str:
        return next((row.title for row in self.table.key_rows() if row.id == action), action)

    async def _run(self, action: str) -> None:
        """Runs the action for the focused widget, if it is available there."""
        for active in self.app.screen.active_bindings.values():
            if active.binding.id == action and active.enabled:
                await self.app.run_action(active.binding.action, active.node)
                return
