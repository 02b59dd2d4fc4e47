"""A plan to be accepted, changed, remarked on, or left where it is.

It comes up by itself, so its keys wait until it was seen.
"""

import time
from collections.abc import Callable
from typing import ClassVar, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from widgets.screens.block import WholeBlock
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
