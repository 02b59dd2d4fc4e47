"""The settings of what people see, put into the parts of the page."""

from app.resources.settings import Settings
from app.tui.stage import Stage


def put_in_force(app: Stage, settings: Settings) -> None:
    """At the start, and whenever settings were changed."""
    app.header.set_class(not settings.footer.header or settings.display.quiet_startup == "header", "-off")
    app.transcript.wheel_rows = settings.display.fullscreen_wheel_scroll_lines
    app.transcript.styles.scrollbar_size_vertical = (
        0 if settings.display.fullscreen_scrollbar == "hidden" else 1
    )
    app.animation_level = "none" if settings.display.animations == "off" else app.animation_level
    app.status.refresh_all()
