"""The permission gate: decides by mode, rules and questions whether a tool call may run, and records the verdict.

`gate_verdict` collects what a call would do. The user or an RPC program answers the future of a `QuestionAsked`."""

import asyncio
import os
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from app.agent.hooks import CallVerdict
from app.agent.tool_pipeline import ParseCall, ParsedCall
from app.engine.core.session_core import SessionCore
from app.engine.core.user_questions import ApprovalReply, RuleChanges
from app.engine.permissions.approval_request import ApprovalRequests
from app.engine.permissions.approved_definitions import ApprovedDefinitions
from app.engine.permissions.gate_question import GateQuestions
from app.engine.permissions.gate_verdict import CallJudge, JudgedCall, shorten_command
from app.engine.permissions.permission_context import PermissionContext
from app.engine.permissions.sandbox_exceptions import allowed_places
from app.engine.permissions.session_folders import AddSection, SessionFolders
from app.engine.permissions.session_rules import SessionRules
from app.engine.permissions.unrestorable_files import Unheld, ask_about_unheld
from app.engine.permissions.verdict_log import PastVerdict, VerdictLog
from app.engine.sandbox.command_context import CommandContext
from app.engine.sandbox.network_hosts import NetworkHosts
from app.engine.sandbox.sandboxes import Sandboxes
from app.permits.command_place import CommandPlace
from app.permits.permission_decisions import CallDecision, PermissionMode
from app.permits.rules import PermitRules, hidden_path_test
from app.permits.sandbox_exceptions import asks_to_leave_sandbox, is_request, without_leave_request
from app.values.content import ToolCall
from tools.effects import Effects
from tools.running.user_shell.shell_snapshot import user_shell_snapshot

_REASON_REQUIRED = (
    "allow and outside: true need a reason, which the user is shown: why the command needs more than the sandbox lets "
    "it do."
)
_MAX_KEPT = 200
_MAX_TEXT = 4_000


class GateState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a session's gate."""

    mode: PermissionMode
    has_box: bool
    rules: PermitRules
    past: tuple[PastVerdict, ...]
    """The verdicts of this session that are remembered, oldest first."""


class PermissionGate:
    """One session's gate."""

    def __init__(
        self, core: SessionCore, standing: PermissionContext, *, unheld: Unheld, add_section: AddSection
    ) -> None:
        """`unheld` returns the files that undo could not restore. `add_section` puts a section into the prompt."""
        options, conversation, telling = core.options, core.conversation, core.event_bus
        self.standing = standing
        self._unheld = unheld
        self._workspace = workspace = core.workspace
        self._event_bus = telling
        self._command_context = CommandContext(
            standing.home, standing.agent_dir, standing.sessions_dir, workspace.added
        )
        self._changes = RuleChanges(options, telling)
        self.folders = SessionFolders(core, standing, add_section)
        self.rules = SessionRules(standing, options, conversation, lambda: self.boxes)
        self._verdicts = VerdictLog(conversation, telling, lambda: self.rules.mode)
        self.boxes = Sandboxes(
            options,
            workspace,
            self._command_context,
            mode=lambda: self.rules.mode,
            home=standing.home,
            own=standing.agent_dir,
            sessions=standing.sessions_dir,
            hosts=NetworkHosts(
                policy=self.rules.policy,
                place=lambda: self._command_context.place(workspace.cwd),
                can_ask=lambda: standing.asks != "nobody" and not self.answering.refuses_questions,
                ask=self._ask,
                changes=self._changes,
                keep=self.rules.keep,
                note=self._verdicts.note,
            ),
            allowed_places=lambda verb: allowed_places(self.rules.all().rules, verb),
        )
        self._definitions = ApprovedDefinitions(standing.agent_dir / "mcp-allowed.json")
        self._call_judge = CallJudge(
            workspace,
            self._command_context,
            self.boxes,
            definitions=self._definitions,
            rules=self.rules.all,
            policy=self.rules.policy,
        )
        self._requests = ApprovalRequests(
            rules=self.rules,
            verdicts=self._verdicts,
            standing=standing,
            conversation=conversation,
            toolbox=core.toolbox,
            judge=lambda tool, effects: self.judge(effects, tool=tool),
        )
        self.answering = GateQuestions(standing, options, telling)
        self._told: set[str] = set()
        workspace.spawn_hook = self._call_judge.watching(workspace.spawn_hook)
        workspace.kept_back = lambda: hidden_path_test(
            self.rules.all().rules, self._command_context.place(workspace.cwd)
        )

    # What counts

    @property
    def asks_person(self) -> bool:
        """Whether a user can answer questions."""
        return self.standing.asks == "person"

    def view(self) -> GateState:
        return GateState(
            mode=self.rules.mode,
            has_box=self.boxes.are_in_force,
            rules=self.rules.all(),
            past=self._verdicts.all(),
        )

    def read_restriction(self, path: Path) -> str:
        """Returns why reading this hidden file needs a question; mostly empty."""
        real = os.path.realpath(path)
        if not self._workspace.kept_back()(real):
            return ""
        decision = self.judge(Effects(reads=(real,)), tool="read")
        if decision.outcome == "run":
            return ""
        said = "is refused by" if decision.outcome == "refuse" else "needs approval because of"
        return f"reading its file {said} {decision.decided_by} ({decision.decisive.part.why})"

    # The way of a call

    async def check(self, call: ToolCall, read: ParseCall) -> CallVerdict:
        """Decides whether a call may run, repeating the decision if the user changes its arguments."""
        changed: dict[str, Any] | None = None
        knows_shell = False
        while True:
            seen = self._changes.now
            reading, looked_at = await asyncio.to_thread(self._read_and_judge, read, changed, knows_shell)
            if looked_at is None:
                await self._look_into_shell()
                knows_shell = True
                continue
            decision, rules = looked_at.decision, looked_at.rules
            if _may_delete_files(looked_at):
                decision = await ask_about_unheld(decision, self._unheld, looked_at.place.workspace)
                if decision.outcome == "run":
                    await asyncio.to_thread(
                        _record_allowed, self._definitions, self.boxes, reading, looked_at
                    )
            self._warn_once(*map(str, rules.problems))
            self._warn_once(
                *(f"Allow rules of the {one} are ignored until you trust it." for one in rules.left_out)
            )
            if decision.outcome == "run":
                self._verdicts.note(call, decision, "run", looked_at.by, is_silent=looked_at.is_by_mode_alone)
                return CallVerdict()
            if decision.outcome == "refuse":
                return self._refused(call, decision, f"This was refused by {looked_at.by}")
            program = reading.effects.runs
            has_reason = program is not None and (program.outside or program.reason).strip()
            if (asks_to_leave_sandbox(decision) or is_request(decision)) and not has_reason:
                return CallVerdict(is_blocked=True, reason=_REASON_REQUIRED)
            if self.standing.asks == "nobody" or self.answering.refuses_questions:
                return self._refused(call, decision, "Needs approval and nobody can give it")
            rule_name = reading.effects.acts_as or call.name
            asking = self._ask(call, reading.shown_arguments, decision, looked_at.place, rule_name=rule_name)
            stands, reply = await self._changes.answer(
                asking, partial(self._call_judge.is_asked, reading), since=seen
            )
            if not stands:
                continue  # the question was withdrawn: under the present mode and rules the call runs or is refused
            if reply is None:
                return self._refused(call, decision, "Needs approval, and no answer came")
            if reply.arguments is not None:
                changed = reply.arguments
                continue
            if reply.rule is not None:
                self.rules.keep(reply)
                decision = without_leave_request(decision) if asks_to_leave_sandbox(decision) else decision
            if not reply.allows:
                return self._refused(call, decision, "The user said no", reply.reason, by="person")
            self._definitions.allowed(reading)
            self.boxes.decided(call.id, decision, looked_at.mode, _command_text(reading))
            self._verdicts.note(call, decision, "run", "person")
            return CallVerdict()

    async def _look_into_shell(self) -> None:
        """Loads the aliases and functions of the user's shell that a command may use."""
        own = await user_shell_snapshot(self._workspace, self._workspace.shell())
        if own is not None and own.problem:
            self._warn_once(
                "Commands do not have all of your shell's aliases and functions (bash.ownShell): "
                f"{own.problem}."
            )

    def _read_and_judge(
        self, read: ParseCall, changed: dict[str, Any] | None, knows_shell: bool
    ) -> tuple[ParsedCall, JudgedCall | None]:
        """Reads a call and judges it, in a thread. The verdict is None while the user's aliases, which may be among
        its names, are not loaded."""
        reading = read(changed)
        program = reading.effects.runs
        is_command = program is not None and program.language == "shell"
        if is_command and not knows_shell and self._workspace.shell().own is not None:
            return reading, None
        self._workspace.judged_paths.note((*reading.effects.reads, *reading.effects.writes))
        judged = self._call_judge.judged(reading)
        if judged.decision.outcome == "run" and not _may_delete_files(judged):
            _record_allowed(self._definitions, self.boxes, reading, judged)
        return reading, judged

    def judge(self, effects: Effects, *, tool: str) -> CallDecision:
        """Returns the decision for a call of this tool with these effects. For a thread."""
        return self._call_judge.decided(tool, effects)[1]

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
        """Asks about a call. `rule_name`: the tool's name in rules, if it differs."""
        approval = self._requests.of(call, arguments, decision, place, rule_name or call.name)
        part = decision.decisive.part
        title = f"{call.name}: {shorten_command(part.text)} ({part.does}: {part.why})"
        asking = self.answering.ask(title, approval)
        self._requests.asked(rule_name or call.name, part)
        return await asking

    # After the decision

    def _refused(
        self, call: ToolCall, decision: CallDecision, what: str, reason: str = "", *, by: str = ""
    ) -> CallVerdict:
        self._verdicts.note(call, decision, "refused", by or decision.decided_by)
        part = decision.decisive.part
        told = f"{what} ({part.does}: {shorten_command(part.text)}: {part.why})."
        if reason:
            told += f" The user's words: {reason}"
        elif by != "person":
            told += " Do it differently, or say what you need."
        return CallVerdict(is_blocked=True, reason=told)

    def _warn_once(self, *texts: str) -> None:
        for text in texts:
            if text not in self._told:
                self._told.add(text)
                self._event_bus.warn(text)


def _may_delete_files(judged: JudgedCall) -> bool:
    """Whether a command that removes files runs in `auto-edit` mode."""
    decision = judged.decision
    removes = any(part.removals for part in decision.verdict.parts)
    return judged.mode == "auto-edit" and decision.outcome == "run" and removes


def _record_allowed(
    definitions: ApprovedDefinitions, boxes: Sandboxes, reading: ParsedCall, judged: JudgedCall
) -> None:
    definitions.allowed(reading, judged.decision)
    boxes.decided(reading.call.id, judged.decision, judged.mode, _command_text(reading))


def _command_text(reading: ParsedCall) -> str:
    """Returns the command of a call, or a text for other calls."""
    program = reading.effects.runs
    return reading.tool.name if program is None else program.code
