"""Saves a launch frame: the empty page, shown at the next start in a similar terminal."""

from collections.abc import Mapping
from typing import Any

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.strip import Strip

from app.resources import launch_frame
from app.resources.launch_frame import Frame
from widgets.editor.prompt import PromptEditor
from widgets.textual_internals import rows_of


def frame_to_keep(
    app: App[Any], editor: PromptEditor, theme: str, env: Mapping[str, str], cwd: str
) -> Frame | None:
    """Returns the frame of the page after its first paint; None if the saved frame is the same."""
    if app.is_headless or not launch_frame.is_capable(env):
        return None
    frame = _frame_of(app, editor, theme)
    if frame is None or frame.is_like(launch_frame.read((app.size.width, app.size.height), env, cwd)):
        return None
    return frame


def _frame_of(app: App[Any], editor: PromptEditor, theme: str) -> Frame | None:
    """Captures the page: the editor in full, and of all other rows only the background."""
    caret, area = app.cursor_position, editor.content_region
    if (
        not (editor.model.is_blank and editor.has_focus and area.contains_point(caret))
        or len(app.screen_stack) != 1
    ):
        return None
    rows: list[bytes] = []
    for number, strip in enumerate(rows_of(app.screen)):
        if not editor.region.contains_point((editor.region.x, number)):
            strip = _ground(strip)
        rows.append(b"\x1b[%d;1H" % (number + 1) + strip.render(app.console).encode())
    style = Strip([Segment("x", editor.rich_style)]).render(app.console).partition("x")[0]
    return Frame(
        row=caret.y + 1,
        column=caret.x + 1,
        room=area.right - caret.x,
        style=style.encode(),
        theme=theme,
        content=b"".join(rows),
    )


def _ground(strip: Strip) -> Strip:
    last = next((segment.style for segment in reversed(list(strip)) if segment.style is not None), None)
    return Strip.blank(strip.cell_length, Style(bgcolor=last.bgcolor) if last is not None else None)
