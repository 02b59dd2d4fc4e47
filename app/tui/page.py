"""The settings of what people see, put into the parts of the page."""

from typing import TYPE_CHECKING

from app.resources.settings import Settings
from widgets.editor.prompt import PromptEditor

if TYPE_CHECKING:
    from app.tui.app import BayouApp

PLACEHOLDER = "Ask anything · / commands · @ files · ! shell · ctrl+k everything"


def editor(settings: Settings) -> PromptEditor:
    return PromptEditor(
        placeholder=PLACEHOLDER,
        history_size=settings.editor.history_size,
        padding_x=settings.editor.editor_padding_x,
        paste_chip_lines=settings.editor.paste_chip_lines,
        blinks=settings.display.cursor_blink,
        id="editor",
    )


def put_in_force(app: "BayouApp", settings: Settings) -> None:
    """At the start, and whenever settings were changed."""
    app.header.set_class(not settings.footer.header or settings.display.quiet_startup == "header", "-off")
    app.transcript.wheel_rows = settings.display.fullscreen_wheel_scroll_lines
    app.transcript.styles.scrollbar_size_vertical = (
        0 if settings.display.fullscreen_scrollbar == "hidden" else 1
    )
    app.animation_level = "none" if settings.display.animations == "off" else app.animation_level
    app.status.refresh_all()
