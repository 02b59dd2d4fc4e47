"""Tracks the current activity as text from events; the line above the editor shows it."""

from collections.abc import Callable
from typing import Literal

import msgspec

from app.tui.page_protocols import KeyLabel
from app.values.cells import is_user_cell
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
from app.values.todos import is_check_call
from tools.amounts import elapsed, tokens

CHARACTERS_PER_TOKEN = 4
"""The estimated characters per token, until the provider reports its count."""
MIN_SHOWN_TOKENS = 100
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


_BEGINS: tuple[tuple[type[Event], ActivityPhase], ...] = (
    (AgentStart, "working"),
    (ProviderRequestPrepared, "waiting"),
    (MessageEnd, "working"),
    (AutoRetryStart, "retrying"),
    (CompactionStart, "compacting"),
    (CompactionEnd, "working"),
    (DiagnosticsStart, "checking"),
    (DiagnosticsEnd, "working"),
)
_ARRIVING_PHASES: tuple[tuple[type[BlockEvent], ActivityPhase], ...] = (
    (TextDelta, "writing"),
    (ThinkingDelta, "thinking"),
    (ToolCallStart, "calling"),
    (ToolCallDelta, "calling"),
)


class ActivityStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The current activity as text."""

    what: str = ""
    figures: tuple[str, ...] = ()
    """The elapsed time and the tokens so far."""
    is_waiting_for_person: bool = False
    hints: str = ""

    @property
    def words(self) -> str:
        return " · ".join((self.what, *self.figures))


class _RunningTool(msgspec.Struct, frozen=True):
    name: str
    told: str
    since: float


class ActivityTracker:
    """Tracks the activity of one session."""

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        provider: Callable[[], str],
        call: Callable[[str, object], str],
        key_label: KeyLabel,
    ) -> None:
        """`provider`: returns the current provider's name; `call`: describes a tool call by its name
        and arguments."""
        self._clock = clock
        self._provider = provider
        self._call = call
        self._key_label = key_label
        self.phase: ActivityPhase = ""
        self._since = 0.0
        self._tools: dict[str, _RunningTool] = {}
        self._open_questions: dict[str, float] = {}
        """The time of each unanswered question, by its id."""
        self._characters = 0
        self._counted = 0
        self._silence: ProviderWaiting | None = None
        self._retry: AutoRetryStart | None = None
        self._checking = ""
        self._starting = ""
        """MCP servers that are still starting."""
        self._other = ""
        self._other_since = 0.0
        self._is_other_stopped = False

    @property
    def is_on(self) -> bool:
        return bool(self.phase or self._other or self._open_questions)

    @property
    def is_retrying(self) -> bool:
        return self._retry is not None

    @property
    def silence(self) -> ProviderWaiting | None:
        return self._silence

    # -- updates -------------------------------------------------------------------------------------------

    def say(self, words: str, *, is_stoppable: bool = False) -> None:
        """Shows an activity besides the agent's, such as a user's command or a summary; an empty text
        ends it."""
        self._other, self._other_since, self._is_other_stopped = words, self._clock(), is_stoppable

    def note(self, event: Event) -> bool:
        """Updates the status from an event; returns whether it changed. Called for every delta, so it is cheap."""
        before = self.phase, len(self._tools), self._silence, len(self._open_questions)
        if isinstance(event, MessageUpdate):
            self._count(event)
        elif isinstance(event, ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd):
            # A user's cell, and a check that the user runs, end without the end of a run.
            if not is_user_cell(event.tool_call_id) and (self.phase or not is_check_call(event.tool_call_id)):
                self._note_tool(event)
        elif isinstance(event, QuestionAsked):
            self._note_question(event)
        elif isinstance(event, AgentSettled):
            self.rest()
        else:
            self._note_request(event)
            phase: ActivityPhase | None = next(
                (phase for kind, phase in _BEGINS if isinstance(event, kind)), None
            )
            if isinstance(event, MessageEnd) and not isinstance(event.message, AssistantMessage):
                phase = None
            if phase is not None:
                self._enter(phase)
        return before != (self.phase, len(self._tools), self._silence, len(self._open_questions))

    def _note_question(self, event: QuestionAsked) -> None:
        if event.answer is not None and not event.answer.done():
            self._open_questions[event.id] = self._clock()
            event.answer.add_done_callback(lambda _: self._answered(event))

    def _answered(self, event: QuestionAsked) -> None:
        """Handles an answered question: the call that it was about starts now."""
        self._open_questions.pop(event.id, None)
        call_id = event.approval.tool_call_id if event.approval is not None else ""
        if (tool := self._tools.get(call_id)) is not None:
            self._tools[call_id] = msgspec.structs.replace(tool, since=self._clock())

    def _note_request(self, event: Event) -> None:
        """Tracks whether a request waits, is retried, or continues."""
        if isinstance(event, ProviderWaiting):
            self._silence = None if event.state == "flowing" else event
        elif isinstance(event, AgentStart):
            self._characters = self._counted = 0
            self._retry = self._silence = None
        elif isinstance(event, ProviderRequestPrepared | MessageEnd):
            self._silence = None
        elif isinstance(event, AutoRetryStart):
            self._retry = event
        elif isinstance(event, McpServersChange):
            self._starting = ", ".join(one.name for one in event.servers if one.state == "starting")
        elif isinstance(event, DiagnosticsStart):
            self._checking = ", ".join(event.programs)

    def _note_tool(self, event: ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd) -> None:
        if event.parent_tool_call_id is not None:
            return
        if isinstance(event, ToolExecutionStart):
            told = self._call(event.tool_name, event.args)
            self._tools[event.tool_call_id] = _RunningTool(event.tool_name, told, self._clock())
        elif isinstance(event, ToolExecutionEnd):
            self._tools.pop(event.tool_call_id, None)
        self._enter("tools" if self._tools else "working")

    def rest(self) -> None:
        """Resets the status: nothing of the agent runs."""
        self._tools.clear()
        self._open_questions.clear()
        self._retry = self._silence = None
        self._enter("")

    def _enter(self, phase: ActivityPhase) -> None:
        if phase != self.phase:
            self.phase = phase
            self._since = self._clock()

    def _count(self, event: MessageUpdate) -> None:
        part = event.assistant_message_event
        phase: ActivityPhase | None = next(
            (phase for kind, phase in _ARRIVING_PHASES if isinstance(part, kind)), None
        )
        if phase is None:
            return
        if isinstance(part, TextDelta | ThinkingDelta | ToolCallDelta):
            self._characters += len(part.delta)
        self._counted = max(self._counted, event.usage.output)
        self._silence = None
        self._enter(phase)

    # -- text ----------------------------------------------------------------------------------------------

    def told(self) -> ActivityStatus:
        now = self._clock()
        if self._other:
            hints = self._stops() if self._is_other_stopped else ""
            return ActivityStatus(what=self._other, figures=_time(now - self._other_since), hints=hints)
        if self._open_questions:
            return ActivityStatus(
                what="Your answer is waited for",
                figures=_time(now - min(self._open_questions.values())),
                is_waiting_for_person=True,
                hints=self._stops(),
            )
        if not self.phase:
            return ActivityStatus()
        figures = _time(now - self._began())
        if (count := max(self._counted, self._characters // CHARACTERS_PER_TOKEN)) >= MIN_SHOWN_TOKENS:
            figures += (f"↓ {tokens(count)}",)
        return ActivityStatus(what=self._words(now), figures=figures, hints=self._stops())

    def _began(self) -> float:
        """Returns when the current activity began; a retry has no elapsed time, because its text
        counts down."""
        if self.phase == "retrying":
            return self._clock()
        return min((tool.since for tool in self._tools.values()), default=self._since)

    def _words(self, now: float) -> str:
        silence, retry = self._silence, self._retry
        if retry is not None and self.phase == "retrying":
            left = max(0.0, self._since + retry.delay_ms / 1000 - now)
            return f"Retrying {retry.attempt} of {retry.max_attempts} in {elapsed(round(left))}"
        if silence is not None:
            what = "No response yet" if silence.state == "waiting" else "No further response"
            end = f", gives up in {elapsed(silence.seconds)}" if silence.seconds else ""
            return f"{what} from {self._provider()}{end}"
        if self._tools:
            first = next(iter(self._tools.values()))
            more = f" and {len(self._tools) - 1} more" if len(self._tools) > 1 else ""
            if self._starting and first.name.startswith("mcp_"):
                return f"Starting the MCP server {self._starting}"
            return first.told + more
        return {
            "waiting": f"First word from {self._provider()}",
            "thinking": "Thinking",
            "writing": "Writing",
            "calling": "Writing a call",
            "compacting": "Compacting",
            "checking": f"Checking with {self._checking}",
        }.get(self.phase, "Working")

    def _stops(self) -> str:
        key = self._key_label("app.interrupt", "esc")
        return f"{key} stops" if key else ""


def _time(seconds: float) -> tuple[str, ...]:
    return (elapsed(seconds),) if seconds >= 1 else ()
