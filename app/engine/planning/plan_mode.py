"""Plan mode: the agent reads and plans, nothing changes, and the user accepts the plan. `PlanningParts`
builds it with the todo list.

The gate prevents changes with the mode `read-only`, for nested calls too; tools that could not run are not
declared."""

from collections.abc import Mapping
from typing import Any

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.delivery import SendMessage
from app.engine.core.event_bus import EventBus
from app.engine.core.session_core import SessionCore
from app.engine.core.toolbox import Toolbox
from app.engine.core.user_questions import ask_question
from app.engine.models.model_requests import ModelRequests
from app.engine.permissions.permission_context import Approver
from app.engine.permissions.permission_gate import PermissionGate
from app.engine.permissions.session_rules import PLAN_MODE_ENTRY_TYPE, is_plan_mode_on
from app.engine.planning.todo_changes import TodoRefused, todo_phases_from_plan
from app.engine.planning.todo_list import TodoList
from app.engine.secrets.session_mask import SessionSecretMask
from app.permits.permission_decisions import PermissionMode
from app.resources.settings.effective_settings import EffectiveSettings
from app.values.events import EntryAppended, PlanModeChanged, PlanProposed
from app.values.todos import open_todo_items, todo_items_of_phases
from tools.tool_definition import Tool

ACCEPT_PLAN, STAY_IN_PLAN_MODE = "Accept", "Stay in plan mode"
_PLAN_MODE_PROMPT_SECTION = (
    "Plan mode is on: read, search and think, but change nothing; calls that would change something are "
    "refused. When you know what to do, call propose_plan once, with the whole plan: steps as a numbered "
    "list, "
    "each with the files it touches, and how the result is checked. Ask the user what only they can decide "
    "first."
)

_PLAN_MODE_WITHHELD_REASON = (
    "plan mode is on, and nothing can be changed in it. Call propose_plan with what you want to do."
)


class PlanApprovalReply(msgspec.Struct, frozen=True, kw_only=True):
    """The user's answer to a proposed plan."""

    is_accepted: bool
    plan: str | None = None
    """The plan with the user's changes; None: it is unchanged."""
    remark: str = ""


class ProposedPlanOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The tool result that the agent reads about its proposed plan."""

    text: str
    should_end_run: bool = False


class PlanMode(msgspec.Struct, eq=False):
    """The plan mode of one session. A session entry records whether it is on."""

    conversation: Conversation
    permission_gate: PermissionGate
    todos: TodoList
    event_bus: EventBus
    toolbox: Toolbox
    requests: ModelRequests
    effective_settings: EffectiveSettings
    approver: Approver
    unanswered_proposal: PlanProposed | None = None
    """The last proposed plan, if no user interface can accept one; None otherwise."""
    _mode_before: PermissionMode | None = None
    """The permission mode to restore when plan mode ends; None: plan mode is off."""

    def __post_init__(self) -> None:
        self.toolbox.add_withhold_rule(
            self._withheld_tools, why=lambda: _PLAN_MODE_WITHHELD_REASON if self.is_on else ""
        )
        self.effective_settings.subscribe(lambda before: self._on_mode_change())

    @property
    def is_on(self) -> bool:
        return self._mode_before is not None and self.permission_gate.rules.mode == "read-only"

    def set_active(self, is_on: bool) -> None:
        """Turns plan mode on or off; turning it off restores the permission mode."""
        self.turn_on() if is_on else self.turn_off()

    def turn_on(self) -> None:
        if not self.is_on:
            self._record_mode(is_on=True)
            self._enter_plan_mode()

    def turn_off(self) -> None:
        """Turns plan mode off and restores the permission mode."""
        if self._mode_before is not None:
            self._record_mode(is_on=False)
            self._leave_plan_mode()

    def load_from_branch(self) -> None:
        """Restores plan mode as recorded at another point of the tree, or in another session."""
        is_on = is_plan_mode_on(self.conversation.log)
        if is_on and not self.is_on:
            self._enter_plan_mode()
        elif not is_on and self._mode_before is not None:
            self._leave_plan_mode()

    def _enter_plan_mode(self) -> None:
        self._mode_before = self.permission_gate.rules.mode
        self.permission_gate.rules.set_mode("read-only")
        self._publish_change()

    def _leave_plan_mode(self) -> None:
        before, self._mode_before = self._mode_before, None
        self.permission_gate.rules.set_mode(before or "ask")
        self._publish_change()

    def _on_mode_change(self) -> None:
        """Ends plan mode when another permission mode is chosen."""
        if self._mode_before is not None and self.permission_gate.rules.mode != "read-only":
            self._mode_before = None
            self._record_mode(is_on=False)
            self._publish_change()

    def _publish_change(self) -> None:
        """Informs the model of plan mode with its next request, and publishes the change."""
        self.toolbox.recompute_active_tools()
        self.requests.set_prompt_section("plan_mode", _PLAN_MODE_PROMPT_SECTION if self.is_on else None)
        self.event_bus.publish_now(PlanModeChanged(is_on=self.is_on))

    def _record_mode(self, *, is_on: bool) -> None:
        if not self.conversation.log.is_read_only:
            self.event_bus.publish_now(
                EntryAppended(
                    entry=self.conversation.record_custom_entry(PLAN_MODE_ENTRY_TYPE, {"on": is_on})
                )
            )

    def _withheld_tools(self, tools: Mapping[str, Tool]) -> set[str]:
        """Returns the tools to withhold: in plan mode those that could not run, otherwise the tool that proposes
        plans."""
        if not self.is_on:
            return {PLAN_TOOL_NAME}
        has_box = self.permission_gate.boxes.are_in_force
        return {
            name
            for name, tool in tools.items()
            if not (tool.is_read_only or (tool.may_only_read and has_box))
        }

    async def ask_to_accept_plan(self, title: str, plan: str) -> ProposedPlanOutcome:
        """Asks the user to accept a plan; without a user, the plan stays for the interface to show and the run
        ends."""
        if self.approver == "none":
            self.unanswered_proposal = PlanProposed(title=title, plan=plan)
            return ProposedPlanOutcome(
                text="The user cannot accept a plan in this run, so the plan is the answer. Nothing was changed.",
                should_end_run=True,
            )
        said = await ask_question(
            self.event_bus.publish_now,
            "select",
            f"Plan: {title}\n\n{plan}",
            options=(ACCEPT_PLAN, STAY_IN_PLAN_MODE),
            plan=PlanProposed(title=title, plan=plan),
        )
        reply = _parse_reply(said)
        if not reply.is_accepted and reply.remark:
            return ProposedPlanOutcome(
                text=f"The user did not accept it yet. Their words: {reply.remark}\nChange it and propose it again."
            )
        if not reply.is_accepted:
            return ProposedPlanOutcome(
                text="The user did not accept the plan; plan mode stays on.", should_end_run=True
            )
        self.turn_off()
        return ProposedPlanOutcome(text=await self._accept_plan(title, plan, reply.plan))

    async def _accept_plan(self, title: str, plan: str, changed: str | None) -> str:
        mode = self.permission_gate.rules.mode
        told = f"The user accepted the plan. Carry it out now; permissions are those of mode {mode}."
        if changed is not None and changed.strip() != plan.strip():
            told += f" The user changed it; follow this version:\n\n{changed}"
        steps = todo_phases_from_plan(title, changed or plan)
        if not steps or open_todo_items(self.todos.phases):
            return told
        try:
            await self.todos.replace_by_agent(steps)
        except TodoRefused:
            return told
        return f"{told}\nIts {len(todo_items_of_phases(steps))} steps are the todo list."


PLAN_TOOL_NAME = "propose_plan"


def _parse_reply(said: Any) -> PlanApprovalReply:
    """Reads the user's answer to a plan: a `PlanApprovalReply`, or one of the options by its text. Other text is a
    comment, no answer is a no."""
    if isinstance(said, PlanApprovalReply):
        return said
    if said == ACCEPT_PLAN:
        return PlanApprovalReply(is_accepted=True)
    return PlanApprovalReply(
        is_accepted=False, remark=said.strip() if isinstance(said, str) and said != STAY_IN_PLAN_MODE else ""
    )


class PlanningParts:
    """Builds a session's todo list and plan mode; while plan mode is on, no todo reminders are sent."""

    def __init__(
        self,
        core: SessionCore,
        permits: PermissionGate,
        requests: ModelRequests,
        masking: SessionSecretMask,
        *,
        send: SendMessage,
    ) -> None:
        self.todos = TodoList(
            core.conversation,
            core.event_bus,
            core.options,
            masking,
            core.run_start,
            send=send,
            may_remind=lambda: not self.plan.is_on,
        )
        self.plan = PlanMode(
            core.conversation,
            permits,
            self.todos,
            core.event_bus,
            toolbox=core.toolbox,
            requests=requests,
            effective_settings=core.options.effective_settings,
            approver=permits.permission_context.approver,
        )
