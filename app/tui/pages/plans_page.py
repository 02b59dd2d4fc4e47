"""`/plan`: plan mode, and the plan that ends it."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from app.engine.planning.plan_mode import PlanReply
from app.engine.session import Session
from app.tui.handed import AskPerson, TellPerson
from app.values.events import PlanProposed, QuestionAsked
from widgets.screens.dialogs import InputScreen, TextScreen
from widgets.screens.plan import PlanDeed, PlanScreen


class PlansPage(msgspec.Struct, frozen=True):
    """The plans of one session."""

    session: Session
    ask: AskPerson
    say: TellPerson
    told: Callable[[str], None]
    """Somebody waits for the person."""
    clock: Callable[[], float]

    async def toggle(self, prompt: str = "") -> None:
        """On, or off again. With a prompt behind `/plan`, on, and that is what is planned."""
        is_on = bool(prompt) or not self.session.state.is_planning
        self.session.plan.switch(is_on)
        if is_on:
            self.say("Plan mode: nothing changes until you accept a plan. /plan leaves it.")
        else:
            self.say(f"Plan mode is off. Permissions: {self.session.state.permission_mode}.")
        if prompt:
            await self.session.prompt(prompt)

    async def answer(self, event: QuestionAsked) -> None:
        """A plan that the agent proposes: shown until it is answered, here or elsewhere."""
        plan, answer = event.plan, event.answer
        if plan is None or answer is None:
            return
        self.told(f"Plan: {plan.title}")
        while not answer.done():
            reply = await self._asked(plan, answer)
            if reply is not None and not answer.done():
                answer.set_result(reply)

    async def _asked(self, plan: PlanProposed, answer: "asyncio.Future[Any]") -> PlanReply | None:
        screen = PlanScreen(plan.title, plan.plan, clock=self.clock)
        answer.add_done_callback(lambda _: screen.dismiss(None) if screen.is_current else None)
        deed: PlanDeed | None = await self.ask(screen)
        match deed:
            case "accept":
                return PlanReply(accepts=True)
            case "stay":
                return PlanReply(accepts=False)
            case "edit":
                text = await self.ask(
                    TextScreen("The plan, as you want it", prefill=plan.plan, is_for_reading=True)
                )
                return PlanReply(accepts=True, plan=text) if text and text.strip() else None
            case "remark":
                words = await self.ask(InputScreen("What is to be different?"))
                return PlanReply(accepts=False, remark=words.strip()) if words and words.strip() else None
            case None:
                return None
