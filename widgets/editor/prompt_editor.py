"""The prompt editor widget: it posts messages with the text and knows no agent.

The text is in `model`, key handling in `keyboard` and `commands`, drawing in `surface`, pasting in `paste`."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from widgets.editor import commands, messages
from widgets.editor.editor_keys import EDITOR_KEYS
from widgets.editor.editor_model import EditorModel
from widgets.editor.editor_painting import EDITOR_COMPONENT_CLASS_NAMES
from widgets.editor.editor_surface import EditorSurface
from widgets.editor.image_attachments import read_image_file
from widgets.editor.key_dispatch import run_widget_binding, stop_key_event
from widgets.editor.paste_cleaning import (
    MIN_PASTE_CHIP_LINES,
    clean_pasted_text,
    clean_pasted_text_in_chunks,
    find_dropped_image_paths,
    is_long_paste,
    pasted_path_needs_space,
)
from widgets.editor.prompt_chips import ImageAttachment, ImageChip, PasteChip, UnsentPrompt
from widgets.editor.prompt_history import PromptHistory
from widgets.editor.prompt_keyboard import CompletionPopupProtocol, PromptKeyboard

CHUNKED_PASTE_MIN_CHARS = 200_000
"""A paste with more characters is cleaned in chunks."""


class PromptEditor(Widget, can_focus=True):
    """The multi-line editor for prompts."""

    BINDINGS: ClassVar[list[BindingType]] = EDITOR_KEYS.bindings
    COMPONENT_CLASSES: ClassVar[set[str]] = set(EDITOR_COMPONENT_CLASS_NAMES)
    DEFAULT_CSS = "PromptEditor { height: 3; }"

    Submitted = messages.Submitted
    FollowUp = messages.FollowUp
    Changed = messages.Changed
    ExternalEditorRequested = messages.ExternalEditorRequested
    ClipboardRequested = messages.ClipboardRequested
    HistoryRequested = messages.HistoryRequested

    def __init__(
        self,
        *,
        placeholder: str = "",
        history: Iterable[UnsentPrompt] = (),
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.model = EditorModel()
        self.surface = EditorSurface(self, self.model, placeholder=placeholder)
        self.history = PromptHistory(history)
        self.keyboard = PromptKeyboard(self)
        self.popup: CompletionPopupProtocol | None = None
        self.should_follow_up: Callable[[], bool] = lambda: False
        """Returns whether Alt+Enter sends a follow-up, as while the agent works, instead of inserting a line
        break."""
        self.paste_chip_lines = MIN_PASTE_CHIP_LINES
        """A paste with more lines becomes a chip."""
        self._announced_version = self.model.version

    # -- calls ---------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The full text of the prompt, in which chips of pastes are replaced by the pasted text."""
        return self.model.chips.expand_chips(self.model.text)

    @property
    def attachments(self) -> tuple[ImageAttachment, ...]:
        return self.model.chips.images_of_chips_in(self.model.text)

    def set_text(self, text: str) -> None:
        """Replaces the prompt editor's text by a cleaned text; undo restores the old one."""
        self.model.set_text(clean_pasted_text(text))
        self.update_after_edit_command()

    def restore(self, draft: UnsentPrompt) -> None:
        """Replaces the editor's content by a draft with its chips: a saved one, an older prompt, or a queued message.
        Undo reverts that."""
        self.model.restore(draft)
        self.update_after_edit_command()

    def insert(self, text: str) -> None:
        self.model.insert(clean_pasted_text(text))
        self.update_after_edit_command()

    def replace(self, start: int, end: int, text: str) -> None:
        """Replaces characters of the cursor's line by another text, as one undo unit."""
        row = self.model.cursor[0]
        self.model.replace((row, start), (row, end), text)
        self.update_after_edit_command()

    def clear(self) -> bool:
        """Empties the editor and adds its content to the history; returns False if it was empty. Undo restores it
        too."""
        if self.model.lines == [""]:
            return False
        self.history.add_prompt(self.model.draft())
        self.model.set_text("")
        self.update_after_edit_command()
        return True

    def reset(self, draft: UnsentPrompt | None = None) -> None:
        """Replaces the editor's content by a draft, or empties it, and forgets the undo history."""
        self.model.reset(draft)
        self.keyboard.vi.enter_insert_mode_for_new_prompt()
        self.update_after_edit_command()

    def paste(self, text: str) -> None:
        """Inserts foreign text: cleaned, and as a chip if it is long."""
        self._insert_paste(clean_pasted_text(text))

    def _insert_paste(self, text: str) -> None:
        if is_long_paste(text, lines=self.paste_chip_lines):
            commands.insert_chip(self.model, PasteChip(text=text))
        else:
            if pasted_path_needs_space(text, self.model.line_before_cursor):
                text = " " + text
            self.model.insert(text)
        self.update_after_edit_command()

    def attach_image(self, image: ImageAttachment) -> None:
        """Inserts an image at the cursor as a chip."""
        commands.insert_chip(self.model, ImageChip(image=image))
        self.update_after_edit_command()

    def update_after_edit_command(self, *, keeps_goal: bool = False) -> None:
        """Updates the editor after a command: lays the text out again and posts `Changed` if it changed, otherwise only
        scrolls to the cursor; then updates the completions."""
        if not keeps_goal:
            self.surface.reset_goal_column()
        if self.model.version == self._announced_version:
            self.surface.scroll_to_cursor()
        else:
            self._announced_version = self.model.version
            self.surface.update_layout()
            self.post_message(self.Changed(self.model.draft()))
        if self.popup is not None:
            self.popup.update()

    # -- rendering for Textual -----------------------------------------------------------------------------

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self.surface.visible_rows + 2

    def render_lines(self, crop: Region) -> list[Strip]:
        self.surface.place_caret()
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        return self.surface.draw_line(y)

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return character is not None and character.isprintable()

    # -- events of Textual ---------------------------------------------------------------------------------

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.surface.forget_styles()

    @on(events.Mount)
    @on(events.Resize)
    @on(events.Focus)
    @on(events.Blur)
    @on(events.MouseScrollUp)
    @on(events.MouseScrollDown)
    def _on_surface_event(self, event: events.Event) -> None:
        if isinstance(event, events.Blur):
            self.keyboard.cancel_jump_to_character()
        self.surface.handle_event(event)

    def action_do(self, id: str) -> object:
        """Runs the entry of the editor's key table with this id."""
        return EDITOR_KEYS.run_key_action(id, self.keyboard)

    async def on_key(self, event: events.Key) -> None:
        character = event.character
        if self.keyboard.vi.handle_key(event):
            stop_key_event(event)
            return
        if character is not None and event.is_printable:
            stop_key_event(event)
            self.keyboard.type_character(clean_pasted_text(character))
            return
        if self.keyboard.is_jump_to_character_pending:
            self.keyboard.cancel_jump_to_character()
            self.refresh()
            if event.key == "escape":
                stop_key_event(event)
                return
        await run_widget_binding(self, event)
        if self.keyboard.vi.mode_status:
            self.keyboard.vi.update_display()

    async def on_paste(self, event: events.Paste) -> None:
        stop_key_event(event)
        paths = find_dropped_image_paths(event.text)
        if paths:
            self.run_worker(_attach_dropped_images(self, paths, event.text), exit_on_error=False)
        elif len(event.text) > CHUNKED_PASTE_MIN_CHARS:
            self._insert_paste(await clean_pasted_text_in_chunks(event.text))
        else:
            self.paste(event.text)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        offset = event.get_content_offset(self)
        if offset is None or not 0 < offset.y < self.size.height - 1:
            return
        place = self.surface.position_at(offset)
        is_same = place == self.model.cursor
        self.model.selection_start = None
        self.model.move_to(place)
        if is_same and commands.expand_chip(self.model):
            self.history.end_browsing()
        self.update_after_edit_command()


async def _attach_dropped_images(editor: PromptEditor, paths: Sequence[Path], text: str) -> None:
    found = [await asyncio.to_thread(read_image_file, path) for path in paths]
    images = [image for image in found if image is not None]
    if len(images) < len(found):
        editor.paste(text)
        return
    for image in images:
        editor.attach_image(image)
