"""Slash commands of the full screen: name, description and function. Features have tables of them."""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import msgspec

from app.tui.keys.verb_words import describe_verb
from app.tui.page_protocols import KeyLabel

P = TypeVar("P")


class SlashCommand(msgspec.Struct, Generic[P], frozen=True, kw_only=True):
    """A slash command of a feature with page type `P`."""

    name: str
    run: Callable[[P, str], Awaitable[None]]
    """Runs the command with the text after its name; the text may be empty."""
    help: str = ""
    verb: str = ""
    """The name of the session command that it runs, whose description is used."""
    hint: str = ""
    """The name of its argument, for completion."""
    key: tuple[str, str] = ("", "")
    """Action and default key that replace `{key}` in `help`."""

    def told(self, key_label: KeyLabel) -> str:
        if self.verb:
            words = describe_verb(self.verb)
            return words[:1].lower() + words[1:]
        return self.help.format(key=key_label(*self.key) or "a key")


OTHER_NAMES = {"exit": "quit", "clear": "new"}
"""Aliases for commands of other agents with the same meaning. Lists do not show them."""


def name_and_argument(text: str) -> tuple[str, str]:
    """Splits `/name argument` into the command's name and its argument."""
    name, _, argument = text[1:].strip().partition(" ")
    return OTHER_NAMES.get(name, name), argument.strip()
