"""Asks tmux whether image sequences reach the terminal, and which terminal it is."""

import subprocess
from collections.abc import Mapping
from typing import NamedTuple

_TMUX_PANE_FORMAT = (
    "#{pane_active} #{window_active} #{window_zoomed_flag} #{session_attached} #{allow-passthrough} "
    "#{client_termtype}"
)
_TMUX_QUERY_TIMEOUT = 2.0
_VARIABLES_PASSED_TO_TMUX = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "PATH", "TERM", "TMUX", "TMUX_TMPDIR")


class TmuxPane(NamedTuple):
    """What tmux says about a pane: whether it is active and visible, and whether sequences pass through it."""

    is_in_front: bool
    """Whether this pane is active: replies of the terminal go to the active pane."""
    is_visible: bool
    """Whether the pane is visible; sequences sent while it is hidden are lost."""
    passes_sequences: bool
    """Whether tmux passes sequences to the terminal."""
    terminal_name: str
    """The terminal's name as reported to tmux."""


NO_TMUX_PANE = TmuxPane(is_in_front=False, is_visible=False, passes_sequences=False, terminal_name="")


def query_tmux_pane(program: str, pane: str, env: Mapping[str, str]) -> TmuxPane:
    """Runs tmux to get the state of a pane; returns a pane that passes nothing if that fails. It takes some
    milliseconds, so call it in a thread."""
    words = [program, "display-message", "-p", *(("-t", pane) if pane else ()), _TMUX_PANE_FORMAT]
    try:
        said = subprocess.run(
            words,
            cwd="/",
            env={name: env[name] for name in _VARIABLES_PASSED_TO_TMUX if name in env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TMUX_QUERY_TIMEOUT,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return NO_TMUX_PANE
    try:
        active, window, zoomed, attached, passes, *terminal = said.decode("utf-8", "replace").split()
    except ValueError:
        return NO_TMUX_PANE
    is_shown = window == "1" and attached != "0"
    return TmuxPane(
        is_in_front=is_shown and active == "1",
        is_visible=is_shown and (active == "1" or zoomed != "1"),
        passes_sequences=passes in ("on", "all", "1", "2"),
        terminal_name=" ".join(terminal),
    )
