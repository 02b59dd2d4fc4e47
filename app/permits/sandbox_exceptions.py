"""Decides about exceptions from the sandbox: one place or host, or running outside the sandbox, and what network
programs get: credentials, connections without the proxy. Describes what rules allow, these and others. Pure.

Exceptions are asked about in every mode, even if a `bash:` rule allows the command.
"""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import msgspec

from app.permits.command_place import CommandPlace
from app.permits.permission_decisions import (
    CallOutcome,
    CallPartDecision,
    PermissionMode,
    PermissionPolicy,
    ToolCallDecision,
    decide_tool_call,
)
from app.permits.risk_classes import ToolCallPart, judgement_of_parts
from tools.box.host_groups import HOST_GROUPS, host_group_containing
from tools.box.sandbox_permission_requests import SandboxPermissionRequest
from tools.protected.credential_tables import CREDENTIAL_FILE_NAMES, CREDENTIAL_PLACES

DECIDED_BY_LEAVE_REQUEST: Final = "the request to leave the sandbox"
DECIDED_BY_SANDBOX_REQUEST: Final = "the sandbox, which refused it"
_SANDBOX_WRITE_RULE_PREFIX: Final = "sandbox.write: "
_SANDBOX_READ_RULE_PREFIX: Final = "sandbox.read: "
_MAX_SANDBOX_REASON_CHARS: Final = 300
_ANY: Final = "**"
_VERB_BY_FILE_TOOL: Final = {"edit": "changing", "write": "changing", "read": "reading"}


def with_leave_sandbox_request(
    decision: ToolCallDecision, command: str, reason: str, mode: PermissionMode
) -> ToolCallDecision:
    """Adds the request to run outside the sandbox to a decision; refused and dangerous commands stay as decided."""
    if decision.outcome == "refuse" or decision.needs_typed_word:
        return decision
    part = ToolCallPart(
        text=command, risk="contained", why=f"outside the sandbox: {reason[:_MAX_SANDBOX_REASON_CHARS]}"
    )
    outcome = "refuse" if mode == "read-only" else "ask"
    answer = CallPartDecision(part=part, outcome=outcome, decided_by=DECIDED_BY_LEAVE_REQUEST)
    return ToolCallDecision(
        outcome=outcome,
        verdict=judgement_of_parts([part, *decision.verdict.parts]),
        part_decisions=(answer, *decision.part_decisions),
    )


class CheckedSandboxRequest(msgspec.Struct, frozen=True):
    """A requested exception from the sandbox after it was checked."""

    request: SandboxPermissionRequest
    danger_reason: str = ""
    """The reason why the user must type a word to allow the exception; empty if a yes is enough."""
    problem: str = ""
    """The reason why the exception cannot be allowed at all; empty if it can."""


def with_sandbox_requests(
    decision: ToolCallDecision,
    asked: Sequence[CheckedSandboxRequest],
    reason: str,
    policy: PermissionPolicy,
    place: CommandPlace,
) -> ToolCallDecision:
    """Adds requested exceptions to a decision; refused and dangerous commands stay as decided."""
    if decision.outcome == "refuse" or decision.needs_typed_word or not asked:
        return decision
    answers = [
        *(_decide_sandbox_request(one, reason[:_MAX_SANDBOX_REASON_CHARS], policy, place) for one in asked),
        *decision.part_decisions,
    ]
    outcomes = [one.outcome for one in answers]
    outcome: CallOutcome = "refuse" if "refuse" in outcomes else "ask" if "ask" in outcomes else "run"
    return ToolCallDecision(
        outcome=outcome,
        verdict=judgement_of_parts([one.part for one in answers]),
        part_decisions=tuple(answers),
        sandbox_requests=tuple(one.request for one in asked),
    )


def _decide_sandbox_request(
    one: CheckedSandboxRequest, reason: str, policy: PermissionPolicy, place: CommandPlace
) -> CallPartDecision:
    request = one.request
    if request.verb == "reach":
        part = ToolCallPart(
            text=request.words, risk="contained", why=reason, named_hosts=(request.place,), uses_network=True
        )
        by_rule = decide_tool_call(judgement_of_parts([part]), "network", policy, place).part_decisions[0]
        return (
            msgspec.structs.replace(by_rule, decided_by=DECIDED_BY_SANDBOX_REQUEST)
            if by_rule.outcome == "ask"
            else by_rule
        )
    why = one.problem or (f"{one.danger_reason}; {reason}" if one.danger_reason else reason)
    part = ToolCallPart(text=request.words, risk="forbidden" if one.danger_reason else "contained", why=why)
    is_refused = one.problem or policy.mode == "read-only"
    return CallPartDecision(
        part=part,
        outcome="refuse" if is_refused else "ask",
        decided_by=DECIDED_BY_SANDBOX_REQUEST,
        needs_typed_word=bool(one.danger_reason),
    )


def asks_for_sandbox_exception(decision: ToolCallDecision) -> bool:
    """Returns whether the decision asks for an exception from the sandbox."""
    return any(
        one.decided_by == DECIDED_BY_SANDBOX_REQUEST and one.outcome == "ask"
        for one in decision.part_decisions
    )


def suggested_exception_rules(decision: ToolCallDecision) -> tuple[str, ...]:
    """Returns rules that would answer the requested exception in future."""
    asked = [one for one in decision.part_decisions if one.outcome == "ask"]
    if len(asked) != 1 or asked[0].needs_typed_word:
        return ()
    request = next((one for one in decision.sandbox_requests if one.words == asked[0].part.text), None)
    if request is not None and request.verb in ("write", "read"):
        return (
            (_SANDBOX_WRITE_RULE_PREFIX if request.verb == "write" else _SANDBOX_READ_RULE_PREFIX)
            + request.place,
        )
    if request is not None and request.verb == "reach":
        group = host_group_containing(request.place.rpartition(":")[0])
        return (f"net: {request.place}", *((f"net: {group}",) if group else ()))
    return ()


def asks_to_leave_sandbox(decision: ToolCallDecision) -> bool:
    """Returns whether the decision asks to run outside the sandbox."""
    return decision.part_decisions[0].decided_by == DECIDED_BY_LEAVE_REQUEST


def sandbox_write_rule_for_path(place: str) -> str:
    """Returns the rule that lets commands in the sandbox write to a place."""
    return _SANDBOX_WRITE_RULE_PREFIX + place


class RuleDescription(NamedTuple):
    """What an allow rule allows, in plain words."""

    words: str
    """The words after "Always"."""
    is_about_sandbox: bool = False
    hosts: tuple[str, ...] = ()
    """The hosts of its group."""


def describe_rule(rule: str) -> RuleDescription:
    """Describes an allow rule in a sentence without the wildcards of its form; a rule of an unknown form is quoted."""
    place = path_of_sandbox_rule(rule)
    if place is not None:
        return RuleDescription(f"allow writing {place}", True)
    if rule.startswith(_SANDBOX_READ_RULE_PREFIX):
        return RuleDescription(f"allow reading {rule.removeprefix(_SANDBOX_READ_RULE_PREFIX)}", True)
    tool, _, pattern = rule.partition(": ")
    if tool != "net":
        return RuleDescription(_sentence_of_rule(tool, pattern) or f"allow {rule}")
    if hosts := HOST_GROUPS.get(pattern, ()):
        return RuleDescription(f"allow {pattern}", True, hosts)
    if pattern.startswith("*."):
        return RuleDescription(f"allow reaching any host of {pattern.removeprefix('*.')}", True)
    return RuleDescription(f"allow reaching {pattern}", True)


def _sentence_of_rule(tool: str, pattern: str) -> str:
    """Returns what a rule for commands, tools or files allows; empty for other rules."""
    stem = pattern.rstrip("*")
    if tool == "bash":
        has_any = pattern.endswith(f" {_ANY}")
        return f"allow `{stem.strip()}` with any arguments" if has_any else f"allow exactly `{pattern}`"
    if tool == "tool":
        return f"allow every tool that begins with {stem}" if stem != pattern else f"allow the tool {pattern}"
    if verb := _VERB_BY_FILE_TOOL.get(tool):
        if pattern == _ANY:
            return f"allow {verb} any file of this project"
        return f"allow {verb} {f'any file in {stem}' if pattern.endswith(f'/{_ANY}') else pattern}"
    return ""


def path_of_sandbox_rule(rule: str) -> str | None:
    return (
        rule.removeprefix(_SANDBOX_WRITE_RULE_PREFIX) if rule.startswith(_SANDBOX_WRITE_RULE_PREFIX) else None
    )


def without_leave_sandbox_request(decision: ToolCallDecision) -> ToolCallDecision:
    """Returns the decision without the request to leave the sandbox."""
    parts = judgement_of_parts(decision.verdict.parts[1:])
    return ToolCallDecision(outcome="run", verdict=parts, part_decisions=decision.part_decisions[1:])


CONTAINER_DAEMON_PROGRAMS: Final = frozenset({"docker", "podman"})
"""Programs whose work is done by a daemon outside the sandbox."""


def credential_files_of(programs: Collection[str]) -> frozenset[str]:
    """Returns the credential files in the home folder that these programs need."""
    wanted = frozenset(programs)
    return frozenset(
        one.name
        for one in (*CREDENTIAL_PLACES, *CREDENTIAL_FILE_NAMES)
        if not wanted.isdisjoint(one.programs)
    )
