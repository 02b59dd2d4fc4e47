"""Shows the launch frame, before anything else is imported, when the command line opens the full screen."""

import os
import signal
import sys

TYPE_CHECKING = False
"""A stand-in for the one of `typing`, whose import would take as long as all of this."""
if TYPE_CHECKING:
    from collections.abc import Sequence

    from widgets.terminal.early_terminal import EarlyTerminal

_FLAGS_THAT_OPEN_FULL_SCREEN = frozenset(("-c", "--continue", "-r", "--resume", "--no-session", "--offline"))
_FULL_SCREEN_FLAGS_WITH_VALUE = frozenset(
    ("--model", "--provider", "--thinking", "--models", "--session", "--session-id", "--permissions")
)
"""Words that surely open the full screen. With other words it opens without a launch frame."""


def show_launch_frame(words: "Sequence[str]") -> "EarlyTerminal | None":
    """Shows the matching frame, if there is one. The caller must end the returned terminal."""
    if sys.platform == "win32" or not _opens_full_screen(words):
        return None
    # Print, JSON and RPC mode draw no frame.
    from app.resources import launch_frame  # noqa: PLC0415
    from widgets.terminal.early_terminal import EarlyTerminal, LaunchFrameEchoLine  # noqa: PLC0415

    if not launch_frame.supports_launch_frame(os.environ):
        return None
    try:
        if not (os.isatty(0) and os.isatty(1)):
            return None
        columns, rows = os.get_terminal_size(1)
        frame = launch_frame.read_launch_frame((columns, rows), os.environ, os.getcwd())  # noqa: PTH109  (costs an import)
    except (OSError, ValueError):
        return None
    if frame is None:
        return None
    held = EarlyTerminal()
    exit_on_signals()
    try:
        held.take_over_terminal()
        held.show_launch_frame(
            frame.content, LaunchFrameEchoLine(frame.row, frame.column, frame.room, frame.style)
        )
    except BaseException:  # a signal, while no other code knows of the terminal
        held.restore_terminal()
        raise
    return held


def exit_on_signals() -> None:
    """Turns signals that end the program into `SystemExit`, so that the terminal is restored."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, lambda number, _: sys.exit(128 + number))


def _opens_full_screen(words: "Sequence[str]") -> bool:
    left = iter(words)
    for word in left:
        flag, separator, _ = word.partition("=")
        if word in _FLAGS_THAT_OPEN_FULL_SCREEN:
            continue
        if flag not in _FULL_SCREEN_FLAGS_WITH_VALUE or (not separator and next(left, "-").startswith("-")):
            return False
    return True
