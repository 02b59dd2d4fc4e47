"""The editor's keys as a table: ids, default keys, descriptions and functions.

An id is the name used in `keybindings.json`. Single-line inputs use the subset that edits text."""

from collections.abc import Callable

from widgets.editor import commands
from widgets.editor.keyboard import PromptKeyboard
from widgets.editor.model import EditorModel
from widgets.key_table import Key, KeyTable

EditCommand = Callable[[EditorModel], object]


class TextKey(Key[PromptKeyboard]):
    """A key that affects only the text and the cursor, so that single-line inputs have it too."""

    def __init__(
        self,
        id: str,
        keys: str,
        words: str,
        command: EditCommand,
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


def _make_motion_runner(command: EditCommand) -> Callable[[PromptKeyboard], object]:
    return lambda keyboard: keyboard.run_motion(command)


def _make_edit_runner(command: EditCommand, *, needs_text: bool) -> Callable[[PromptKeyboard], object]:
    return lambda keyboard: keyboard.run_edit(command, needs_text=needs_text)


def _make_selection_runner(move: EditCommand) -> Callable[[PromptKeyboard], object]:
    return lambda keyboard: keyboard.run_selecting_motion(move)


EDITOR_KEYS: KeyTable[PromptKeyboard] = KeyTable(
    Key("tui.input.submit", "enter", "Send the prompt", PromptKeyboard.submit_prompt),
    Key(
        "app.message.followUp",
        "alt+enter",
        "Queue a prompt for after the run; a new line while idle",
        PromptKeyboard.submit_follow_up,
    ),
    Key(
        "tui.input.newLine",
        "shift+enter,ctrl+j,ctrl+enter,alt+shift+enter",
        "New line",
        PromptKeyboard.new_line,
    ),
    Key("tui.input.tab", "tab", "Complete the word", PromptKeyboard.complete_word),
    Key("tui.editor.closeCompletion", "escape", "Close the completions", PromptKeyboard.close_popup),
    Key(
        "tui.editor.cursorUp", "up", "Row up; in the first row: older prompt", PromptKeyboard.move_up_or_older
    ),
    Key(
        "tui.editor.cursorDown",
        "down",
        "Row down; in the last row: newer prompt",
        PromptKeyboard.move_down_or_newer,
    ),
    Key("tui.editor.historyPrevious", "alt+p", "Older prompt", PromptKeyboard.show_older_prompt),
    Key("tui.editor.historyNext", "alt+n", "Newer prompt", PromptKeyboard.show_newer_prompt),
    Key("tui.editor.historySearch", "ctrl+r", "Search older prompts", PromptKeyboard.request_history_search),
    TextKey(
        "tui.editor.cursorLeft",
        "left",
        "Character left",
        commands.move_left,
        moves=True,
        needs_text_in_line=True,
    ),
    TextKey(
        "tui.editor.cursorRight",
        "right",
        "Character right",
        commands.move_right,
        moves=True,
        needs_text_in_line=True,
    ),
    TextKey(
        "tui.editor.cursorWordLeft",
        "alt+left,ctrl+left,alt+b",
        "Word left",
        commands.move_word_left,
        moves=True,
    ),
    TextKey(
        "tui.editor.cursorWordRight",
        "alt+right,ctrl+right,alt+f",
        "Word right",
        commands.move_word_right,
        moves=True,
    ),
    TextKey(
        "tui.editor.cursorLineStart",
        "home,ctrl+a",
        "Start of the line",
        commands.move_line_start,
        moves=True,
        needs_text_in_line=True,
    ),
    TextKey(
        "tui.editor.cursorLineEnd",
        "end,ctrl+e",
        "End of the line",
        commands.move_line_end,
        moves=True,
        needs_text_in_line=True,
    ),
    Key(
        "tui.editor.selectLeft",
        "shift+left",
        "Select to the left",
        _make_selection_runner(commands.move_left),
    ),
    Key(
        "tui.editor.selectRight",
        "shift+right",
        "Select to the right",
        _make_selection_runner(commands.move_right),
    ),
    Key(
        "tui.editor.selectUp", "shift+up", "Select a row up", lambda keys: keys.run_selecting_motion(rows=-1)
    ),
    Key(
        "tui.editor.selectDown",
        "shift+down",
        "Select a row down",
        lambda keys: keys.run_selecting_motion(rows=1),
    ),
    Key(
        "tui.editor.selectWordLeft",
        "ctrl+shift+left,alt+shift+left",
        "Select a word to the left",
        _make_selection_runner(commands.move_word_left),
    ),
    Key(
        "tui.editor.selectWordRight",
        "ctrl+shift+right,alt+shift+right",
        "Select a word to the right",
        _make_selection_runner(commands.move_word_right),
    ),
    Key(
        "tui.editor.selectLineStart",
        "shift+home",
        "Select to the line's start",
        _make_selection_runner(commands.move_line_start),
    ),
    Key(
        "tui.editor.selectLineEnd",
        "shift+end",
        "Select to the line's end",
        _make_selection_runner(commands.move_line_end),
    ),
    TextKey(
        "tui.editor.transpose",
        "alt+comma",
        "Swap the characters around the cursor",
        commands.transpose_characters,
    ),
    TextKey(
        "tui.editor.transposeWords",
        "alt+full_stop",
        "Swap the words around the cursor",
        commands.transpose_words,
    ),
    Key(
        "tui.editor.jumpForward",
        "ctrl+right_square_bracket",
        "Jump forward to a character (type it next)",
        lambda keyboard: keyboard.begin_jump(True),
    ),
    Key(
        "tui.editor.jumpBackward",
        "alt+ctrl+right_square_bracket,alt+right_square_bracket",
        "Jump back to a character (type it next)",
        lambda keyboard: keyboard.begin_jump(False),
    ),
    Key("tui.editor.pageUp", "ctrl+pageup", "Page up in the text", lambda keyboard: keyboard.move_page(-1)),
    Key(
        "tui.editor.pageDown",
        "ctrl+pagedown",
        "Page down in the text",
        lambda keyboard: keyboard.move_page(1),
    ),
    TextKey(
        "tui.editor.deleteCharBackward",
        "backspace,ctrl+h",
        "Delete the character to the left",
        commands.delete_backward,
    ),
    TextKey(
        "tui.editor.deleteCharForward",
        "delete,ctrl+d",
        "Delete the character to the right",
        commands.delete_forward,
        needs_text=True,
    ),
    TextKey(
        "tui.editor.deleteWordBackward",
        "ctrl+w,alt+backspace,ctrl+backspace",
        "Cut the word to the left",
        commands.kill_word_backward,
        needs_text_in_line=True,
    ),
    TextKey(
        "tui.editor.deleteWordForward",
        "alt+d,alt+delete,ctrl+delete",
        "Cut the word to the right",
        commands.kill_word_forward,
        needs_text_in_line=True,
    ),
    TextKey(
        "tui.editor.deleteToLineStart",
        "ctrl+u",
        "Cut to the start of the line",
        commands.kill_to_line_start,
        needs_text_in_line=True,
    ),
    TextKey(
        "tui.editor.deleteToLineEnd",
        "ctrl+k",
        "Cut to the end of the line",
        commands.kill_to_line_end,
        needs_text=True,
    ),
    TextKey("tui.editor.yank", "ctrl+y", "Paste the last cut text", EditorModel.yank),
    TextKey(
        "tui.editor.yankPop", "alt+y", "Replace the pasted text by an older cut one", EditorModel.yank_pop
    ),
    TextKey(
        "tui.editor.undo",
        "ctrl+underscore,ctrl+minus",
        "Undo; also restores a cleared draft",
        EditorModel.undo,
    ),
    TextKey("tui.editor.redo", "alt+underscore,alt+minus,ctrl+shift+z", "Redo", EditorModel.redo),
    Key(
        "tui.editor.expandPaste",
        "alt+e",
        "Unfold the pasted text at the cursor",
        lambda keyboard: keyboard.run_edit(commands.expand_chip),
    ),
    Key(
        "app.editor.external",
        "ctrl+g",
        "Open a prompt in your editor",
        PromptKeyboard.request_external_editor,
    ),
    Key("app.clipboard.paste", "ctrl+v", "Paste text or an image", PromptKeyboard.request_clipboard),
)
TEXT_EDITING_KEYS = tuple(key for key in EDITOR_KEYS if isinstance(key, TextKey))
