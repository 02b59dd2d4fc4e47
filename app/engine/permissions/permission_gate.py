"""The permission gate: decides by mode, rules and questions whether a tool call may run, and records the verdict.

`gate_verdict` collects what a call would do. The user or an RPC program answers the future of a `QuestionAsked`."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from app.agent.hooks import ToolCallVerdict
from app.agent.tool_pipeline import ParsedToolCall, ParseToolCall
from app.engine.core.session_core import SessionCore
from app.engine.core.user_questions import ApprovalReply, PermissionChangeWatch
from app.engine.permissions.approval_request import ApprovalRequestBuilder
from app.engine.permissions.approved_definitions import ApprovedMcpToolDefinitions
from app.engine.permissions.gate_question import ApprovalQuestions
from app.engine.permissions.gate_verdict import JudgedToolCall, ToolCallJudge, shorten_command_to_line
from app.engine.permissions.permission_context import PermissionContext
from app.engine.permissions.sandbox_exceptions import allowed_places
from app.engine.permissions.session_folders import SessionAddedFolders, SetPromptSection
from app.engine.permissions.session_rules import SessionPermissionRules
from app.engine.permissions.unrestorable_files import FindUnrestorable, ask_about_unrestorable
from app.engine.permissions.verdict_log import PastPermissionVerdict, PermissionVerdictLog
from app.engine.sandbox.command_context import CommandPlaceFacts
from app.engine.sandbox.network_hosts import NetworkHosts
from app.engine.sandbox.sandboxes import ToolCallSandboxes
from app.permits.command_place import CommandPlace
from app.permits.permission_decisions import PermissionMode, ToolCallDecision
from app.permits.permit_rules import PermitRules, hidden_path_test
from app.permits.sandbox_exceptions import (
    asks_for_sandbox_exception,
    asks_to_leave_sandbox,
    without_leave_sandbox_request,
)
from app.values.content import ToolCall
from tools.call_effects import Effects
from tools.files.paths import real_path
from tools.running.user_shell.shell_snapshot import get_user_shell_snapshot

_CHANGED_CALL_NOTE = (
    "[The user changed this call before allowing it, so what happened is not all that you sent. "
    "Read what it changed again before you go on.]"
)
_REASON_REQUIRED_TEXT = (
    "allow and outside: true need a reason, which the user sees: why the command needs more than the "
    "sandbox lets "
    "it do."
)


class PermissionGateState(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of a session's permission gate: mode, rules and past verdicts."""

    mode: PermissionMode
    has_sandbox: bool
    rules: PermitRules
    past_verdicts: tuple[PastPermissionVerdict, ...]
    """The remembered verdicts of this session, oldest first."""


class PermissionGate:
    """The permission gate of one session: decides whether tool calls may run."""

    def __init__(
        self,
        core: SessionCore,
        standing: PermissionContext,
        *,
        unheld: FindUnrestorable,
        add_section: SetPromptSection,
    ) -> None:
        """Creates the gate. `unheld` returns the files that undo could not restore. `add_section` puts a section
        into the prompt."""
        options, conversation, telling = core.options, core.conversation, core.event_bus
        self.permission_context = standing
        self._find_unrestorable = unheld
        self._workspace = workspace = core.workspace
        self._event_bus = telling
        self._command_context = CommandPlaceFacts(
            standing.home, standing.agent_dir, standing.sessions_dir, workspace.added
        )
        self._rule_changes = PermissionChangeWatch(options, telling, standing.shared_permissions)
        self.folders = SessionAddedFolders(core, standing, add_section)
        self.rules = SessionPermissionRules(standing, options, conversation, lambda: self.boxes)
        self._verdicts = PermissionVerdictLog(conversation, telling, lambda: self.rules.mode)
        self.boxes = ToolCallSandboxes(
            options,
            workspace,
            self._command_context,
            mode=lambda: self.rules.mode,
            home=standing.home,
            own=standing.agent_dir,
            sessions=standing.sessions_dir,
            hosts=NetworkHosts(
                policy=self.rules.permission_policy,
                command_place=lambda: self._command_context.describe_command_place(workspace.cwd),
                can_ask=lambda: standing.approver != "none" and not self.questions.are_questions_refused,
                ask_about_host=self._ask_about_call,
                rule_changes=self._rule_changes,
                store_rule=self.rules.add_rule_from_reply,
                record_verdict=self._verdicts.record_verdict,
            ),
            allowed_places=lambda verb: allowed_places(self.rules.all_rules().rules, verb),
        )
        self._definitions = ApprovedMcpToolDefinitions(standing.agent_dir / "mcp-allowed.json")
        self._call_judge = ToolCallJudge(
            workspace,
            self._command_context,
            self.boxes,
            definitions=self._definitions,
            rules=self.rules.all_rules,
            policy=self.rules.permission_policy,
        )
        self._approval_requests = ApprovalRequestBuilder(
            rules=self.rules,
            verdicts=self._verdicts,
            standing=standing,
            conversation=conversation,
            toolbox=core.toolbox,
            judge=lambda tool, effects: self.judge_effects(effects, tool=tool),
        )
        self.questions = ApprovalQuestions(standing, options, telling)
        self._shown_warnings: set[str] = set()
        workspace.spawn_hook = self._call_judge.judge_hook_command(workspace.spawn_hook)
        workspace.judged_paths.is_protected = self._command_context.is_autorun_path
        workspace.hidden_path_test = lambda: hidden_path_test(
            self.rules.all_rules().rules, self._command_context.describe_command_place(workspace.cwd)
        )

    # What counts

    @property
    def can_ask_person(self) -> bool:
        """Whether a user can answer the gate's questions."""
        return self.permission_context.approver == "person"

    def gate_state(self) -> PermissionGateState:
        return PermissionGateState(
            mode=self.rules.mode,
            has_sandbox=self.boxes.are_in_force,
            rules=self.rules.all_rules(),
            past_verdicts=self._verdicts.session_verdicts(),
        )

    def secret_files(self, folder: Path, *, is_fresh: bool) -> tuple[str, ...]:
        """Returns the files below a folder whose names say that they have secrets; with `is_fresh` also those created
        just now."""
        return self._command_context.secret_files_below(str(folder), is_fresh=is_fresh).paths

    def hidden_file_reason(self, path: Path) -> str:
        """Returns why reading this hidden file needs a question; mostly empty."""
        real = real_path(path)
        if not self._workspace.hidden_path_test()(real):
            return ""
        decision = self.judge_effects(Effects(reads=(real,)), tool="read")
        if decision.outcome == "run":
            return ""
        said = "is refused by" if decision.outcome == "refuse" else "needs approval because of"
        return f"reading its file {said} {decision.decided_by} ({decision.decisive_part.part.why})"

    # The way of a call

    async def check_call(self, call: ToolCall, read: ParseToolCall) -> ToolCallVerdict:
        """Decides whether a tool call may run, repeating the decision if the user changes its arguments."""
        changed: dict[str, Any] | None = None
        allowed_writes: frozenset[str] | None = None
        knows_shell = False
        while True:
            seen = self._rule_changes.shared.next_change
            reading, looked_at = await asyncio.to_thread(self._parse_and_judge, read, changed, knows_shell)
            if looked_at is None:
                await self._load_user_shell()
                knows_shell = True
                continue
            decision, rules = looked_at.decision, looked_at.rules
            if _may_delete_files(looked_at):
                decision = await ask_about_unrestorable(
                    decision, self._find_unrestorable, looked_at.command_place.workspace
                )
                if decision.outcome == "run":
                    await asyncio.to_thread(
                        _record_allowed, self._definitions, self.boxes, reading, looked_at
                    )
            self._warn_once(*map(str, rules.problems))
            self._warn_once(
                *(
                    f"Allow rules of the {one} are ignored until you trust it."
                    for one in rules.ignored_origins
                )
            )
            if decision.outcome == "run":
                self._verdicts.record_verdict(
                    call, decision, "run", looked_at.decided_by, is_silent=looked_at.is_by_mode_alone
                )
                return ToolCallVerdict(recheck=partial(self._reason_to_block, reading, looked_at, seen))
            if decision.outcome == "refuse":
                return self._refusal_verdict(call, decision, f"This was refused by {looked_at.decided_by}")
            if allowed_writes is not None and _is_within_approval(reading, decision, allowed_writes):
                return self._allow_call(call, reading, decision, looked_at, seen, is_changed=True)
            allowed_writes = None
            program = reading.effects.runs
            has_reason = program is not None and (program.outside or program.reason).strip()
            if (asks_to_leave_sandbox(decision) or asks_for_sandbox_exception(decision)) and not has_reason:
                return ToolCallVerdict(is_blocked=True, reason=_REASON_REQUIRED_TEXT)
            if self.permission_context.approver == "none" or self.questions.are_questions_refused:
                return self._refusal_verdict(call, decision, "Needs approval, and no user can give it")
            answered = await self._ask_and_judge_again(call, reading, decision, looked_at, seen)
            if answered is None:
                continue  # under the present mode and rules the call runs, is refused, or another question is asked
            reply, decision, looked_at, seen = answered
            if reply is None:
                return self._refusal_verdict(call, decision, "Needs approval, and no answer came")
            if reply.rule is not None:
                self.rules.add_rule_from_reply(reply)
                decision = (
                    without_leave_sandbox_request(decision) if asks_to_leave_sandbox(decision) else decision
                )
            if reply.arguments is not None:
                changed = reply.arguments
                allowed_writes = frozenset(reading.effects.writes) if reply.is_changed_call_allowed else None
                continue
            if not reply.is_allowed:
                denied = self._refusal_verdict(
                    call, decision, "The user denied it", reply.reason, by="person"
                )
                return msgspec.structs.replace(denied, denied_with=reply.reason)
            return self._allow_call(call, reading, decision, looked_at, seen, is_changed=changed is not None)

    async def _ask_and_judge_again(
        self,
        call: ToolCall,
        reading: ParsedToolCall,
        decision: ToolCallDecision,
        judged: JudgedToolCall,
        since: asyncio.Event,
    ) -> tuple[ApprovalReply | None, ToolCallDecision, JudgedToolCall, asyncio.Event] | None:
        """Asks about a call, and judges it again when mode or rules change. Returns the answer with the present
        judgement; None if the present judgement is another than the one that the user was asked about."""
        rule_name = reading.effects.acts_as or call.name
        asking = self._ask_about_call(
            call, reading.plain_arguments, decision, judged.command_place, rule_name=rule_name
        )
        now = judged

        def is_asked() -> bool:
            nonlocal now, since
            since = self._rule_changes.shared.next_change
            now = self._call_judge.judge_tool_call(reading)
            is_same = _is_same_question(judged.decision, now.decision)
            is_same_for_undo = decision.outcome == now.decision.outcome or judged.mode == now.mode
            return not self.questions.are_questions_refused and is_same and is_same_for_undo

        is_still_asked, reply = await self._rule_changes.wait_for_answer(asking, is_asked, since=since)
        if not is_still_asked:
            return None
        is_asked_by_judgement = decision.outcome == now.decision.outcome
        return reply, now.decision if is_asked_by_judgement else decision, now, since

    def _allow_call(
        self,
        call: ToolCall,
        reading: ParsedToolCall,
        decision: ToolCallDecision,
        judged: JudgedToolCall,
        since: asyncio.Event,
        *,
        is_changed: bool,
    ) -> ToolCallVerdict:
        self._definitions.store_definition(reading)
        self.boxes.remember_decision(call.id, decision, judged.mode, _command_text(reading))
        self._verdicts.record_verdict(call, decision, "run", "person")
        return ToolCallVerdict(
            note=_CHANGED_CALL_NOTE if is_changed else "",
            recheck=partial(self._reason_to_block, reading, judged, since),
        )

    async def _reason_to_block(
        self, reading: ParsedToolCall, judged: JudgedToolCall, since: asyncio.Event
    ) -> str:
        """Returns why a call that was allowed may no longer begin, if mode or rules changed (`since`); empty if it
        may. It then runs as the present mode would run it."""
        if not since.is_set():
            return ""
        now = await asyncio.to_thread(self._call_judge.judge_tool_call, reading)
        then, present = judged.decision, now.decision
        is_asked_anew = then.outcome == "run" or present.needs_typed_word > then.needs_typed_word
        if present.outcome == "refuse" or (present.outcome == "ask" and is_asked_anew):
            what = "be refused" if present.outcome == "refuse" else "need approval"
            return (
                f"The permission mode or the rules changed before this call began. It would now {what} by "
                f"{now.decided_by}. Send it again if it is still needed."
            )
        if now.mode != judged.mode:
            self.boxes.remember_decision(reading.call.id, present, now.mode, _command_text(reading))
        return ""

    async def _load_user_shell(self) -> None:
        """Loads the aliases and functions of the user's shell that a command may use."""
        own = await get_user_shell_snapshot(self._workspace, self._workspace.shell_settings())
        if own is not None and own.problem:
            self._warn_once(
                "Commands do not have all of your shell's aliases and functions (bash.ownShell): "
                f"{own.problem}."
            )

    def _parse_and_judge(
        self, read: ParseToolCall, changed: dict[str, Any] | None, knows_shell: bool
    ) -> tuple[ParsedToolCall, JudgedToolCall | None]:
        """Parses a tool call and judges it, in a thread. The verdict is None while the user's shell aliases,
        which the command may use, are not loaded."""
        reading = read(changed)
        program = reading.effects.runs
        is_command = program is not None and program.language == "shell"
        if is_command and not knows_shell and self._workspace.shell_settings().user_shell is not None:
            return reading, None
        self._workspace.judged_paths.record_before_judging((*reading.effects.reads, *reading.effects.writes))
        judged = self._call_judge.judge_tool_call(reading)
        if judged.decision.outcome == "run" and not _may_delete_files(judged):
            _record_allowed(self._definitions, self.boxes, reading, judged)
        return reading, judged

    def judge_effects(self, effects: Effects, *, tool: str) -> ToolCallDecision:
        """Returns the permission decision for a call of this tool with these effects. For a thread."""
        return self._call_judge.judge_effects(tool, effects)[1]

    # Asking

    async def _ask_about_call(
        self,
        call: ToolCall,
        arguments: dict[str, Any],
        decision: ToolCallDecision,
        place: CommandPlace,
        *,
        rule_name: str = "",
    ) -> ApprovalReply | None:
        """Asks the user to approve a tool call. `rule_name` is the tool's name in rules, if it differs."""
        approval = self._approval_requests.build_request(
            call, arguments, decision, place, rule_name or call.name
        )
        part = decision.decisive_part.part
        title = f"{call.name}: {shorten_command_to_line(part.text)} ({part.risk_description}: {part.why})"
        asking = self.questions.ask_approval(title, approval)
        self._approval_requests.count_question(rule_name or call.name, part)
        return await asking

    # After the decision

    def _refusal_verdict(
        self, call: ToolCall, decision: ToolCallDecision, what: str, reason: str = "", *, by: str = ""
    ) -> ToolCallVerdict:
        self._verdicts.record_verdict(call, decision, "refused", by or decision.decided_by)
        part = decision.decisive_part.part
        told = f"{what} ({part.risk_description}: {shorten_command_to_line(part.text)}: {part.why})."
        if reason:
            told += f" The user's words: {reason}"
        elif by != "person":
            told += " Do it differently, or say what you need."
        return ToolCallVerdict(is_blocked=True, reason=told)

    def _warn_once(self, *texts: str) -> None:
        for text in texts:
            if text not in self._shown_warnings:
                self._shown_warnings.add(text)
                self._event_bus.warn(text)


def _is_within_approval(reading: ParsedToolCall, decision: ToolCallDecision, writes: frozenset[str]) -> bool:
    """Whether a tool call that the user changed writes only files that the user allowed, and nothing else about
    it needs an answer."""
    is_edit = reading.effects.runs is None and writes >= set(reading.effects.writes)
    return is_edit and not decision.needs_typed_word


def _is_same_question(then: ToolCallDecision, now: ToolCallDecision) -> bool:
    return (then.outcome, then.verdict, then.needs_typed_word) == (
        now.outcome,
        now.verdict,
        now.needs_typed_word,
    )


def _may_delete_files(judged: JudgedToolCall) -> bool:
    """Whether a command removes files while the permission mode is `auto-edit`."""
    decision = judged.decision
    removes = any(part.removals for part in decision.verdict.parts)
    return judged.mode == "auto-edit" and decision.outcome == "run" and removes


def _record_allowed(
    definitions: ApprovedMcpToolDefinitions,
    boxes: ToolCallSandboxes,
    reading: ParsedToolCall,
    judged: JudgedToolCall,
) -> None:
    definitions.store_definition(reading, judged.decision)
    boxes.remember_decision(reading.call.id, judged.decision, judged.mode, _command_text(reading))


def _command_text(reading: ParsedToolCall) -> str:
    """Returns the command line of a tool call, or a descriptive text for calls without one."""
    program = reading.effects.runs
    return reading.tool.name if program is None else program.code
