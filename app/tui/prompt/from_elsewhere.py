"""What comes into the editor from elsewhere: the clipboard, an older prompt, the person's own editor."""

import asyncio

from app.tui.pages.asking import ask
from app.tui.stage import Stage
from widgets import clipboard
from widgets.editor.chips import Draft
from widgets.screens.catalogue import history_screen
from widgets.screens.picker import Picked
from widgets.terminal_manners import edit_externally, editor_command


async def paste(app: Stage) -> None:
    """What the system's clipboard holds: an image as a chip, or text."""
    found = await asyncio.to_thread(clipboard.paste, env=app.env, find=app.own_program)
    if found is None:
        app.presenter.note("The clipboard is empty, or cannot be read here.")
    elif isinstance(found, str):
        app.editor.paste(found)
    else:
        app.editor.attach(found)


async def search_history(app: Stage, entries: tuple[Draft, ...]) -> None:
    picked: Picked | None = await ask(app, history_screen(entries))
    if picked is not None:
        app.editor.restore(entries[int(picked.row.id)])


def edit_elsewhere(app: Stage, text: str) -> None:
    """The prompt in the person's own editor. Everything waits: the terminal belongs to that program."""
    in_force = app.assembled.in_force
    is_theirs = in_force.origin("externalEditor") == "project" and not app.assembled.project.counts()
    settings = in_force.without_project() if is_theirs else in_force.settings
    command = editor_command(settings.interaction.external_editor or "", app.env)
    edited, problem = edit_externally(app, text, command)
    if edited is None:
        app.presenter.note(problem)
    else:
        app.editor.set_text(edited.rstrip("\n"))
