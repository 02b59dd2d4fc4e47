"""The feature for the goal of a session, and for its check."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, FeatureSubscription, TuiFeature
from app.tui.slash_commands import SlashCommand
from app.values.events import GoalChanged, SessionReplaced

if TYPE_CHECKING:
    from app.tui.features.goal.page import GoalPage


class GoalFeature(TuiFeature["GoalPage"]):
    slash_commands: Sequence[SlashCommand["GoalPage"]] = (
        SlashCommand(
            name="goal",
            help="work until a check passes",
            hint="[text] check: command",
            run=lambda page, words: page.run_goal_command(words),
        ),
    )
    subscriptions: Sequence[FeatureSubscription["GoalPage"]] = (
        FeatureSubscription((GoalChanged, SessionReplaced), lambda page, _: page.poll_goal_files()),
    )

    def page(self, screen: FeatureServices) -> "GoalPage":
        from app.tui.features.goal.page import GoalPage  # noqa: PLC0415  (when it is first used)

        return GoalPage(screen.session, screen.ask, screen.show_message, spawn=screen.tasks.spawn)


GOAL_FEATURE = GoalFeature()
TUI_FEATURES = (GOAL_FEATURE,)
