"""`/btw` and `/handoff`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices
from app.tui.slash import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.side_questions.page import SideQuestionsPage


class SideQuestionsFeature(Feature["SideQuestionsPage"]):
    slash: Sequence[SlashCommand["SideQuestionsPage"]] = (
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

    def page(self, screen: FeatureServices) -> "SideQuestionsPage":
        from app.tui.features.side_questions.page import SideQuestionsPage  # noqa: PLC0415  (when it is first used)

        return SideQuestionsPage(screen.session, screen.ask, screen.say)


SIDE_QUESTIONS = SideQuestionsFeature()
FEATURES = (SIDE_QUESTIONS,)
