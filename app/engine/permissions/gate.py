"""The gate: whether a call of a tool may run. It goes by mode and rules, asks, and writes down what came of it.

`gate_verdict` gathers what a call would do.
Whoever can answer (a person at the full screen, a program over RPC) answers the future of a `QuestionAsked`.
"""

import asyncio
import os
from collections import deque
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from app.agent.hooks import Verdict
from app.agent.tool_pipeline import CallReading, ReadCall
from app.engine.core.conversation import Conversation
from app.engine.core.event_bus import Telling
from app.engine.core.options import SessionOptions
from app.engine.core.plan_entries import is_planned
from app.engine.core.questions import ApprovalReply
from app.engine.core.toolbox import Toolbox
from app.engine.permissions.approved_definitions import KnownDefinitions
from app.engine.permissions.gate_question import Answering, RuleChanges
from app.engine.permissions.gate_verdict import Judged, Judging
from app.engine.permissions.past_verdicts import ENTRY, Past, with_earlier
from app.engine.permissions.permission_context import GateStanding, mode_of, rules_in
from app.engine.permissions.sandbox_exceptions import allow_place, allowed_places, keep_rule, place_rules
from app.engine.permissions.unheld_files import Unheld, asked_about_unheld
from app.engine.sandbox.command_context import Whereabouts
from app.engine.sandbox.network_hosts import Hosts
from app.engine.sandbox.sandboxes import Boxes
from app.permits.decide import MODES, CallDecision, Mode, Policy, decide, floor_word, would_answer
from app.permits.kept_back import kept_back
from app.permits.place import CommandPlace
from app.permits.rules import Deed, PermitRule, PermitRules, RuleProblem, offered, parse
from app.permits.sandbox_exceptions import is_leaving, is_request, rules_for, staying
from app.permits.verdicts import CallPart
from app.values.approvals import Approval, JudgedPart, OfferedRule
from app.values.content import ToolCall
from app.values.events import EntryAppended
from app.values.unable import Unable
from tools.base import ToolError
from tools.effects import Effects, Program
from tools.running.shell import SpawnHook, SpawnPlan
from tools.running.user_shell.shell_snapshot import own_snapshot

_WITHOUT_REASON = (
    "allow and outside: true need a reason, which the user is shown: why the command needs more than the sandbox lets "
    "it do."
)
_KEPT = 200
_MOST_TEXT = 4_000


class GateState(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to know of a session's gate."""

    mode: Mode
    has_box: bool
    rules: PermitRules
    past: tuple[Past, ...]
    """The verdicts of this session, as far as they are remembered, the oldest first."""


class Permits:
    """One session's gate."""

    def __init__(
        self,
        standing: GateStanding,
        *,
        options: SessionOptions,
        toolbox: Toolbox,
        conversation: Conversation,
        telling: Telling,
        unheld: Unheld,
    ) -> None:
        """`unheld`: which files undo could not put back."""
        self._standing = standing
        self._unheld = unheld
        self._options = options
        self._toolbox = toolbox
        self._workspace = workspace = toolbox.workspace
        self._conversation = conversation
        self._telling = telling
        self._whereabouts = Whereabouts(standing.home, standing.agent_dir, standing.sessions_dir)
        self.boxes = Boxes(
            options,
            workspace,
            self._whereabouts,
            mode=lambda: self.mode,
            home=standing.home,
            own=standing.agent_dir,
            sessions=standing.sessions_dir,
            hosts=Hosts(
                policy=self.policy,
                place=lambda: self._whereabouts.place(workspace.cwd),
                can_ask=lambda: standing.asks != "nobody" and not self.answering.answers_nothing,
                ask=self._ask,
                keep=self._keep_rule,
                note=self._note,
            ),
            allowed_places=lambda verb: allowed_places(self.rules().rules, verb),
        )
        self._definitions = KnownDefinitions(standing.agent_dir / "mcp-allowed.json")
        self._judging = Judging(
            workspace,
            self._whereabouts,
            self.boxes,
            definitions=self._definitions,
            rules=self.rules,
            policy=self.policy,
        )
        self.answering = Answering(standing, options, telling)
        self._session_rules: tuple[PermitRule, ...] = ()
        self._changes = RuleChanges(options)
        self._past: deque[Past] = deque(maxlen=_KEPT)
        self._questions: list[tuple[str, CallPart]] = []
        """What was asked about, with its tool."""
        self._told: set[str] = set()
        workspace.kept_back = lambda: kept_back(self.rules().rules, self._whereabouts.place(workspace.cwd))

    # What counts

    @property
    def mode(self) -> Mode:
        return mode_of(self._options.in_force, self._standing, has_box=lambda: self.boxes.are_possible)

    @property
    def asks_person(self) -> bool:
        """Somebody sits in front of it."""
        return self._standing.asks == "person"

    def view(self) -> GateState:
        return GateState(
            mode=self.mode,
            has_box=self.boxes.are_in_force,
            rules=self.rules(),
            past=with_earlier(self._past, self._conversation.log.entries, most=_KEPT),
        )

    def set_mode(self, mode: Mode) -> None:
        if mode not in MODES:
            raise Unable(f"There is no permission mode {mode}. Modes: {', '.join(MODES)}.")
        self._options.in_force.set("permissions.mode", mode)

    def rules(self) -> PermitRules:
        found = rules_in(self._options.in_force, self._standing)
        return msgspec.structs.replace(found, rules=(*self._session_rules, *found.rules))

    def policy(self, rules: PermitRules | None = None) -> Policy:
        rules, mode = rules or self.rules(), self.mode
        return Policy(
            mode=mode,
            is_planning=mode == "read-only" and is_planned(self._conversation.log),
            rules=rules.rules,
            has_box=self.boxes.are_in_force,
            has_own_network=self.boxes.have_own_network,
            exceptions=self._options.in_force.settings.permissions.floor_exceptions,
        )

    def allow(self, text: str) -> None:
        """For this session. Raises `Unable` for what is no rule."""
        rule = parse(text, "allow", "session")
        if isinstance(rule, RuleProblem):
            raise Unable(str(rule))
        self._session_rules = (*self._session_rules, rule)

    def own_rules(self, deed: Deed) -> tuple[str, ...]:
        """As they stand in the person's settings."""
        return tuple(self._options.in_force.said(f"permissions.{deed}").get("global", ()))

    def forget_here(self, text: str) -> None:
        """One of the person's own for this folder."""
        in_force, here = self._options.in_force, str(self._standing.folder())
        known = dict(in_force.said("permissions.allowIn").get("global", {}))
        known[here] = tuple(one for one in known.get(here, ()) if one.strip() != text)
        in_force.keep("permissions.allowIn", {folder: rules for folder, rules in known.items() if rules})

    def forget(self, text: str) -> None:
        """One that was given for this session."""
        self._session_rules = tuple(rule for rule in self._session_rules if rule.text != text)

    def why_unread(self, path: Path) -> str:
        """Of a file that is kept back: why a `read` of it does not run unasked. Empty mostly."""
        real = os.path.realpath(path)
        if not self._workspace.kept_back()(real):
            return ""
        decision = self.judge(Effects(reads=(real,)), tool="read")
        if decision.outcome == "run":
            return ""
        said = "refused by" if decision.outcome == "refuse" else "asked about, by"
        return f"reading it is {said} {decision.decided_by} ({decision.decisive.part.why})"

    # The way of a call

    async def check(self, call: ToolCall, read: ReadCall) -> Verdict:
        """Whether it may run; asked until it is decided, for a person may change what would run."""
        changed: dict[str, Any] | None = None
        knows_shell = False
        while True:
            seen = self._changes.now
            reading, looked_at = await asyncio.to_thread(self._look, read, changed, knows_shell)
            if looked_at is None:
                await self._look_into_shell()
                knows_shell = True
                continue
            decision, rules = looked_at.decision, looked_at.rules
            if _may_lose_files(looked_at):
                decision = await asked_about_unheld(decision, self._unheld, looked_at.place.workspace)
                if decision.outcome == "run":
                    await asyncio.to_thread(_let_run, self._definitions, self.boxes, reading, looked_at)
            self._warn_once(*map(str, rules.problems))
            self._warn_once(*(f"No allow rule of the {one}'s counts." for one in rules.left_out))
            if decision.outcome == "run":
                self._note(call, decision, "run", looked_at.by, is_silent=looked_at.is_by_mode_alone)
                return Verdict()
            if decision.outcome == "refuse":
                return self._refused(call, decision, f"This was refused by {looked_at.by}")
            program = reading.effects.runs
            has_reason = program is not None and (program.outside or program.reason).strip()
            if (is_leaving(decision) or is_request(decision)) and not has_reason:
                return Verdict(is_blocked=True, reason=_WITHOUT_REASON)
            if self._standing.asks == "nobody" or self.answering.answers_nothing:
                return self._refused(call, decision, "Needs approval and nobody can give it")
            rule_name = reading.effects.acts_as or call.name
            asking = self._ask(call, reading.shown_arguments, decision, looked_at.place, rule_name=rule_name)
            stands, reply = await self._changes.answer(
                asking, partial(self._judging.is_asked, reading), since=seen
            )
            if not stands:
                continue  # taken back: with the mode or the rules of now it runs, or is refused
            if reply is None:
                return self._refused(call, decision, "Needs approval, and no answer came")
            if reply.arguments is not None:
                changed = reply.arguments
                continue
            if reply.rule is not None:
                self._keep_rule(reply)
                decision = staying(decision) if is_leaving(decision) else decision
            if not reply.allows:
                return self._refused(call, decision, "The user said no", reply.reason, by="person")
            self._definitions.allowed(reading)
            self.boxes.decided(call.id, decision, looked_at.mode, _words_of(reading))
            self._note(call, decision, "run", "person")
            return Verdict()

    async def _look_into_shell(self) -> None:
        """What the names of a command mean in the person's own shell."""
        own = await own_snapshot(self._workspace, self._workspace.shell())
        if own is not None and own.problem:
            self._warn_once(f"Commands do not have all of your shell (bash.ownShell): {own.problem}.")

    def _look(
        self, read: ReadCall, changed: dict[str, Any] | None, knows_shell: bool
    ) -> tuple[CallReading, Judged | None]:
        """For a thread: a call is read and judged in one. Not judged: it is a command whose names may be those of the
        person's own shell, which is not known yet."""
        reading = read(changed)
        program = reading.effects.runs
        is_command = program is not None and program.language == "shell"
        if is_command and not knows_shell and self._workspace.shell().own is not None:
            return reading, None
        judged = self._judging.judged(reading)
        if judged.decision.outcome == "run" and not _may_lose_files(judged):
            _let_run(self._definitions, self.boxes, reading, judged)
        return reading, judged

    def judge(self, effects: Effects, *, tool: str) -> CallDecision:
        """What would be decided of a call of this tool with these effects. For a thread."""
        return self._judging.decided(tool, effects)[1]

    def watching(self, hook: SpawnHook | None) -> SpawnHook | None:
        """A hook that makes another command of it is judged by what it made: that runs without a question, or not."""
        if hook is None:
            return None

        async def watched(plan: SpawnPlan) -> SpawnPlan:
            after = await hook(plan)
            if after.command != plan.command:
                program = Program(language="shell", code=after.command, folder=after.cwd)
                decision = await asyncio.to_thread(self.judge, Effects(runs=program), tool="bash")
                if decision.outcome != "run":
                    part = decision.decisive.part
                    raise ToolError(
                        f"An extension made another command of this one, and that does not run unasked "
                        f"({_short(part.text)}: {part.why})."
                    )
            return after

        return watched

    # Asking

    async def _ask(
        self,
        call: ToolCall,
        arguments: dict[str, Any],
        decision: CallDecision,
        place: CommandPlace,
        *,
        rule_name: str = "",
    ) -> ApprovalReply | None:
        """`rule_name`: the name by which rules know the tool, if that is another."""
        approval = self._approval(call, arguments, decision, place, rule_name or call.name)
        part = decision.decisive.part
        title = f"{call.name}: {_short(part.text)} ({part.does}: {part.why})"
        asking = self.answering.ask(title, approval)
        self._questions.append((rule_name or call.name, part))
        return await asking

    def _approval(
        self,
        call: ToolCall,
        arguments: dict[str, Any],
        decision: CallDecision,
        place: CommandPlace,
        rule_name: str,
    ) -> Approval:
        answer = decision.decisive
        texts = () if decision.is_floor else self._rules_for(rule_name, decision, place)
        number, of = self._count(call)
        return Approval(
            tool_call_id=call.id,
            tool_name=call.name,
            arguments=arguments,
            parts=tuple(
                JudgedPart(text=part.text[:_MOST_TEXT], letter=part.risk, why=part.why)
                for part in decision.verdict.parts
            ),
            letter=decision.verdict.risk,
            why=answer.part.why,
            decided_by=answer.decided_by,
            mode=self.mode,
            floor_word=floor_word(answer.part) if decision.is_floor else None,
            rules=tuple(
                OfferedRule(text=text, answers=would_answer(text, self._questions, place)) for text in texts
            ),
            asked=len(self._questions),
            number=number,
            of=of,
        )

    def _rules_for(self, tool: str, decision: CallDecision, place: CommandPlace) -> tuple[str, ...]:
        """Those after which this very call would not be asked about."""
        asked = [answer for answer in decision.answers if answer.outcome == "ask"]
        if len(asked) != 1:
            return ()
        if is_request(decision):
            return rules_for(decision)
        if is_leaving(decision):
            return place_rules(self._conversation.messages, self._standing.home)
        found: list[str] = []
        for text in offered(asked[0].part, tool, place):
            rule = parse(text, "allow", "session")
            if isinstance(rule, RuleProblem):
                continue
            policy = self.policy()
            tried = msgspec.structs.replace(policy, rules=(*policy.rules, rule))
            if decide(decision.verdict, tool, tried, place).outcome == "run":
                found.append(text)
        return tuple(found)

    def _count(self, call: ToolCall) -> tuple[int, int]:
        """Which question of its answer this is, and how many of its calls will be asked about."""
        last = self._conversation.last_assistant
        calls = last.tool_calls if last is not None else ()
        at = next((number for number, one in enumerate(calls) if one.id == call.id), None)
        if at is None:
            return 1, 1
        ids = {one.id for one in calls[:at]}
        before = sum(1 for past in self._past if past.call_id in ids and past.decision.outcome == "ask")
        after = 0
        for one in calls[at + 1 : at + 20]:
            effects = self._toolbox.effects_of(one.name, one.arguments)
            if effects is not None and self.judge(effects, tool=one.name).outcome == "ask":
                after += 1
        return before + 1, before + 1 + after

    def _keep_rule(self, reply: ApprovalReply) -> None:
        assert reply.rule is not None
        is_kept_here = reply.keeps == "project"
        if not is_kept_here and allow_place(
            reply.rule, self._options.in_force, keeps=reply.keeps == "person"
        ):
            return
        self.allow(reply.rule)
        keep_rule(reply.rule, reply.keeps, self._options.in_force, str(self._standing.folder()))

    # What came of it

    def _refused(
        self, call: ToolCall, decision: CallDecision, what: str, reason: str = "", *, by: str = ""
    ) -> Verdict:
        self._note(call, decision, "refused", by or decision.decided_by)
        part = decision.decisive.part
        told = f"{what} ({part.does}: {_short(part.text)}: {part.why})."
        if reason:
            told += f" The user's words: {reason}"
        elif by != "person":
            told += " Do it differently, or say what you need."
        return Verdict(is_blocked=True, reason=told)

    def _note(
        self, call: ToolCall, decision: CallDecision, outcome: str, by: str, *, is_silent: bool = False
    ) -> None:
        """Written down unless the mode alone let it run, as it does with most."""
        self._past.append(Past(call_id=call.id, tool=call.name, decision=decision, outcome=outcome, by=by))
        if is_silent or self._conversation.log.is_read_only:
            return
        entry = self._conversation.note(
            ENTRY,
            {
                "callId": call.id,
                "tool": call.name,
                "letter": decision.verdict.risk,
                "parts": [
                    {"text": part.text[:_MOST_TEXT], "letter": part.risk, "why": part.why}
                    for part in decision.verdict.parts
                ],
                "decision": outcome,
                "by": by,
                "mode": self.mode,
            },
        )
        self._telling.publish_now(EntryAppended(entry=entry))

    def _warn_once(self, *texts: str) -> None:
        for text in texts:
            if text not in self._told:
                self._told.add(text)
                self._telling.warn(text)


def _may_lose_files(judged: Judged) -> bool:
    """Whether a command runs in `auto-edit` that removes files."""
    decision = judged.decision
    removes = any(part.removals for part in decision.verdict.parts)
    return judged.mode == "auto-edit" and decision.outcome == "run" and removes


def _let_run(definitions: KnownDefinitions, boxes: Boxes, reading: CallReading, judged: Judged) -> None:
    definitions.allowed(reading, judged.decision)
    boxes.decided(reading.call.id, judged.decision, judged.mode, _words_of(reading))


def _words_of(reading: CallReading) -> str:
    """The command of a call, or what stands for it."""
    program = reading.effects.runs
    return reading.tool.name if program is None else program.code


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:119] + "…"
