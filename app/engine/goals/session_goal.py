"""The goal of one session: what the user wants, and the check that decides whether it is met.

The engine runs the check when the agent ends its turn, and the agent goes on until the check passes, a limit is
reached, or it says that it is blocked. The goal is an entry of the branch, so it follows navigation and resumption."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from app.agent.abort import Abort, Aborted
from app.agent.tool_pipeline import is_being_cancelled
from app.engine.core.session_core import SessionCore
from app.engine.files.file_parts import FileParts
from app.engine.models.model_requests import ModelRequests
from app.engine.permissions.permission_gate import PermissionGate
from app.engine.permissions.session_rules import is_planned
from app.engine.tools.tool_parts import ToolParts
from app.resources.settings.settings_tools import GoalSettings
from app.values.entries import CustomEntry
from app.values.events import EntryAppended, GoalChanged
from app.values.messages import AssistantMessage, CustomMessage, ToolResultMessage
from app.values.todos import (
    CHECK_MESSAGE_TYPE,
    GOAL_ENTRY_TYPE,
    SET_MARK,
    CheckResult,
    Goal,
    GoalCheck,
    GoalProof,
    GoalStatus,
    GoalView,
)
from app.values.user_errors import UserError
from app.values.wire import from_wire, now_iso, to_wire
from tools.amounts import pluralized

if TYPE_CHECKING:
    from app.engine.goals.workspace_proof import WorkspaceProof

MAX_CHECKS, MAX_TEXT = 50, 20_000
MAX_IDLE_ENDS = 3
"""How often in a row the agent may end its turn without having done anything."""


class GoalRefused(UserError):
    """The goal cannot be set or continued."""


class GoalStep(msgspec.Struct, frozen=True, kw_only=True):
    """The message about a check, and whether the agent goes on with it."""

    message: CustomMessage
    goes_on: bool


class SessionGoal:
    def __init__(
        self,
        core: SessionCore,
        *,
        requests: ModelRequests,
        permits: PermissionGate,
        tools: ToolParts,
        files: FileParts,
    ) -> None:
        self._core = core
        self._requests = requests
        self._permits = permits
        self._tools = tools
        self._files = files
        self._goal: Goal | None = None
        self._workspace: WorkspaceProof | None = None
        self._changed: tuple[str, ...] | None = None
        """The files that changed since the proof; None: none did."""
        self._idle_ends = 0
        self._check: asyncio.Task[GoalProof] | None = None

    @property
    def is_set(self) -> bool:
        return self._goal is not None

    @property
    def is_checking(self) -> bool:
        return self._check is not None

    @property
    def view(self) -> GoalView | None:
        """The goal at the session's current entry, and whether its proof holds as far as was looked."""
        if self._goal is None:
            return None
        is_stale = self._changed is not None and self._goal.status == "done"
        return GoalView(
            goal=self._goal,
            is_stale=is_stale,
            changed=(self._changed or ()) if is_stale else (),
            is_checking=self._check is not None,
        )

    # What the user does

    async def set(self, text: str, checks: Sequence[GoalCheck]) -> Goal:
        """Sets the goal. Raises `GoalRefused`, with nothing changed."""
        text, commands = text.strip(), [one.command.strip() for one in checks]
        if not text:
            raise GoalRefused("A goal needs a text that says what is to be reached.")
        if not commands or not all(commands):
            raise GoalRefused(
                "A goal needs a check: a command whose exit code 0 means that it is met, such as pytest -q."
            )
        if any("\0" in command for command in commands):
            raise GoalRefused("A check has a null byte, which no shell can get. Remove it.")
        if len(commands) > MAX_CHECKS or len(text) + sum(map(len, commands)) > MAX_TEXT:
            raise GoalRefused(
                f"A goal has at most {MAX_CHECKS} checks and {MAX_TEXT:,} characters. Put longer checks into a "
                "script."
            )
        if self._core.conversation.log.is_read_only:
            raise GoalRefused("This session is read-only, so it keeps no goal. /fork continues in a copy.")
        if await asyncio.to_thread(self._has_secret, commands):
            raise GoalRefused(
                "The check has a secret, which would be kept in the session file. Let the check read it from a file "
                "or a variable."
            )
        text = await asyncio.to_thread(self._tools.masking.text, text, "the goal")
        cleaned = tuple(
            msgspec.structs.replace(one, command=command, name=one.name.strip())
            for one, command in zip(checks, commands, strict=True)
        )
        self._idle_ends, self._changed = 0, None
        self._workspace = None
        digest = await self._watched().begin(commands)
        goal = Goal(text=text, checks=cleaned, digest=digest)
        await self._record(goal, is_set=True)
        return goal

    async def clear(self) -> None:
        """Removes the goal."""
        if self._goal is not None:
            self.stop_check()
            await self._note(None, {"goal": None})

    async def resume(self) -> Goal:
        """Makes the goal active again; the caller starts the agent. Raises `GoalRefused`."""
        goal = self._required()
        if goal.status == "active":
            return goal
        return await self._record(msgspec.structs.replace(goal, status="active", reason="", failed=0))

    async def check(self) -> Goal:
        """Runs the check now, as the user asks; a failed one starts nothing. Raises `GoalRefused`."""
        goal = self._required()
        if self._check is not None:
            raise GoalRefused("The check is running already.")
        try:
            proof = await self._proof(goal)
        except asyncio.CancelledError:
            if is_being_cancelled():
                raise
            raise GoalRefused("The check was stopped.") from None
        if self._goal is None:
            raise GoalRefused("The goal was removed while its check ran.")
        status: GoalStatus = (
            "done" if proof.has_passed else "paused" if goal.status == "done" else goal.status
        )
        reason = "" if proof.has_passed else "its check fails now" if status == "paused" else goal.reason
        return await self._record(msgspec.structs.replace(goal, status=status, reason=reason, proof=proof))

    def stop_check(self) -> None:
        """Stops a running check, which has no result then."""
        if self._check is not None:
            self._check.cancel()

    def _required(self) -> Goal:
        if self._goal is None:
            raise GoalRefused("No goal is set. /goal TEXT sets one.")
        return self._goal

    # What the runner asks

    async def at_the_end(self, last: AssistantMessage | None, abort: Abort) -> GoalStep | None:
        """Runs the check when the agent would stop; None: there is nothing to check, or the agent is blocked."""
        goal = self._goal
        if goal is None or goal.status not in ("active", "blocked") or last is None:
            return None
        if last.stop_reason != "stop" or abort.is_set or self._is_planning():
            return None
        if needed := last.blocked_on:
            await self._stop("blocked", needed)
            return None
        try:
            with abort.interrupting():
                proof = await self._proof(goal)
        except Aborted:
            return None
        except asyncio.CancelledError:
            if is_being_cancelled():
                raise
            return None  # the user removed the goal, or stopped its check
        if self._goal is None or abort.is_set:
            return None
        return await self._judge(goal, proof)

    def _is_planning(self) -> bool:
        """Whether nothing may be changed before a plan is accepted, so that there is nothing to check."""
        return self._permits.rules.mode == "read-only" and is_planned(self._core.conversation.log)

    async def _judge(self, goal: Goal, proof: GoalProof) -> GoalStep:
        from app.engine.goals import goal_texts  # noqa: PLC0415  (most sessions have no goal)

        self._idle_ends = self._idle_ends + 1 if self._was_idle() else 0
        failed = goal.failed + (not proof.has_passed)
        status, reason = "active", ""
        if proof.has_passed:
            status = "done"
        elif refused := next((one for one in proof.results if _is_refused(one)), None):
            status, reason = "refused", f"the check could not be run: {refused.problem}"
        elif self._idle_ends >= MAX_IDLE_ENDS:
            status, reason = "limit", f"the agent stopped {MAX_IDLE_ENDS} times without having done anything"
        elif failed >= (most := self._settings.max_checks):
            status, reason = "limit", f"{pluralized(most, 'check')} failed (goal.maxChecks)"
        after = await self._record(
            msgspec.structs.replace(goal, status=status, reason=reason, failed=failed, proof=proof)
        )
        return GoalStep(message=goal_texts.check_message(after), goes_on=status == "active")

    def _was_idle(self) -> bool:
        """Whether the agent made no call after the last message about a check."""
        for message in reversed(self._core.conversation.messages):
            if isinstance(message, ToolResultMessage):
                return False
            if isinstance(message, CustomMessage) and message.custom_type == CHECK_MESSAGE_TYPE:
                return True
        return False

    async def run_ended(self, *, is_aborted: bool) -> None:
        """Notes why the run ended before the goal was met, and looks whether the proof still holds."""
        goal, budget = self._goal, self._core.budget
        if goal is None:
            return
        if goal.status == "active" and budget.has_refused:
            last = self._core.conversation.last_assistant
            reason = (last.error_message if last is not None else None) or "a limit of this run is reached"
            await self._stop("limit", reason)
        elif goal.status == "active" and is_aborted:
            await self._stop("paused", "you stopped it")
        await self.look()

    async def _stop(self, status: GoalStatus, reason: str) -> None:
        if self._goal is not None and not self._core.conversation.log.is_read_only:
            await self._record(msgspec.structs.replace(self._goal, status=status, reason=reason))

    # Whether the proof holds

    async def look(self) -> GoalView | None:
        """Looks whether a file changed since the goal was found done, and publishes it. Cheap while nothing did."""
        goal = self._goal
        if goal is None or goal.status != "done" or goal.proof is None or self._check is not None:
            return self.view
        changed = await self._watched().changes_since(goal.proof.digest)
        if self._goal is goal and changed != self._changed:
            self._changed = changed
            await self._publish()
        return self.view

    def _watched(self) -> "WorkspaceProof":
        from app.engine.goals.workspace_proof import WorkspaceProof  # noqa: PLC0415  (most sessions have no goal)

        if self._workspace is None:
            log = self._core.conversation.log
            self._workspace = WorkspaceProof(self._files.kept, self._core.workspace.cwd, log)
        return self._workspace

    # The check

    async def _proof(self, goal: Goal) -> GoalProof:
        """Runs the check; when files changed while it ran, once more."""
        self._check = asyncio.ensure_future(self._run_check(goal))
        await self._publish()
        try:
            return await self._check
        finally:
            self.stop_check()
            await asyncio.wait({self._check})
            self._check = None
            self._core.event_bus.publish_now(GoalChanged(view=self.view))

    async def _run_check(self, goal: Goal) -> GoalProof:
        from app.engine.goals.check_runs import CheckRunner  # noqa: PLC0415  (most sessions have no goal)

        runner = CheckRunner(
            self._core.toolbox, self._core.hooks, self._permits, self._tools, self._core.event_bus
        )
        watched, commands = self._watched(), [one.command for one in goal.checks]

        async def run_all() -> tuple[CheckResult, ...]:
            return tuple([await runner.run(one, self._settings.check_seconds) for one in goal.checks])

        found = await watched.around(run_all, commands)
        if found.written and all(one.has_passed for one in found.results):
            again = await watched.around(run_all, commands)
            found = again.with_unexplained(found.written)
        return GoalProof(
            at=now_iso(),
            results=found.results,
            digest=found.digest,
            written=found.written,
            tampered=await watched.tampered(goal.digest, commands),
            is_unchanged=bool(goal.digest) and goal.digest == found.digest,
        )

    @property
    def _settings(self) -> GoalSettings:
        return self._core.options.effective_settings.settings.goal

    def _has_secret(self, commands: Sequence[str]) -> bool:
        masking = self._tools.masking
        masking.look(*commands)
        return any(masking.text(command, "") != command for command in commands)

    # The record

    def arrive(self) -> None:
        """Reads the goal of another point of the tree, or of another session."""
        goal: Goal | None = None
        log = self._core.conversation.log
        for entry in log.upwards(without_messages=True):
            if isinstance(entry, CustomEntry) and entry.custom_type == GOAL_ENTRY_TYPE:
                goal = _goal_of(entry)
                break
        if goal is None and self._goal is None:
            return
        self._goal, self._changed, self._workspace, self._idle_ends = goal, None, None, 0
        self._tell_model()
        self._core.event_bus.publish_now(GoalChanged(view=self.view))

    async def _record(self, goal: Goal, *, is_set: bool = False) -> Goal:
        await self._note(goal, {"goal": to_wire(goal), **({SET_MARK: True} if is_set else {})})
        return goal

    async def _note(self, goal: Goal | None, data: dict[str, Any]) -> None:
        entry = self._core.conversation.note(GOAL_ENTRY_TYPE, data)
        self._goal, self._changed = goal, None
        self._tell_model()
        await self._core.event_bus.publish(EntryAppended(entry=entry))
        await self._publish()

    async def _publish(self) -> None:
        await self._core.event_bus.publish(GoalChanged(view=self.view))

    def _tell_model(self) -> None:
        from app.engine.goals.goal_texts import section_text  # noqa: PLC0415  (most sessions have no goal)

        goal = self._goal
        is_told = goal is not None and goal.status in ("active", "blocked")
        self._requests.add_section("goal", section_text(goal) if goal is not None and is_told else None)


def _goal_of(entry: CustomEntry) -> Goal | None:
    """Decodes a stored goal; an invalid one counts as none."""
    try:
        return from_wire(entry.data["goal"], Goal | None)
    except (TypeError, KeyError, msgspec.ValidationError):
        return None


def _is_refused(result: CheckResult) -> bool:
    """Whether a check was not run at all: a rule, a hook or the user refused it, or it cannot be started."""
    return result.exit_code is None and not result.seconds
