"""The todo list of one session: read from its branch, changed by the agent and the user, with reminders at the
end of a run. `todo_changes` has the operations. The list is an entry of the branch, so it follows navigation;
summaries repeat it word for word."""

import asyncio
from collections.abc import Callable, Collection, Sequence

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.delivery import SendMessage
from app.engine.core.event_bus import EventBus
from app.engine.core.run_events import RunStartCallbacks
from app.engine.core.session_options import SessionOptions
from app.engine.planning.todo_changes import TodoChange, TodoRefused, apply_todo_change, normalise_todo_phases
from app.engine.secrets.session_mask import SessionSecretMask
from app.sessions.session_log import SessionLog
from app.values.entries import CustomEntry, Entry
from app.values.events import EntryAppended, TodoAutoClear, TodoReminder, TodosChanged
from app.values.messages import AssistantMessage, CustomMessage
from app.values.todos import (
    Phases,
    TodoPhase,
    append_todo_list_to_summary,
    open_todo_items,
    todo_reminder_text,
    todos_text,
)
from app.values.wire import from_wire, to_wire

TODOS_ENTRY_TYPE = "bayou.todos"
TODO_REMINDER_MESSAGE_TYPE = "todo-reminder"
TODO_LIST_MESSAGE_TYPE = "todo-list"
TODO_CLEAR_DELAY = 10.0
"""The number of seconds before a finished list is cleared."""


class TodoList(msgspec.Struct, eq=False):
    """The todo list of one session; every change is recorded as an entry and then published as an event."""

    conversation: Conversation
    event_bus: EventBus
    options: SessionOptions
    masking: SessionSecretMask
    run_start: RunStartCallbacks
    send: SendMessage
    """A function that sends the agent a message, which it reads with its next request."""
    clear_seconds: float = TODO_CLEAR_DELAY
    may_remind: Callable[[], bool] = lambda: True
    """A function that returns whether the agent could work on the items now."""
    _phases: Phases = ()
    _read_log: SessionLog | None = None
    _leaf_when_read: str | None = None
    """The leaf of the session log when the list was last read."""
    _is_changed: bool = False
    """Whether the list was changed in this run, or by the user before it."""
    _is_for_next_run: bool = False
    """Whether the user changed the list after the last run, so that the next run works on it."""
    _has_reminded: bool = False
    """Whether the agent was already reminded in this run."""
    _clear_timer: asyncio.TimerHandle | None = None

    @property
    def phases(self) -> Phases:
        """The todo list, by phase, at the session's current entry."""
        log = self.conversation.log
        if self._read_log is not log or self._leaf_when_read != log.leaf_id:
            found = self._read(log)
            self._read_log, self._leaf_when_read, self._phases = log, log.leaf_id, found
        return self._phases

    def _read(self, log: SessionLog) -> Phases:
        for entry in log.entries_to_root():
            if (
                log is self._read_log
                and self._leaf_when_read is not None
                and entry.id == self._leaf_when_read
            ):
                return self._phases
            if isinstance(entry, CustomEntry) and entry.custom_type == TODOS_ENTRY_TYPE:
                return _decode_phases(entry)
        return ()

    # Changes

    async def apply_change(self, asked: TodoChange) -> Phases:
        """Applies an operation of the agent to the todo list. Raises `TodoRefused`, with nothing changed."""
        before = self.phases
        after = apply_todo_change(before, asked)
        if after != before:
            self._is_changed = True
            self.run_start.register(self._on_run_start)
            await self._record_list(after)
        return after

    async def complete_items(self, names: Collection[str]) -> None:
        """Completes the open todo items with these texts, whose checks have passed."""
        wanted = {" ".join(name.split()).casefold() for name in names}
        done = [item.content for item in open_todo_items(self.phases) if item.content.casefold() in wanted]
        if done:
            await self._record_list(apply_todo_change(self.phases, TodoChange(op="done", tasks=done)))

    async def replace_by_agent(self, phases: tuple[TodoPhase, ...]) -> Phases:
        """Replaces the todo list on behalf of the agent, with secrets masked. Raises `TodoRefused`."""
        masked = await asyncio.to_thread(self.masking.mask_value, to_wire(phases), "the todo list")
        after = normalise_todo_phases(from_wire(masked, tuple[TodoPhase, ...]))
        if after != self.phases:
            self._is_changed = self._is_for_next_run = True
            self.run_start.register(self._on_run_start)
            await self._record_list(after)
        return after

    async def replace_by_user(self, phases: Sequence[TodoPhase]) -> Phases:
        """Replaces the todo list by a user's or program's; the agent reads the new list next. Raises
        `TodoRefused`."""
        before, after = self.phases, await self.replace_by_agent(tuple(phases))
        if after != before:
            await self.send(self.current_list_message(), deliver_as="aside")
        return after

    def current_list_message(self) -> CustomMessage:
        """Returns a message with the current todo list, for the agent, which did not change it."""
        phases = self.phases
        text = (
            f"The user changed the todo list. It is now:\n{todos_text(phases)}"
            if phases
            else "The user cleared the todo list."
        )
        return CustomMessage(custom_type=TODO_LIST_MESSAGE_TYPE, content=text)

    async def _record_list(self, phases: Phases) -> None:
        await self.event_bus.publish(EntryAppended(entry=self._append_entry(phases)))
        await self.event_bus.publish(TodosChanged(phases=phases))
        self._cancel_clear_timer()
        if phases and not open_todo_items(phases):
            self._clear_timer = asyncio.get_running_loop().call_later(
                self.clear_seconds, self._clear_finished_list
            )

    def _append_entry(self, phases: Phases) -> Entry:
        entry = self.conversation.record_custom_entry(TODOS_ENTRY_TYPE, {"phases": to_wire(phases)})
        self._read_log, self._leaf_when_read, self._phases = (
            self.conversation.log,
            self.conversation.log.leaf_id,
            phases,
        )
        return entry

    def _clear_finished_list(self) -> None:
        """Clears a finished todo list; recorded, so that resuming does not bring it back."""
        self._clear_timer = None
        phases = self.phases
        if not phases or open_todo_items(phases) or self.conversation.log.is_read_only:
            return
        self.event_bus.publish_now(EntryAppended(entry=self._append_entry(())))
        self.event_bus.publish_now(TodosChanged(phases=()))
        self.event_bus.publish_now(TodoAutoClear())

    def _cancel_clear_timer(self) -> None:
        if self._clear_timer is not None:
            self._clear_timer.cancel()
            self._clear_timer = None

    def close(self) -> None:
        self._cancel_clear_timer()

    # A summary

    def append_to_summary(self, summary: str) -> str:
        """Appends the current todo list to a summary, replacing an earlier list in it."""
        return append_todo_list_to_summary(summary, self.phases if open_todo_items(self.phases) else ())

    # The end of a run

    def _on_run_start(self) -> None:
        self._is_changed, self._is_for_next_run, self._has_reminded = self._is_for_next_run, False, False
        if self._is_changed:
            self.run_start.register(self._on_run_start)

    def reminder_message(self, last: AssistantMessage | None) -> CustomMessage | None:
        """Returns the one reminder about open todo items, for when the agent would stop after the list was
        changed. Returns None in plan mode, when all items are blocked, when the user was asked, or when the
        answer failed."""
        phases = self.phases
        if (
            not self.options.effective_settings.settings.todo.reminders
            or last is None
            or last.stop_reason != "stop"
        ):
            return None
        if not any(item.blocked is None for item in open_todo_items(phases)) or last.asks_something:
            return None
        if not self._is_changed or self._has_reminded or not self.may_remind():
            return None
        self._has_reminded = True
        self.run_start.register(self._on_run_start)
        self.event_bus.publish_now(
            TodoReminder(todos=tuple(open_todo_items(phases)), attempt=1, max_attempts=1)
        )
        return CustomMessage(custom_type=TODO_REMINDER_MESSAGE_TYPE, content=todo_reminder_text(phases))


def _decode_phases(entry: CustomEntry) -> Phases:
    """Decodes a stored todo list; an invalid one counts as empty."""
    try:
        return normalise_todo_phases(from_wire(entry.data["phases"], tuple[TodoPhase, ...]))
    except (TypeError, KeyError, msgspec.ValidationError, TodoRefused):
        return ()
