"""Helper agents: the list of them and of background jobs, and a page for each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices
from app.tui.slash import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.helpers.page import HelpersPage


class HelpersFeature(Feature["HelpersPage"]):
    slash: Sequence[SlashCommand["HelpersPage"]] = (
        SlashCommand(
            name="tasks",
            help="helpers and background jobs: read, tell, stop",
            run=lambda page, _: page.open(),
        ),
    )

    def page(self, screen: FeatureServices) -> "HelpersPage":
        from app.tui.features.helpers.page import HelpersPage  # noqa: PLC0415  (when it is first used)

        return HelpersPage(
            screen.session,
            screen.ask,
            screen.say,
            screen.key_label,
            screen.presenter.renderers,
            open_log=lambda path: screen.assembled.places.open(path, read_only=True),
        )


HELPERS = HelpersFeature()
FEATURES = (HELPERS,)
