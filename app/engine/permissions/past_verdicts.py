"""Verdicts of a session, those too that an earlier run of it wrote down: why something ran, was asked about or not."""

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from app.permits.decide import CallDecision, Outcome, PartDecision
from app.permits.verdicts import CallPart, risk_of, verdict_of
from app.values.entries import CustomEntry, Entry

ENTRY = "bayou.permit"


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict of this session."""

    call_id: str
    tool: str
    decision: CallDecision
    outcome: str
    by: str


def with_earlier(mine: Collection[Past], entries: Iterable[Entry], *, most: int) -> tuple[Past, ...]:
    """Those of this run, behind those that earlier ones wrote down."""
    known = {one.call_id for one in mine}
    earlier = [one for one in recorded(entries) if one.call_id not in known]
    return (*earlier[-most:], *mine)


def recorded(entries: Iterable[Entry]) -> list[Past]:
    """Those that stand in the record, the oldest first; what is not of that form is passed over."""
    found: list[Past] = []
    for entry in entries:
        if isinstance(entry, CustomEntry) and entry.custom_type == ENTRY:
            past = _past_of(entry.data)
            if past is not None:
                found.append(past)
    return found


def _past_of(data: Any) -> Past | None:
    try:
        told = msgspec.convert(data, _Told)
    except msgspec.ValidationError:
        return None
    parts: list[CallPart] = []
    for part in told.parts:
        risk = risk_of(part.letter)
        if risk is None:
            return None
        parts.append(CallPart(text=part.text, risk=risk, why=part.why))
    outcome: Outcome = "run" if told.decision == "run" else "refuse"
    verdict = verdict_of(parts)
    answers = tuple(PartDecision(part=part, outcome=outcome, decided_by=told.by) for part in verdict.parts)
    return Past(
        call_id=told.call_id,
        tool=told.tool,
        decision=CallDecision(outcome=outcome, verdict=verdict, answers=answers),
        outcome=told.decision,
        by=told.by,
    )


class _ToldPart(msgspec.Struct, frozen=True):
    text: str
    letter: str
    why: str


class _Told(msgspec.Struct, frozen=True, rename="camel"):
    call_id: str
    decision: str
    by: str
    parts: tuple[_ToldPart, ...]
    tool: str = ""
