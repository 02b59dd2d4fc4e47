"""The feature for staged changes: their list, and the question when the agent is done."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices, Subscription
from app.tui.features.permissions.feature import APPROVALS
from app.tui.features.review.feature import REVIEW
from app.tui.slash_commands import SlashCommand
from app.values.events import AgentSettled, AgentStart, SessionReplaced
from app.values.pending import PendingChanged

if TYPE_CHECKING:
    from app.tui.features.pending.page import PendingPage
    from app.tui.features.pending.questions import StagedQuestions


class PendingFeature(Feature["PendingPage"]):
    slash_commands: Sequence[SlashCommand["PendingPage"]] = (
        SlashCommand(
            name="pending",
            session_command="list_pending",
            hint="[apply|discard FILE]",
            run=lambda page, words: page.resolve_file(words) if words else page.open(),
        ),
    )

    def page(self, screen: FeatureServices) -> "PendingPage":
        from app.tui.features.pending.page import PendingPage  # noqa: PLC0415  (when it is first used)

        return PendingPage(
            screen.session,
            screen.ask,
            screen.show_message,
            lambda staged: screen.page(REVIEW).open_staged(staged),
        )


class StagedQuestionsFeature(Feature["StagedQuestions"]):
    subscriptions: Sequence[Subscription["StagedQuestions"]] = (
        Subscription(
            (AgentStart, AgentSettled, SessionReplaced, PendingChanged),
            lambda page, event: page.handle_event(event),
        ),
    )

    def page(self, screen: FeatureServices) -> "StagedQuestions":
        from app.tui.features.pending.questions import StagedQuestions  # noqa: PLC0415  (when it is first used)

        return StagedQuestions(
            screen.session, screen.page(APPROVALS), screen.show_message, screen.tasks.spawn
        )


PENDING = PendingFeature()
STAGED_QUESTIONS = StagedQuestionsFeature()
FEATURES = (
    PENDING,
    STAGED_QUESTIONS,
)
