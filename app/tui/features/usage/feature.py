"""The usage of all sessions: the `/usage` command."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices
from app.tui.slash import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.usage.page import UsagePage


class UsageFeature(Feature["UsagePage"]):
    slash: Sequence[SlashCommand["UsagePage"]] = (
        SlashCommand(
            name="usage",
            help="what all sessions used, by day, model and project",
            run=lambda page, _: page.open(),
        ),
    )

    def page(self, screen: FeatureServices) -> "UsagePage":
        from app.tui.features.usage.page import UsagePage  # noqa: PLC0415  (when it is first used)

        return UsagePage(
            screen.assembled.places, screen.assembled.prompt.paths.cache_dir, screen.ask, home=screen.home
        )


USAGE = UsageFeature()
FEATURES = (USAGE,)
