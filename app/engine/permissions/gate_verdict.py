"""Judges what a tool call would do by permission mode and rules. This module collects the facts; `app.permits`
decides from them."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from app.agent.tool_pipeline import ParsedToolCall
from app.engine.permissions.approved_definitions import ApprovedMcpToolDefinitions
from app.engine.sandbox.command_context import CommandPlaceFacts
from app.engine.sandbox.sandboxes import ToolCallSandboxes
from app.permits.command_place import CommandPlace
from app.permits.permission_decisions import (
    PermissionMode,
    PermissionPolicy,
    ToolCallDecision,
    decide_tool_call,
    is_decided_by_mode,
    shows_credentials_without_question,
)
from app.permits.permit_rules import PermitRules
from app.permits.sandbox_exceptions import with_leave_sandbox_request, with_sandbox_requests
from tools.call_effects import Effects, ProgramOfCall
from tools.running.shell_settings import BeforeSpawnHook, CommandToSpawn, ShellSettings, make_shell_argv
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolError

_MAX_SANDBOX_REQUESTS = 8


class JudgedToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call with the permission decision about it."""

    command_place: CommandPlace
    """The folder and environment for which the call was judged."""
    decision: ToolCallDecision
    rules: PermitRules
    mode: PermissionMode
    decided_by: str
    """The source of the decision: the mode, a rule, a safety rule or the user."""
    is_by_mode_alone: bool


class ToolCallJudge(msgspec.Struct, frozen=True):
    """Judges tool calls for one session's permission gate, without side effects."""

    workspace: SessionWorkspace
    command_context: CommandPlaceFacts
    boxes: ToolCallSandboxes
    definitions: ApprovedMcpToolDefinitions
    rules: Callable[[], PermitRules]
    policy: Callable[[PermitRules], PermissionPolicy]

    def judge_tool_call(self, reading: ParsedToolCall) -> JudgedToolCall:
        """Judges a tool call by permission mode and rules. For a thread."""
        place, decision, rules, mode = self.judge_effects(
            reading.tool.name, reading.effects, arguments=reading.plain_arguments, claim=reading.tool.claim
        )
        decision = self.definitions.check_definition(reading, decision)
        return JudgedToolCall(
            command_place=place,
            decision=decision,
            rules=rules,
            mode=mode,
            decided_by=decision.decided_by,
            is_by_mode_alone=all(is_decided_by_mode(answer.decided_by) for answer in decision.part_decisions),
        )

    def judge_hook_command(self, hook: BeforeSpawnHook | None) -> BeforeSpawnHook | None:
        """Returns whether a command that a hook put in place of the model's may run, judged like the model's own."""
        if hook is None:
            return None

        async def watched(plan: CommandToSpawn) -> CommandToSpawn:
            after = await hook(plan)
            if after.command != plan.command:
                program = ProgramOfCall(language="shell", code=after.command, folder=after.cwd)
                _, decision, *_ = await asyncio.to_thread(self.judge_effects, "bash", Effects(runs=program))
                if decision.outcome != "run":
                    part = decision.decisive_part.part
                    raise ToolError(
                        f"An extension changed this command, and the changed one needs approval "
                        f"({shorten_command_to_line(part.text)}: {part.why})."
                    )
            return after

        return watched

    def judge_effects(
        self, name: str, effects: Effects, *, arguments: Mapping[str, Any] = {}, claim: str = ""
    ) -> tuple[CommandPlace, ToolCallDecision, PermitRules, PermissionMode]:
        """Returns where the call's command runs, the decision on the call, and the rules and mode that the
        decision is based on. For a thread."""
        # The parser and the program tables are imported at the first call instead of at the start.
        from app.permits.tool_call_judge import ToolCallToJudge, judge_tool_call  # noqa: PLC0415

        program = effects.runs
        place = self._command_place(program)
        request = ToolCallToJudge(
            tool_name=effects.acts_as or name, effects=effects, arguments=arguments, claimed_effect=claim
        )
        rules = self.rules()
        policy = self.policy(rules)
        decision = decide_tool_call(judge_tool_call(request, place), request.tool_name, policy, place)
        if decision.outcome == "run" and decision.verdict.uses_network and place.has_sandbox:
            unboxed = judge_tool_call(
                request, msgspec.structs.replace(place, has_sandbox=False, hides_secrets=False)
            )
            decision = msgspec.structs.replace(
                decision, shows_credentials=shows_credentials_without_question(decision, unboxed)
            )
        if program is not None and self.boxes.are_in_force:
            decision = self._with_sandbox_request(decision, program, policy, place)
        return place, decision, rules, policy.mode

    def _with_sandbox_request(
        self,
        decision: ToolCallDecision,
        program: ProgramOfCall,
        policy: PermissionPolicy,
        place: CommandPlace,
    ) -> ToolCallDecision:
        """Returns the decision on a call together with the call's request to leave the sandbox."""
        if program.outside is not None:
            return with_leave_sandbox_request(decision, program.code, program.outside, policy.mode)
        asked = [self.boxes.check_sandbox_request(text) for text in program.requests[:_MAX_SANDBOX_REQUESTS]]
        found = [one for one in asked if one is not None]
        return with_sandbox_requests(decision, found, program.reason, policy, place)

    def _command_place(self, program: ProgramOfCall | None) -> CommandPlace:
        """Returns where a command would run; by default the workspace."""
        shell = self.workspace.shell_settings()
        stands_in = None
        if program is not None and program.language == "shell":
            stands_in = program.folder if program.is_folder_known else ""
        place = self.command_context.describe_command_place(
            self.workspace.cwd,
            shell.passed_variable_names,
            stands_in=stands_in,
            has_box=self.boxes.are_in_force,
        )
        place = msgspec.structs.replace(place, shell_program=self._shell_name(shell))
        if shell.user_shell is None or shell.user_shell.last_snapshot is None:
            return place
        known = shell.user_shell.last_snapshot
        return msgspec.structs.replace(
            place, shell_aliases=known.aliases, shell_functions=frozenset(known.functions)
        )

    def _shell_name(self, shell: ShellSettings) -> str:
        """Returns the name of the shell that runs commands, if the project's or the user's shell is not bash."""
        found: list[str] = []
        for one in filter(None, (shell, shell.fallback)):
            with suppress(ToolError):  # the command itself tells that there is no such shell
                found.append(Path(make_shell_argv(one, self.workspace.processes.find_program)[0]).name)
        return next((name for name in found if name != "bash"), "bash")


def shorten_command_to_line(text: str) -> str:
    """Shortens a command to fit into a line of text."""
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:119] + "…"
