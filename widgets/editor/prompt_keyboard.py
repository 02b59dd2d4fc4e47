"""What the keys of the prompt editor do beyond changing text: sending, history, completion, moving through rows,
jumps."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from textual.actions import SkipAction

from widgets.editor import commands, messages
from widgets.editor.editor_model import EditorModel
from widgets.editor.prompt_chips import UnsentPrompt
from widgets.editor.vi.vi_keyboard import ViKeyboard

if TYPE_CHECKING:
    from widgets.editor.prompt_editor import PromptEditor

JUMP_TO_CHARACTER_TEXT = "jump to character: "


class CompletionPopupProtocol(Protocol):
    """The protocol through which the editor's keys use the completion list."""

    @property
    def is_open(self) -> bool: ...
    def move(self, delta: int) -> None: ...
    def page(self, direction: int) -> None: ...
    def accept(self, *, accepts_prefix_answer: bool = False) -> bool:
        """Inserts the chosen completion; returns whether Enter should then send.

        `accepts_prefix_answer`: a suggestion made for a shorter prefix counts if it begins with
        the text typed now."""
        ...

    def close(self) -> None: ...
    def force_completion(self) -> None:
        """Completes the word at the cursor now (Tab)."""
        ...

    def update(self) -> None:
        """Updates the completions after the text or the cursor changed."""
        ...


class PromptKeyboard:
    """Carries out the keys of the prompt editor, and owns its vi mode."""

    def __init__(self, editor: "PromptEditor") -> None:
        self._editor = editor
        self._model = editor.model
        self._surface = editor.surface
        self._is_jump_forward: bool | None = None
        """The direction of a jump that waits for its character; None if there is none."""
        self.vi = ViKeyboard(editor)

    # -- text ----------------------------------------------------------------------------------------------

    def type_character(self, character: str) -> None:
        """Types a character into the prompt, or moves the cursor to it if a jump to a character is pending."""
        if self._is_jump_forward is None:
            self._editor.history.end_browsing()
            self._model.type_text(character)
        else:
            is_forward = self._is_jump_forward
            self.cancel_jump_to_character()
            commands.jump_to_character(self._model, character, is_forward=is_forward)
        self._editor.update_after_edit_command()

    def run_motion(self, command: Callable[[EditorModel], object]) -> None:
        """Runs a motion of the cursor; it ends a selection, except in vi's visual mode, where it extends the
        selection."""
        if not self.vi.is_visual:
            self._model.selection_start = None
        command(self._model)
        self._editor.update_after_edit_command()

    def run_selecting_motion(
        self, move: Callable[[EditorModel], object] | None = None, *, rows: int = 0
    ) -> None:
        """Moves the cursor and selects the text it passes. In vi's normal and visual mode it does nothing, because
        these have other ways to select."""
        if not self.vi.has_letter_commands:
            commands.make_selecting_motion(move or (lambda _: self._surface.move_rows(rows)))(self._model)
            self._editor.update_after_edit_command(keeps_goal=move is None)

    def run_edit_command(self, command: Callable[[EditorModel], object], *, needs_text: bool = False) -> None:
        """Runs a command that changes the text. `needs_text`: in an empty editor the key does what the page binds to
        it."""
        if needs_text and self._model.lines == [""]:
            raise SkipAction
        self._editor.history.end_browsing()
        command(self._model)
        self._editor.update_after_edit_command()

    def begin_jump_to_character(self, is_forward: bool) -> None:
        """Makes the next typed character the target of a jump: the cursor moves to its next or previous occurrence."""
        self._is_jump_forward = is_forward
        self._surface.empty_editor_hint = JUMP_TO_CHARACTER_TEXT
        self._editor.refresh()

    @property
    def is_jump_to_character_pending(self) -> bool:
        return self._is_jump_forward is not None

    def cancel_jump_to_character(self) -> None:
        self._is_jump_forward = None
        self._surface.empty_editor_hint = self.vi.mode_status

    # -- sending -------------------------------------------------------------------------------------------

    def submit_prompt(self) -> None:
        popup, model = self.visible_completion_popup, self._model
        if popup is not None and not popup.accept():
            return
        if model.line_before_cursor.endswith("\\") and model.cursor[1] == len(model.current_line):
            row, column = model.cursor
            model.replace((row, column - 1), (row, column), "\n")
            self._editor.update_after_edit_command()
            return
        self._post_prompt(messages.Submitted)

    def submit_follow_up(self) -> None:
        if self._editor.should_follow_up():
            self._post_prompt(messages.FollowUp)
        else:
            self.new_line()

    def new_line(self) -> None:
        self.run_edit_command(lambda model: model.insert("\n"))

    def _post_prompt(self, kind: type[messages.PromptSubmissionMessage]) -> None:
        editor, model = self._editor, self._model
        if model.is_blank:
            return
        draft = model.draft()
        message = kind(editor.text.strip(), editor.attachments, draft)
        editor.history.add_prompt(draft)
        model.reset()
        self.vi.enter_insert_mode_for_new_prompt()
        self._surface.scroll_to_top()
        editor.update_after_edit_command()
        editor.post_message(message)

    def request_external_editor(self) -> None:
        self._editor.post_message(messages.ExternalEditorRequested(self._editor.text))

    def request_clipboard(self) -> None:
        self._editor.post_message(messages.ClipboardRequested())

    # -- rows and history ----------------------------------------------------------------------------------

    def move_up_or_show_older_prompt(self) -> None:
        if (popup := self.visible_completion_popup) is not None:
            popup.move(-1)
        elif not self._surface.is_cursor_in_first_row:
            self.move_rows(-1)
        elif self._model.cursor[1] == 0 or self._editor.history.is_browsing:
            self.show_older_prompt()
        else:
            self.run_motion(commands.move_line_start)

    def move_down_or_show_newer_prompt(self) -> None:
        if (popup := self.visible_completion_popup) is not None:
            popup.move(1)
        elif not self._surface.is_cursor_in_last_row:
            self.move_rows(1)
        elif self._editor.history.is_browsing:
            self.show_newer_prompt()
        else:
            self.run_motion(commands.move_line_end)

    def move_page(self, direction: int) -> None:
        if (popup := self.visible_completion_popup) is not None:
            popup.page(direction)
        else:
            self.move_rows(direction * max(1, self._surface.visible_rows - 1))

    def move_rows(self, delta: int) -> None:
        if not self.vi.is_visual:
            self._model.selection_start = None
        self._surface.move_rows(delta)
        self._editor.update_after_edit_command(keeps_goal=True)

    def show_older_prompt(self) -> None:
        self._show_draft(self._editor.history.older_prompt(self._model.draft()), at_start=True)

    def show_newer_prompt(self) -> None:
        self._show_draft(self._editor.history.newer_prompt(), at_start=False)

    def _show_draft(self, draft: UnsentPrompt | None, *, at_start: bool) -> None:
        if draft is None:
            return
        self._model.restore(draft)
        if at_start:
            self._model.move_to((0, len(self._model.lines[0])))
        self._editor.update_after_edit_command()

    def request_history_search(self) -> None:
        entries = tuple(reversed(self._editor.history.entries))
        if entries:
            self._editor.post_message(messages.HistoryRequested(entries))

    # -- completions ---------------------------------------------------------------------------------------

    @property
    def visible_completion_popup(self) -> CompletionPopupProtocol | None:
        popup = self._editor.popup
        return popup if popup is not None and popup.is_open else None

    def complete_word(self) -> None:
        if (popup := self.visible_completion_popup) is not None:
            popup.accept(accepts_prefix_answer=True)
        elif self._editor.popup is not None:
            self._editor.popup.force_completion()

    def close_completion_popup(self) -> None:
        if (popup := self.visible_completion_popup) is None:
            raise SkipAction
        popup.close()
