"""Runs the commands of a goal's check through hooks, permissions, sandbox and masks like the agent's commands,
but in a separate shell. The agent cannot influence a check by the state of its shell, nor by a background
job."""

import asyncio
import time
import uuid
from functools import partial
from typing import Any

import msgspec

from app.agent.tool_pipeline import ToolPipeline, is_current_task_being_cancelled
from app.agent.tool_results import to_wire_tool_outcome
from app.engine.core.event_bus import EventBus
from app.engine.core.hooks import Hooks
from app.engine.core.toolbox import Toolbox
from app.engine.permissions.permission_gate import PermissionGate
from app.engine.tools.tool_parts import SessionToolParts
from app.values.content import ToolCall
from app.values.events import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from app.values.todos import CheckResult, GoalCheck, goal_check_call_id
from tools.argument_schema import make_arguments_schema
from tools.call_effects import Effects, ProgramOfCall
from tools.running.command_card import make_command_card, make_command_progress_result
from tools.running.poll_interval import PollInterval
from tools.running.running_command import CommandOutcome, RunningCommand, start_command
from tools.running.sandbox_notes import format_sandbox_notes, make_sandbox_details
from tools.running.shell_settings import CommandToSpawn, command_environment
from tools.session_workspace import workspace_of_context
from tools.tool_definition import Tool, ToolContext
from tools.tool_result_values import ToolResult, text_result

MAX_GOAL_CHECK_OUTPUT_CHARS = 4_000


class GoalCheckArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a check command, which hooks and rules see as a call of `bash`."""

    command: str
    timeout: float

    def effects(self, context: ToolContext) -> Effects:
        folder = workspace_of_context(context).files.real_path(str(context.cwd))
        return Effects(runs=ProgramOfCall(language="shell", code=self.command, folder=folder))


class GoalCheckRunner(msgspec.Struct, frozen=True):
    """Runs the check commands of goals in one session."""

    toolbox: Toolbox
    hooks: Hooks
    permission_gate: PermissionGate
    tools: SessionToolParts
    event_bus: EventBus

    async def run_check_command(self, check: GoalCheck, seconds: float) -> CheckResult:
        """Runs one check command; only cancellation is raised, after the command has ended."""
        call = ToolCall(
            id=goal_check_call_id(uuid.uuid4().hex[:12]),
            name="bash",
            arguments={"command": check.command, "timeout": seconds},
        )
        pipeline = ToolPipeline(
            tools=lambda: {"bash": _GOAL_CHECK_TOOL},
            tool_context=self.tools.nested.tool_context,
            hooks=self.hooks,
            gate=self.permission_gate.check_call,
            masks=self.tools.masks,
        )
        began = time.monotonic()
        await self.event_bus.publish(
            ToolExecutionStart(tool_call_id=call.id, tool_name=call.name, args=call.arguments)
        )
        result = ToolResult(is_error=True)
        try:
            prepared = await pipeline.prepare_call(call, partial(self._publish_progress, call))
            result = (
                prepared if isinstance(prepared, ToolResult) else await pipeline.run_prepared_call(prepared)
            )
        finally:
            took = time.monotonic() - began
            self.event_bus.publish_now(
                ToolExecutionEnd(
                    tool_call_id=call.id,
                    tool_name=call.name,
                    result=to_wire_tool_outcome(result),
                    is_error=result.is_error,
                    duration_ms=round(took * 1000),
                )
            )
        if is_current_task_being_cancelled():  # the command answered the cancellation by its end
            raise asyncio.CancelledError
        return _to_check_result(check, result, seconds)

    def _publish_progress(self, call: ToolCall, result: ToolResult) -> None:
        self.event_bus.publish_now(
            ToolExecutionUpdate(
                tool_call_id=call.id,
                tool_name=call.name,
                args=call.arguments,
                partial_result=to_wire_tool_outcome(result),
            )
        )


def _to_check_result(check: GoalCheck, result: ToolResult, seconds: float) -> CheckResult:
    details: dict[str, Any] = result.details or {}
    code = details.get("exitCode")
    problem = ""
    if details.get("timedOut"):
        problem = f"the check did not end within {seconds:g} seconds (goal.checkSeconds) and was stopped"
    elif details.get("aborted"):
        problem = "the check was stopped"
    elif not isinstance(code, int):
        problem = result.text.strip() or "the check could not be run"
    return CheckResult(
        command=check.command,
        name=check.name,
        exit_code=code if isinstance(code, int) and not problem else None,
        seconds=float(details.get("seconds", 0.0)),
        problem=problem[:MAX_GOAL_CHECK_OUTPUT_CHARS],
        output=""
        if not isinstance(code, int) and not details
        else result.text.strip()[-MAX_GOAL_CHECK_OUTPUT_CHARS:],
    )


async def _run_check(arguments: GoalCheckArguments, context: ToolContext) -> ToolResult:
    workspace = workspace_of_context(context)
    running = await start_command(
        workspace,
        CommandToSpawn(
            command=arguments.command,
            cwd=str(context.cwd),
            environment=command_environment(workspace.shell_settings(), extra={}, is_interactive=False),
        ),
        tool="bash",
        has_own_shell=True,
        call_id=context.call_id,
    )
    finishing = asyncio.ensure_future(running.finish(arguments.timeout))
    try:
        outcome = await _publish_output_until_end(running, finishing, context)
    except asyncio.CancelledError:
        outcome = await running.abort(finishing)
    return _outcome_to_tool_result(outcome)


async def _publish_output_until_end(
    running: RunningCommand, finishing: "asyncio.Task[CommandOutcome]", context: ToolContext
) -> CommandOutcome:
    shown, pace = 0, PollInterval()
    while True:
        done, _ = await asyncio.wait({finishing}, timeout=pace.seconds)
        if done:
            return finishing.result()
        has_news = running.output.received_bytes != shown
        pace.update_interval(has_news)
        if has_news:
            shown = running.output.received_bytes
            context.progress(make_command_progress_result(running.output))


def _outcome_to_tool_result(outcome: CommandOutcome) -> ToolResult:
    text = outcome.output.text.rstrip("\n")
    notes = format_sandbox_notes(outcome, text)
    if notes:
        text += "\n\n" + "\n".join(f"[{note}]" for note in notes)
    details: dict[str, Any] = {
        "exitCode": outcome.exit_code,
        "seconds": round(outcome.seconds, 3),
        **make_sandbox_details(outcome, text),
    }
    if outcome.is_timed_out:
        details["timedOut"] = True
    if outcome.is_aborted:
        details["aborted"] = True
    if outcome.output.artifact is not None:
        details["fullOutputPath"] = str(outcome.output.artifact.path)
    made = text_result(text, details=details)
    return msgspec.structs.replace(made, is_error=outcome.exit_code != 0)


_GOAL_CHECK_TOOL = Tool(
    name="bash",
    description="Run the check of a goal.",
    schema=make_arguments_schema(GoalCheckArguments),
    arguments=GoalCheckArguments,
    effects=GoalCheckArguments.effects,
    kind="execute",
    run=_run_check,
    show=make_command_card,
)
