"""The feature for the session's persistent Python kernel: the `/kernel` command."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.kernel.page import KernelPage


class KernelFeature(Feature["KernelPage"]):
    slash_commands: Sequence[SlashCommand["KernelPage"]] = (
        SlashCommand(
            name="kernel",
            hint="[restart|run file]",
            help="Python kernel: state and variables",
            run=lambda page, text: page.run_kernel_command(text),
        ),
    )

    def page(self, screen: FeatureServices) -> "KernelPage":
        from app.tui.features.kernel.page import KernelPage  # noqa: PLC0415  (when it is first used)

        return KernelPage(screen.session.cells, screen.ask, screen.show_message, lambda: screen.session.cwd)


KERNEL = KernelFeature()
FEATURES = (KERNEL,)
