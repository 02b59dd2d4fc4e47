"""The feature for helper agents: a list of helpers and background jobs, and a page for each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, TuiFeature
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.helpers.page import HelperAgentsPage


class HelpersFeature(TuiFeature["HelperAgentsPage"]):
    slash_commands: Sequence[SlashCommand["HelperAgentsPage"]] = (
        SlashCommand(
            name="tasks",
            help="helpers and background jobs: open, message, stop",
            run=lambda page, _: page.open(),
        ),
    )

    def page(self, screen: FeatureServices) -> "HelperAgentsPage":
        from app.tui.features.helpers.page import HelperAgentsPage  # noqa: PLC0415  (when it is first used)

        return HelperAgentsPage(
            screen.session,
            screen.ask,
            screen.show_message,
            screen.key_label,
            screen.presenter.renderers,
            open_log=lambda path: screen.assembled.session_paths.open_file(path, read_only=True),
        )


HELPERS_FEATURE = HelpersFeature()
TUI_FEATURES = (HELPERS_FEATURE,)
