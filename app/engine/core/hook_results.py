"""Defines the values that hooks receive and return for compactions, helpers, navigation in the tree, and shell
commands."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.compaction.compaction_plan import apply_context_edits, conversation_message_of_entry
from app.undo.change_records import RestoreChoice
from app.values.entries import Entry
from app.values.events import CompactionResult
from app.values.messages import AssistantMessage, Message
from app.values.usage import Usage
from tools.running.user_shell.user_commands import UserCommandResult

CompactionReason = Literal["manual", "threshold", "overflow"]


class CompactionOverride(msgspec.Struct, frozen=True, kw_only=True):
    """A hook's answer to a compaction: cancel it, or replace its summary or instructions."""

    is_cancelled: bool = False
    result: CompactionResult | None = None
    instructions: str | None = None
    """Instructions that replace the user's for the summary; None: the user's stay."""


class HelperAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A helper agent's last answer, which hooks may send back for more work."""

    kind: str
    call_id: str
    session_file: Path | None
    times_continued: int
    message: AssistantMessage


class NavigationOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a navigation in the session tree: whether to summarise the branch that is left, and to restore
    files."""

    should_summarise: bool = False
    instructions: str | None = None
    replaces_instructions: bool = False
    """Whether the instructions replace bayou's own instead of extending them."""
    label: str | None = None
    """A label for the summary; without a summary, for the destination."""
    should_restore_files: bool = False
    """Whether files are restored to their state at the destination."""
    restore_choices: Mapping[str, RestoreChoice] = {}
    """The user's choices for single files."""


class NavigationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A navigation in the session tree that is about to happen."""

    target_id: str | None
    old_leaf_id: str | None
    common_ancestor_id: str | None
    entries: tuple[Entry, ...]
    """The entries between the common ancestor and the old leaf, oldest first."""
    options: NavigationOptions

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of the branch that is left, without those that were removed from the context."""
        found = (conversation_message_of_entry(entry) for entry in apply_context_edits(self.entries))
        return tuple(message for message in found if message is not None)


class NavigationOverride(msgspec.Struct, frozen=True, kw_only=True):
    """A hook's answer to a navigation in the session tree: cancel it, or change its summary, instructions or
    label."""

    is_cancelled: bool = False
    summary: str | None = None
    details: Any = None
    """Additional data of the extension that wrote the summary."""
    usage: Usage | None = None
    """The token usage of the extension's summary."""
    instructions: str | None = None
    replaces_instructions: bool | None = None
    label: str | None = None

    def apply_to_options(self, wish: NavigationOptions) -> NavigationOptions:
        replaces = wish.replaces_instructions
        return msgspec.structs.replace(
            wish,
            instructions=self.instructions or wish.instructions,
            replaces_instructions=replaces
            if self.replaces_instructions is None
            else self.replaces_instructions,
            label=self.label or wish.label,
        )


class UserCommandOverride(msgspec.Struct, frozen=True, kw_only=True):
    """A hook's answer to a shell command of the user: another command, a result, or a refusal."""

    command: str | None = None
    """The command to run instead of the user's; None: the user's runs."""
    result: UserCommandResult | None = None
    """The result of the command, which is then not run; None: it runs."""
    refusal: str | None = None


class RequestIds(msgspec.Struct, frozen=True, kw_only=True):
    """The ids of a request to the provider and of its messages, which the request's events carry as well."""

    request_id: str
    message_ids: Sequence[str]
    """The ids of all messages in the request, also of those that earlier requests delivered."""
