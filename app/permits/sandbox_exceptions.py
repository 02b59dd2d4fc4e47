"""Decisions about exceptions from the sandbox: one place or host, or running outside the sandbox, and
what network programs get: credentials, a way without the proxy. Pure.

Exceptions are asked about in every mode, even if a `bash:` rule allows the command."""

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from app.permits.command_place import CommandPlace
from app.permits.permission_decisions import (
    CallDecision,
    CallOutcome,
    PartDecision,
    PermissionMode,
    PermissionPolicy,
    decide_call,
)
from app.permits.verdicts import CallPart, verdict_of
from tools.box.host_groups import HOST_GROUPS, group_of_host
from tools.box.requests import BoxRequest
from tools.protected.keys import KEY_NAMES, KEY_PLACES

LEAVING_SANDBOX: Final = "the request to leave the sandbox"
SANDBOX_REQUEST: Final = "the sandbox, which refused it"
_WRITE: Final = "sandbox.write: "
_READ: Final = "sandbox.read: "
_MAX_REASON: Final = 300


def with_leave_request(
    decision: CallDecision, command: str, reason: str, mode: PermissionMode
) -> CallDecision:
    """Adds the request to run outside the sandbox; refused and dangerous commands stay as decided."""
    if decision.outcome == "refuse" or decision.needs_typed_word:
        return decision
    part = CallPart(text=command, risk="contained", why=f"outside the sandbox: {reason[:_MAX_REASON]}")
    outcome = "refuse" if mode == "read-only" else "ask"
    answer = PartDecision(part=part, outcome=outcome, decided_by=LEAVING_SANDBOX)
    return CallDecision(
        outcome=outcome,
        verdict=verdict_of([part, *decision.verdict.parts]),
        answers=(answer, *decision.answers),
    )


class CheckedRequest(msgspec.Struct, frozen=True):
    """One requested exception after it was checked."""

    request: BoxRequest
    danger: str = ""
    """Why the person must type a word to allow it; empty if a yes is enough."""
    problem: str = ""
    """Why it cannot be allowed at all."""


def with_sandbox_requests(
    decision: CallDecision,
    asked: Sequence[CheckedRequest],
    reason: str,
    policy: PermissionPolicy,
    place: CommandPlace,
) -> CallDecision:
    """Adds requested exceptions to a decision; refused and dangerous commands stay as decided."""
    if decision.outcome == "refuse" or decision.needs_typed_word or not asked:
        return decision
    answers = [*(_answer(one, reason[:_MAX_REASON], policy, place) for one in asked), *decision.answers]
    outcomes = [one.outcome for one in answers]
    outcome: CallOutcome = "refuse" if "refuse" in outcomes else "ask" if "ask" in outcomes else "run"
    return CallDecision(
        outcome=outcome,
        verdict=verdict_of([one.part for one in answers]),
        answers=tuple(answers),
        requests=tuple(one.request for one in asked),
    )


def _answer(one: CheckedRequest, reason: str, policy: PermissionPolicy, place: CommandPlace) -> PartDecision:
    request = one.request
    if request.verb == "reach":
        part = CallPart(
            text=request.words, risk="contained", why=reason, hosts=(request.place,), network=True
        )
        by_rule = decide_call(verdict_of([part]), "network", policy, place).answers[0]
        return (
            msgspec.structs.replace(by_rule, decided_by=SANDBOX_REQUEST)
            if by_rule.outcome == "ask"
            else by_rule
        )
    why = one.problem or (f"{one.danger}; {reason}" if one.danger else reason)
    part = CallPart(text=request.words, risk="forbidden" if one.danger else "contained", why=why)
    is_refused = one.problem or policy.mode == "read-only"
    return PartDecision(
        part=part,
        outcome="refuse" if is_refused else "ask",
        decided_by=SANDBOX_REQUEST,
        needs_typed_word=bool(one.danger),
    )


def is_request(decision: CallDecision) -> bool:
    """Whether the decision asks for an exception from the sandbox."""
    return any(one.decided_by == SANDBOX_REQUEST and one.outcome == "ask" for one in decision.answers)


def rules_for(decision: CallDecision) -> tuple[str, ...]:
    """Rules that would answer the requested exception in future."""
    asked = [one for one in decision.answers if one.outcome == "ask"]
    if len(asked) != 1 or asked[0].needs_typed_word:
        return ()
    request = next((one for one in decision.requests if one.words == asked[0].part.text), None)
    if request is not None and request.verb in ("write", "read"):
        return ((_WRITE if request.verb == "write" else _READ) + request.place,)
    if request is not None and request.verb == "reach":
        group = group_of_host(request.place.rpartition(":")[0])
        return (f"net: {request.place}", *((f"net: {group}",) if group else ()))
    return ()


def asks_to_leave_sandbox(decision: CallDecision) -> bool:
    """Whether the decision asks to run outside the sandbox."""
    return decision.answers[0].decided_by == LEAVING_SANDBOX


def place_rule(place: str) -> str:
    """The rule that lets commands in the sandbox write to a place."""
    return _WRITE + place


def rule_words(rule: str) -> tuple[str, tuple[str, ...]]:
    """Describes what a rule lets the sandbox do, and lists the hosts of its group; empty for other rules."""
    place = place_of(rule)
    if place is not None:
        return f"allow writing {place}", ()
    if rule.startswith(_READ):
        return f"allow reading {rule.removeprefix(_READ)}", ()
    host = rule.removeprefix("net: ")
    if host == rule:
        return "", ()
    hosts = HOST_GROUPS.get(host, ())
    return f"allow {host}" if hosts else f"allow reaching {host}", hosts


def place_of(rule: str) -> str | None:
    return rule.removeprefix(_WRITE) if rule.startswith(_WRITE) else None


def without_leave_request(decision: CallDecision) -> CallDecision:
    """The decision without the request to leave the sandbox."""
    parts = verdict_of(decision.verdict.parts[1:])
    return CallDecision(outcome="run", verdict=parts, answers=decision.answers[1:])


DAEMONS: Final = frozenset({"docker", "podman"})
"""Programs whose work is done by a daemon outside the sandbox."""


def credential_places_of(programs: Collection[str]) -> frozenset[str]:
    """Credential files in the home folder that these programs need."""
    wanted = frozenset(programs)
    return frozenset(one.name for one in (*KEY_PLACES, *KEY_NAMES) if not wanted.isdisjoint(one.programs))
