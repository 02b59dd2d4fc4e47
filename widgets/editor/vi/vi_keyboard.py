"""The prompt editor's key handling in vi mode: passes keys to the current mode, and runs commands that concern more
than the text, such as older prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from widgets.editor.vi.vi_keys import vi_grammar_token_of_key
from widgets.textual_internals import app_keymap

if TYPE_CHECKING:
    from widgets.editor.prompt_editor import PromptEditor
    from widgets.editor.vi.vi_mode import ViKeyOutcome, ViMode


class ViKeyboard:
    """Handles the prompt editor's keys in vi mode; ignores all keys while vi mode is off."""

    def __init__(self, editor: PromptEditor) -> None:
        self._editor = editor
        self._mode: ViMode | None = None

    def set_enabled(self, is_wanted: bool) -> None:
        if is_wanted == (self._mode is not None):
            return
        model = self._editor.model
        model.set_undo_group(False)
        model.selection_start = None
        self._mode = None
        if is_wanted:
            from widgets.editor.vi.vi_mode import ViMode  # noqa: PLC0415  (most users do not use vi mode)

            self._mode = ViMode(model)
        self.enter_insert_mode_for_new_prompt()

    @property
    def has_letter_commands(self) -> bool:
        """Whether letters are vi commands now, as in normal and visual mode, and not text."""
        return self._mode is not None and self._mode.mode != "insert"

    @property
    def is_visual(self) -> bool:
        return self._mode is not None and self._mode.is_visual

    @property
    def mode_status(self) -> str:
        """vi's current mode and the pending command, for display; empty while vi mode is off."""
        return "" if self._mode is None else self._mode.status

    def enter_insert_mode_for_new_prompt(self) -> None:
        """Switches vi to insert mode for a new prompt."""
        if self._mode is not None:
            self._mode.enter_insert_mode_for_new_prompt()
        self.update_display()

    def update_display(self) -> None:
        """Shows vi's current mode, pending keys and shape of the caret, and keeps the cursor on a character."""
        surface, mode = self._editor.surface, self._mode
        surface.empty_editor_hint = self.mode_status
        surface.set_bar_caret(mode is not None and mode.mode == "insert")
        if mode is not None:
            mode.clamp_cursor_to_character()
        self._editor.refresh()

    def handle_key(self, event: events.Key) -> bool:
        """Handles a key in vi mode; returns False if it is not a vi key, so that the editor handles it as usual."""
        mode = self._mode
        if mode is None:
            return False
        if event.key == "escape":
            return self._handle_escape(mode)
        if mode.mode == "insert":
            return False
        if mode.is_next_key_literal and event.key in ("backspace", "ctrl+h"):
            mode.erase_search_character()
            self.update_display()
            return True
        if mode.is_next_key_literal:
            return self._feed_token(mode, "\n" if event.key == "enter" else event.character or "")
        digit = event.character if event.character and event.character in "0123456789" else ""
        token = vi_grammar_token_of_key(event.key, app_keymap(self._editor.app)) or digit
        return (bool(token) or event.is_printable) and self._feed_token(mode, token)

    def _feed_token(self, mode: ViMode, token: str) -> bool:
        version = self._editor.model.version
        if token:
            self._move_outside_text(mode.handle_key(token))
        if self._editor.model.version != version:
            self._editor.history.end_browsing()
        self.update_display()
        self._editor.update_after_edit_command()
        return True

    def _move_outside_text(self, fed: ViKeyOutcome) -> None:
        """Continues a vi move up or down that left the text's lines: to the next screen row of a long line, or at the
        first or last row to an older or newer prompt."""
        keyboard, surface = self._editor.keyboard, self._editor.surface
        if fed == "older":
            if surface.is_cursor_in_first_row:
                keyboard.show_older_prompt()
            else:
                keyboard.move_rows(-1)
        elif fed == "newer":
            if not surface.is_cursor_in_last_row:
                keyboard.move_rows(1)
            elif self._editor.history.is_browsing:
                keyboard.show_newer_prompt()

    def _handle_escape(self, mode: ViMode) -> bool:
        """Handles Escape in vi mode; returns False if the page should handle it too, as in an empty editor, where it
        stops the agent."""
        stops = self._editor.should_follow_up() and self._editor.model.is_blank
        if (popup := self._editor.keyboard.visible_completion_popup) is not None:
            popup.close()
        is_done = mode.handle_escape() and not stops
        self.update_display()
        self._editor.update_after_edit_command()
        return is_done
