"""Converts the events of a session to updates for the client, in order."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.engine.goals.goal_texts import short_check_result_text
from app.engine.session import Session
from app.modes.acp.blocks import message_blocks
from app.modes.acp.calls import ToolCallReporter
from app.modes.acp.update_values import (
    Block,
    MessageChunk,
    PlanEntry,
    PlanStatus,
    PlanUpdate,
    SessionCost,
    SessionInfoUpdate,
    TextContent,
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

HIDDEN_MESSAGE_TYPES = frozenset(
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
_PLAN_STATUS: dict[TodoStatus, PlanStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "abandoned": "completed",
}


class UpdateSender:
    """Sends the events of one session to the ACP client as updates."""

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
        self._calls = ToolCallReporter(session, send, has_terminals=has_terminals)
        self.are_notes_answers = False
        """Whether a command is running, whose notes answer the user."""
        self._tellers: Mapping[type[Any], Callable[[Any], None]] = {
            MessageUpdate: self._handle_message_update,
            MessageStart: self._handle_message_start,
            MessageEnd: self._handle_message_end,
            ToolExecutionStart: self._calls.handle_event,
            ToolExecutionUpdate: self._calls.handle_event,
            ToolExecutionEnd: self._calls.handle_event,
            EntryAppended: self._handle_entry,
            AgentSettled: lambda event: self._calls.end_open_calls(),
            TodosChanged: lambda event: send(todo_plan(event.phases)),
            SessionInfoChanged: lambda event: send(SessionInfoUpdate(title=event.name)),
            Notice: lambda event: self._send_note(event.text, is_answer=event.level == "info"),
            ExtensionError: lambda event: self._send_note(
                f"{event.extension_path} ({event.event}): {event.error}"
            ),
            AutoRetryStart: self._handle_retry,
            CompactionStart: lambda event: self._send_note("The conversation is being summarised."),
            CompactionEnd: self._handle_compaction,
            QuestionAsked: self._handle_question,
        }

    def handle_event(self, event: Event) -> None:
        teller = self._tellers.get(type(event))
        if teller is not None:
            teller(event)

    def send_text(self, text: str) -> None:
        """Shows a text of bayou as a separate message."""
        if text.strip():
            self._send(message_chunk(text, new_id()))

    def send_usage(self) -> None:
        usage = session_usage(self._session)
        if usage is not None:
            self._send(usage)

    def _handle_message_update(self, event: MessageUpdate) -> None:
        part, message_id = event.assistant_message_event, event.message_id
        if isinstance(part, TextDelta):
            self._send(message_chunk(part.delta, message_id))
        elif isinstance(part, ThinkingDelta):
            self._send(thought_chunk(part.delta, message_id))
        elif isinstance(part, CallBegun) and part.id:
            self._calls.report_arriving(part.id, part.tool_name)
        elif isinstance(part, ToolCallEnd):
            self._calls.report_complete(part.tool_call)

    def _handle_message_start(self, event: MessageStart) -> None:
        message = event.message
        if isinstance(message, UserMessage) and not self._is_own(message.id):
            for block in message_blocks(message.content):
                self._send(user_chunk(block, message.id))

    def _handle_message_end(self, event: MessageEnd) -> None:
        message = event.message
        if isinstance(message, AssistantMessage):
            self.send_usage()
        elif isinstance(message, CustomMessage) and message.custom_type == CHECK_MESSAGE_TYPE:
            self.send_text(short_check_result_text(from_wire(message.details, Goal)))
        elif isinstance(message, CustomMessage) and is_shown_to_user(message):
            self.send_text(self._session.text_of_custom_message(message))

    def _handle_entry(self, event: EntryAppended) -> None:
        if (files := files_of(event.entry)) is not None:
            self._calls.report_file_changes(files)

    def _handle_compaction(self, event: CompactionEnd) -> None:
        if event.result is not None:
            self.send_usage()
            self._send_note(f"The conversation was summarised: {event.result.tokens_before:,} tokens before.")
        elif event.error_message:
            self._send_note(event.error_message)

    def _handle_question(self, event: QuestionAsked) -> None:
        if event.method == "notify":
            self._send_note(event.message or "", is_answer=True)

    def _handle_retry(self, event: AutoRetryStart) -> None:
        told = f"{event.error_message.rstrip('.')}. Retrying in {event.delay_ms / 1000:.0f} s"
        self._send_note(f"{told} ({event.attempt} of {event.max_attempts}).")

    def _send_note(self, text: str, *, is_answer: bool = False) -> None:
        """Shows a note as a thought, or as text if a command asked for it."""
        if not text.strip():
            return
        if is_answer or self.are_notes_answers:
            self._send(message_chunk(f"{text.rstrip()}\n\n", new_id()))
        else:
            self._send(thought_chunk(f"{text.rstrip()}\n\n", new_id()))


def is_shown_to_user(message: CustomMessage) -> bool:
    """Whether a message of bayou or an extension is shown to the user."""
    return message.display and message.custom_type not in HIDDEN_MESSAGE_TYPES


def message_chunk(text: str, message_id: str | None) -> MessageChunk:
    return MessageChunk(content=TextContent(text=text), message_id=message_id)


def thought_chunk(text: str, message_id: str | None) -> ThoughtChunk:
    return ThoughtChunk(content=TextContent(text=text), message_id=message_id)


def user_chunk(block: Block, message_id: str) -> UserChunk:
    return UserChunk(content=block, message_id=message_id)


def todo_plan(phases: Sequence[TodoPhase]) -> PlanUpdate:
    """Returns the todo list as a plan; an item that was given up counts as done."""
    return PlanUpdate(
        entries=[
            PlanEntry(content=item.content, priority="medium", status=_PLAN_STATUS[item.status])
            for item in items_of(tuple(phases))
        ],
    )


def session_usage(session: Session) -> UsageUpdate | None:
    """Returns the fill of the context window, and the cost of the session."""
    usage = session.context_usage()
    if usage is None or not usage.context_window:
        return None
    cost = session.stats.usage.cost.total
    return UsageUpdate(
        used=usage.tokens if usage.tokens is not None else session.state.context_tokens,
        size=usage.context_window,
        cost=SessionCost(amount=cost, currency="USD") if cost else None,
    )
