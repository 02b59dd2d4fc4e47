"""Words of a command as the shell will expand them, as far as that can be known.

A word is its text without quotes. Unknown pieces are marks: private-use characters that no command may contain. So
`build/*.o` is known except for one piece, and `$X/bin` starts with an unknown piece."""

import re
from collections.abc import Iterator

import msgspec

from tools.patterns import late

UNKNOWN = "\ue000"
"""Matches any text, also empty, also with slashes."""
ANY_NAME = "\ue001"
"""Matches any text without a slash (`*`)."""
ANY_CHARACTER = "\ue002"
"""Matches one character that is no slash (`?`, `[abc]`)."""
ANY_DEPTH = "\ue003"
"""Matches anything below the folder before it."""
OPEN_BRACE, COMMA, CLOSE_BRACE = "\ue010", "\ue011", "\ue012"
"""Braces that are not quoted."""
OPEN_BRACKET = "\ue013"
"""An unquoted `[`."""

WILDCARD = late("[\ue000-\ue003]")
_MAX_WORDS = 64
_INNERMOST = late(f"{OPEN_BRACE}([^{OPEN_BRACE}{CLOSE_BRACE}]*){CLOSE_BRACE}")


class Word(msgspec.Struct, frozen=True):
    """One expanded word."""

    text: str
    may_split: bool = False
    """Whether a mark in it stands for an unquoted piece or a pattern, so that it may become several words or none."""
    source: str = ""
    is_pipe: bool = False
    """Whether it is a process substitution: the name of a pipe."""

    @property
    def is_literal(self) -> bool:
        return WILDCARD.search(self.text) is None

    @property
    def is_unknown(self) -> bool:
        return UNKNOWN in self.text

    @property
    def may_be_several(self) -> bool:
        """Whether it may become several words, or none, so that the words after it change their place."""
        return self.may_split and not self.is_literal

    @property
    def may_be_option(self) -> bool:
        """Whether it starts with a mark, or may become several words that are not known."""
        return self.text[:1] in (UNKNOWN, ANY_NAME, ANY_CHARACTER) or (self.may_split and self.is_unknown)


def word_set(text: str) -> frozenset[str]:
    """Parses a table of names separated by blanks."""
    return frozenset(text.split())


def literal_text(text: str) -> Word:
    return Word(text, source=text)


def expand_braces(text: str) -> Iterator[str]:
    """Expands braces into at most a fixed number of texts; beyond that the result is UNKNOWN."""
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
    """The regular expression of all texts that a word with marks can be."""
    forms = {UNKNOWN: ".*", ANY_NAME: "[^/]*", ANY_CHARACTER: "[^/]", ANY_DEPTH: ".*"}
    return re.compile("".join(forms.get(char) or re.escape(char) for char in text), re.DOTALL)


def reached_by(text: str, *, deeply: bool = False) -> re.Pattern[str]:
    """The regular expression of all existing paths that a pattern reaches; `*` of the shell hides dots, a finder's
    does not. `deeply`: also everything below them."""
    found: list[str] = []
    is_deep = False
    text = text.rstrip("/")
    for at, char in enumerate(text):
        is_deep = is_deep or char == ANY_DEPTH
        starts_name = text[at - 1 : at] in ("", "/") and not is_deep
        if char == ANY_DEPTH:
            found.append(".*")
        elif char in (ANY_NAME, ANY_CHARACTER):
            found.append(("(?![.])" if starts_name else "") + ("[^/]*" if char == ANY_NAME else "[^/]"))
        else:
            found.append(".*" if char == UNKNOWN else re.escape(char))
    form = "".join(found).replace("/.*/", "/(?:.*/)?")
    return re.compile(f"{form}(?:/.*)?" if deeply else form, re.DOTALL)


def marks_as_text(text: str) -> str:
    """Replaces marks with the characters they stand for, to show the text."""
    for mark, shown in ((UNKNOWN, "…"), (ANY_NAME, "*"), (ANY_CHARACTER, "?"), (ANY_DEPTH, "…")):
        text = text.replace(mark, shown)
    return text
