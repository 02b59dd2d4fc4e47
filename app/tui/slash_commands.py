"""The type of the full screen's slash commands: name, description and function. Features have tables of them."""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import msgspec

from app.tui.keys.command_descriptions import describe_session_command
from app.tui.page_protocols import KeyLabel

P = TypeVar("P")


class SlashCommand(msgspec.Struct, Generic[P], frozen=True, kw_only=True):
    """A slash command of a feature with page type `P`."""

    name: str
    run: Callable[[P, str], Awaitable[None]]
    """Runs the command with the text after its name; the text may be empty."""
    help: str = ""
    session_command: str = ""
    """The name of the session command that it runs, whose description is used."""
    hint: str = ""
    """The name of its argument, for completion."""
    key: tuple[str, str] = ("", "")
    """Action and default key that replace `{key}` in `help`."""

    def help_text(self, key_label: KeyLabel) -> str:
        if self.session_command:
            words = describe_session_command(self.session_command)
            return words[:1].lower() + words[1:]
        return self.help.format(key=key_label(*self.key) or "a key")


SLASH_COMMAND_ALIASES = {"exit": "quit", "clear": "new"}
"""Aliases for commands of other agents with the same meaning. Lists do not show them."""


def split_slash_command(text: str) -> tuple[str, str]:
    """Splits `/name argument` into the command's name and its argument."""
    name, _, argument = text[1:].strip().partition(" ")
    return SLASH_COMMAND_ALIASES.get(name, name), argument.strip()
