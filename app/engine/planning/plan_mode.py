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
from app.engine.permissions.session_rules import PLAN_ENTRY_TYPE, is_planned
from app.engine.planning.todo_changes import TodoRefused, phases_from_plan
from app.engine.planning.todo_list import TodoList
from app.engine.secrets.session_mask import SessionMask
from app.permits.permission_decisions import PermissionMode
from app.resources.settings.effective_settings import EffectiveSettings
from app.values.events import EntryAppended, PlanModeChanged, PlanProposed
from app.values.todos import items_of, open_items
from tools.base import Tool

ACCEPT, STAY = "Accept", "Stay in plan mode"
_SECTION = (
    "Plan mode is on: look, read, search and think; nothing may be changed, and what would change anything is "
    "refused. When you know what is to be done, call propose_plan once, with the whole plan: steps as a numbered list, "
    "each with the files it touches, and how the result is checked. Ask the user what only they can decide first."
)

_WHY_WITHHELD = "plan mode is on, in which nothing may be changed. Call propose_plan with what is to be done."


class PlanReply(msgspec.Struct, frozen=True, kw_only=True):
    """The user's answer to a plan."""

    accepts: bool
    plan: str | None = None
    """The plan with the user's changes."""
    remark: str = ""


class PlanOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result that the agent reads about its plan."""

    text: str
    ends_run: bool = False


class PlanMode(msgspec.Struct, eq=False):
    """The plan mode of one session. An entry of the tree records whether it is on."""

    conversation: Conversation
    permits: PermissionGate
    todos: TodoList
    event_bus: EventBus
    toolbox: Toolbox
    requests: ModelRequests
    effective_settings: EffectiveSettings
    asks: Approver
    unanswered: PlanProposed | None = None
    """The last proposed plan where no interface can accept one."""
    _mode_before: PermissionMode | None = None
    """The permission mode to restore at the end; None: plan mode is off."""

    def __post_init__(self) -> None:
        self.toolbox.withhold(self._withheld_tools, why=lambda: _WHY_WITHHELD if self.is_on else "")
        self.effective_settings.subscribe(lambda before: self._on_mode_change())

    @property
    def is_on(self) -> bool:
        return self._mode_before is not None and self.permits.rules.mode == "read-only"

    def switch(self, is_on: bool) -> None:
        """Turns plan mode on or off; turning it off restores the permission mode."""
        self.begin() if is_on else self.end()

    def begin(self) -> None:
        if not self.is_on:
            self._note(is_on=True)
            self._enter()

    def end(self) -> None:
        """Turns plan mode off and restores the permission mode."""
        if self._mode_before is not None:
            self._note(is_on=False)
            self._leave_plan_mode()

    def arrive(self) -> None:
        """Restores plan mode as recorded at another point of the tree, or in another session."""
        is_on = is_planned(self.conversation.log)
        if is_on and not self.is_on:
            self._enter()
        elif not is_on and self._mode_before is not None:
            self._leave_plan_mode()

    def _enter(self) -> None:
        self._mode_before = self.permits.rules.mode
        self.permits.rules.set_mode("read-only")
        self._announce()

    def _leave_plan_mode(self) -> None:
        before, self._mode_before = self._mode_before, None
        self.permits.rules.set_mode(before or "ask")
        self._announce()

    def _on_mode_change(self) -> None:
        """Ends plan mode when another permission mode is chosen."""
        if self._mode_before is not None and self.permits.rules.mode != "read-only":
            self._mode_before = None
            self._note(is_on=False)
            self._announce()

    def _announce(self) -> None:
        """Informs the model with its next request, and publishes the change."""
        self.toolbox.changed()
        self.requests.add_section("plan_mode", _SECTION if self.is_on else None)
        self.event_bus.publish_now(PlanModeChanged(is_on=self.is_on))

    def _note(self, *, is_on: bool) -> None:
        if not self.conversation.log.is_read_only:
            self.event_bus.publish_now(
                EntryAppended(entry=self.conversation.note(PLAN_ENTRY_TYPE, {"on": is_on}))
            )

    def _withheld_tools(self, tools: Mapping[str, Tool]) -> set[str]:
        """Withholds tools that could not run now, and the tool for plans outside of plan mode."""
        if not self.is_on:
            return {TOOL_NAME}
        has_box = self.permits.boxes.are_in_force
        return {
            name
            for name, tool in tools.items()
            if not (tool.is_read_only or (tool.may_only_read and has_box))
        }

    async def propose(self, title: str, plan: str) -> PlanOutcome:
        """Asks the user to accept a plan; without a user, the plan is kept for the interface and the run ends."""
        if self.asks == "nobody":
            self.unanswered = PlanProposed(title=title, plan=plan)
            return PlanOutcome(
                text="The plan is the answer: no person can accept it here. Nothing was changed.",
                ends_run=True,
            )
        said = await ask_question(
            self.event_bus.publish_now,
            "select",
            f"Plan: {title}\n\n{plan}",
            options=(ACCEPT, STAY),
            plan=PlanProposed(title=title, plan=plan),
        )
        reply = _parse_reply(said)
        if not reply.accepts and reply.remark:
            return PlanOutcome(
                text=f"The user did not accept it yet. Their words: {reply.remark}\nChange it and propose it again."
            )
        if not reply.accepts:
            return PlanOutcome(text="The user did not accept it, and stays in plan mode.", ends_run=True)
        self.end()
        return PlanOutcome(text=await self._accepted(title, plan, reply.plan))

    async def _accepted(self, title: str, plan: str, changed: str | None) -> str:
        told = f"The user accepted the plan. Carry it out now; permissions are those of mode {self.permits.rules.mode}."
        if changed is not None and changed.strip() != plan.strip():
            told += f" They changed it; this counts:\n\n{changed}"
        steps = phases_from_plan(title, changed or plan)
        if not steps or open_items(self.todos.phases):
            return told
        try:
            await self.todos.replace(steps)
        except TodoRefused:
            return told
        return f"{told}\nIts {len(items_of(steps))} steps are the todo list."


TOOL_NAME = "propose_plan"


def _parse_reply(said: Any) -> PlanReply:
    """Reads a `PlanReply`, or one of the options by its text; other text is a remark, no answer is a no."""
    if isinstance(said, PlanReply):
        return said
    if said == ACCEPT:
        return PlanReply(accepts=True)
    return PlanReply(accepts=False, remark=said.strip() if isinstance(said, str) and said != STAY else "")


class PlanningParts:
    """The todo list and plan mode, in which no todo reminders are sent."""

    def __init__(
        self,
        core: SessionCore,
        permits: PermissionGate,
        requests: ModelRequests,
        masking: SessionMask,
        *,
        send: SendMessage,
    ) -> None:
        self.todos = TodoList(
            core.conversation,
            core.event_bus,
            core.options,
            masking,
            core.next_run,
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
            asks=permits.standing.asks,
        )
