"""The staged changes of one session that wait to be applied or discarded: notifies of them, answers them, and ends
them when the session moves elsewhere.

`tools.edits.staged_actions` stages changes and writes all of a change or nothing.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.delivery import SendMessage
from app.engine.core.event_bus import EventBus
from app.engine.core.run_events import RunStartCallbacks
from app.engine.core.toolbox import Toolbox
from app.engine.secrets.session_mask import SessionSecretMask
from app.values.entries import CustomEntry, CustomMessageEntry, MessageEntry
from app.values.events import EntryAppended
from app.values.messages import AssistantMessage, CustomMessage, ToolResultMessage
from app.values.pending import PendingAction, PendingChanged, PendingFile, PendingOutcome
from app.values.user_errors import UserError
from tools.edits.diffs import make_diff_of_texts
from tools.edits.staged_actions import (
    ResolvedStagedAction,
    StagedAction,
    StagedActionResolution,
    StagedActionResolver,
    StagedFile,
    UnknownStagedAction,
)
from tools.files.file_changes import hash_file_content
from tools.files.file_errors import make_file_error
from tools.files.paths import display_path
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import Tool, ToolError

PENDING_CHANGES_ENTRY_TYPE = "bayou.pending"
RESOLVED_PENDING_CHANGES_MESSAGE_TYPE = "pending-resolved"
PENDING_REMINDER_MESSAGE_TYPE = "pending-reminder"
LOST_PENDING_CHANGES_MESSAGE_TYPE = "pending-lost"


class RequestedFileChange(msgspec.Struct, frozen=True, kw_only=True):
    """The new content of a file that is to be staged."""

    path: str
    text: str | None
    """The new text of the file; None: the file is removed."""


def _names_of_resolve_tool(tools: Mapping[str, Tool]) -> list[str]:
    from tools.builtin.resolve import run_resolve  # noqa: PLC0415  (with the first tools)

    return [name for name, tool in tools.items() if tool.run is run_resolve]


class PendingChanges(msgspec.Struct, eq=False, kw_only=True):
    """The staged changes of one session that wait to be applied or discarded."""

    workspace: SessionWorkspace
    toolbox: Toolbox
    conversation: Conversation
    event_bus: EventBus
    run_start: RunStartCallbacks
    masking: SessionSecretMask
    send: SendMessage
    """A function that sends the agent a message, which it reads with its next request."""
    _ids_at_run_start: set[str] = msgspec.field(default_factory=set[str])
    """The ids of staged changes that need no reminder, because they were pending when the run began."""
    _has_reminded: bool = False

    def __post_init__(self) -> None:
        self.workspace.staged_actions.subscribe(self._publish_resolved)
        self.toolbox.add_withhold_rule(self._withheld_tools, still_answers=True)

    @property
    def waiting_actions(self) -> tuple[StagedAction, ...]:
        return self.workspace.staged_actions.pending_staged_actions

    def _withheld_tools(self, tools: Mapping[str, Tool]) -> list[str]:
        """Returns the tools to withhold: `resolve`, while no staged change waits."""
        resolving = _names_of_resolve_tool(tools)
        return [] if resolving and self.waiting_actions else resolving

    async def stage_changes(
        self,
        label: str,
        source_tool: str,
        changes: Sequence[RequestedFileChange] = (),
        *,
        apply: Callable[[str], Awaitable[str]] | None = None,
        reject: Callable[[str], Awaitable[str | None]] | None = None,
    ) -> StagedAction:
        """Stages file changes until they are applied or discarded. Raises `UserError`."""
        if not changes and apply is None:
            raise UserError(
                "There is nothing to stage: give file changes, or a function to run when they are applied."
            )
        try:
            files = await asyncio.to_thread(lambda: [self._staged_file(change) for change in changes])
            return self.workspace.staged_actions.stage_action(
                label, source_tool, files, apply=apply, reject=reject
            )
        except (UnknownStagedAction, ToolError) as problem:
            raise UserError(str(problem)) from None

    def _staged_file(self, change: RequestedFileChange) -> StagedFile:
        cwd, files = self.workspace.cwd, self.workspace.files
        path = str(cwd / Path(change.path).expanduser())
        shown = display_path(path, cwd)
        try:
            with files.open(path) as file:
                before = file.read()
        except FileNotFoundError:
            before = None
        except OSError as problem:
            raise make_file_error(problem, "read", path, files) from None
        from tools.edits.editable_text import decode_text_file  # noqa: PLC0415  (with the first change that waits)

        old = decode_text_file(before, shown) if before is not None else None
        new = change.text or ""
        if change.text is None:
            data = None
        elif old is None:
            data = new.encode()
        else:
            whole = msgspec.structs.replace(old, text=new, raw_text=new)
            data = whole.encode_with_edits((), shown)
        return StagedFile(
            path=path,
            display_path=shown,
            before_hash=hash_file_content(before) if before is not None else None,
            new_content=data,
            diff=make_diff_of_texts(shown, old.text if old is not None else "", new),
        )

    async def apply_or_discard(
        self,
        id: str | None,
        action: StagedActionResolution,
        reason: str,
        *,
        by: StagedActionResolver = "person",
        files: Collection[str] = (),
    ) -> ResolvedStagedAction:
        """Applies or discards a staged change for the user and tells the model; with `files` only these of what
        a helper has changed. Raises `UserError`."""
        reason = await self.masking.mask_text(reason, "your answer")
        resolved = await self._apply_or_discard(id, action, reason, by, files)
        await self.send(self._outcome_message(resolved), deliver_as="aside")
        return resolved

    async def _apply_or_discard(
        self,
        id: str | None,
        action: StagedActionResolution,
        reason: str,
        by: StagedActionResolver,
        files: Collection[str],
    ) -> ResolvedStagedAction:
        try:
            staged = self.workspace.staged_actions.find_staged_action(id)
            return await self.workspace.staged_actions.resolve_staged_action(
                staged.id, action, reason, by=by, call_id=f"pending-{staged.id}", files=files
            )
        except UnknownStagedAction as problem:
            raise UserError(str(problem)) from None
        except OSError as problem:
            words = make_file_error(problem, "write", str(problem.filename), self.workspace.files)
            raise UserError(str(words)) from None

    def _outcome_message(self, resolved: ResolvedStagedAction) -> CustomMessage:
        who = "The user" if resolved.resolved_by == "person" else "The user's client"
        deed = (
            "discarded"
            if resolved.action == "discard"
            else "applied"
            if resolved.is_done
            else "tried to apply"
        )
        text = f"{who} {deed} the staged changes. {resolved.text}"
        return CustomMessage(custom_type=RESOLVED_PENDING_CHANGES_MESSAGE_TYPE, content=text)

    # The end of a run

    def _on_run_start(self) -> None:
        """Marks the staged changes at the start of a run as known: they were left to the user, or are not the
        model's."""
        self._ids_at_run_start = {one.id for one in self.waiting_actions}
        self._has_reminded = False

    def reminder_message(self, last: AssistantMessage | None) -> CustomMessage | None:
        """Returns the one reminder of a run about unanswered staged changes, for when the model would stop.
        Returns None when the user was asked, when the answer failed, or when the model has no tool to answer
        with."""
        fresh = [one for one in self.waiting_actions if one.id not in self._ids_at_run_start]
        if (
            self._has_reminded
            or not fresh
            or last is None
            or last.stop_reason != "stop"
            or last.asks_something
        ):
            return None
        if not _names_of_resolve_tool(self.toolbox.active_tools()):
            return None
        self._has_reminded = True
        rows = "\n".join(f"{one.id}: {one.label}" for one in fresh)
        text = (
            f"Nothing of this is written yet:\n{rows}\n\nCall resolve to apply or discard it. If it is to "
            f"wait for "
            "the user, end your turn. The user has read your answer: do not repeat it."
        )
        return CustomMessage(custom_type=PENDING_REMINDER_MESSAGE_TYPE, content=text, display=False)

    def lost_changes_message(self) -> CustomMessage | None:
        """Returns a message about staged changes that the conversation calls pending and that no longer exist."""
        # Both are counted, because in one batch of calls an answer may precede the change it answers.
        waits: Counter[tuple[str, str]] = Counter()
        labels: dict[tuple[str, str], str] = {}
        for entry in self.conversation.log.path_to():
            # The type is compared first, because there may be very many entries.
            if type(entry) is MessageEntry:
                result = entry.message
                if type(result) is not ToolResultMessage or not isinstance(said := result.details, dict):
                    continue
                if "pending" in said and (staged := _text_fields(said, "pending", "label")):
                    key = staged[0], result.tool_name
                    waits[key] += 1
                    labels[key] = staged[1]
            elif isinstance(entry, CustomEntry) and entry.custom_type == PENDING_CHANGES_ENTRY_TYPE:
                if answered := _text_fields(entry.data, "id", "sourceTool"):
                    waits[answered[0], answered[1]] -= 1
                else:  # an older entry, which does not name its change
                    waits.clear()
            elif (
                isinstance(entry, CustomMessageEntry)
                and entry.custom_type == LOST_PENDING_CHANGES_MESSAGE_TYPE
            ):
                waits.clear()
        gone = "\n".join(labels[key] for key, count in waits.items() if count > 0)
        if not gone:
            return None
        text = (
            "What was staged here is gone: the session ended, or went elsewhere, before it was answered. "
            f"Nothing of it was written:\n{gone}\n\nMake it anew if it is still wanted."
        )
        return CustomMessage(custom_type=LOST_PENDING_CHANGES_MESSAGE_TYPE, content=text)

    def discard_all(self) -> None:
        """Discards the staged changes when the session moves elsewhere. Changes in a helper's copy are not lost
        by that, so they wait on."""
        ids = [one.id for one in self.waiting_actions if not one.merges_each_file]
        gone = self.workspace.staged_actions.discard_all_staged_actions(
            "The conversation moved to another branch.", ids
        )
        if gone:
            labels = ", ".join(one.label for one in gone)
            self.event_bus.notify(
                f"Staged changes discarded, because the conversation moved to another branch: {labels}.",
                "info",
            )

    def _publish_resolved(self, resolved: ResolvedStagedAction | None) -> None:
        self.toolbox.recompute_active_tools()
        self.run_start.register(self._on_run_start)
        if resolved is not None and not self.conversation.log.is_read_only:
            entry = self.conversation.record_custom_entry(
                PENDING_CHANGES_ENTRY_TYPE, dict(_resolution_data(resolved))
            )
            self.event_bus.publish_now(EntryAppended(entry=entry))
        outcome = None
        if resolved is not None:
            outcome = PendingOutcome(
                id=resolved.staged.id,
                action=resolved.action,
                is_done=resolved.is_done,
                text=resolved.text,
                by=resolved.resolved_by,
            )
        self.event_bus.publish_now(
            PendingChanged(waiting=tuple(map(to_pending_action, self.waiting_actions)), resolved=outcome)
        )


def to_pending_action(staged: StagedAction) -> PendingAction:
    return PendingAction(
        id=staged.id,
        label=staged.label,
        source_tool=staged.source_tool,
        files=tuple(
            PendingFile(path=file.display_path, added=file.diff.added, removed=file.diff.removed)
            for file in staged.files
        ),
    )


def _resolution_data(resolved: ResolvedStagedAction) -> Mapping[str, object]:
    return {
        "id": resolved.staged.id,
        "label": resolved.staged.label,
        "sourceTool": resolved.staged.source_tool,
        "files": [file.display_path for file in resolved.staged.files],
        "action": resolved.action,
        "done": resolved.is_done,
        "text": resolved.text,
        "by": resolved.resolved_by,
    }


def _text_fields(data: Any, *names: str) -> tuple[str, ...]:
    """Returns the named fields as texts; empty if one is missing or no text."""
    try:
        return tuple(str(data[name]) for name in names)
    except (TypeError, KeyError, IndexError):
        return ()
