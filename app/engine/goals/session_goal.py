"""The goal of one session: what the user wants, and the check that decides whether it is met.

The engine runs the check when the agent ends its turn, and the agent goes on until the check passes, a limit is
reached, or it says that it is blocked. The goal is an entry of the branch, so it follows navigation and resumption."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from app.agent.abort_signal import Aborted, AbortSignal
from app.agent.tool_pipeline import is_current_task_being_cancelled
from app.engine.core.session_core import SessionCore, shown_foreign_text
from app.engine.files.file_parts import SessionFileParts
from app.engine.models.model_requests import ModelRequests
from app.engine.permissions.permission_gate import PermissionGate
from app.engine.permissions.session_rules import is_plan_mode_on
from app.engine.planning.todo_list import TodoList
from app.engine.tools.tool_parts import SessionToolParts
from app.resources.settings.settings_tools import GoalSettings
from app.values.entries import CustomEntry
from app.values.events import EntryAppended, GoalChanged
from app.values.messages import AssistantMessage, CustomMessage, ToolResultMessage
from app.values.todos import (
    GOAL_CHECK_MESSAGE_TYPE,
    GOAL_ENTRY_TYPE,
    GOAL_SET_FIELD,
    CheckResult,
    Goal,
    GoalCheck,
    GoalProof,
    GoalStatus,
    GoalView,
)
from app.values.user_errors import UserError
from app.values.wire import from_wire, now_iso, to_wire
from tools.number_formatting import count_with_noun

if TYPE_CHECKING:
    from app.engine.goals.workspace_proof import GoalWorkspaceProof

MAX_CHECKS, MAX_TEXT = 50, 20_000
MAX_GOAL_TURNS_WITHOUT_CHANGE = 3
"""The maximum number of times in a row that the agent may end its turn without having done anything."""


class GoalRefused(UserError):
    """Raised if the goal cannot be set or continued; the text says why."""


class GoalCheckMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The message about a check of the goal, and whether the agent continues with it."""

    message: CustomMessage
    should_continue: bool


class SessionGoal:
    def __init__(
        self,
        core: SessionCore,
        *,
        requests: ModelRequests,
        permits: PermissionGate,
        tools: SessionToolParts,
        files: SessionFileParts,
        todos: TodoList,
    ) -> None:
        self._core = core
        self._todos = todos
        self._requests = requests
        self._permission_gate = permits
        self._tools = tools
        self._files = files
        self._goal: Goal | None = None
        self._workspace: GoalWorkspaceProof | None = None
        self._changed_since_proof: tuple[str, ...] | None = None
        """The files that changed since the goal was found done; None: none did."""
        self._idle_ends = 0
        self._check: asyncio.Task[GoalProof] | None = None

    @property
    def is_set(self) -> bool:
        return self._goal is not None

    @property
    def is_checking(self) -> bool:
        return self._check is not None

    @property
    def goal_view(self) -> GoalView | None:
        """The goal at the session's current entry, and whether its proof still holds as far as is known."""
        if self._goal is None:
            return None
        is_stale = self._changed_since_proof is not None and self._goal.status == "done"
        return GoalView(
            goal=self._goal,
            is_stale=is_stale,
            changed=(self._changed_since_proof or ()) if is_stale else (),
            is_checking=self._check is not None,
        )

    # What the user does

    async def set_goal(self, text: str, checks: Sequence[GoalCheck]) -> Goal:
        """Sets the goal. Raises `GoalRefused`, with nothing changed."""
        text, commands = text.strip(), [one.command.strip() for one in checks]
        if not text:
            raise GoalRefused("A goal needs a text that says what to reach: /goal TEXT check: COMMAND.")
        if not commands or not all(commands):
            raise GoalRefused(
                "A goal needs a check: a command whose exit code 0 means that it is met, such as pytest -q."
            )
        if any("\0" in command for command in commands):
            raise GoalRefused("A check contains a null byte, which no shell accepts. Remove it.")
        if len(commands) > MAX_CHECKS or len(text) + sum(map(len, commands)) > MAX_TEXT:
            raise GoalRefused(
                f"A goal has at most {MAX_CHECKS} checks and {MAX_TEXT:,} characters. Put longer checks "
                f"into a "
                "script."
            )
        if self._core.conversation.log.is_read_only:
            raise GoalRefused(
                "This session is read-only, so it cannot have a goal. /fork continues in a copy."
            )
        if await asyncio.to_thread(self._commands_contain_secret, commands):
            raise GoalRefused(
                "The check contains a secret, which would be stored in the session file. Let the check "
                "read it from a file "
                "or a variable."
            )
        text = await asyncio.to_thread(self._tools.masking.masked_text, text, "the goal")
        cleaned = tuple(
            msgspec.structs.replace(one, command=command, name=one.name.strip())
            for one, command in zip(checks, commands, strict=True)
        )
        self._idle_ends, self._changed_since_proof = 0, None
        self._workspace = None
        digest = await self._open_workspace_proof().snapshot_at_goal_start(commands)
        goal = Goal(text=text, checks=cleaned, digest=digest)
        await self._record_goal(goal, is_set=True)
        return goal

    async def clear_goal(self) -> None:
        """Removes the session's goal."""
        if self._goal is not None:
            self.stop_check()
            await self._record_goal_entry(None, {"goal": None})

    async def resume_goal(self) -> Goal:
        """Makes the goal active again; the caller starts the agent. Raises `GoalRefused`."""
        goal = self._require_goal()
        if goal.status == "active":
            return goal
        return await self._record_goal(msgspec.structs.replace(goal, status="active", reason="", failed=0))

    async def check_goal_now(self) -> Goal:
        """Runs the goal's check now, as the user asks; a failed check starts nothing. Raises `GoalRefused`."""
        goal = self._require_goal()
        if self._check is not None:
            raise GoalRefused("The check is running already.")
        try:
            proof = await self._make_proof(goal)
        except asyncio.CancelledError:
            if is_current_task_being_cancelled():
                raise
            raise GoalRefused("The check was stopped.") from None
        if self._goal is None:
            raise GoalRefused("The goal was removed while its check ran.")
        await self._todos.complete_items([one.name for one in proof.results if one.has_passed])
        status: GoalStatus = (
            "done" if proof.has_passed else "paused" if goal.status == "done" else goal.status
        )
        reason = (
            "" if proof.has_passed else "the goal's check fails now" if status == "paused" else goal.reason
        )
        return await self._record_goal(
            msgspec.structs.replace(goal, status=status, reason=reason, proof=proof)
        )

    def stop_check(self) -> None:
        """Stops the running check of the goal, which has no result then."""
        if self._check is not None:
            self._check.cancel()

    def _require_goal(self) -> Goal:
        if self._goal is None:
            raise GoalRefused("No goal is set. /goal TEXT sets one.")
        return self._goal

    # What the runner asks

    async def check_at_run_end(
        self, last: AssistantMessage | None, abort: AbortSignal
    ) -> GoalCheckMessage | None:
        """Runs the goal's check when the agent would stop; None: there is nothing to check, or the agent is
        blocked."""
        goal = self._goal
        if goal is None or goal.status not in ("active", "blocked") or last is None:
            return None
        if last.stop_reason != "stop" or abort.is_set or self._is_planning():
            return None
        if needed := last.blocked_on:
            await self._set_goal_status("blocked", needed)
            return None
        try:
            with abort.cancel_when_set():
                proof = await self._make_proof(goal)
        except Aborted:
            return None
        except asyncio.CancelledError:
            if is_current_task_being_cancelled():
                raise
            return None  # the user removed the goal, or stopped its check
        if self._goal is None or abort.is_set:
            return None
        return await self._apply_check_result(goal, proof)

    def _is_planning(self) -> bool:
        """Whether plan mode is on, in which nothing may be changed, so that there is nothing to check."""
        return self._permission_gate.rules.mode == "read-only" and is_plan_mode_on(
            self._core.conversation.log
        )

    async def _apply_check_result(self, goal: Goal, proof: GoalProof) -> GoalCheckMessage:
        from app.engine.goals import goal_texts  # noqa: PLC0415  (most sessions have no goal)

        await self._todos.complete_items([one.name for one in proof.results if one.has_passed])
        self._idle_ends = self._idle_ends + 1 if self._has_made_no_calls() else 0
        failed = goal.failed + (not proof.has_passed)
        status, reason = "active", ""
        if proof.has_passed:
            status = "done"
        elif refused := next((one for one in proof.results if _was_check_not_run(one)), None):
            status, reason = "refused", f"the check could not be run: {refused.problem}"
        elif self._idle_ends >= MAX_GOAL_TURNS_WITHOUT_CHANGE:
            status, reason = (
                "limit",
                f"the agent stopped {MAX_GOAL_TURNS_WITHOUT_CHANGE} times without having done anything",
            )
        elif failed >= (most := self._goal_settings.max_checks):
            status, reason = "limit", f"{count_with_noun(most, 'check')} failed (goal.maxChecks)"
        after = await self._record_goal(
            msgspec.structs.replace(goal, status=status, reason=reason, failed=failed, proof=proof)
        )
        return GoalCheckMessage(
            message=goal_texts.goal_check_result_message(after), should_continue=status == "active"
        )

    def _has_made_no_calls(self) -> bool:
        """Whether the agent made no tool call after the last message about a check."""
        for message in reversed(self._core.conversation.messages):
            if isinstance(message, ToolResultMessage):
                return False
            if isinstance(message, CustomMessage) and message.custom_type == GOAL_CHECK_MESSAGE_TYPE:
                return True
        return False

    async def note_run_end(self, *, is_aborted: bool) -> None:
        """Records why a run ended before the goal was met, and checks whether the proof still holds."""
        goal, budget = self._goal, self._core.budget
        if goal is None:
            return
        if goal.status == "active" and budget.has_refused_request:
            last = self._core.conversation.last_answer
            reason = (last.error_message if last is not None else None) or "a limit of this run is reached"
            await self._set_goal_status("limit", reason)
        elif goal.status == "active" and is_aborted:
            await self._set_goal_status("paused", "you stopped it")
        await self.check_goal_staleness()

    async def _set_goal_status(self, status: GoalStatus, reason: str) -> None:
        if self._goal is not None and not self._core.conversation.log.is_read_only:
            await self._record_goal(msgspec.structs.replace(self._goal, status=status, reason=reason))

    # Whether the proof holds

    async def check_goal_staleness(self) -> GoalView | None:
        """Checks whether a file changed since the goal was met, and publishes it. Cheap while nothing changed."""
        goal = self._goal
        if goal is None or goal.status != "done" or goal.proof is None or self._check is not None:
            return self.goal_view
        changed = await self._open_workspace_proof().changed_files_since(goal.proof.digest)
        if self._goal is goal and changed != self._changed_since_proof:
            self._changed_since_proof = changed
            await self._publish_goal()
        return self.goal_view

    def _open_workspace_proof(self) -> "GoalWorkspaceProof":
        from app.engine.goals.workspace_proof import GoalWorkspaceProof  # noqa: PLC0415  (most sessions have no goal)

        if self._workspace is None:
            workspace, log = self._core.workspace, self._core.conversation.log
            self._workspace = GoalWorkspaceProof(
                self._files.session_files, workspace.cwd, lambda: workspace.added.paths, log
            )
        return self._workspace

    # The check

    async def _make_proof(self, goal: Goal) -> GoalProof:
        """Runs the goal's check; once more when files changed while it ran."""
        self._check = asyncio.ensure_future(self._run_check(goal))
        await self._publish_goal()
        try:
            return await self._check
        finally:
            self.stop_check()
            await asyncio.wait({self._check})
            self._check = None
            self._core.event_bus.publish_now(GoalChanged(view=self.goal_view))

    async def _run_check(self, goal: Goal) -> GoalProof:
        from app.engine.goals.check_runs import GoalCheckRunner  # noqa: PLC0415  (most sessions have no goal)

        runner = GoalCheckRunner(
            self._core.toolbox, self._core.hooks, self._permission_gate, self._tools, self._core.event_bus
        )
        watched, commands = self._open_workspace_proof(), [one.command for one in goal.checks]

        async def run_all() -> tuple[CheckResult, ...]:
            return tuple(
                [
                    await runner.run_check_command(one, self._goal_settings.check_seconds)
                    for one in goal.checks
                ]
            )

        found = await watched.run_with_snapshots(run_all, commands)
        if found.written_files and all(one.has_passed for one in found.results):
            again = await watched.run_with_snapshots(run_all, commands)
            found = again.with_unexplained_writes(found.written_files)
        return GoalProof(
            at=now_iso(),
            results=found.results,
            digest=found.digest_after,
            written=found.written_files,
            tampered=await watched.changed_check_files(goal.digest, commands),
            is_unchanged=bool(goal.digest) and goal.digest == found.digest_after,
        )

    @property
    def _goal_settings(self) -> GoalSettings:
        return self._core.options.effective_settings.settings.goal

    def _commands_contain_secret(self, commands: Sequence[str]) -> bool:
        masking = self._tools.masking
        masking.search_files(*commands)
        return any(masking.masked_text(command, "") != command for command in commands)

    # The record

    def load_from_branch(self) -> None:
        """Reads the goal of another point of the tree, or of another session."""
        state = self._core.signed_state
        entry = state.newest_entry(GOAL_ENTRY_TYPE)
        goal = _decode_goal(entry) if entry is not None else None
        if entry is not None and goal is not None and not state.is_signed(entry):
            goal = self._pause_foreign_goal(entry, goal)
        if goal is None and self._goal is None:
            return
        self._goal, self._changed_since_proof, self._workspace, self._idle_ends = goal, None, None, 0
        self._update_prompt_section()
        self._core.event_bus.publish_now(GoalChanged(view=self.goal_view))

    def _pause_foreign_goal(self, entry: CustomEntry, goal: Goal) -> Goal:
        """Pauses a goal that was not set in this session on this machine, so that none of its checks runs."""
        if goal.status == "done":
            return goal
        checks = "; ".join(one.command for one in goal.checks)
        self._core.signed_state.report_unsigned(
            entry,
            f"This session's goal was not set on this machine, so it is paused and its check does not run: "
            f"{shown_foreign_text(checks)}. /goal shows it, /goal continue goes on with it.",
        )
        return msgspec.structs.replace(goal, status="paused", reason="it was not set on this machine")

    async def _record_goal(self, goal: Goal, *, is_set: bool = False) -> Goal:
        await self._record_goal_entry(
            goal, {"goal": to_wire(goal), **({GOAL_SET_FIELD: True} if is_set else {})}
        )
        return goal

    async def _record_goal_entry(self, goal: Goal | None, data: dict[str, Any]) -> None:
        entry = self._core.signed_state.record_entry(GOAL_ENTRY_TYPE, data)
        self._goal, self._changed_since_proof = goal, None
        self._update_prompt_section()
        await self._core.event_bus.publish(EntryAppended(entry=entry))
        await self._publish_goal()

    async def _publish_goal(self) -> None:
        await self._core.event_bus.publish(GoalChanged(view=self.goal_view))

    def _update_prompt_section(self) -> None:
        from app.engine.goals.goal_texts import goal_section_text  # noqa: PLC0415  (most sessions have no goal)

        goal = self._goal
        is_told = goal is not None and goal.status in ("active", "blocked")
        self._requests.set_prompt_section(
            "goal", goal_section_text(goal) if goal is not None and is_told else None
        )


def _decode_goal(entry: CustomEntry) -> Goal | None:
    """Decodes a stored goal; an invalid one counts as none."""
    try:
        return from_wire(entry.data["goal"], Goal | None)
    except (TypeError, KeyError, msgspec.ValidationError):
        return None


def _was_check_not_run(result: CheckResult) -> bool:
    """Whether a check command was not run at all: a rule, a hook or the user refused it, or it cannot be started."""
    return result.exit_code is None and not result.seconds
