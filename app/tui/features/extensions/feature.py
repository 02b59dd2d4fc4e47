"""The feature for loaded extensions, and for trust in the project's settings and commands."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, TuiFeature
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.extensions.page import ExtensionsPage
    from app.tui.features.extensions.trust import ProjectTrustPage


class ExtensionsFeature(TuiFeature["ExtensionsPage"]):
    slash_commands: Sequence[SlashCommand["ExtensionsPage"]] = (
        SlashCommand(
            name="extensions",
            help="loaded extensions and their errors",
            run=lambda page, _: page.open(),
        ),
    )

    def page(self, screen: FeatureServices) -> "ExtensionsPage":
        from app.tui.features.extensions.page import ExtensionsPage  # noqa: PLC0415  (when it is first used)

        return ExtensionsPage(screen.connected_extensions, screen.ask)


class TrustFeature(TuiFeature["ProjectTrustPage"]):
    slash_commands: Sequence[SlashCommand["ProjectTrustPage"]] = (
        SlashCommand(
            name="trust", help="trust this folder, or stop trusting it", run=lambda page, _: page.open()
        ),
    )

    def page(self, screen: FeatureServices) -> "ProjectTrustPage":
        from app.tui.features.extensions.trust import ProjectTrustPage  # noqa: PLC0415  (when it is first used)

        return ProjectTrustPage(
            screen.assembled,
            screen.ask,
            screen.show_message,
            connected_extensions=screen.connected_extensions,
            home=screen.home,
            clock=screen.clock,
        )


EXTENSIONS_FEATURE = ExtensionsFeature()
TRUST_FEATURE = TrustFeature()
TUI_FEATURES = (
    EXTENSIONS_FEATURE,
    TRUST_FEATURE,
)
