"""Converts the events of a session to updates for the client, in order."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.engine.goals.goal_texts import short_goal_check_text
from app.engine.session import Session
from app.modes.acp.content_blocks import acp_content_blocks
from app.modes.acp.tool_call_updates import ToolCallReporter
from app.modes.acp.update_messages import (
    AgentMessageChunk,
    AgentThoughtChunk,
    Block,
    PlanStatus,
    PlanUpdate,
    PlanUpdateEntry,
    SessionCost,
    SessionInfoUpdate,
    SessionUsageUpdate,
    TextContent,
    Update,
    UserMessageChunk,
)
from app.undo.change_records import file_changes_data_of_entry
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
from app.values.todos import GOAL_CHECK_MESSAGE_TYPE, Goal, TodoPhase, TodoStatus, todo_items_of_phases
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
_PLAN_STATUS_BY_TODO_STATUS: dict[TodoStatus, PlanStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "abandoned": "completed",
}


class AcpUpdateSender:
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
            AgentSettled: lambda event: self._calls.report_open_calls_failed(),
            TodosChanged: lambda event: send(plan_from_todos(event.phases)),
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

    def send_bayou_message(self, text: str) -> None:
        """Shows a text of bayou as a separate message."""
        if text.strip():
            self._send(make_agent_message_chunk(text, new_id()))

    def send_usage(self) -> None:
        usage = make_usage_update(self._session)
        if usage is not None:
            self._send(usage)

    def _handle_message_update(self, event: MessageUpdate) -> None:
        part, message_id = event.assistant_message_event, event.message_id
        if isinstance(part, TextDelta):
            self._send(make_agent_message_chunk(part.delta, message_id))
        elif isinstance(part, ThinkingDelta):
            self._send(make_agent_thought_chunk(part.delta, message_id))
        elif isinstance(part, CallBegun) and part.id:
            self._calls.report_streaming_call(part.id, part.tool_name)
        elif isinstance(part, ToolCallEnd):
            self._calls.report_call_with_arguments(part.tool_call)

    def _handle_message_start(self, event: MessageStart) -> None:
        message = event.message
        if isinstance(message, UserMessage) and not self._is_own(message.id):
            for block in acp_content_blocks(message.content):
                self._send(make_user_message_chunk(block, message.id))

    def _handle_message_end(self, event: MessageEnd) -> None:
        message = event.message
        if isinstance(message, AssistantMessage):
            self.send_usage()
        elif isinstance(message, CustomMessage) and message.custom_type == GOAL_CHECK_MESSAGE_TYPE:
            self.send_bayou_message(short_goal_check_text(from_wire(message.details, Goal)))
        elif isinstance(message, CustomMessage) and is_shown_to_user(message):
            self.send_bayou_message(self._session.text_of_custom_message(message))

    def _handle_entry(self, event: EntryAppended) -> None:
        if (files := file_changes_data_of_entry(event.entry)) is not None:
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
            self._send(make_agent_message_chunk(f"{text.rstrip()}\n\n", new_id()))
        else:
            self._send(make_agent_thought_chunk(f"{text.rstrip()}\n\n", new_id()))


def is_shown_to_user(message: CustomMessage) -> bool:
    """Whether a message of bayou or an extension is shown to the user."""
    return message.display and message.custom_type not in HIDDEN_MESSAGE_TYPES


def make_agent_message_chunk(text: str, message_id: str | None) -> AgentMessageChunk:
    return AgentMessageChunk(content=TextContent(text=text), message_id=message_id)


def make_agent_thought_chunk(text: str, message_id: str | None) -> AgentThoughtChunk:
    return AgentThoughtChunk(content=TextContent(text=text), message_id=message_id)


def make_user_message_chunk(block: Block, message_id: str) -> UserMessageChunk:
    return UserMessageChunk(content=block, message_id=message_id)


def plan_from_todos(phases: Sequence[TodoPhase]) -> PlanUpdate:
    """Returns the todo list as a plan; an item that was given up counts as done."""
    return PlanUpdate(
        entries=[
            PlanUpdateEntry(
                content=item.content, priority="medium", status=_PLAN_STATUS_BY_TODO_STATUS[item.status]
            )
            for item in todo_items_of_phases(tuple(phases))
        ],
    )


def make_usage_update(session: Session) -> SessionUsageUpdate | None:
    """Returns the fill of the context window, and the cost of the session."""
    usage = session.context_usage()
    if usage is None or not usage.context_window:
        return None
    cost = session.stats.usage.cost.total
    return SessionUsageUpdate(
        used=usage.tokens if usage.tokens is not None else session.state.context_tokens,
        size=usage.context_window,
        cost=SessionCost(amount=cost, currency="USD") if cost else None,
    )
