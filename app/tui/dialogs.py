"""Small questions on the full screen."""

from typing import TYPE_CHECKING

from widgets.screens.dialogs import InputScreen

if TYPE_CHECKING:
    from app.tui.app import BayouApp


async def ask_text(
    app: "BayouApp", title: str, *, placeholder: str = "", prefill: str = "", is_secret: bool = False
) -> str | None:
    """None when nothing was answered. A secret is never drawn."""
    screen = InputScreen(title, placeholder=placeholder, prefill=prefill, is_secret=is_secret)
    return await app.choosing.ask(screen)
