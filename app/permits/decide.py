"""From a verdict, the mode and the rules to what happens: it runs, somebody is asked, or it is refused."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from app.permits.place import CommandPlace
from app.permits.rules import PermitRule, matches, parse
from app.permits.verdicts import CallPart, Judgement, Risk
from tools.box.requests import BoxRequest

Mode = Literal["read-only", "ask", "auto-edit", "full"]
Outcome = Literal["run", "ask", "refuse"]

MODES: tuple[Mode, ...] = ("read-only", "ask", "auto-edit", "full")
_OUTCOMES: dict[Mode, dict[Risk, Outcome]] = {
    "read-only": {"safe": "run", "contained": "refuse", "forbidden": "refuse"},
    "ask": {"safe": "run", "contained": "ask", "forbidden": "ask"},
    "auto-edit": {"safe": "run", "contained": "run", "forbidden": "ask"},
    "full": {"safe": "run", "contained": "run", "forbidden": "ask"},
}
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_SEVERITY: dict[Outcome, int] = {"run": 0, "ask": 1, "refuse": 2}
_PLAN_MODE = "plan mode"


class PermissionPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What counts at this moment."""

    mode: Mode
    is_planning: bool = False
    """The mode is read-only because a plan is being made."""
    rules: Sequence[PermitRule] = ()
    has_box: bool = False
    """Commands can run where they reach nothing but the workspace."""
    has_private_network: bool = False
    """In the box there is nothing of this machine's network but what the session started."""
    exceptions: Sequence[str] = ()
    """Exact commands that the person has taken out of the floor."""


class PartDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What is to happen with one part."""

    part: CallPart
    outcome: Outcome
    decided_by: str
    needs_typed_word: bool = False
    """Only a typed word lets it run."""


class CallDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What is to happen with a call."""

    outcome: Outcome
    verdict: Judgement
    answers: tuple[PartDecision, ...]
    requests: tuple[BoxRequest, ...] = ()
    """What its box is to let it do beyond what is usual."""

    @property
    def decisive(self) -> PartDecision:
        """The first answer that made the outcome; of several that are asked about, one of the strictest class."""
        mine = [answer for answer in self.answers if answer.outcome == self.outcome]
        floor = [answer for answer in mine if answer.needs_typed_word]
        risk = self.verdict.risk
        return next(iter(floor), next((one for one in mine if one.part.risk == risk), mine[0]))

    @property
    def decided_by(self) -> str:
        return self.decisive.decided_by

    @property
    def needs_typed_word(self) -> bool:
        return self.outcome == "ask" and any(
            one.needs_typed_word for one in self.answers if one.outcome == "ask"
        )


def decide(verdict: Judgement, tool: str, policy: PermissionPolicy, place: CommandPlace) -> CallDecision:
    answers = tuple(_answer(part, tool, policy, place) for part in verdict.parts)
    outcome: Outcome = "run"
    for answer in answers:
        if _SEVERITY[answer.outcome] > _SEVERITY[outcome]:
            outcome = answer.outcome
    return CallDecision(outcome=outcome, verdict=verdict, answers=answers)


def _answer(part: CallPart, tool: str, policy: PermissionPolicy, place: CommandPlace) -> PartDecision:
    def said(rule: PermitRule, outcome: Outcome) -> PartDecision:
        return PartDecision(
            part=part, outcome=outcome, decided_by=rule.told, needs_typed_word=part.risk == "forbidden"
        )

    fitting = [rule for rule in policy.rules if matches(rule, part, tool, place)]
    denied = next((rule for rule in fitting if rule.deed == "deny"), None)
    if denied is not None:
        return said(denied, "refuse")
    if part.risk == "forbidden" and policy.mode != "read-only":
        if part.text in policy.exceptions:
            return PartDecision(part=part, outcome="run", decided_by="floorExceptions")
        return PartDecision(part=part, outcome="ask", decided_by="the floor", needs_typed_word=True)
    by_mode, reason = _by_mode(part, policy)
    asked = next((rule for rule in fitting if rule.deed == "ask"), None)
    if asked is not None and by_mode != "refuse":
        return said(asked, "ask")
    allowed = next((rule for rule in fitting if rule.deed == "allow"), None)
    if allowed is not None and part.can_be_allowed and by_mode != "refuse":
        return said(allowed, "run")
    return PartDecision(part=part, outcome=by_mode, decided_by=reason)


def _by_mode(part: CallPart, policy: PermissionPolicy) -> tuple[Outcome, str]:
    outcome = _OUTCOMES[policy.mode][part.risk]
    if policy.mode == "auto-edit" and part.risk == "contained" and part.needs_sandbox:
        if part.network:
            hosts = [host.rpartition(":")[0].strip("[]") for host in part.hosts]
            if hosts and LOCAL_HOSTS.issuperset(hosts) and policy.has_private_network:
                return "run", "mode auto-edit, in the sandbox's own network"
            return "ask", "mode auto-edit"
        if not policy.has_box:
            return "ask", "mode auto-edit without a sandbox"
    return outcome, _PLAN_MODE if policy.is_planning and policy.mode == "read-only" else f"mode {policy.mode}"


def is_decided_by_mode(decided_by: str) -> bool:
    """Neither a rule nor the floor nor a person has said it."""
    return decided_by.startswith(("mode ", _PLAN_MODE))


def count_allowed_by(text: str, asked: Sequence[tuple[str, CallPart]], place: CommandPlace) -> int:
    """How many of these parts, each with its tool, a rule would have let run."""
    rule = parse(text, "allow", "session")
    if not isinstance(rule, PermitRule):
        return 0
    return sum(1 for tool, part in asked if part.can_be_allowed and matches(rule, part, tool, place))


def confirmation_word(part: CallPart) -> str:
    """What has to be typed: the last name that the part speaks of, else what it runs."""
    words = [word for word in (part.words or tuple(part.text.split())) if word.strip("-./~*'\"$(){}|;&<>")]
    named = [word for word in words[1:] if not word.startswith("-")]
    word = (named or words or ["yes"])[-1].rstrip("/").rpartition("/")[2].strip("'\"$(){}|;&<>*")
    return word[:40] or "yes"
