"""The feature for staged changes: their list, and the question when the agent is done."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, FeatureSubscription, TuiFeature
from app.tui.features.permissions.feature import APPROVALS_FEATURE
from app.tui.features.review.feature import REVIEW_FEATURE
from app.tui.slash_commands import SlashCommand
from app.values.events import AgentSettled, AgentStart, SessionReplaced
from app.values.pending import PendingChanged

if TYPE_CHECKING:
    from app.tui.features.pending.page import StagedChangesPage
    from app.tui.features.pending.questions import StagedChangeQuestions


class StagedChangesFeature(TuiFeature["StagedChangesPage"]):
    slash_commands: Sequence[SlashCommand["StagedChangesPage"]] = (
        SlashCommand(
            name="pending",
            session_command="list_pending",
            hint="[apply|discard FILE]",
            run=lambda page, words: page.apply_staged_file(words) if words else page.open(),
        ),
    )

    def page(self, screen: FeatureServices) -> "StagedChangesPage":
        from app.tui.features.pending.page import StagedChangesPage  # noqa: PLC0415  (when it is first used)

        return StagedChangesPage(
            screen.session,
            screen.ask,
            screen.show_message,
            lambda staged: screen.page(REVIEW_FEATURE).open_staged_changes(staged),
        )


class StagedChangeQuestionsFeature(TuiFeature["StagedChangeQuestions"]):
    subscriptions: Sequence[FeatureSubscription["StagedChangeQuestions"]] = (
        FeatureSubscription(
            (AgentStart, AgentSettled, SessionReplaced, PendingChanged),
            lambda page, event: page.handle_event(event),
        ),
    )

    def page(self, screen: FeatureServices) -> "StagedChangeQuestions":
        from app.tui.features.pending.questions import StagedChangeQuestions  # noqa: PLC0415  (when it is first used)

        return StagedChangeQuestions(
            screen.session, screen.page(APPROVALS_FEATURE), screen.show_message, screen.tasks.spawn
        )


STAGED_CHANGES_FEATURE = StagedChangesFeature()
STAGED_QUESTIONS_FEATURE = StagedChangeQuestionsFeature()
TUI_FEATURES = (
    STAGED_CHANGES_FEATURE,
    STAGED_QUESTIONS_FEATURE,
)
