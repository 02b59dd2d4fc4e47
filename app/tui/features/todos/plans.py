"""`/plan`: plan mode, and the plan that ends it."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from app.engine.planning.plan_mode import PlanReply
from app.engine.session import Session
from app.tui.handed import AskPerson, NotePerson, TellPerson
from app.values.events import PlanProposed, QuestionAsked
from widgets.screens.block import WholeBlock
from widgets.screens.dialogs import InputScreen, TextScreen
from widgets.screens.parts import KeyHint, KeyHints, RuleTitle
from widgets.status.arming import Arming
from widgets.textual_inside import SheetScreen
from widgets.transcript.blocks import Prose, ReplyBlock

PlanDeed = Literal["accept", "edit", "remark", "stay"]
_LOOK_SECONDS = 0.2


class PlanScreen(SheetScreen[PlanDeed | None]):
    AUTO_FOCUS: ClassVar[str | None] = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "answer('accept')", "Accept", show=False, id="app.plan.accept"),
        Binding("e", "answer('edit')", "Edit", show=False, id="app.plan.edit"),
        Binding("r", "answer('remark')", "Remark", show=False, id="app.plan.remark"),
        Binding("escape", "answer('stay')", "Stay", show=False, id="app.plan.stay"),
        Binding("up,k", "scroll(-1)", "Up", show=False, id="tui.select.up"),
        Binding("down,j", "scroll(1)", "Down", show=False, id="tui.select.down"),
        Binding("pageup,b", "page(-1)", "Page up", show=False, id="tui.select.pageUp"),
        Binding("pagedown,space", "page(1)", "Page down", show=False, id="tui.select.pageDown"),
    ]

    def __init__(self, title: str, plan: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(classes="full-height")
        self._heading = title
        self._clock = clock
        self._arming = Arming()
        self.transcript = WholeBlock(ReplyBlock(id="plan", parts=(Prose(text=plan),)))
        self.transcript.can_focus = False

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield RuleTitle(self._heading, "", id="title")
            yield self.transcript
            yield KeyHints(
                (
                    KeyHint("enter", "accept", 9, "app.plan.accept"),
                    KeyHint("e", "edit", 8, "app.plan.edit"),
                    KeyHint("r", "remark", 8, "app.plan.remark"),
                    KeyHint("up/down", "scroll", 4, "tui.select.up/tui.select.down"),
                    KeyHint("escape", "stay in plan mode", 9, "app.plan.stay"),
                ),
                id="keys",
            )

    def on_mount(self) -> None:
        self._arming.shown(self._clock())
        self.set_interval(_LOOK_SECONDS, self.look)

    def look(self) -> None:
        """It stands there, and nothing holds the program up."""
        self._arming.look(self._clock())

    def on_key(self, event: events.Key) -> None:
        """Not with a key that was meant for the editor."""
        self._arming.key(self._clock())
        if not self._arming.was_armed:
            event.stop()
            event.prevent_default()

    def action_answer(self, deed: PlanDeed) -> None:
        self.dismiss(deed)

    def action_scroll(self, rows: int) -> None:
        self.transcript.viewport.scroll_by(rows)

    def action_page(self, pages: int) -> None:
        self.transcript.keyboard.page(pages)


class PlansPage(msgspec.Struct, frozen=True):
    """The plans of one session."""

    session: Session
    ask: AskPerson
    say: TellPerson
    told: NotePerson
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
        self.told(f"Plan: {plan.title}", answer)
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
