"""Keeping a launch frame: the page with nothing on it, for the next start in a terminal like this one."""

import asyncio
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from app.resources import launch_frame
from app.resources.launch_frame import Frame
from widgets.textual_inside import rows_of

if TYPE_CHECKING:
    from app.tui.app import BayouApp


def keep(app: "BayouApp") -> None:
    """Of the page that has just been painted for the first time."""
    if not app.assembled.settings.terminal.launch_frame:
        launch_frame.remove_all(app.env)
        return
    if app.is_headless or not launch_frame.is_capable(app.env):
        return
    size, cwd = (app.size.width, app.size.height), str(app.session.cwd)
    frame = _frame_of(app)
    try:
        if frame is not None and not frame.is_like(launch_frame.read(size, app.env, cwd)):
            app.tasks.spawn(asyncio.to_thread(launch_frame.write, frame, size, app.env, cwd))
    except ValueError:
        pass  # there is no home to keep it in


def _frame_of(app: "BayouApp") -> Frame | None:
    """Only the editor is drawn; of all other rows no more than their ground, whatever they say."""
    editor, page, caret = app.editor, app.screen, app.cursor_position
    area = editor.content_region
    if (
        not (editor.is_blank and editor.has_focus and area.contains_point(caret))
        or len(app.screen_stack) != 1
    ):
        return None
    rows: list[bytes] = []
    for number, strip in enumerate(rows_of(page)):
        if not editor.region.contains_point((editor.region.x, number)):
            strip = _ground(strip)
        rows.append(b"\x1b[%d;1H" % (number + 1) + strip.render(app.console).encode())
    style = Strip([Segment("x", editor.rich_style)]).render(app.console).partition("x")[0]
    return Frame(
        row=caret.y + 1,
        column=caret.x + 1,
        room=area.right - caret.x,
        style=style.encode(),
        theme=app.look.file,
        content=b"".join(rows),
    )


def _ground(strip: Strip) -> Strip:
    last = next((segment.style for segment in reversed(list(strip)) if segment.style is not None), None)
    return Strip.blank(strip.cell_length, Style(bgcolor=last.bgcolor) if last is not None else None)
