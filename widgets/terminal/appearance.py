"""Asks the terminal whether its background is dark or light; the reply arrives while other modules load."""

import time
from typing import Literal

from tools.patterns import late
from widgets.colors import is_dark
from widgets.terminal.early_terminal import EarlyTerminal

Appearance = Literal["dark", "light"]
_PART = rb"([0-9a-fA-F]{1,4})"
_BACKGROUND = late(rb"\x1b\]11;rgba?:" + b"/".join((_PART,) * 3) + rb"[^\x07\x1b]*(\x07|\x1b\\)")
_ATTRIBUTES = late(rb"\x1b\[\?[\d;]*c")
"""Matches the reply to a query that every terminal answers; no other reply comes after it."""


def appearance_of(held: EarlyTerminal, patience: float = 0.1) -> Appearance | None:
    """Returns None if the terminal does not reply within `patience` seconds."""
    deadline = held.asked_at + patience
    while held.is_held and not _ATTRIBUTES.search(held.read):
        left = deadline - time.monotonic()
        if not held.wait_for(max(0.0, left)) and left <= 0:
            break
    color = background_from(held.read)
    return None if color is None else "dark" if is_dark(color) else "light"


def background_from(answer: bytes) -> str | None:
    """Returns the colour in a terminal's reply to OSC 11."""
    match = _BACKGROUND.search(answer)
    if match is None:
        return None
    parts = (round(int(part, 16) / (16 ** len(part) - 1) * 255) for part in match.groups()[:3])
    return "#" + "".join(f"{part:02x}" for part in parts)
