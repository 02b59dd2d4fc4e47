"""The feature for side questions (`/btw`) and handoffs to a new session (`/handoff`)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, TuiFeature
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.side_questions.page import SideQuestionsPage


class SideQuestionsFeature(TuiFeature["SideQuestionsPage"]):
    slash_commands: Sequence[SlashCommand["SideQuestionsPage"]] = (
        SlashCommand(
            name="btw",
            hint="question",
            session_command="ask_beside",
            run=lambda page, text: page.ask(text),
        ),
        SlashCommand(
            name="handoff",
            hint="goal",
            help="new session for a goal, with the context it needs",
            run=lambda page, text: page.draft_handoff_session(text),
        ),
    )

    def page(self, screen: FeatureServices) -> "SideQuestionsPage":
        from app.tui.features.side_questions.page import SideQuestionsPage  # noqa: PLC0415  (when it is first used)

        return SideQuestionsPage(screen.session, screen.ask, screen.show_message)


SIDE_QUESTIONS_FEATURE = SideQuestionsFeature()
TUI_FEATURES = (SIDE_QUESTIONS_FEATURE,)
