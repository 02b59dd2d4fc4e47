"""Converts the events of a session to updates for the client, in order."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.engine.goals.goal_texts import short_text
from app.engine.session import Session
from app.modes.acp.blocks import shown_blocks
from app.modes.acp.calls import ToolCalls
from app.modes.acp.update_values import (
    Block,
    InfoUpdate,
    MessageChunk,
    PlannedItem,
    PlanStatus,
    PlanUpdate,
    ShownText,
    Spent,
    ThoughtChunk,
    Update,
    UsageUpdate,
    UserChunk,
)
from app.undo.change_records import files_of
from app.values.events import (
    AgentSettled,
    AutoRetryStart,
    CompactionEnd,
    CompactionStart,
    EntryAppended,
    Event,
    ExtensionError,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    Notice,
    QuestionAsked,
    SessionInfoChanged,
    TodosChanged,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from app.values.messages import AssistantMessage, CustomMessage, UserMessage
from app.values.stream import TextDelta, ThinkingDelta, ToolCallEnd
from app.values.stream import ToolCallStart as CallBegun
from app.values.todos import CHECK_MESSAGE_TYPE, Goal, TodoPhase, TodoStatus, items_of
from app.values.wire import from_wire, new_id

FOR_THE_MODEL = frozenset(
    (
        *("file-map", "read-recovery", "background-result", "diagnostics", "todo-list", "todo-reminder"),
        *(
            "goal-continue",
            "pending-resolved",
            "pending-lost",
            "pending-reminder",
            "repository-map",
            "rule-violation",
        ),
    )
)
"""Types of messages for the model only, which the client need not show."""
_STATUS: dict[TodoStatus, PlanStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "abandoned": "completed",
}


class Updates:
    """Sends the updates of one session."""

    def __init__(
        self,
        session: Session,
        send: Callable[[Update], None],
        *,
        is_own: Callable[[str], bool],
        has_terminals: bool,
    ) -> None:
        """`is_own`: whether the client sent this message itself, and shows it already."""
        self._session = session
        self._send = send
        self._is_own = is_own
        self._calls = ToolCalls(session, send, has_terminals=has_terminals)
        self.are_notes_answers = False
        """Whether a command is running, whose notes answer the user."""
        self._tellers: Mapping[type[Any], Callable[[Any], None]] = {
            MessageUpdate: self._update,
            MessageStart: self._message_begins,
            MessageEnd: self._message_ends,
            ToolExecutionStart: self._calls.tell,
            ToolExecutionUpdate: self._calls.tell,
            ToolExecutionEnd: self._calls.tell,
            EntryAppended: self._recorded,
            AgentSettled: lambda event: self._calls.settle(),
            TodosChanged: lambda event: send(plan_of(event.phases)),
            SessionInfoChanged: lambda event: send(InfoUpdate(title=event.name)),
            Notice: lambda event: self._note(event.text, is_answer=event.level == "info"),
            ExtensionError: lambda event: self._note(
                f"{event.extension_path} ({event.event}): {event.error}"
            ),
            AutoRetryStart: self._retries,
            CompactionStart: lambda event: self._note("The conversation is being summarised."),
            CompactionEnd: self._compacted,
            QuestionAsked: self._on_question,
        }

    def tell(self, event: Event) -> None:
        teller = self._tellers.get(type(event))
        if teller is not None:
            teller(event)

    def say(self, text: str) -> None:
        """Shows a text of bayou as a separate message."""
        if text.strip():
            self._send(message_chunk(text, new_id()))

    def tell_usage(self) -> None:
        usage = usage_of(self._session)
        if usage is not None:
            self._send(usage)

    def _update(self, event: MessageUpdate) -> None:
        part, message_id = event.assistant_message_event, event.message_id
        if isinstance(part, TextDelta):
            self._send(message_chunk(part.delta, message_id))
        elif isinstance(part, ThinkingDelta):
            self._send(thought_chunk(part.delta, message_id))
        elif isinstance(part, CallBegun) and part.id:
            self._calls.begun(part.id, part.tool_name)
        elif isinstance(part, ToolCallEnd):
            self._calls.written(part.tool_call)

    def _message_begins(self, event: MessageStart) -> None:
        message = event.message
        if isinstance(message, UserMessage) and not self._is_own(message.id):
            for block in shown_blocks(message.content):
                self._send(user_chunk(block, message.id))

    def _message_ends(self, event: MessageEnd) -> None:
        message = event.message
        if isinstance(message, AssistantMessage):
            self.tell_usage()
        elif isinstance(message, CustomMessage) and message.custom_type == CHECK_MESSAGE_TYPE:
            self.say(short_text(from_wire(message.details, Goal)))
        elif isinstance(message, CustomMessage) and is_shown(message):
            self.say(self._session.shown_text(message))

    def _recorded(self, event: EntryAppended) -> None:
        if (files := files_of(event.entry)) is not None:
            self._calls.recorded(files)

    def _compacted(self, event: CompactionEnd) -> None:
        if event.result is not None:
            self.tell_usage()
            self._note(f"The conversation was summarised: {event.result.tokens_before:,} tokens before.")
        elif event.error_message:
            self._note(event.error_message)

    def _on_question(self, event: QuestionAsked) -> None:
        if event.method == "notify":
            self._note(event.message or "", is_answer=True)

    def _retries(self, event: AutoRetryStart) -> None:
        told = f"{event.error_message.rstrip('.')}. Retrying in {event.delay_ms / 1000:.0f} s"
        self._note(f"{told} ({event.attempt} of {event.max_attempts}).")

    def _note(self, text: str, *, is_answer: bool = False) -> None:
        """Shows a note as a thought, or as text if a command asked for it."""
        if not text.strip():
            return
        if is_answer or self.are_notes_answers:
            self._send(message_chunk(f"{text.rstrip()}\n\n", new_id()))
        else:
            self._send(thought_chunk(f"{text.rstrip()}\n\n", new_id()))


def is_shown(message: CustomMessage) -> bool:
    """Whether a message of bayou or an extension is shown to the user."""
    return message.display and message.custom_type not in FOR_THE_MODEL


def message_chunk(text: str, message_id: str | None) -> MessageChunk:
    return MessageChunk(content=ShownText(text=text), message_id=message_id)


def thought_chunk(text: str, message_id: str | None) -> ThoughtChunk:
    return ThoughtChunk(content=ShownText(text=text), message_id=message_id)


def user_chunk(block: Block, message_id: str) -> UserChunk:
    return UserChunk(content=block, message_id=message_id)


def plan_of(phases: Sequence[TodoPhase]) -> PlanUpdate:
    """Returns the todo list as a plan; an item that was given up counts as done."""
    return PlanUpdate(
        entries=[
            PlannedItem(content=item.content, priority="medium", status=_STATUS[item.status])
            for item in items_of(tuple(phases))
        ],
    )


def usage_of(session: Session) -> UsageUpdate | None:
    """Returns the fill of the context window, and the cost of the session."""
    usage = session.context_usage()
    if usage is None or not usage.context_window:
        return None
    cost = session.stats.usage.cost.total
    return UsageUpdate(
        used=usage.tokens if usage.tokens is not None else session.state.context_tokens,
        size=usage.context_window,
        cost=Spent(amount=cost, currency="USD") if cost else None,
    )
