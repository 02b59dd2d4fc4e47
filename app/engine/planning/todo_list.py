"""The todo list of one session: read from its branch, changed by the agent and the user, with reminders at the end.

`app.todos` has the operations. The list is an entry of the branch, so it follows navigation; summaries repeat it
word for word."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.delivery import SendMessage
from app.engine.core.event_bus import EventBus
from app.engine.core.run_events import RunStartCallbacks
from app.engine.core.session_options import SessionOptions
from app.engine.planning.todo_changes import TodoChange, TodoRefused, apply_todo_change, normalise_phases
from app.engine.secrets.session_mask import SessionMask
from app.sessions.session_log import SessionLog
from app.values.entries import CustomEntry, Entry
from app.values.events import EntryAppended, TodoAutoClear, TodoReminder, TodosChanged
from app.values.messages import AssistantMessage, CustomMessage
from app.values.todos import Phases, TodoPhase, open_items, reminder_text, todos_text, with_list
from app.values.wire import from_wire, to_wire

TODOS_ENTRY_TYPE = "bayou.todos"
REMINDER_TYPE = "todo-reminder"
LIST_MESSAGE_TYPE = "todo-list"
CLEAR_DELAY = 10.0
"""Seconds before a finished list is cleared."""


class TodoList(msgspec.Struct, eq=False):
    """The todo list; an event after its entry reports every change."""

    conversation: Conversation
    event_bus: EventBus
    options: SessionOptions
    masking: SessionMask
    next_run: RunStartCallbacks
    send: SendMessage
    """Sends the agent a message, which it reads with its next request."""
    clear_seconds: float = CLEAR_DELAY
    may_remind: Callable[[], bool] = lambda: True
    """Whether the agent could work on the items."""
    _phases: Phases = ()
    _log: SessionLog | None = None
    _leaf: str | None = None
    """The leaf of the log when the list was read."""
    _is_changed: bool = False
    """Whether the list was changed in this run, or by the user before it."""
    _is_for_next_run: bool = False
    """Whether the user changed the list, which the next run works on."""
    _has_reminded: bool = False
    """Whether the agent was reminded in this run."""
    _clearing: asyncio.TimerHandle | None = None

    @property
    def phases(self) -> Phases:
        """The list at the session's current entry."""
        log = self.conversation.log
        if self._log is not log or self._leaf != log.leaf_id:
            found = self._read(log)
            self._log, self._leaf, self._phases = log, log.leaf_id, found
        return self._phases

    def _read(self, log: SessionLog) -> Phases:
        for entry in log.upwards():
            if log is self._log and self._leaf is not None and entry.id == self._leaf:
                return self._phases
            if isinstance(entry, CustomEntry) and entry.custom_type == TODOS_ENTRY_TYPE:
                return _phases_of(entry)
        return ()

    # Changes

    async def change(self, asked: TodoChange) -> Phases:
        """Applies an operation of the agent. Raises `TodoRefused`, with nothing changed."""
        before = self.phases
        after = apply_todo_change(before, asked)
        if after != before:
            self._is_changed = True
            self.next_run.calls(self._on_run_start)
            await self._record(after)
        return after

    async def replace(self, phases: tuple[TodoPhase, ...]) -> Phases:
        """Replaces the list by a user's or program's, with secrets masked. Raises `TodoRefused`."""
        masked = await asyncio.to_thread(self.masking.value, to_wire(phases), "the todo list")
        after = normalise_phases(from_wire(masked, tuple[TodoPhase, ...]))
        if after != self.phases:
            self._is_changed = self._is_for_next_run = True
            self.next_run.calls(self._on_run_start)
            await self._record(after)
        return after

    async def set(self, phases: Sequence[TodoPhase]) -> Phases:
        """Replaces the list by a user's or program's; the agent reads the new list next. Raises `TodoRefused`."""
        before, after = self.phases, await self.replace(tuple(phases))
        if after != before:
            await self.send(self.as_message(), deliver_as="aside")
        return after

    def as_message(self) -> CustomMessage:
        """Returns a message with the current list, for the agent, which did not change it."""
        phases = self.phases
        text = (
            f"The user changed the todo list. It is now:\n{todos_text(phases)}"
            if phases
            else "The user cleared the todo list."
        )
        return CustomMessage(custom_type=LIST_MESSAGE_TYPE, content=text)

    async def _record(self, phases: Phases) -> None:
        await self.event_bus.publish(EntryAppended(entry=self._note(phases)))
        await self.event_bus.publish(TodosChanged(phases=phases))
        self._stop_clearing()
        if phases and not open_items(phases):
            self._clearing = asyncio.get_running_loop().call_later(self.clear_seconds, self._clear)

    def _note(self, phases: Phases) -> Entry:
        entry = self.conversation.note(TODOS_ENTRY_TYPE, {"phases": to_wire(phases)})
        self._log, self._leaf, self._phases = self.conversation.log, self.conversation.log.leaf_id, phases
        return entry

    def _clear(self) -> None:
        """Clears a finished list; recorded, so that resuming does not bring it back."""
        self._clearing = None
        phases = self.phases
        if not phases or open_items(phases) or self.conversation.log.is_read_only:
            return
        self.event_bus.publish_now(EntryAppended(entry=self._note(())))
        self.event_bus.publish_now(TodosChanged(phases=()))
        self.event_bus.publish_now(TodoAutoClear())

    def _stop_clearing(self) -> None:
        if self._clearing is not None:
            self._clearing.cancel()
            self._clearing = None

    def close(self) -> None:
        self._stop_clearing()

    # A summary

    def behind(self, summary: str) -> str:
        """Appends the current list to a summary, replacing an earlier list in it."""
        return with_list(summary, self.phases if open_items(self.phases) else ())

    # The end of a run

    def _on_run_start(self) -> None:
        self._is_changed, self._is_for_next_run, self._has_reminded = self._is_for_next_run, False, False
        if self._is_changed:
            self.next_run.calls(self._on_run_start)

    def reminder(self, last: AssistantMessage | None) -> CustomMessage | None:
        """Returns the one reminder for when the agent would stop with open items of a list that was changed.

        Returns None in plan mode, when all items are blocked, when the user was asked, or when the answer failed."""
        phases = self.phases
        if (
            not self.options.effective_settings.settings.todo.reminders
            or last is None
            or last.stop_reason != "stop"
        ):
            return None
        if not any(item.blocked is None for item in open_items(phases)) or last.asks_something:
            return None
        if not self._is_changed or self._has_reminded or not self.may_remind():
            return None
        self._has_reminded = True
        self.next_run.calls(self._on_run_start)
        self.event_bus.publish_now(TodoReminder(todos=tuple(open_items(phases)), attempt=1, max_attempts=1))
        return CustomMessage(custom_type=REMINDER_TYPE, content=reminder_text(phases))


def _phases_of(entry: CustomEntry) -> Phases:
    """Decodes a stored list; an invalid one counts as empty."""
    try:
        return normalise_phases(from_wire(entry.data["phases"], tuple[TodoPhase, ...]))
    except (TypeError, KeyError, msgspec.ValidationError, TodoRefused):
        return ()
