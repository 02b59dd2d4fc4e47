"""Records the permission verdicts of a session, including earlier runs: why calls ran, were asked about, or were
denied."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.event_bus import EventBus
from app.permits.permission_decisions import CallOutcome, CallPartDecision, ToolCallDecision
from app.permits.risk_classes import ToolCallPart, judgement_of_parts, risk_from_session_entry
from app.values.content import ToolCall
from app.values.entries import CustomEntry, Entry
from app.values.events import EntryAppended
from app.values.wire import convert

PERMISSION_VERDICT_ENTRY_TYPE = "bayou.permit"
MAX_VERDICT_TEXT_CHARS = 4_000
_MAX_PERMISSION_VERDICTS = 200


class PastPermissionVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One permission verdict of this session."""

    call_id: str
    tool: str
    decision: ToolCallDecision
    outcome: str
    decided_by: str


class PermissionVerdictLog:
    """Records the permission verdicts of one session."""

    def __init__(self, conversation: Conversation, event_bus: EventBus, mode: Callable[[], str]) -> None:
        self._conversation = conversation
        self._event_bus = event_bus
        self._get_mode = mode
        self.verdicts: deque[PastPermissionVerdict] = deque(maxlen=_MAX_PERMISSION_VERDICTS)
        """The permission verdicts of this run, oldest first."""

    def record_verdict(
        self, call: ToolCall, decision: ToolCallDecision, outcome: str, by: str, *, is_silent: bool = False
    ) -> None:
        """Records a permission verdict, unless the mode alone allowed the call, as for most calls."""
        self.verdicts.append(
            PastPermissionVerdict(
                call_id=call.id, tool=call.name, decision=decision, outcome=outcome, decided_by=by
            )
        )
        if is_silent or self._conversation.log.is_read_only:
            return
        entry = self._conversation.record_custom_entry(
            PERMISSION_VERDICT_ENTRY_TYPE,
            {
                "callId": call.id,
                "tool": call.name,
                "letter": decision.verdict.risk,
                "parts": [
                    {"text": part.text[:MAX_VERDICT_TEXT_CHARS], "letter": part.risk, "why": part.why}
                    for part in decision.verdict.parts
                ],
                "decision": outcome,
                "by": by,
                "mode": self._get_mode(),
            },
        )
        self._event_bus.publish_now(EntryAppended(entry=entry))

    def session_verdicts(self) -> tuple[PastPermissionVerdict, ...]:
        """Returns the gate's verdicts on the session's tool calls, those of earlier runs first."""
        known = {one.call_id for one in self.verdicts}
        earlier = [
            one
            for one in read_permission_verdicts(self._conversation.log.entries)
            if one.call_id not in known
        ]
        return (*earlier[-_MAX_PERMISSION_VERDICTS:], *self.verdicts)


def read_permission_verdicts(entries: Iterable[Entry]) -> list[PastPermissionVerdict]:
    """Returns the permission verdicts that the session records, oldest first; unreadable ones are skipped."""
    found: list[PastPermissionVerdict] = []
    for entry in entries:
        if isinstance(entry, CustomEntry) and entry.custom_type == PERMISSION_VERDICT_ENTRY_TYPE:
            past = _verdict_from_data(entry.data)
            if past is not None:
                found.append(past)
    return found


def _verdict_from_data(data: Any) -> PastPermissionVerdict | None:
    try:
        told = convert(data, _StoredVerdict)
    except msgspec.ValidationError:
        return None
    parts: list[ToolCallPart] = []
    for part in told.parts:
        risk = risk_from_session_entry(part.letter)
        if risk is None:
            return None
        parts.append(ToolCallPart(text=part.text, risk=risk, why=part.why))
    outcome: CallOutcome = "run" if told.decision == "run" else "refuse"
    verdict = judgement_of_parts(parts)
    answers = tuple(
        CallPartDecision(part=part, outcome=outcome, decided_by=told.by) for part in verdict.parts
    )
    return PastPermissionVerdict(
        call_id=told.call_id,
        tool=told.tool,
        decision=ToolCallDecision(outcome=outcome, verdict=verdict, part_decisions=answers),
        outcome=told.decision,
        decided_by=told.by,
    )


class _StoredPart(msgspec.Struct, frozen=True):
    text: str
    letter: str
    why: str


class _StoredVerdict(msgspec.Struct, frozen=True, rename="camel"):
    call_id: str
    decision: str
    by: str
    parts: tuple[_StoredPart, ...]
    tool: str = ""
