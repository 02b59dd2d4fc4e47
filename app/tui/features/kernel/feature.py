"""The feature for the session's persistent Python kernel: the `/kernel` command."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, TuiFeature
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.kernel.page import PythonKernelPage


class KernelFeature(TuiFeature["PythonKernelPage"]):
    slash_commands: Sequence[SlashCommand["PythonKernelPage"]] = (
        SlashCommand(
            name="kernel",
            hint="[restart|run file]",
            help="Python kernel: state and variables",
            run=lambda page, text: page.run_kernel_command(text),
        ),
    )

    def page(self, screen: FeatureServices) -> "PythonKernelPage":
        from app.tui.features.kernel.page import PythonKernelPage  # noqa: PLC0415  (when it is first used)

        return PythonKernelPage(
            screen.session.cells, screen.ask, screen.show_message, lambda: screen.session.cwd
        )


KERNEL_FEATURE = KernelFeature()
TUI_FEATURES = (KERNEL_FEATURE,)
