"""vi's search: the common subset of vim's patterns, and finding the next match. Pure."""

import re
from functools import lru_cache
from typing import NamedTuple

from widgets.editor.editor_model import TextPosition
from widgets.editor.vi.motion_targets import TextLines, last_cursor_column
from widgets.editor.word_boundaries import is_word_character


class ViSearch(NamedTuple):
    """A vi search: the typed pattern, and whether it goes forward."""

    pattern: str
    is_forward: bool = True


@lru_cache(64)
def compile_vim_pattern(pattern: str) -> re.Pattern[str] | None:
    """Converts a vim pattern to a Python one; None if it is invalid. As in vim, `(`, `|`, `+` and `{`
    are literal unless escaped."""
    out: list[str] = []
    ignores_case = False
    at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "\\" and at < len(pattern):
            char = pattern[at]
            at += 1
            if char in "cC":
                ignores_case = char == "c"
            else:
                out.append(
                    _REGEX_BY_VIM_ESCAPE.get(char) or (f"\\{char}" if char in "dDsSwW" else re.escape(char))
                )
        elif char == "[" and (end := _find_character_class_end(pattern, at)):
            out.append("[" + pattern[at:end].replace("[", "\\[") + "]")
            at = end + 1
        else:
            out.append(char if char in ".*^$" else re.escape(char))
    try:
        return re.compile("".join(out), re.IGNORECASE if ignores_case else 0)
    except re.error:
        return None


_REGEX_BY_VIM_ESCAPE = {
    **{"<": r"\b(?=\w)", ">": r"\b(?<=\w)", "(": "(", ")": ")", "|": "|", "+": "+", "=": "?", "?": "?"},
    **{"{": "{", "}": "}", "t": "\\t"},
}


def _find_character_class_end(pattern: str, at: int) -> int:
    begin = at + (pattern[at : at + 1] == "^")
    return max(0, pattern.find("]", begin + 1))


def find_vi_search_match(
    lines: TextLines, at: TextPosition, wanted: ViSearch, count: int
) -> TextPosition | None:
    """Returns the position of the `count`-th match of a vi search from a position on; the search wraps around at the
    end of the text. None if nothing matches."""
    pattern = compile_vim_pattern(wanted.pattern)
    if pattern is None or not wanted.pattern:
        return None
    targets = sorted(
        {
            (row, min(match.start(), last_cursor_column(line)))
            for row, line in enumerate(lines)
            for match in pattern.finditer(line)
        }
    )
    if not targets:
        return None
    if wanted.is_forward:
        first = sum(place <= at for place in targets)
        return targets[(first + count - 1) % len(targets)]
    first = sum(place < at for place in targets)
    return targets[(first - count) % len(targets)]


def vim_pattern_of_word_at(line: str, column: int) -> tuple[int, str] | None:
    """Returns the start of the word at or after the cursor and a vim pattern that finds it (for `*`); of the next other
    text if there is no word, None without any."""
    at = column
    while at < len(line) and not is_word_character(line[at]):
        at += 1
    if at < len(line):
        while at and is_word_character(line[at - 1]):
            at -= 1
        end = at
        while end < len(line) and is_word_character(line[end]):
            end += 1
        return at, f"\\<{line[at:end]}\\>"
    rest = line[column:].lstrip()
    if not rest:
        return None
    at = len(line) - len(rest)
    while at and not line[at - 1].isspace():
        at -= 1
    word = line[at:].split()[0]
    return at, "".join(f"\\{char}" if char in "\\.*^$[]~/" else char for char in word)
