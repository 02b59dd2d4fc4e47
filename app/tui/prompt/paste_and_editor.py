"""Fills the editor from the clipboard, an older prompt, or the user's external editor."""

import asyncio
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App

from app.assembly.assembled_session import AssembledSession
from app.tui.page_protocols import AskOnScreen, FindProgram, ShowMessage
from widgets.editor.prompt_chips import UnsentPrompt
from widgets.editor.prompt_editor import PromptEditor
from widgets.terminal import clipboard
from widgets.terminal.terminal_control import edit_text_externally, find_editor_command

if TYPE_CHECKING:
    from widgets.screens.picker import PickerResult


async def paste_clipboard(
    editor: PromptEditor, say: ShowMessage, env: Mapping[str, str], find_program: FindProgram
) -> None:
    """Pastes the system's clipboard: an image becomes a chip, text is inserted."""
    found = await asyncio.to_thread(clipboard.read_clipboard, env=env, find=find_program)
    if found is None:
        say("The clipboard is empty or cannot be read.")
    elif isinstance(found, str):
        editor.paste(found)
    else:
        editor.attach_image(found)


async def search_prompt_history(
    editor: PromptEditor, ask: AskOnScreen, entries: tuple[UnsentPrompt, ...]
) -> None:
    from widgets.screens.common_pickers import prompt_history_screen  # noqa: PLC0415  (a screen, when it opens)

    picked: PickerResult | None = await ask(prompt_history_screen(entries))
    if picked is not None:
        editor.restore(entries[int(picked.row.id)])


def configured_editor(assembled: AssembledSession) -> str:
    """Returns the editor program from the settings, ignoring one that only an untrusted project sets."""
    effective_settings = assembled.effective_settings
    is_theirs = (
        effective_settings.origin("externalEditor") == "project" and not assembled.project_trust.is_trusted()
    )
    settings = effective_settings.settings_without_project() if is_theirs else effective_settings.settings
    return settings.interaction.external_editor or ""


def edit_in_external_editor(
    editor: PromptEditor,
    text: str,
    app: App[Any],
    say: ShowMessage,
    *,
    wanted: str,
    env: Mapping[str, str],
    make_folder: Callable[[str], Path],
) -> None:
    """Opens the text in the user's external editor, which has the terminal until it ends.

    `wanted`: the editor from the settings. `make_folder`: creates a private folder for a kind of
    file."""
    try:
        folder = make_folder("prompt")
        try:
            edited, problem = edit_text_externally(app, text, find_editor_command(wanted, env), folder, env)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as failure:
        edited, problem = None, f"The prompt could not be opened in the editor: {failure.strerror}."
    if edited is None:
        say(problem)
    else:
        editor.set_text(edited.rstrip("\n"))
