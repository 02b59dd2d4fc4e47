"""The beginning and end of agent runs: callbacks for the next run, and which events of a run are still open,
so that every started event gets its end when the run stops early."""

from collections.abc import Callable, Iterator
from typing import assert_never

import msgspec

from app.values.content import Text
from app.values.events import (
    AgentEnd,
    AgentStart,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    RunEvent,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    ToolOutcome,
    TurnEnd,
    TurnStart,
)
from app.values.messages import AssistantMessage, Message, ToolResultMessage


class RunStartCallbacks:
    """Callbacks for the start of the next agent run. Each is called once and registers again when it has
    something to reset."""

    def __init__(self) -> None:
        self._callbacks: dict[Callable[[], None], None] = {}

    def register(self, deed: Callable[[], None]) -> None:
        """Registers a callback for the start of the next agent run, from any thread; registering it again has no
        effect."""
        self._callbacks[deed] = None

    def call_all(self) -> None:
        deeds, self._callbacks = self._callbacks, {}
        for deed in deeds:
            deed()


class OpenRunEvents:
    """Tracks the events of an agent run that have started and not ended."""

    def __init__(self) -> None:
        self._is_running = False
        self._produced_messages: list[Message] = []
        self._message: Message | None = None
        self._is_in_turn = False
        self._answer: AssistantMessage | None = None
        self._results: list[ToolResultMessage] = []
        self._calls: dict[str, ToolExecutionStart] = {}

    @property
    def is_answering(self) -> bool:
        """Whether an answer is arriving."""
        return isinstance(self._message, AssistantMessage)

    def track_event(self, event: RunEvent) -> None:
        match event:
            case AgentStart():
                self._is_running, self._produced_messages = True, []
            case AgentEnd():
                self._is_running = False
            case TurnStart():
                self._is_in_turn, self._answer, self._results = True, None, []
            case TurnEnd():
                self._is_in_turn = False
            case MessageStart():
                self._message = event.message
            case MessageEnd():
                self._note_message_end(event.message)
            case ToolExecutionStart():
                self._calls[event.tool_call_id] = event
            case ToolExecutionEnd():
                self._calls.pop(event.tool_call_id, None)
            case MessageUpdate() | ToolExecutionUpdate():
                pass
            case _:
                assert_never(event)

    def make_end_events(self, partial: AssistantMessage | None, why: str) -> Iterator[RunEvent]:
        """Yields the end events of everything open in the run, innermost first. An unfinished answer ends with
        what has arrived."""
        if self._message is not None:
            message = self._message
            if isinstance(message, AssistantMessage):
                so_far = partial if partial is not None and partial.id == message.id else message
                message = msgspec.structs.replace(so_far, stop_reason="error", error_message=why)
            self._note_message_end(message)
            yield MessageEnd(message=message, message_id=message.id)
        for call in self._calls.values():
            outcome = ToolOutcome(content=(Text(text=why),))
            yield ToolExecutionEnd(
                tool_call_id=call.tool_call_id, tool_name=call.tool_name, result=outcome, is_error=True
            )
        self._calls.clear()
        if self._is_in_turn and self._answer is not None:
            self._is_in_turn = False
            yield TurnEnd(message=self._answer, tool_results=tuple(self._results))
        if self._is_running:
            self._is_running = False
            yield AgentEnd(messages=tuple(self._produced_messages), will_retry=False)

    def _note_message_end(self, message: Message) -> None:
        self._message = None
        self._produced_messages.append(message)
        if isinstance(message, AssistantMessage):
            self._answer = message
        elif isinstance(message, ToolResultMessage):
            self._results.append(message)
