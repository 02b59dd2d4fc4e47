"""Parses a program's options: which are known, which take a value, and what that value is.

An option row lists the known ones: `k=` takes any value, `f=:read` a file that is read. One letter is a short option,
several are a long one; short ones may be bundled. `*` means that all other options are harmless."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from app.permits.shell_words import ShellWord


class CommandOption(NamedTuple):
    """One option of a call: its name, its value, and the role of that value (`read`, or empty)."""

    name: str
    value: ShellWord | None
    value_role: str


class ParsedCommandOptions(NamedTuple):
    """The parsed options and operands of a call."""

    options: list[CommandOption]
    operands: list[ShellWord]
    are_all_known: bool
    """Whether every option is known and no word whose value is unknown may be an option."""

    def has_option(self, *names: str) -> bool:
        return any(option.name in names for option in self.options)

    def option_values(self, *names: str) -> list[ShellWord]:
        return [option.value for option in self.options if option.name in names and option.value is not None]


class KnownCommandOptions(NamedTuple):
    """The known short and long options of a program, each with whether it takes a value, and the role of the value."""

    short_options: dict[str, tuple[bool, str]]
    long_options: dict[str, tuple[bool, str]]
    allows_unknown: bool


@lru_cache(512)
def parse_known_options(text: str) -> KnownCommandOptions:
    """Parses a row of option names."""
    short: dict[str, tuple[bool, str]] = {}
    long: dict[str, tuple[bool, str]] = {}
    for item in text.split():
        name, _, role = item.partition(":")
        takes = name.endswith("=")
        name = name.removesuffix("=")
        (short if len(name) == 1 else long)[name] = (takes, role)
    return KnownCommandOptions(short, long, "*" in short)


def parse_program_options(
    words: Sequence[ShellWord],
    known: KnownCommandOptions,
    *,
    stops_early: bool = False,
    has_bundles: bool = True,
) -> ParsedCommandOptions:
    """Separates the options of a call from its operands. `stops_early`: the first operand ends the options, as in
    programs that start another one."""
    options: list[CommandOption] = []
    operands: list[ShellWord] = []
    is_certain, index = True, 0
    while index < len(words):
        word = words[index]
        text = word.text
        index += 1
        if text == "--":
            operands += words[index:]
            break
        if word.may_be_option or (not has_bundles and re.match("-[^-].", text)):
            is_certain = False
        if len(text) < 2 or text[0] != "-":
            operands.append(word)
            if stops_early:
                operands += words[index:]
                break
            continue
        if text.startswith("--"):
            used, is_known = _parse_long_option(
                word, text.lstrip("-"), known, words[index : index + 1], options
            )
        else:
            used, is_known = _parse_short_options(word, known, words[index : index + 1], options)
        # A value that looks like an option may be one, because some options may leave out their value.
        is_certain = is_certain and is_known and not (used and re.match("-.", words[index].text))
        if used and words[index].may_become_several_words and not stops_early:
            operands.append(words[index])
        index += used
    values = (option.value for option in options if option.value is not None)
    is_certain = is_certain and not any(value.may_become_several_words for value in values)
    return ParsedCommandOptions(options, operands, is_certain or known.allows_unknown)


def _parse_long_option(
    word: ShellWord,
    text: str,
    known: KnownCommandOptions,
    following: Sequence[ShellWord],
    options: list[CommandOption],
) -> tuple[int, bool]:
    """Parses a long option; returns how many following words its value takes, and whether the option is known."""
    name, equals, value = text.partition("=")
    full = name
    if name not in known.long_options:
        fitting = [one for one in known.long_options if one.startswith(name)]
        # A shortened option may stand for several; the riskiest one counts.
        full = next((one for one in fitting if known.long_options[one][1]), fitting[0] if fitting else name)
    takes, role = known.long_options.get(full, (False, ""))
    is_known = name in known.long_options
    if equals:
        options.append(CommandOption(full, ShellWord(value, word.may_split, value), role))
        return 0, is_known
    if takes and following:
        options.append(CommandOption(full, following[0], role))
        return 1, is_known
    options.append(CommandOption(full, None, role))
    return 0, is_known and not takes


def _parse_short_options(
    word: ShellWord, known: KnownCommandOptions, following: Sequence[ShellWord], options: list[CommandOption]
) -> tuple[int, bool]:
    text, is_known = word.text[1:], True
    for place, char in enumerate(text):
        is_known = is_known and char in known.short_options
        takes, role = known.short_options.get(char, (False, ""))
        if not takes:
            options.append(CommandOption(char, None, role))
            continue
        rest = text[place + 1 :]
        if rest:
            options.append(
                CommandOption(
                    char, ShellWord(rest.removeprefix("=") if role else rest, word.may_split, rest), role
                )
            )
            return 0, is_known
        options.append(CommandOption(char, following[0] if following else None, role))
        return (1, is_known) if following else (0, False)
    return 0, is_known
