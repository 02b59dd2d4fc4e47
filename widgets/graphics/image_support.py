"""Chooses the image protocol of a terminal from its replies, the setting, and tmux in between."""

import asyncio
import os
import struct
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from rich.color import ColorSystem

from widgets.graphics import kitty, terminal_replies
from widgets.graphics.drawn_image import ImageProtocol
from widgets.graphics.terminal_replies import TerminalImageFeatures
from widgets.terminal.terminal_control import wrap_for_multiplexer

if TYPE_CHECKING:
    from widgets.graphics.tmux import TmuxPane

ImageProtocolSetting = Literal["auto", "kitty", "iterm2", "sixel", "blocks"]
_DEFAULT_IMAGE_ID_FAMILY = 0xBA
_DEFAULT_CELL_PIXELS = (10, 20)
_MAX_CELL_PIXELS = (32, 64)
_MAX_IMAGE_FAILURES = 3
"""After this many images that the terminal failed to show, images are drawn as half blocks."""


class TerminalImageSupport:
    """What one terminal supports: the image protocol to use, and the size of a cell."""

    def __init__(
        self,
        setting: ImageProtocolSetting,
        *,
        env: Mapping[str, str] = os.environ,
        find_program: Callable[[str], str | None] = lambda name: None,
        color_system: Callable[[], ColorSystem] = lambda: ColorSystem.TRUECOLOR,
    ) -> None:
        self.setting: ImageProtocolSetting = setting
        self._env = env
        self._find_program = find_program
        self._color_system = color_system
        self._features = TerminalImageFeatures()
        self._tmux_pane: TmuxPane | None = None
        self._failures = 0
        self.is_in_tmux = bool(env.get("TMUX"))

    @property
    def protocol(self) -> ImageProtocol:
        is_pale = self._color_system() not in (ColorSystem.EIGHT_BIT, ColorSystem.TRUECOLOR)
        if is_pale or self._failures >= _MAX_IMAGE_FAILURES or "NO_COLOR" in self._env:
            return "blocks"
        if self.is_in_tmux:
            return self._tmux_protocol()
        known = self._features
        match self.setting:
            case "kitty":
                return "placements" if known.name and not known.has_placeholders else "kitty"
            case "auto":
                return _choose_best_protocol(known)
            case _:
                return self.setting

    def _tmux_protocol(self) -> ImageProtocol:
        """Returns the image protocol to use under tmux: kitty's placeholder cells if tmux passes sequences to a
        terminal that has them, sixel if the setting says so, otherwise half blocks."""
        if self.setting == "sixel":
            return "sixel"
        pane = self._tmux_pane
        if pane is None or not pane.passes_sequences or self.setting not in ("auto", "kitty"):
            return "blocks"
        has_answered = self._features.has_kitty and pane.terminal_name.lower().startswith(
            terminal_replies.KITTY_PLACEHOLDER_TERMINALS
        )
        return "kitty" if has_answered or self.setting == "kitty" else "blocks"

    @property
    def cell_size(self) -> tuple[int, int]:
        """The width and height of a cell in pixels."""
        if self.protocol == "blocks":
            return _DEFAULT_CELL_PIXELS
        width, height = self._features.cell_size or _read_system_cell_size() or _DEFAULT_CELL_PIXELS
        return min(width, _MAX_CELL_PIXELS[0]), min(height, _MAX_CELL_PIXELS[1])

    @property
    def image_id_family(self) -> int:
        """The high byte of all image ids of this process in kitty's protocol; it differs between the panes of one
        tmux."""
        pane = self._env.get("TMUX_PANE", "")[1:]
        return (
            1 + int(pane) % (_DEFAULT_IMAGE_ID_FAMILY - 2)
            if self.is_in_tmux and pane.isdigit()
            else _DEFAULT_IMAGE_ID_FAMILY
        )

    def terminal_queries(self) -> str:
        """Returns the escape sequences that ask a terminal without tmux about images; empty if images are off or the
        terminal would print them."""
        is_wanted = self.setting != "blocks" and "NO_COLOR" not in self._env
        return (
            terminal_replies.all_image_support_queries()
            if is_wanted and terminal_replies.can_query_image_support(self._env)
            else ""
        )

    def record_reply(self, answer: str) -> bool:
        """Records a terminal's reply about images; returns whether it is the first sign that the terminal supports
        kitty's protocol."""
        before = self._features
        self._features = before.updated_by_reply(answer)
        return self._features.has_kitty and not before.has_kitty

    def record_image_failure(self) -> None:
        self._failures += 1

    async def query_tmux(self, send: Callable[[str], None]) -> bool:
        """Asks tmux about this pane, and through it the terminal about images. Returns whether sequences for images
        reach the terminal now; while the pane is hidden, they are lost."""
        program = self._find_program("tmux") if self.setting in ("auto", "kitty") else None
        if program is None:
            return False
        from widgets.graphics import tmux  # noqa: PLC0415  (most users are not in tmux)

        pane = await asyncio.to_thread(
            tmux.query_tmux_pane, program, self._env.get("TMUX_PANE", ""), self._env
        )
        self._tmux_pane = pane
        if pane.passes_sequences and pane.is_in_front and not self._features.has_kitty:
            send(self.wrap_for_tmux(kitty.kitty_support_query(terminal_replies.KITTY_QUERY_IMAGE_ID)))
        return pane.passes_sequences and pane.is_visible

    @property
    def is_pane_in_front(self) -> bool:
        """Whether this tmux pane is active, so that the terminal's replies reach it, as of the last query of tmux."""
        return self._tmux_pane is not None and self._tmux_pane.is_in_front

    def wrap_for_tmux(self, sequence: str) -> str:
        """Returns an image sequence for the terminal, under tmux wrapped so that it reaches the terminal."""
        return wrap_for_multiplexer(sequence, self._env) if self.is_in_tmux else sequence


def _choose_best_protocol(known: TerminalImageFeatures) -> ImageProtocol:
    if known.has_kitty and known.has_placeholders:
        return "kitty"
    if known.has_inline_files:
        return "iterm2"
    if known.has_kitty and known.is_complete:
        return "placements"
    return "sixel" if known.has_sixel else "blocks"


def _read_system_cell_size() -> tuple[int, int] | None:
    import fcntl  # noqa: PLC0415  (not on every system)
    import termios  # noqa: PLC0415

    if sys.__stdout__ is None:
        return None
    try:
        size = fcntl.ioctl(sys.__stdout__.fileno(), termios.TIOCGWINSZ, b"\0" * 8)
    except (OSError, ValueError):
        return None
    rows, columns, width, height = struct.unpack("HHHH", size)
    found = (width // columns, height // rows) if columns and rows else (0, 0)
    return found if min(found) >= 2 else None
