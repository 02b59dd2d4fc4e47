"""The keys of vi's normal and visual mode: id, default key, description, and the token for the
grammar.

The editor handles them only in these modes; they are not Textual bindings, because letters are
text in insert mode."""

from collections.abc import Mapping
from functools import lru_cache

from textual.binding import Binding, BindingType

from widgets.key_labels import UNBOUND_KEY_LABEL

_VI_KEY_ROWS = (
    ("left", "h", "h", "Character left"),
    ("down", "j", "j", "Row down; in the last row: newer prompt"),
    ("up", "k", "k", "Row up; in the first row: older prompt"),
    ("right", "l", "l", "Character right"),
    ("wordNext", "w", "w", "To the next word"),
    ("wordBack", "b", "b", "To the previous word"),
    ("wordEnd", "e", "e", "To the end of the word"),
    ("bigWordNext", "W", "W", "To the next WORD (between spaces)"),
    ("bigWordBack", "B", "B", "To the previous WORD (between spaces)"),
    ("bigWordEnd", "E", "E", "To the end of the WORD (between spaces)"),
    ("lineStart", "0", "0", "To the start of the line"),
    ("firstWord", "circumflex_accent", "^", "To the first word of the line"),
    ("lineEnd", "dollar_sign", "$", "To the end of the line"),
    ("lastLine", "G", "G", "To the last line, or to line COUNT"),
    ("go", "g", "g", "Begins the two-key commands gg, ge, g_, gu, gU, g~, gJ, gi, gv"),
    ("paragraphNext", "right_curly_bracket", "}", "To the next paragraph"),
    ("paragraphBack", "left_curly_bracket", "{", "To the previous paragraph"),
    ("bracket", "percent_sign", "%", "To the matching bracket"),
    ("column", "vertical_line", "|", "To column COUNT"),
    ("lineBelow", "plus", "+", "To the first word of the next line"),
    ("lineAbove", "minus", "-", "To the first word of the previous line"),
    ("thisLine", "underscore", "_", "To the first word of this line"),
    ("find", "f", "f", "To a character to the right (type it next)"),
    ("findBack", "F", "F", "To a character to the left (type it next)"),
    ("till", "t", "t", "To just before a character to the right"),
    ("tillBack", "T", "T", "To just after a character to the left"),
    ("findAgain", "semicolon", ";", "Repeat the last f, F, t or T"),
    ("findBackAgain", "comma", ",", "Repeat the last f, F, t or T backwards"),
    ("search", "slash", "/", "Search for a text"),
    ("searchBack", "question_mark", "?", "Search for a text backwards"),
    ("searchAgain", "n", "n", "To the next match of the search"),
    ("searchBackAgain", "N", "N", "To the previous match of the search"),
    ("searchWord", "asterisk", "*", "Search for the word at the cursor"),
    ("searchWordBack", "number_sign", "#", "Search for the word at the cursor backwards"),
    ("delete", "d", "d", "Delete what a motion covers; dd: the line"),
    ("change", "c", "c", "Replace what a motion covers; cc: the line"),
    ("yank", "y", "y", "Copy what a motion covers; yy: the line"),
    ("indent", "greater_than_sign", ">", "Indent lines more"),
    ("outdent", "less_than_sign", "<", "Indent lines less"),
    ("deleteChar", "x", "x", "Delete the character"),
    ("deleteCharBack", "X", "X", "Delete the previous character"),
    ("deleteToEnd", "D", "D", "Delete to the line's end"),
    ("changeToEnd", "C", "C", "Replace the text to the line's end"),
    ("substitute", "s", "s", "Replace the character by typed text"),
    ("substituteLine", "S", "S", "Replace the line by typed text"),
    ("yankLine", "Y", "Y", "Copy the line"),
    ("put", "p", "p", "Paste after the cursor"),
    ("putBefore", "P", "P", "Paste before the cursor"),
    ("replaceChar", "r", "r", "Replace the character by the next typed one"),
    ("swapCase", "tilde", "~", "Switch between upper and lower case"),
    ("join", "J", "J", "Join the line with the next one"),
    ("undo", "u", "u", "Undo; in visual mode: make lower case"),
    ("redo", "ctrl+r", "\x12", "Redo"),
    ("capitals", "U", "U", "In visual mode: make upper case"),
    ("again", "full_stop", ".", "Repeat the last change"),
    ("insert", "i", "i", "Insert text; after d, c or y: inside an object"),
    ("append", "a", "a", "Append text; after d, c or y: a whole object"),
    ("insertLineStart", "I", "I", "Insert text at the start of the line"),
    ("appendLine", "A", "A", "Append text at the end of the line"),
    ("openBelow", "o", "o", "New line below; in visual mode: to the other end"),
    ("openAbove", "O", "O", "New line above"),
    ("visual", "v", "v", "Select characters (visual mode)"),
    ("visualLine", "V", "V", "Select lines (visual mode)"),
)
_DEFAULT_VI_KEY_AND_TOKEN_BY_ID = {f"tui.vi.{name}": (key, token) for name, key, token, _ in _VI_KEY_ROWS}
BINDINGS: list[BindingType] = [
    Binding(key, f"vi('{name}')", words, show=False, id=f"tui.vi.{name}")
    for name, key, _, words in _VI_KEY_ROWS
]
"""Bindings for the list of keys only."""


def vi_grammar_token_of_key(key: str, own: Mapping[str, str]) -> str:
    """Returns the vi command that a key stands for in the grammar, with the user's key bindings applied; empty if it
    stands for none."""
    mine = tuple((id, keys) for id, keys in own.items() if id in _DEFAULT_VI_KEY_AND_TOKEN_BY_ID)
    return _build_token_by_key(mine).get(key, "")


@lru_cache(2)
def _build_token_by_key(own: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    chosen = dict(own)
    found: dict[str, str] = {}
    for id, (usual, token) in _DEFAULT_VI_KEY_AND_TOKEN_BY_ID.items():
        if id not in chosen:
            found.setdefault(usual, token)
    for id, keys in chosen.items():
        for key in keys.split(","):
            if key.strip() != UNBOUND_KEY_LABEL:
                found[key.strip()] = _DEFAULT_VI_KEY_AND_TOKEN_BY_ID[id][1]
    return found
