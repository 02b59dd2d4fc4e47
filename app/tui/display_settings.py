"""The settings of what people see, put into the parts of the page."""

from textual import constants
from textual.types import AnimationLevel

from app.resources.settings import Settings
from app.tui.stage import Stage

_LESS_FIRST: tuple[AnimationLevel, ...] = ("none", "basic", "full")
_ANIMATIONS: dict[str, AnimationLevel] = {"off": "none", "reduced": "basic", "on": "full"}
"""By the setting; the environment may wish for less."""


def put_in_force(app: Stage, settings: Settings) -> None:
    """At the start, and whenever settings were changed."""
    app.header.set_class(not settings.footer.header or settings.display.quiet_startup == "header", "-off")
    app.transcript.mouse.wheel_rows = settings.display.fullscreen_wheel_scroll_lines
    app.transcript.styles.scrollbar_size_vertical = (
        0 if settings.display.fullscreen_scrollbar == "hidden" else 1
    )
    wished = _ANIMATIONS[settings.display.animations]
    most = constants.TEXTUAL_ANIMATIONS
    app.animation_level = wished if _LESS_FIRST.index(wished) < _LESS_FIRST.index(most) else most
    app.editor.set_blinking(settings.display.cursor_blink and wished != "none")
    app.status.refresh_all()
