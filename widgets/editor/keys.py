"""The editor's actions with their ids and default keys. An id is what a person's `keybindings.json` names."""

from textual.binding import Binding, BindingType


def _key(id_: str, keys: str, action: str, description: str) -> Binding:
    return Binding(keys, action, description, show=False, id=id_)


BINDINGS: list[BindingType] = [
    _key("tui.input.submit", "enter", "submit", "Send"),
    _key(
        "app.message.followUp",
        "alt+enter",
        "follow_up",
        "Send after the agent is done; a new line while idle",
    ),
    _key("tui.input.newLine", "shift+enter,ctrl+j,ctrl+enter,alt+shift+enter", "new_line", "New line"),
    _key("tui.input.tab", "tab", "tab", "Complete"),
    _key("tui.editor.closeCompletion", "escape", "close_popup", "Close the completions"),
    _key("tui.editor.cursorUp", "up", "cursor_up", "Row up, then older prompts"),
    _key("tui.editor.cursorDown", "down", "cursor_down", "Row down, then newer prompts"),
    _key("tui.editor.historyPrevious", "alt+p", "history_previous", "Older prompt"),
    _key("tui.editor.historyNext", "alt+n", "history_next", "Newer prompt"),
    _key("tui.editor.historySearch", "ctrl+r", "history_search", "Search older prompts"),
    _key("tui.editor.cursorLeft", "left", "cursor_left", "Character left"),
    _key("tui.editor.cursorRight", "right", "cursor_right", "Character right"),
    _key("tui.editor.cursorWordLeft", "alt+left,ctrl+left,alt+b", "word_left", "Word left"),
    _key("tui.editor.cursorWordRight", "alt+right,ctrl+right,alt+f", "word_right", "Word right"),
    _key("tui.editor.cursorLineStart", "home,ctrl+a", "line_start", "Start of the line"),
    _key("tui.editor.cursorLineEnd", "end,ctrl+e", "line_end", "End of the line"),
    _key(
        "tui.editor.jumpForward",
        "ctrl+right_square_bracket",
        "jump(True)",
        "To the next … (then a character)",
    ),
    _key(
        "tui.editor.jumpBackward",
        "alt+ctrl+right_square_bracket,alt+right_square_bracket",
        "jump(False)",
        "Back to the last … (then a character)",
    ),
    _key("tui.editor.pageUp", "ctrl+pageup", "page(-1)", "Page up in the text"),
    _key("tui.editor.pageDown", "ctrl+pagedown", "page(1)", "Page down in the text"),
    _key("tui.editor.deleteCharBackward", "backspace,ctrl+h", "delete_backward", "Delete to the left"),
    _key("tui.editor.deleteCharForward", "delete,ctrl+d", "delete_forward", "Delete to the right"),
    _key(
        "tui.editor.deleteWordBackward",
        "ctrl+w,alt+backspace,ctrl+backspace",
        "kill_word_backward",
        "Kill word left",
    ),
    _key(
        "tui.editor.deleteWordForward", "alt+d,alt+delete,ctrl+delete", "kill_word_forward", "Kill word right"
    ),
    _key("tui.editor.deleteToLineStart", "ctrl+u", "kill_to_line_start", "Kill to the line's start"),
    _key("tui.editor.deleteToLineEnd", "ctrl+k", "kill_to_line_end", "Kill to the line's end"),
    _key("tui.editor.yank", "ctrl+y", "yank", "Yank what was killed"),
    _key("tui.editor.yankPop", "alt+y", "yank_pop", "Yank an older kill instead"),
    _key("tui.editor.undo", "ctrl+underscore,ctrl+minus", "undo", "Undo; brings a cleared draft back"),
    _key("tui.editor.redo", "alt+underscore,alt+minus,ctrl+shift+z", "redo", "Redo"),
    _key("tui.editor.expandPaste", "alt+e", "expand_chip", "Open the paste at the cursor"),
    _key("app.editor.external", "ctrl+g", "external_editor", "Edit in your own editor"),
    _key("app.clipboard.paste", "ctrl+v", "paste_clipboard", "Paste text or an image"),
]
