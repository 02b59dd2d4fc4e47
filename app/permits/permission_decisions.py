"""Turns a verdict, the mode and the rules into an outcome: run, ask or refuse."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from app.permits.command_place import CommandPlace
from app.permits.permit_rules import (
    PermitRule,
    RuleKind,
    bypasses_sandbox_proxy,
    parse_permit_rule,
    permit_rule_matches,
)
from app.permits.risk_classes import Risk, ToolCallJudgement, ToolCallPart
from tools.box.sandbox_permission_requests import SandboxPermissionRequest

PermissionMode = Literal["read-only", "ask", "auto-edit", "full"]
CallOutcome = Literal["run", "ask", "refuse"]

PERMISSION_MODES: tuple[PermissionMode, ...] = ("read-only", "ask", "auto-edit", "full")
PERMISSION_MODE_DESCRIPTIONS: dict[PermissionMode, str] = {
    "read-only": "runs safe commands; refuses everything else",
    "ask": "runs safe commands; asks about everything else",
    "auto-edit": "runs commands in the sandbox; asks about network commands",
    "full": "runs everything except dangerous commands",
}
_OUTCOME_BY_MODE_AND_RISK: dict[PermissionMode, dict[Risk, CallOutcome]] = {
    "read-only": {"safe": "run", "contained": "refuse", "forbidden": "refuse"},
    "ask": {"safe": "run", "contained": "ask", "forbidden": "ask"},
    "auto-edit": {"safe": "run", "contained": "run", "forbidden": "ask"},
    "full": {"safe": "run", "contained": "run", "forbidden": "ask"},
}
_WORDS_THAT_MEAN_REFUSAL = frozenset({"deny", "no", "cancel", "stop", "never"})
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_CALL_OUTCOME_SEVERITY: dict[CallOutcome, int] = {"run": 0, "ask": 1, "refuse": 2}
_DECIDED_BY_PLAN_MODE = "plan mode"
_DECIDED_BY_SHARED_NETWORK = "the other commands of its call, which would share its network and rights"


class PermissionPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The permission settings that apply to a call."""

    mode: PermissionMode
    is_planning: bool = False
    """Whether the mode is read-only because plan mode is on."""
    rules: Sequence[PermitRule] = ()
    has_sandbox: bool = False
    """Whether commands can run in a sandbox that limits them to the workspace."""
    has_private_network: bool = False
    """Whether the sandbox has its own network, in which only servers of this session can be reached."""
    sandbox_exceptions: Sequence[str] = ()
    """The exact dangerous commands that the user's settings allow without confirmation."""


class CallPartDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome for one part of a tool call."""

    part: ToolCallPart
    outcome: CallOutcome
    decided_by: str
    needs_typed_word: bool = False
    """Whether the user must type a word to allow the part, because it is a dangerous command."""
    deciding_rule_kind: RuleKind | None = None
    """The kind of the rule that decided the part; None if no rule did."""


class ToolCallDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome for a whole tool call."""

    outcome: CallOutcome
    verdict: ToolCallJudgement
    part_decisions: tuple[CallPartDecision, ...]
    sandbox_requests: tuple[SandboxPermissionRequest, ...] = ()
    """The exceptions from the sandbox that the call requests."""
    shows_credentials: bool = True
    """Whether the call's programs may see their credentials in the sandbox."""

    @property
    def decisive_part(self) -> CallPartDecision:
        """The decision on the part that explains the outcome: a dangerous part first, then one of the highest risk."""
        mine = [answer for answer in self.part_decisions if answer.outcome == self.outcome]
        floor = [answer for answer in mine if answer.needs_typed_word]
        risk = self.verdict.risk
        return next(iter(floor), next((one for one in mine if one.part.risk == risk), mine[0]))

    @property
    def decided_by(self) -> str:
        return self.decisive_part.decided_by

    @property
    def needs_typed_word(self) -> bool:
        return self.outcome == "ask" and any(
            one.needs_typed_word for one in self.part_decisions if one.outcome == "ask"
        )


def decide_tool_call(
    verdict: ToolCallJudgement, tool: str, policy: PermissionPolicy, place: CommandPlace
) -> ToolCallDecision:
    """Decides each part of a call; the strictest outcome counts for the call."""
    answers = _with_shared_network_question(
        tuple(_decide_part(part, tool, policy, place) for part in verdict.parts), policy
    )
    outcome: CallOutcome = "run"
    for answer in answers:
        if _CALL_OUTCOME_SEVERITY[answer.outcome] > _CALL_OUTCOME_SEVERITY[outcome]:
            outcome = answer.outcome
    return ToolCallDecision(outcome=outcome, verdict=verdict, part_decisions=answers)


def _with_shared_network_question(
    answers: tuple[CallPartDecision, ...], policy: PermissionPolicy
) -> tuple[CallPartDecision, ...]:
    """Changes parts that a rule lets leave the sandbox or its network to questions, if the call has other parts,
    because all commands of a call run in one sandbox."""
    if policy.mode == "full" or not policy.has_sandbox:
        return answers
    leaving = [one for one in answers if _rule_lets_part_leave_sandbox(one, policy)]
    if not leaving or all(one in leaving or _gains_nothing_from_network(one) for one in answers):
        return answers
    return tuple(
        msgspec.structs.replace(
            one,
            outcome="ask",
            decided_by=_DECIDED_BY_SHARED_NETWORK,
            needs_typed_word=one.part.risk == "forbidden",
        )
        if one in leaving
        else one
        for one in answers
    )


def _rule_lets_part_leave_sandbox(answer: CallPartDecision, policy: PermissionPolicy) -> bool:
    """Returns whether the part runs with the machine's network or outside the sandbox because a rule, and not the
    mode, allows it."""
    if answer.outcome != "run" or is_decided_by_mode(answer.decided_by):
        return False
    if answer.part.risk == "forbidden":
        return True
    return answer.part.uses_network and not (
        policy.has_private_network and not bypasses_sandbox_proxy(answer.part)
    )


def _gains_nothing_from_network(answer: CallPartDecision) -> bool:
    """Returns whether the part does not need the machine's network: it is asked about, it only reads, or a rule
    allows either the only hosts that it reaches or every call of its tool."""
    if answer.outcome != "run" or answer.part.risk == "safe":
        return True
    return answer.deciding_rule_kind == "tool" or (
        answer.part.is_plain_network_request and answer.deciding_rule_kind is not None
    )


def shows_credentials_without_question(decision: ToolCallDecision, unboxed: ToolCallJudgement) -> bool:
    """Returns whether all commands of a call may see the credentials of its programs without a question: each uses
    the network as a rule allows, or only reads files of the workspace. `unboxed` is the verdict as without a
    sandbox, because the sandbox would hide the credentials from commands that read."""
    allowed = {
        one.part.text
        for one in decision.part_decisions
        if one.part.uses_network
        and one.deciding_rule_kind is not None
        and (one.deciding_rule_kind != "net" or one.part.is_plain_network_request)
    }
    return all(part.risk == "safe" or part.text in allowed for part in unboxed.parts)


def _is_allowed_by_rule(rule: PermitRule, part: ToolCallPart, policy: PermissionPolicy) -> bool:
    """Returns whether an allow rule that matches a part decides it. A `net:` rule is only about hosts: the command
    must reach no others and do nothing else, or the sandbox must limit it to them."""
    if (
        not part.can_be_allowed
        or rule.kind != "net"
        or part.kind != "command"
        or part.is_plain_network_request
    ):
        return part.can_be_allowed
    is_sandboxed = policy.mode == "auto-edit" and policy.has_sandbox and policy.has_private_network
    return is_sandboxed and not bypasses_sandbox_proxy(part)


def _decide_part(
    part: ToolCallPart, tool: str, policy: PermissionPolicy, place: CommandPlace
) -> CallPartDecision:
    def said(rule: PermitRule, outcome: CallOutcome) -> CallPartDecision:
        return CallPartDecision(
            part=part,
            outcome=outcome,
            decided_by=rule.describe,
            needs_typed_word=part.risk == "forbidden",
            deciding_rule_kind=rule.kind,
        )

    fitting = [rule for rule in policy.rules if permit_rule_matches(rule, part, tool, place)]
    denied = next((rule for rule in fitting if rule.action == "deny"), None)
    if denied is not None:
        return said(denied, "refuse")
    if part.risk == "forbidden" and policy.mode != "read-only":
        if part.text in policy.sandbox_exceptions:
            return CallPartDecision(part=part, outcome="run", decided_by="floorExceptions")
        return CallPartDecision(
            part=part, outcome="ask", decided_by="the built-in safety rule", needs_typed_word=True
        )
    by_mode, reason = _decide_by_mode(part, policy)
    asked = next((rule for rule in fitting if rule.action == "ask"), None)
    if asked is not None and by_mode != "refuse":
        return said(asked, "ask")
    allowed = next(
        (rule for rule in fitting if rule.action == "allow" and _is_allowed_by_rule(rule, part, policy)), None
    )
    if allowed is not None and by_mode != "refuse":
        return said(allowed, "run")
    return CallPartDecision(part=part, outcome=by_mode, decided_by=reason)


def _decide_by_mode(part: ToolCallPart, policy: PermissionPolicy) -> tuple[CallOutcome, str]:
    outcome = _OUTCOME_BY_MODE_AND_RISK[policy.mode][part.risk]
    if policy.mode == "auto-edit" and part.risk == "contained" and part.needs_sandbox:
        if part.kind == "tool":  # it runs in bayou or its server, outside the sandbox
            return "ask", "mode auto-edit"
        if part.uses_network:
            hosts = [host.rpartition(":")[0].strip("[]") for host in part.named_hosts]
            # A tool connects to its host from outside the sandbox.
            is_inside = part.kind != "host" and policy.has_private_network
            if hosts and LOCAL_HOSTS.issuperset(hosts) and is_inside:
                return "run", "mode auto-edit, in the sandbox's own network"
            return "ask", "mode auto-edit"
        if not policy.has_sandbox:
            return "ask", "mode auto-edit without a sandbox"
    return (
        outcome,
        _DECIDED_BY_PLAN_MODE if policy.is_planning and policy.mode == "read-only" else f"mode {policy.mode}",
    )


def is_decided_by_mode(decided_by: str) -> bool:
    """Returns whether the mode decided, and not a rule, a safety rule or the user."""
    return decided_by.startswith(("mode ", _DECIDED_BY_PLAN_MODE))


def count_questions_answered_by_rule(
    text: str, asked: Sequence[tuple[str, ToolCallPart]], place: CommandPlace
) -> int:
    """Counts how many earlier questions (tool and part) an allow rule would have answered."""
    rule = parse_permit_rule(text, "allow", "session")
    if not isinstance(rule, PermitRule):
        return 0
    return sum(
        1 for tool, part in asked if part.can_be_allowed and permit_rule_matches(rule, part, tool, place)
    )


def confirmation_word(part: ToolCallPart) -> str:
    """Returns the word that the user must type to allow a dangerous command: its last argument, or else the
    program; never a word that means refusal."""
    words = [
        word for word in (part.command_words or tuple(part.text.split())) if word.strip("-./~*'\"$(){}|;&<>")
    ]
    named = [word for word in words[1:] if not word.startswith("-")]
    found = (
        word.rstrip("/").rpartition("/")[2].strip("'\"$(){}|;&<>*")[:40]
        for word in (*reversed(named), *words[:1])
    )
    return next((word for word in found if word and word.casefold() not in _WORDS_THAT_MEAN_REFUSAL), "yes")
