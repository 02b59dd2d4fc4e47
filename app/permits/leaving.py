"""A command that wants to run outside the sandbox: that is a question in every mode, whatever rules say. Pure."""

from typing import Final

from app.permits.decide import CallDecision, Mode, PartDecision
from app.permits.verdicts import CallPart, verdict_of

LEAVING: Final = "the sandbox, which it wants to leave"
_WRITE: Final = "sandbox.write: "
_MOST_REASON: Final = 300


def leaving(decision: CallDecision, command: str, reason: str, mode: Mode) -> CallDecision:
    """The decision about the same command with that wish; what is refused, or of the floor, stays so."""
    if decision.outcome == "refuse" or decision.is_floor:
        return decision
    part = CallPart(text=command, risk="contained", why=f"outside the sandbox: {reason[:_MOST_REASON]}")
    outcome = "refuse" if mode == "read-only" else "ask"
    answer = PartDecision(part=part, outcome=outcome, decided_by=LEAVING)
    return CallDecision(
        outcome=outcome,
        verdict=verdict_of([part, *decision.verdict.parts]),
        answers=(answer, *decision.answers),
    )


def is_leaving(decision: CallDecision) -> bool:
    return decision.answers[0].decided_by == LEAVING


def place_rule(place: str) -> str:
    """What is offered in its stead: that commands in the sandbox may write there."""
    return _WRITE + place


def place_of(rule: str) -> str | None:
    return rule.removeprefix(_WRITE) if rule.startswith(_WRITE) else None


def staying(decision: CallDecision) -> CallDecision:
    """The same without that wish."""
    parts = verdict_of(decision.verdict.parts[1:])
    return CallDecision(outcome="run", verdict=parts, answers=decision.answers[1:])
