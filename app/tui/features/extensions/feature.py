"""The feature for loaded extensions, and for trust in the project's settings and commands."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.extensions.page import ExtensionsPage
    from app.tui.features.extensions.trust import TrustPage


class ExtensionsFeature(Feature["ExtensionsPage"]):
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


class TrustFeature(Feature["TrustPage"]):
    slash_commands: Sequence[SlashCommand["TrustPage"]] = (
        SlashCommand(
            name="trust", help="trust this folder, or stop trusting it", run=lambda page, _: page.open()
        ),
    )

    def page(self, screen: FeatureServices) -> "TrustPage":
        from app.tui.features.extensions.trust import TrustPage  # noqa: PLC0415  (when it is first used)

        return TrustPage(
            screen.assembled,
            screen.ask,
            screen.show_message,
            connected_extensions=screen.connected_extensions,
            home=screen.home,
            clock=screen.clock,
        )


EXTENSIONS = ExtensionsFeature()
TRUST = TrustFeature()
FEATURES = (
    EXTENSIONS,
    TRUST,
)
