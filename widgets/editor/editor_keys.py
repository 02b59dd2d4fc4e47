"""The editor's keys as a table: ids, default keys, descriptions and functions.

An id is the name used in `keybindings.json`. Single-line inputs use the subset that edits text."""

from collections.abc import Callable

from widgets.editor import commands
from widgets.editor.editor_model import EditorModel
from widgets.editor.prompt_keyboard import PromptKeyboard
from widgets.key_table import KeyTable, KeyTableRow

EditorCommand = Callable[[EditorModel], object]


class TextEditingKey(KeyTableRow[PromptKeyboard]):
    """A key that affects only the text and the cursor, so that single-line inputs have it too."""

    def __init__(
        self,
        id: str,
        keys: str,
        words: str,
        command: EditorCommand,
        *,
        moves: bool = False,
        needs_text: bool = False,
        needs_text_in_line: bool = False,
    ) -> None:
        """Creates a key that runs an editing command. `moves`: the command is a cursor motion. `needs_text`: in an
        empty editor the key keeps the meaning that the surrounding screen gives it."""
        self.command = command
        self.needs_text_in_line = needs_text or needs_text_in_line
        do = _make_motion_runner(command) if moves else _make_edit_runner(command, needs_text=needs_text)
        super().__init__(id, keys, words, do)


def _make_motion_runner(command: EditorCommand) -> Callable[[PromptKeyboard], object]:
    return lambda keyboard: keyboard.run_motion(command)


def _make_edit_runner(command: EditorCommand, *, needs_text: bool) -> Callable[[PromptKeyboard], object]:
    return lambda keyboard: keyboard.run_edit_command(command, needs_text=needs_text)


def _make_selection_runner(move: EditorCommand) -> Callable[[PromptKeyboard], object]:
    return lambda keyboard: keyboard.run_selecting_motion(move)


EDITOR_KEYS: KeyTable[PromptKeyboard] = KeyTable(
    KeyTableRow("tui.input.submit", "enter", "Send the prompt", PromptKeyboard.submit_prompt),
    KeyTableRow(
        "app.message.followUp",
        "alt+enter",
        "Queue a prompt for after the run; a new line while idle",
        PromptKeyboard.submit_follow_up,
    ),
    KeyTableRow(
        "tui.input.newLine",
        "shift+enter,ctrl+j,ctrl+enter,alt+shift+enter",
        "New line",
        PromptKeyboard.new_line,
    ),
    KeyTableRow("tui.input.tab", "tab", "Complete the word", PromptKeyboard.complete_word),
    KeyTableRow(
        "tui.editor.closeCompletion", "escape", "Close the completions", PromptKeyboard.close_completion_popup
    ),
    KeyTableRow(
        "tui.editor.cursorUp",
        "up",
        "Row up; in the first row: older prompt",
        PromptKeyboard.move_up_or_show_older_prompt,
    ),
    KeyTableRow(
        "tui.editor.cursorDown",
        "down",
        "Row down; in the last row: newer prompt",
        PromptKeyboard.move_down_or_show_newer_prompt,
    ),
    KeyTableRow("tui.editor.historyPrevious", "alt+p", "Older prompt", PromptKeyboard.show_older_prompt),
    KeyTableRow("tui.editor.historyNext", "alt+n", "Newer prompt", PromptKeyboard.show_newer_prompt),
    KeyTableRow(
        "tui.editor.historySearch", "ctrl+r", "Search older prompts", PromptKeyboard.request_history_search
    ),
    TextEditingKey(
        "tui.editor.cursorLeft",
        "left",
        "Character left",
        commands.move_left,
        moves=True,
        needs_text_in_line=True,
    ),
    TextEditingKey(
        "tui.editor.cursorRight",
        "right",
        "Character right",
        commands.move_right,
        moves=True,
        needs_text_in_line=True,
    ),
    TextEditingKey(
        "tui.editor.cursorWordLeft",
        "alt+left,ctrl+left,alt+b",
        "Word left",
        commands.move_word_left,
        moves=True,
    ),
    TextEditingKey(
        "tui.editor.cursorWordRight",
        "alt+right,ctrl+right,alt+f",
        "Word right",
        commands.move_word_right,
        moves=True,
    ),
    TextEditingKey(
        "tui.editor.cursorLineStart",
        "home,ctrl+a",
        "Start of the line",
        commands.move_line_start,
        moves=True,
        needs_text_in_line=True,
    ),
    TextEditingKey(
        "tui.editor.cursorLineEnd",
        "end,ctrl+e",
        "End of the line",
        commands.move_line_end,
        moves=True,
        needs_text_in_line=True,
    ),
    KeyTableRow(
        "tui.editor.selectLeft",
        "shift+left",
        "Select to the left",
        _make_selection_runner(commands.move_left),
    ),
    KeyTableRow(
        "tui.editor.selectRight",
        "shift+right",
        "Select to the right",
        _make_selection_runner(commands.move_right),
    ),
    KeyTableRow(
        "tui.editor.selectUp", "shift+up", "Select a row up", lambda keys: keys.run_selecting_motion(rows=-1)
    ),
    KeyTableRow(
        "tui.editor.selectDown",
        "shift+down",
        "Select a row down",
        lambda keys: keys.run_selecting_motion(rows=1),
    ),
    KeyTableRow(
        "tui.editor.selectWordLeft",
        "ctrl+shift+left,alt+shift+left",
        "Select a word to the left",
        _make_selection_runner(commands.move_word_left),
    ),
    KeyTableRow(
        "tui.editor.selectWordRight",
        "ctrl+shift+right,alt+shift+right",
        "Select a word to the right",
        _make_selection_runner(commands.move_word_right),
    ),
    KeyTableRow(
        "tui.editor.selectLineStart",
        "shift+home",
        "Select to the line's start",
        _make_selection_runner(commands.move_line_start),
    ),
    KeyTableRow(
        "tui.editor.selectLineEnd",
        "shift+end",
        "Select to the line's end",
        _make_selection_runner(commands.move_line_end),
    ),
    TextEditingKey(
        "tui.editor.transpose",
        "alt+comma",
        "Swap the characters around the cursor",
        commands.transpose_characters,
    ),
    TextEditingKey(
        "tui.editor.transposeWords",
        "alt+full_stop",
        "Swap the words around the cursor",
        commands.transpose_words,
    ),
    KeyTableRow(
        "tui.editor.jumpForward",
        "ctrl+right_square_bracket",
        "Jump forward to a character (type it next)",
        lambda keyboard: keyboard.begin_jump_to_character(True),
    ),
    KeyTableRow(
        "tui.editor.jumpBackward",
        "alt+ctrl+right_square_bracket,alt+right_square_bracket",
        "Jump back to a character (type it next)",
        lambda keyboard: keyboard.begin_jump_to_character(False),
    ),
    KeyTableRow(
        "tui.editor.pageUp", "ctrl+pageup", "Page up in the text", lambda keyboard: keyboard.move_page(-1)
    ),
    KeyTableRow(
        "tui.editor.pageDown",
        "ctrl+pagedown",
        "Page down in the text",
        lambda keyboard: keyboard.move_page(1),
    ),
    TextEditingKey(
        "tui.editor.deleteCharBackward",
        "backspace,ctrl+h",
        "Delete the character to the left",
        commands.delete_backward,
    ),
    TextEditingKey(
        "tui.editor.deleteCharForward",
        "delete,ctrl+d",
        "Delete the character to the right",
        commands.delete_forward,
        needs_text=True,
    ),
    TextEditingKey(
        "tui.editor.deleteWordBackward",
        "ctrl+w,alt+backspace,ctrl+backspace",
        "Cut the word to the left",
        commands.kill_word_backward,
        needs_text_in_line=True,
    ),
    TextEditingKey(
        "tui.editor.deleteWordForward",
        "alt+d,alt+delete,ctrl+delete",
        "Cut the word to the right",
        commands.kill_word_forward,
        needs_text_in_line=True,
    ),
    TextEditingKey(
        "tui.editor.deleteToLineStart",
        "ctrl+u",
        "Cut to the start of the line",
        commands.kill_to_line_start,
        needs_text_in_line=True,
    ),
    TextEditingKey(
        "tui.editor.deleteToLineEnd",
        "ctrl+k",
        "Cut to the end of the line",
        commands.kill_to_line_end,
        needs_text=True,
    ),
    TextEditingKey("tui.editor.yank", "ctrl+y", "Paste the last cut text", EditorModel.yank),
    TextEditingKey(
        "tui.editor.yankPop", "alt+y", "Replace the pasted text by an older cut one", EditorModel.yank_pop
    ),
    TextEditingKey(
        "tui.editor.undo",
        "ctrl+underscore,ctrl+minus",
        "Undo; also restores a cleared draft",
        EditorModel.undo,
    ),
    TextEditingKey("tui.editor.redo", "alt+underscore,alt+minus,ctrl+shift+z", "Redo", EditorModel.redo),
    KeyTableRow(
        "tui.editor.expandPaste",
        "alt+e",
        "Unfold the pasted text at the cursor",
        lambda keyboard: keyboard.run_edit_command(commands.expand_chip),
    ),
    KeyTableRow(
        "app.editor.external",
        "ctrl+g",
        "Open a prompt in your editor",
        PromptKeyboard.request_external_editor,
    ),
    KeyTableRow("app.clipboard.paste", "ctrl+v", "Paste text or an image", PromptKeyboard.request_clipboard),
)
TEXT_EDITING_KEYS = tuple(key for key in EDITOR_KEYS if isinstance(key, TextEditingKey))
