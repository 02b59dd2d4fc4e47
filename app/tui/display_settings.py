"""The settings of what people see, put into the parts of the page that cannot ask for them."""

from textual import constants
from textual.types import AnimationLevel

from app.resources.settings import Settings
from app.tui.stage import Stage
from widgets.transcript.blocks import NoteKind

_LESS_FIRST: tuple[AnimationLevel, ...] = ("none", "basic", "full")
_ANIMATIONS: dict[str, AnimationLevel] = {"off": "none", "reduced": "basic", "on": "full"}
"""By the setting; the environment may wish for less."""
_WITHOUT_LINKS = ("linux", "dumb")
"""Terminals that would show how a link is written."""


def begin(app: Stage) -> None:
    """Before the first paint; from then on whenever other settings are in force."""
    _show(app)
    app.transcript.open_all(thinking=not app.assembled.settings.display.hide_thinking_block)
    app.assembled.in_force.subscribe(lambda before: _follow(app, before))


def _follow(app: Stage, before: Settings) -> None:
    now = app.assembled.settings
    is_other = now.display.theme != before.display.theme
    if is_other and (problem := app.looks.use(now.display.theme)) is not None:
        app.presenter.note(problem, NoteKind.WARNING)
    if now.display.hide_thinking_block != before.display.hide_thinking_block:
        app.transcript.open_all(thinking=not now.display.hide_thinking_block)
    _show(app)


def _show(app: Stage) -> None:
    settings = app.assembled.settings
    app.header.set_class(not settings.footer.header or settings.display.quiet_startup == "header", "-off")
    app.transcript.mouse.wheel_rows = settings.display.fullscreen_wheel_scroll_lines
    app.transcript.styles.scrollbar_size_vertical = (
        0 if settings.display.fullscreen_scrollbar == "hidden" else 1
    )
    app.transcript.show_as(cards=settings.display.expand_tools, diagrams=settings.markdown.mermaid)
    links = settings.terminal.hyperlinks
    app.transcript.painter.write_links(
        app.env.get("TERM") not in _WITHOUT_LINKS if links == "auto" else links == "on"
    )
    wished = _ANIMATIONS[settings.display.animations]
    most = constants.TEXTUAL_ANIMATIONS
    app.animation_level = wished if _LESS_FIRST.index(wished) < _LESS_FIRST.index(most) else most
    app.editor.surface.set_blinking(settings.display.cursor_blink and wished != "none")
    app.editor.history.size = settings.editor.history_size
    app.editor.paste_chip_lines = settings.editor.paste_chip_lines
    app.editor.surface.set_padding(settings.editor.editor_padding_x)
    app.status.refresh_all()
