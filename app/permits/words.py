"""Words of a command as they will be when it runs, as far as one can tell.

A word is its text with the quotes gone. What is not told by the text stands in it as a mark: a private character that
no command may contain. So `build/*.o` is known but for one piece, and `$X/bin` begins with something unknown.
"""

import re
from collections.abc import Iterator

import msgspec

from tools.patterns import late

UNKNOWN = "\ue000"
"""Any text, also none, also with slashes."""
ANY_NAME = "\ue001"
"""Any text without a slash (`*`)."""
ANY_CHARACTER = "\ue002"
"""One character that is no slash (`?`, `[abc]`)."""
ANY_DEPTH = "\ue003"
"""Anything below a folder that was named."""
OPEN_BRACE, COMMA, CLOSE_BRACE = "\ue010", "\ue011", "\ue012"
"""Braces that are not quoted."""
OPEN_BRACKET = "\ue013"
"""`[` that is not quoted."""

WILDCARD = late("[\ue000-\ue003]")
_MAX_WORDS = 64
_INNERMOST = late(f"{OPEN_BRACE}([^{OPEN_BRACE}{CLOSE_BRACE}]*){CLOSE_BRACE}")


class Word(msgspec.Struct, frozen=True):
    text: str
    may_split: bool = False
    """It holds something unknown that is not quoted: it may become several words, or none."""
    source: str = ""
    is_pipe: bool = False
    """It names a pipe to or from a command of its own."""

    @property
    def is_literal(self) -> bool:
        return WILDCARD.search(self.text) is None

    @property
    def is_unknown(self) -> bool:
        return UNKNOWN in self.text

    @property
    def may_be_several(self) -> bool:
        """What is not known of it may become several words, options too."""
        return self.may_split and self.is_unknown

    @property
    def may_be_option(self) -> bool:
        """It begins with something unknown or open, or may become several words."""
        return self.text[:1] in (UNKNOWN, ANY_NAME, ANY_CHARACTER) or self.may_be_several


def names(text: str) -> frozenset[str]:
    """A table of names, written as people read it."""
    return frozenset(text.split())


def literal(text: str) -> Word:
    return Word(text, source=text)


def expand_braces(text: str) -> Iterator[str]:
    """Brace expansion: the texts that one word stands for, at most so many; more are one unknown."""
    done, waiting = 0, [text]
    while waiting:
        piece = waiting.pop(0)
        found = _INNERMOST.search(piece) if OPEN_BRACE in piece else None
        if found is None:
            yield without_braces(piece)
            done += 1
            continue
        inside = found[1]
        choices = (
            inside.split(COMMA) if COMMA in inside else [ANY_NAME if ".." in inside else f"{{{inside}}}"]
        )
        waiting[:0] = [piece[: found.start()] + choice + piece[found.end() :] for choice in choices]
        if len(waiting) + done > _MAX_WORDS:
            yield UNKNOWN
            return


def without_braces(text: str) -> str:
    return text.replace(OPEN_BRACE, "{").replace(COMMA, ",").replace(CLOSE_BRACE, "}")


def pattern_of(text: str) -> re.Pattern[str]:
    """What a word with marks can be."""
    forms = {UNKNOWN: ".*", ANY_NAME: "[^/]*", ANY_CHARACTER: "[^/]", ANY_DEPTH: ".*"}
    return re.compile("".join(forms.get(char) or re.escape(char) for char in text), re.DOTALL)


def readable(text: str) -> str:
    """For people: marks as what they stand for."""
    for mark, shown in ((UNKNOWN, "…"), (ANY_NAME, "*"), (ANY_CHARACTER, "?"), (ANY_DEPTH, "…")):
        text = text.replace(mark, shown)
    return text
