"""Parses vi commands while they are typed: count, operator, motion.

Pure: it gets the keys typed so far and returns the command, or whether more keys are needed."""

from typing import Literal

import msgspec

from widgets.editor.vi.text_objects import TEXT_OBJECT_NAMES

VI_OPERATORS = frozenset(("d", "c", "y", ">", "<", "g~", "gu", "gU"))
_VI_DOUBLED_OPERATORS = {"g~": ("g~", "~"), "gu": ("gu", "u"), "gU": ("gU", "U")}
VI_MOTIONS = frozenset((*"hjklwWbBeE0^$G{}%|;,+-_nN*#", "gg", "ge", "gE", "g_", "gj", "gk"))
VI_FIND_COMMANDS = frozenset("fFtT")
VI_SEARCH_COMMANDS = frozenset("/?")
"""Commands that are followed by a search text and Enter."""
_VI_COMMANDS_WITH_CHAR = frozenset("r")
"""Commands that are followed by a character."""
VI_STANDALONE_COMMANDS = frozenset((*"xXsSDCYpPJ~uiaIAoOvV.", "\x12", "gJ", "gi", "gv"))
"""Commands that need no motion."""
VI_EXPANSION_BY_SHORTHAND = {"x": "dl", "X": "dh", "s": "cl", "D": "d$", "C": "c$", "S": "cc", "Y": "yy"}
"""Commands that abbreviate an operator with its motion."""


class ViCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A complete vi command: operator or other verb, motion, character and count."""

    verb: str = ""
    """An operator or another command; empty for a motion alone."""
    motion: str = ""
    """A motion, a text object (`iw`), or the operator again, which means whole lines."""
    char: str = ""
    """The text that `f` or `/` searches, or the character that `r` inserts."""
    count: int = 0
    """The count; 0 if none was given."""

    @property
    def repetitions(self) -> int:
        return max(1, self.count)

    @property
    def is_linewise(self) -> bool:
        return bool(self.verb) and self.motion == self.verb


ViParseState = Literal["open", "literal", "wrong"]
"""`open`: more keys are needed; `literal`: the next key counts as a character; `wrong`: no command starts like this."""
_MAX_VI_COMMAND_COUNT = 9_999


def parse_vi_keys(keys: str, *, is_visual: bool = False) -> ViCommand | ViParseState:
    """Parses the keys typed so far as a vi command; returns it, or what an incomplete or impossible command needs next.
    In visual mode an operator is complete by itself, and `i` and `a` begin a text object."""
    count, rest = _parse_count(keys)
    if not rest:
        return "open"
    word, behind = _split_first_command(rest)
    if word is None:
        return "open"
    if word in VI_OPERATORS and not is_visual:
        return _parse_operator(word, behind, count)
    if word in VI_SEARCH_COMMANDS or word in VI_FIND_COMMANDS or word in _VI_COMMANDS_WITH_CHAR:
        return _parse_with_char(word, behind, count)
    if is_visual and word in ("i", "a"):
        return _parse_text_object(word, behind, count)
    if behind:
        return "wrong"
    if word in VI_MOTIONS:
        return ViCommand(motion=word, count=count)
    if word in VI_STANDALONE_COMMANDS or (is_visual and (word in VI_OPERATORS or word in ("U", "u"))):
        return ViCommand(verb=word, count=count)
    return "wrong"


def _parse_operator(verb: str, rest: str, count: int) -> ViCommand | ViParseState:
    more, rest = _parse_count(rest)
    count = _multiply_counts(count, more)
    if not rest:
        return "open"
    if rest == verb or rest in _VI_DOUBLED_OPERATORS.get(verb, ()):
        return ViCommand(verb=verb, motion=verb, count=count)
    word, behind = _split_first_command(rest)
    if word is None:
        return "open"
    found: ViCommand | ViParseState
    if word in ("i", "a"):
        found = _parse_text_object(word, behind, count)
    elif word in VI_SEARCH_COMMANDS or word in VI_FIND_COMMANDS:
        found = _parse_with_char(word, behind, count)
    else:
        found = ViCommand(motion=word, count=count) if word in VI_MOTIONS and not behind else "wrong"
    if isinstance(found, ViCommand):
        return msgspec.structs.replace(found, verb=verb)
    return found


def _parse_with_char(word: str, behind: str, count: int) -> ViCommand | ViParseState:
    if not behind or (word in VI_SEARCH_COMMANDS and not behind.endswith("\n")):
        return "literal"
    if word in VI_SEARCH_COMMANDS:
        behind = behind[:-1]
    if word in _VI_COMMANDS_WITH_CHAR:
        return ViCommand(verb=word, char=behind, count=count)
    return ViCommand(motion=word, char=behind, count=count)


def _parse_text_object(word: str, behind: str, count: int) -> ViCommand | ViParseState:
    if not behind:
        return "literal"
    return ViCommand(motion=word + behind, count=count) if behind in TEXT_OBJECT_NAMES else "wrong"


def _parse_count(keys: str) -> tuple[int, str]:
    digits = 0
    while digits < len(keys) and keys[digits] in "0123456789" and (digits or keys[digits] != "0"):
        digits += 1
    return (min(_MAX_VI_COMMAND_COUNT, int(keys[:digits][:6])) if digits else 0), keys[digits:]


def _multiply_counts(one: int, other: int) -> int:
    return min(_MAX_VI_COMMAND_COUNT, one * other) if one and other else one or other


def _split_first_command(keys: str) -> tuple[str | None, str]:
    """Splits vi keys into the first command (`d`, `gg`) and the rest; the command is None while a `g` needs another
    key."""
    if keys[0] != "g":
        return keys[0], keys[1:]
    return (keys[:2], keys[2:]) if len(keys) > 1 else (None, "")
