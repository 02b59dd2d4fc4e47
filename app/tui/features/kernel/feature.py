"""The session's persistent Python kernel: the `/kernel` command."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FullScreen
from app.tui.slash import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.kernel.page import KernelPage


class Kernel(Feature["KernelPage"]):
    slash: Sequence[SlashCommand["KernelPage"]] = (
        SlashCommand(
            name="kernel",
            hint="[restart|run file]",
            help="the Python of `$` and eval, its names",
            run=lambda page, text: page.open(text),
        ),
    )

    def page(self, screen: FullScreen) -> "KernelPage":
        from app.tui.features.kernel.page import KernelPage  # noqa: PLC0415  (when it is first used)

        return KernelPage(screen.session.cells, screen.ask, screen.say, lambda: screen.session.cwd)


KERNEL = Kernel()
FEATURES = (KERNEL,)
