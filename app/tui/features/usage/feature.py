"""The feature for the usage of all sessions: the `/usage` command."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, TuiFeature
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.usage.page import UsagePage


class UsageFeature(TuiFeature["UsagePage"]):
    slash_commands: Sequence[SlashCommand["UsagePage"]] = (
        SlashCommand(
            name="usage",
            help="usage and cost of all sessions, by day, model and project",
            run=lambda page, _: page.open(),
        ),
    )

    def page(self, screen: FeatureServices) -> "UsagePage":
        from app.tui.features.usage.page import UsagePage  # noqa: PLC0415  (when it is first used)

        return UsagePage(
            screen.assembled.session_paths,
            screen.assembled.prompt.paths.cache_dir,
            screen.ask,
            home=screen.home,
        )


USAGE_FEATURE = UsageFeature()
TUI_FEATURES = (USAGE_FEATURE,)
