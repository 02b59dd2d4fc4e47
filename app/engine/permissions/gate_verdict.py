"""Judges what a call would do by mode and rules. This module collects the facts; `app.permits` decides from
them."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from app.agent.tool_pipeline import ParsedCall
from app.engine.permissions.approved_definitions import ApprovedDefinitions
from app.engine.sandbox.command_context import CommandContext
from app.engine.sandbox.sandboxes import Sandboxes
from app.permits.command_place import CommandPlace
from app.permits.permission_decisions import (
    CallDecision,
    PermissionMode,
    PermissionPolicy,
    decide_call,
    is_decided_by_mode,
)
from app.permits.rules import PermitRules
from app.permits.sandbox_exceptions import with_leave_request, with_sandbox_requests
from tools.base import ToolError
from tools.effects import Effects, Program
from tools.running.shell import SpawnHook, SpawnPlan
from tools.workspace import Workspace

_MAX_REQUESTS = 8


class JudgedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call with the decision about it."""

    place: CommandPlace
    """The place for which the call was judged."""
    decision: CallDecision
    rules: PermitRules
    mode: PermissionMode
    by: str
    """The source of the decision."""
    is_by_mode_alone: bool


class CallJudge(msgspec.Struct, frozen=True):
    """Judges calls for one session's gate, without side effects."""

    workspace: Workspace
    command_context: CommandContext
    boxes: Sandboxes
    definitions: ApprovedDefinitions
    rules: Callable[[], PermitRules]
    policy: Callable[[PermitRules], PermissionPolicy]

    def judged(self, reading: ParsedCall) -> JudgedCall:
        """Judges a call. For a thread."""
        place, decision, rules, mode = self.decided(
            reading.tool.name, reading.effects, arguments=reading.shown_arguments, claim=reading.tool.claim
        )
        decision = self.definitions.looked_at(reading, decision)
        return JudgedCall(
            place=place,
            decision=decision,
            rules=rules,
            mode=mode,
            by=decision.decided_by,
            is_by_mode_alone=all(is_decided_by_mode(answer.decided_by) for answer in decision.answers),
        )

    def is_asked(self, reading: ParsedCall) -> bool:
        """Whether the current mode and rules ask about the call. For a thread."""
        return self.judged(reading).decision.outcome == "ask"

    def watching(self, hook: SpawnHook | None) -> SpawnHook | None:
        """Judges a hook's replacement of a command like the command itself: the replacement may run without a
        question or not."""
        if hook is None:
            return None

        async def watched(plan: SpawnPlan) -> SpawnPlan:
            after = await hook(plan)
            if after.command != plan.command:
                program = Program(language="shell", code=after.command, folder=after.cwd)
                _, decision, *_ = await asyncio.to_thread(self.decided, "bash", Effects(runs=program))
                if decision.outcome != "run":
                    part = decision.decisive.part
                    raise ToolError(
                        f"An extension made another command of this one, and that does not run unasked "
                        f"({shorten_command(part.text)}: {part.why})."
                    )
            return after

        return watched

    def decided(
        self, name: str, effects: Effects, *, arguments: Mapping[str, Any] = {}, claim: str = ""
    ) -> tuple[CommandPlace, CallDecision, PermitRules, PermissionMode]:
        """Returns the place, the decision, and the rules and mode it is based on. For a thread."""
        # The parser and the program tables are imported at the first call instead of at the start.
        from app.permits.tool_call_judge import CallRequest, judge_call  # noqa: PLC0415

        program = effects.runs
        place = self._place(program)
        request = CallRequest(tool=effects.acts_as or name, effects=effects, arguments=arguments, claim=claim)
        rules = self.rules()
        policy = self.policy(rules)
        decision = decide_call(judge_call(request, place), request.tool, policy, place)
        if program is not None and self.boxes.are_in_force:
            decision = self._with_sandbox_request(decision, program, policy, place)
        return place, decision, rules, policy.mode

    def _with_sandbox_request(
        self, decision: CallDecision, program: Program, policy: PermissionPolicy, place: CommandPlace
    ) -> CallDecision:
        """Returns the decision with the call's request to leave the sandbox."""
        if program.outside is not None:
            return with_leave_request(decision, program.code, program.outside, policy.mode)
        asked = [self.boxes.asked_leave(text) for text in program.requests[:_MAX_REQUESTS]]
        found = [one for one in asked if one is not None]
        return with_sandbox_requests(decision, found, program.reason, policy, place)

    def _place(self, program: Program | None) -> CommandPlace:
        """Returns where the command would run; by default the workspace."""
        shell = self.workspace.shell()
        stands_in = None
        if program is not None and program.language == "shell":
            stands_in = program.folder if program.is_folder_known else ""
        place = self.command_context.place(
            self.workspace.cwd, shell.passed_names, stands_in=stands_in, has_box=self.boxes.are_in_force
        )
        if shell.own is None or shell.own.known is None:
            return place
        known = shell.own.known
        return msgspec.structs.replace(place, aliases=known.aliases, functions=frozenset(known.functions))


def shorten_command(text: str) -> str:
    """Shortens a command to fit into a line of text."""
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:119] + "…"
