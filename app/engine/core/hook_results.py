"""What is put before hooks, and what they may say to it: to a compaction, a move in the tree, a command."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from app.compaction.cut import as_edited, message_of
from app.undo.images import Choice
from app.values.entries import Entry
from app.values.events import CompactionResult
from app.values.messages import Message
from app.values.usage import Usage
from tools.running.user_shell.user_commands import UserCommandResult

CompactionReason = Literal["manual", "threshold", "overflow"]


class CompactionOverride(msgspec.Struct, frozen=True, kw_only=True):
    """To a compaction."""

    is_cancelled: bool = False
    result: CompactionResult | None = None
    instructions: str | None = None
    """In place of the person's."""


class NavigationOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a branch that is left."""

    summarise: bool = False
    instructions: str | None = None
    replaces_instructions: bool = False
    """They stand instead of bayou's own, and not beside them."""
    label: str | None = None
    """Of the summary; without one, of the place that is gone to."""
    restores_files: bool = False
    """Files become what they were there."""
    choices: Mapping[str, Choice] = {}
    """What becomes of single files, where somebody chose."""


class NavigationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A move in the tree that is about to happen."""

    target_id: str | None
    old_leaf_id: str | None
    common_ancestor_id: str | None
    entries: tuple[Entry, ...]
    """What lies between the common ancestor and the old leaf, oldest first."""
    wish: NavigationOptions

    @property
    def messages(self) -> tuple[Message, ...]:
        """Without what was taken out of the context."""
        found = (message_of(entry) for entry in as_edited(self.entries))
        return tuple(message for message in found if message is not None)


class NavigationOverride(msgspec.Struct, frozen=True, kw_only=True):
    """To a move."""

    is_cancelled: bool = False
    summary: str | None = None
    details: Any = None
    """Of an extension's own summary."""
    usage: Usage | None = None
    """What that summary took."""
    instructions: str | None = None
    replaces_instructions: bool | None = None
    label: str | None = None

    def changed(self, wish: NavigationOptions) -> NavigationOptions:
        replaces = wish.replaces_instructions
        return msgspec.structs.replace(
            wish,
            instructions=self.instructions or wish.instructions,
            replaces_instructions=replaces
            if self.replaces_instructions is None
            else self.replaces_instructions,
            label=self.label or wish.label,
        )


class ShellOverride(msgspec.Struct, frozen=True, kw_only=True):
    """To a command that the person runs."""

    command: str | None = None
    """Runs instead."""
    result: UserCommandResult | None = None
    """Nothing runs; this is what came of it."""
    refusal: str | None = None


class RequestIds(msgspec.Struct, frozen=True, kw_only=True):
    """Which request it is, by the ids that its events have too."""

    request_id: str
    message_ids: Sequence[str]
    """Of all messages in it, those that earlier requests delivered as well."""
