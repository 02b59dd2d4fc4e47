"""Tracks what is going on in a session, by its events, as the text that the line above the editor shows."""

from collections.abc import Callable
from typing import Literal

import msgspec

from app.tui.page_protocols import KeyLabel
from app.values.cells import is_user_cell_call_id
from app.values.diagnostics import DiagnosticsEnd, DiagnosticsStart
from app.values.events import (
    AgentSettled,
    AgentStart,
    AutoRetryStart,
    CompactionEnd,
    CompactionStart,
    Event,
    MessageEnd,
    MessageUpdate,
    ProviderRequestPrepared,
    ProviderWaiting,
    QuestionAsked,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from app.values.mcp_servers import McpServersChange
from app.values.messages import AssistantMessage
from app.values.stream import BlockEvent, TextDelta, ThinkingDelta, ToolCallDelta, ToolCallStart
from app.values.todos import is_goal_check_call
from tools.number_formatting import format_elapsed, format_token_count

ESTIMATED_CHARACTERS_PER_TOKEN = 4
"""The estimated characters per token, until the provider reports its count."""
MIN_SHOWN_STREAMED_TOKENS = 100
"""The token count shown for an answer that has just begun."""
ActivityPhase = Literal[
    "",
    "working",
    "waiting",
    "thinking",
    "writing",
    "calling",
    "tools",
    "retrying",
    "compacting",
    "checking",
]


_ACTIVITY_PHASE_BY_EVENT: tuple[tuple[type[Event], ActivityPhase], ...] = (
    (AgentStart, "working"),
    (ProviderRequestPrepared, "waiting"),
    (MessageEnd, "working"),
    (AutoRetryStart, "retrying"),
    (CompactionStart, "compacting"),
    (CompactionEnd, "working"),
    (DiagnosticsStart, "checking"),
    (DiagnosticsEnd, "working"),
)
_ACTIVITY_PHASE_BY_DELTA: tuple[tuple[type[BlockEvent], ActivityPhase], ...] = (
    (TextDelta, "writing"),
    (ThinkingDelta, "thinking"),
    (ToolCallStart, "calling"),
    (ToolCallDelta, "calling"),
)


class ActivityStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What is going on now, as text with figures and key hints for the line above the editor."""

    text: str = ""
    figures: tuple[str, ...] = ()
    """The elapsed time and the tokens so far."""
    is_waiting_for_person: bool = False
    hints: str = ""

    @property
    def text_with_figures(self) -> str:
        return " · ".join((self.text, *self.figures))


class _RunningTool(msgspec.Struct, frozen=True):
    name: str
    description: str
    started_at: float


class ActivityTracker:
    """Tracks what is going on in one session: a request, thinking, tool calls, a question, a user's command."""

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        provider: Callable[[], str],
        call: Callable[[str, object], str],
        key_label: KeyLabel,
    ) -> None:
        """Creates the tracker. `provider`: returns the current provider's name; `call`: returns a call's title by its
        tool's name and arguments."""
        self._clock = clock
        self._provider = provider
        self._call = call
        self._key_label = key_label
        self.phase: ActivityPhase = ""
        self._phase_started_at = 0.0
        self._tools: dict[str, _RunningTool] = {}
        self._open_questions: dict[str, float] = {}
        """The time of each unanswered question, by its id."""
        self._characters = 0
        self._counted_tokens = 0
        self._provider_wait: ProviderWaiting | None = None
        self._retry: AutoRetryStart | None = None
        self._running_check = ""
        self._starting_servers = ""
        """MCP servers that are still starting."""
        self._other_activity = ""
        self._other_started_at = 0.0
        self._is_other_stopped = False

    @property
    def is_active(self) -> bool:
        return bool(self.phase or self._other_activity or self._open_questions)

    @property
    def is_retrying(self) -> bool:
        return self._retry is not None

    @property
    def provider_wait(self) -> ProviderWaiting | None:
        return self._provider_wait

    # -- updates -------------------------------------------------------------------------------------------

    def show_activity(self, words: str, *, is_stoppable: bool = False) -> None:
        """Sets an activity besides the agent's, such as a user's command or a summary; an empty text ends it."""
        self._other_activity, self._other_started_at, self._is_other_stopped = (
            words,
            self._clock(),
            is_stoppable,
        )

    def handle_event(self, event: Event) -> bool:
        """Updates the activity from a session event; returns whether it changed. Called for every delta, so it is
        cheap."""
        before = self.phase, len(self._tools), self._provider_wait, len(self._open_questions)
        if isinstance(event, MessageUpdate):
            self._count_tokens(event)
        elif isinstance(event, ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd):
            # A user's cell, and a check that the user runs, end without the end of a run.
            if not is_user_cell_call_id(event.tool_call_id) and (
                self.phase or not is_goal_check_call(event.tool_call_id)
            ):
                self._track_tool(event)
        elif isinstance(event, QuestionAsked):
            self._track_question(event)
        elif isinstance(event, AgentSettled):
            self.reset()
        else:
            self._track_request(event)
            phase: ActivityPhase | None = next(
                (phase for kind, phase in _ACTIVITY_PHASE_BY_EVENT if isinstance(event, kind)), None
            )
            if isinstance(event, MessageEnd) and not isinstance(event.message, AssistantMessage):
                phase = None
            if phase is not None:
                self._enter_phase(phase)
        return before != (self.phase, len(self._tools), self._provider_wait, len(self._open_questions))

    def _track_question(self, event: QuestionAsked) -> None:
        if event.answer is not None and not event.answer.done():
            self._open_questions[event.id] = self._clock()
            event.answer.add_done_callback(lambda _: self._question_answered(event))

    def _question_answered(self, event: QuestionAsked) -> None:
        """Handles an answered approval question: the time of the call that it was about starts now."""
        self._open_questions.pop(event.id, None)
        call_id = event.approval.tool_call_id if event.approval is not None else ""
        if (tool := self._tools.get(call_id)) is not None:
            self._tools[call_id] = msgspec.structs.replace(tool, started_at=self._clock())

    def _track_request(self, event: Event) -> None:
        """Tracks whether a request to the model waits, is retried, or continues."""
        if isinstance(event, ProviderWaiting):
            self._provider_wait = None if event.state == "flowing" else event
        elif isinstance(event, AgentStart):
            self._characters = self._counted_tokens = 0
            self._retry = self._provider_wait = None
        elif isinstance(event, ProviderRequestPrepared | MessageEnd):
            self._provider_wait = None
        elif isinstance(event, AutoRetryStart):
            self._retry = event
        elif isinstance(event, McpServersChange):
            self._starting_servers = ", ".join(one.name for one in event.servers if one.state == "starting")
        elif isinstance(event, DiagnosticsStart):
            self._running_check = ", ".join(event.programs)

    def _track_tool(self, event: ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd) -> None:
        if event.parent_tool_call_id is not None:
            return
        if isinstance(event, ToolExecutionStart):
            told = self._call(event.tool_name, event.args)
            self._tools[event.tool_call_id] = _RunningTool(event.tool_name, told, self._clock())
        elif isinstance(event, ToolExecutionEnd):
            self._tools.pop(event.tool_call_id, None)
        self._enter_phase("tools" if self._tools else "working")

    def reset(self) -> None:
        """Resets the activity to that of a session in which no agent runs."""
        self._tools.clear()
        self._open_questions.clear()
        self._retry = self._provider_wait = None
        self._enter_phase("")

    def _enter_phase(self, phase: ActivityPhase) -> None:
        if phase != self.phase:
            self.phase = phase
            self._phase_started_at = self._clock()

    def _count_tokens(self, event: MessageUpdate) -> None:
        part = event.assistant_message_event
        phase: ActivityPhase | None = next(
            (phase for kind, phase in _ACTIVITY_PHASE_BY_DELTA if isinstance(part, kind)), None
        )
        if phase is None:
            return
        if isinstance(part, TextDelta | ThinkingDelta | ToolCallDelta):
            self._characters += len(part.delta)
        self._counted_tokens = max(self._counted_tokens, event.usage.output)
        self._provider_wait = None
        self._enter_phase(phase)

    # -- text ----------------------------------------------------------------------------------------------

    def current_status(self) -> ActivityStatus:
        now = self._clock()
        if self._other_activity:
            hints = self._stop_hint() if self._is_other_stopped else ""
            return ActivityStatus(
                text=self._other_activity, figures=_elapsed_text(now - self._other_started_at), hints=hints
            )
        if self._open_questions:
            return ActivityStatus(
                text="Waiting for your answer",
                figures=_elapsed_text(now - min(self._open_questions.values())),
                is_waiting_for_person=True,
                hints=self._stop_hint(),
            )
        if not self.phase:
            return ActivityStatus()
        figures = _elapsed_text(now - self._activity_start())
        if (
            count := max(self._counted_tokens, self._characters // ESTIMATED_CHARACTERS_PER_TOKEN)
        ) >= MIN_SHOWN_STREAMED_TOKENS:
            figures += (f"↓ {format_token_count(count)}",)
        hints = self._stop_hint()
        if self.phase == "retrying" and (key := self._key_label("app.retry", "alt+r")):
            hints = " · ".join(filter(None, (f"{key} retry now", hints)))
        return ActivityStatus(text=self._activity_words(now), figures=figures, hints=hints)

    def _activity_start(self) -> float:
        """Returns the time at which the current activity began; now for a wait before a retry, whose text counts
        down."""
        if self.phase == "retrying":
            return self._clock()
        return min((tool.started_at for tool in self._tools.values()), default=self._phase_started_at)

    def _activity_words(self, now: float) -> str:
        silence, retry = self._provider_wait, self._retry
        if retry is not None and self.phase == "retrying":
            left = max(0.0, self._phase_started_at + retry.delay_ms / 1000 - now)
            return f"Retrying {retry.attempt} of {retry.max_attempts} in {format_elapsed(round(left))}"
        if silence is not None:
            what = "No response yet" if silence.state == "waiting" else "No further response"
            end = f", times out in {format_elapsed(silence.seconds)}" if silence.seconds else ""
            return f"{what} from {self._provider()}{end}"
        if self._tools:
            first = next(iter(self._tools.values()))
            more = f" and {len(self._tools) - 1} more" if len(self._tools) > 1 else ""
            if self._starting_servers and first.name.startswith("mcp_"):
                return f"Starting the MCP server {self._starting_servers}"
            return f"Running {first.description}{more}"
        return {
            "waiting": f"Waiting for {self._provider()}",
            "thinking": "Thinking",
            "writing": "Writing",
            "calling": "Preparing a tool call",
            "compacting": "Compacting",
            "checking": f"Checking with {self._running_check}",
        }.get(self.phase, "Working")

    def _stop_hint(self) -> str:
        key = self._key_label("app.interrupt", "esc")
        return f"{key} stop" if key else ""


def _elapsed_text(seconds: float) -> tuple[str, ...]:
    return (format_elapsed(seconds),) if seconds >= 1 else ()
