"""Represents words of a command as the shell will expand them, as far as that can be known.

A word is its text without quotes. Unknown pieces are marks: private-use characters that no command may contain. So
`build/*.o` is known except for one piece, and `$X/bin` starts with an unknown piece.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from tools.lazy_patterns import lazy_regex

UNKNOWN_TEXT_MARK = "\ue000"
"""The mark for any text, also empty, also with slashes."""
ANY_FILE_NAME_MARK = "\ue001"
"""The mark for any text without a slash (`*`)."""
ANY_CHARACTER_MARK = "\ue002"
"""The mark for one character that is no slash (`?`, `[abc]`)."""
ANY_DEPTH_MARK = "\ue003"
"""The mark for any path below the folder in front of it."""
OPEN_BRACE_MARK, COMMA_MARK, CLOSE_BRACE_MARK = "\ue010", "\ue011", "\ue012"
"""The marks for braces and commas that are not quoted, which the shell expands."""
OPEN_BRACKET_MARK = "\ue013"
"""The mark for an unquoted `[`."""
OPEN_CHOICE_MARK, OR_MARK, CLOSE_CHOICE_MARK = "\ue015", "\ue016", "\ue017"
"""The marks around and between the values one of which `${name:-word}` becomes."""
WORD_BREAK_MARK = "\ue018"
"""The mark for blanks at which the shell splits a value into words."""

WILDCARD_MARK_PATTERN = lazy_regex("[\ue000-\ue003]")
_MAX_EXPANDED_WORDS = 64
_MAX_WORD_CHOICES = 16
_INNERMOST_CHOICE = lazy_regex(
    f"{OPEN_CHOICE_MARK}([^{OPEN_CHOICE_MARK}{CLOSE_CHOICE_MARK}]*){CLOSE_CHOICE_MARK}"
)
_INNERMOST_BRACES = lazy_regex(
    f"{OPEN_BRACE_MARK}([^{OPEN_BRACE_MARK}{CLOSE_BRACE_MARK}]*){CLOSE_BRACE_MARK}"
)


class ShellWord(msgspec.Struct, frozen=True):
    """One word of a command after expansion."""

    text: str
    may_split: bool = False
    """Whether a mark in the word stands for an unquoted piece or a pattern, so that it may become several words or
    none."""
    source_text: str = ""
    is_process_substitution: bool = False
    """Whether the word is a process substitution, which becomes the name of a pipe."""
    choices: tuple[tuple["ShellWord", ...], ...] = ()
    """The words that may stand in the place of this one, which is unknown."""

    @property
    def is_literal(self) -> bool:
        return WILDCARD_MARK_PATTERN.search(self.text) is None

    @property
    def is_unknown(self) -> bool:
        return UNKNOWN_TEXT_MARK in self.text

    @property
    def may_become_several_words(self) -> bool:
        """Whether the word may become several words, or none, so that the words after it change their position."""
        return self.may_split and not self.is_literal

    @property
    def may_be_option(self) -> bool:
        """Whether the word may be an option: it starts with a mark, or may become several unknown words."""
        return self.text[:1] in (UNKNOWN_TEXT_MARK, ANY_FILE_NAME_MARK, ANY_CHARACTER_MARK) or (
            self.may_split and self.is_unknown
        )


def parse_word_set(text: str) -> frozenset[str]:
    """Parses a table of names separated by blanks."""
    return frozenset(text.split())


def literal_shell_word(text: str) -> ShellWord:
    return ShellWord(text, source_text=text)


def with_unknown_choices(text: str) -> str:
    """Returns the text with each choice of values unknown."""
    while OPEN_CHOICE_MARK in text:
        text = _INNERMOST_CHOICE.sub(UNKNOWN_TEXT_MARK, text)
    return text


def possible_texts_of_choices(text: str) -> Iterator[str]:
    """Returns the texts that choices of values make of a text, at most a fixed number of them; the first values
    first."""
    done, waiting = 0, [text] if OPEN_CHOICE_MARK in text else []
    while waiting and done < _MAX_WORD_CHOICES:
        piece = waiting.pop()
        found = _INNERMOST_CHOICE.search(piece)
        if found is None:
            done += 1
            yield piece
            continue
        values = (*found[1].split(OR_MARK), UNKNOWN_TEXT_MARK)
        waiting += [piece[: found.start()] + value + piece[found.end() :] for value in reversed(values)]


def possible_commands_of_choices(words: Sequence[ShellWord]) -> Iterator[list[ShellWord]]:
    """Returns the commands in whose words each choice of values is known, so that each value is in one of them."""
    for at in range(max((len(word.choices) for word in words), default=0)):
        yield [
            one
            for word in words
            for one in (word.choices[min(at, len(word.choices) - 1)] if word.choices else (word,))
        ]


def expand_shell_braces(text: str) -> Iterator[str]:
    """Expands braces into at most a fixed number of texts; returns UNKNOWN if there are more."""
    done, waiting = 0, [text]
    while waiting:
        piece = waiting.pop(0)
        found = _INNERMOST_BRACES.search(piece) if OPEN_BRACE_MARK in piece else None
        if found is None:
            yield brace_marks_to_text(piece)
            done += 1
            continue
        inside = found[1]
        choices = (
            inside.split(COMMA_MARK)
            if COMMA_MARK in inside
            else [ANY_FILE_NAME_MARK if ".." in inside else f"{{{inside}}}"]
        )
        waiting[:0] = [piece[: found.start()] + choice + piece[found.end() :] for choice in choices]
        if len(waiting) + done > _MAX_EXPANDED_WORDS:
            yield UNKNOWN_TEXT_MARK
            return


def brace_marks_to_text(text: str) -> str:
    return text.replace(OPEN_BRACE_MARK, "{").replace(COMMA_MARK, ",").replace(CLOSE_BRACE_MARK, "}")


def shell_word_regex(text: str) -> re.Pattern[str]:
    """Returns the regular expression of all texts that a word with marks can become."""
    forms = {
        UNKNOWN_TEXT_MARK: ".*",
        ANY_FILE_NAME_MARK: "[^/]*",
        ANY_CHARACTER_MARK: "[^/]",
        ANY_DEPTH_MARK: ".*",
    }
    return re.compile("".join(forms.get(char) or re.escape(char) for char in text), re.DOTALL)


def reached_paths_regex(text: str, *, deeply: bool = False) -> re.Pattern[str]:
    """Returns the regular expression of all existing paths that a pattern reaches, with `deeply` also of everything
    below them. `*` of the shell does not match hidden names, that of a finder does."""
    found: list[str] = []
    is_deep = False
    text = text.rstrip("/")
    for at, char in enumerate(text):
        is_deep = is_deep or char == ANY_DEPTH_MARK
        starts_name = text[at - 1 : at] in ("", "/") and not is_deep
        if char == ANY_DEPTH_MARK:
            found.append(".*")
        elif char in (ANY_FILE_NAME_MARK, ANY_CHARACTER_MARK):
            found.append(
                ("(?![.])" if starts_name else "") + ("[^/]*" if char == ANY_FILE_NAME_MARK else "[^/]")
            )
        else:
            found.append(".*" if char == UNKNOWN_TEXT_MARK else re.escape(char))
    form = "".join(found).replace("/.*/", "/(?:.*/)?")
    return re.compile(f"{form}(?:/.*)?" if deeply else form, re.DOTALL)


def marks_to_readable_text(text: str) -> str:
    """Replaces marks by the characters that they stand for, to show the text."""
    for mark, shown in (
        (UNKNOWN_TEXT_MARK, "…"),
        (ANY_FILE_NAME_MARK, "*"),
        (ANY_CHARACTER_MARK, "?"),
        (ANY_DEPTH_MARK, "…"),
    ):
        text = text.replace(mark, shown)
    return text
