"""The session's persistent Python kernel: the `/kernel` command."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices
from app.tui.slash import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.kernel.page import KernelPage


class KernelFeature(Feature["KernelPage"]):
    slash: Sequence[SlashCommand["KernelPage"]] = (
        SlashCommand(
            name="kernel",
            hint="[restart|run file]",
            help="the Python of `$` and eval, its names",
            run=lambda page, text: page.open(text),
        ),
    )

    def page(self, screen: FeatureServices) -> "KernelPage":
        from app.tui.features.kernel.page import KernelPage  # noqa: PLC0415  (when it is first used)

        return KernelPage(screen.session.cells, screen.ask, screen.say, lambda: screen.session.cwd)


KERNEL = KernelFeature()
FEATURES = (KERNEL,)
