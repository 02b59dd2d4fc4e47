"""`/btw` and `/handoff`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FullScreen
from app.tui.slash import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.beside.page import BesidePage


class Beside(Feature["BesidePage"]):
    slash: Sequence[SlashCommand["BesidePage"]] = (
        SlashCommand(
            name="btw",
            hint="question",
            verb="ask_beside",
            run=lambda page, text: page.ask(text),
        ),
        SlashCommand(
            name="handoff",
            hint="goal",
            help="a new session with what its goal needs of this one",
            run=lambda page, text: page.hand_over(text),
        ),
    )

    def page(self, screen: FullScreen) -> "BesidePage":
        from app.tui.features.beside.page import BesidePage  # noqa: PLC0415  (when it is first used)

        return BesidePage(screen.session, screen.ask, screen.say)


BESIDE = Beside()
FEATURES = (BESIDE,)
