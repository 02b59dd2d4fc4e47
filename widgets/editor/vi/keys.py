"""The keys of vi's normal and visual mode: id, default key, description, and the token for the
grammar.

The editor handles them only in these modes; they are not Textual bindings, because letters are
text in insert mode."""

from collections.abc import Mapping
from functools import lru_cache

from textual.binding import Binding, BindingType

from widgets.key_labels import NO_KEY

_VI_KEY_ROWS = (
    ("left", "h", "h", "Left"),
    ("down", "j", "j", "Down; from the last row the newer prompt"),
    ("up", "k", "k", "Up; from the first row the older prompt"),
    ("right", "l", "l", "Right"),
    ("wordNext", "w", "w", "Next word"),
    ("wordBack", "b", "b", "Previous word"),
    ("wordEnd", "e", "e", "End of the word"),
    ("bigWordNext", "W", "W", "Next WORD (between spaces)"),
    ("bigWordBack", "B", "B", "Previous WORD (between spaces)"),
    ("bigWordEnd", "E", "E", "End of the WORD (between spaces)"),
    ("lineStart", "0", "0", "Start of the line"),
    ("firstWord", "circumflex_accent", "^", "First word of the line"),
    ("lineEnd", "dollar_sign", "$", "End of the line"),
    ("lastLine", "G", "G", "Last line, or line number COUNT"),
    ("go", "g", "g", "Prefix of gg, ge, g_, gu, gU, g~, gJ, gi, gv"),
    ("paragraphNext", "right_curly_bracket", "}", "Next paragraph"),
    ("paragraphBack", "left_curly_bracket", "{", "Previous paragraph"),
    ("bracket", "percent_sign", "%", "Matching bracket"),
    ("column", "vertical_line", "|", "Column number COUNT"),
    ("lineBelow", "plus", "+", "First word of the next line"),
    ("lineAbove", "minus", "-", "First word of the previous line"),
    ("thisLine", "underscore", "_", "First word of this line"),
    ("find", "f", "f", "Find a character forward in the line"),
    ("findBack", "F", "F", "Find a character backward in the line"),
    ("till", "t", "t", "Up to a character forward in the line"),
    ("tillBack", "T", "T", "Up to a character backward in the line"),
    ("findAgain", "semicolon", ";", "Find again"),
    ("findBackAgain", "comma", ",", "Find again in the other direction"),
    ("search", "slash", "/", "Search for …"),
    ("searchBack", "question_mark", "?", "Search backwards for …"),
    ("searchAgain", "n", "n", "Search again"),
    ("searchBackAgain", "N", "N", "Search again in the other direction"),
    ("searchWord", "asterisk", "*", "Search for this word"),
    ("searchWordBack", "number_sign", "#", "Search for this word backwards"),
    ("delete", "d", "d", "Delete over a motion; twice: the line"),
    ("change", "c", "c", "Change over a motion; twice: the line"),
    ("yank", "y", "y", "Yank over a motion; twice: the line"),
    ("indent", "greater_than_sign", ">", "Indent lines"),
    ("outdent", "less_than_sign", "<", "Indent lines less"),
    ("deleteChar", "x", "x", "Delete the character"),
    ("deleteCharBack", "X", "X", "Delete the previous character"),
    ("deleteToEnd", "D", "D", "Delete to the line's end"),
    ("changeToEnd", "C", "C", "Change to the line's end"),
    ("substitute", "s", "s", "Change the character"),
    ("substituteLine", "S", "S", "Change the line"),
    ("yankLine", "Y", "Y", "Yank the line"),
    ("put", "p", "p", "Put after the cursor"),
    ("putBefore", "P", "P", "Put before the cursor"),
    ("replaceChar", "r", "r", "Replace the character with …"),
    ("swapCase", "tilde", "~", "Swap upper and lower case"),
    ("join", "J", "J", "Join lines"),
    ("undo", "u", "u", "Undo; in visual mode: lower case"),
    ("redo", "ctrl+r", "\x12", "Redo"),
    ("capitals", "U", "U", "In visual mode: upper case"),
    ("again", "full_stop", ".", "Repeat the last change"),
    ("insert", "i", "i", "Insert; after an operator: inner text object"),
    ("append", "a", "a", "Append; after an operator: whole text object"),
    ("insertLineStart", "I", "I", "Insert at the start of the line"),
    ("appendLine", "A", "A", "Append at the end of the line"),
    ("openBelow", "o", "o", "New line below; in visual mode: other end"),
    ("openAbove", "O", "O", "New line above"),
    ("visual", "v", "v", "Select characters"),
    ("visualLine", "V", "V", "Select lines"),
)
_DEFAULT_KEY_AND_TOKEN_BY_ID = {f"tui.vi.{name}": (key, token) for name, key, token, _ in _VI_KEY_ROWS}
BINDINGS: list[BindingType] = [
    Binding(key, f"vi('{name}')", words, show=False, id=f"tui.vi.{name}")
    for name, key, _, words in _VI_KEY_ROWS
]
"""Bindings for the list of keys only."""


def grammar_token_of_key(key: str, own: Mapping[str, str]) -> str:
    """Returns the vi command that a key stands for in the grammar, with the user's key bindings applied; empty if it
    stands for none."""
    mine = tuple((id, keys) for id, keys in own.items() if id in _DEFAULT_KEY_AND_TOKEN_BY_ID)
    return _build_token_by_key(mine).get(key, "")


@lru_cache(2)
def _build_token_by_key(own: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    chosen = dict(own)
    found: dict[str, str] = {}
    for id, (usual, token) in _DEFAULT_KEY_AND_TOKEN_BY_ID.items():
        if id not in chosen:
            found.setdefault(usual, token)
    for id, keys in chosen.items():
        for key in keys.split(","):
            if key.strip() != NO_KEY:
                found[key.strip()] = _DEFAULT_KEY_AND_TOKEN_BY_ID[id][1]
    return found
