"""The editor of prompts: turns keys into commands of the model, and what is written into messages.

What the text is and how it changes lives in `model`, how it is drawn in `surface`, what is pasted in `paste`.
Nothing here knows an agent: what is written leaves as messages.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Protocol

from textual import events
from textual.actions import SkipAction
from textual.binding import BindingType
from textual.message import Message

from widgets.editor import keys, messages
from widgets.editor.chips import Attachment, Draft, ImageChip, PasteChip
from widgets.editor.history import History
from widgets.editor.images import image_file
from widgets.editor.own_keys import do_own_key
from widgets.editor.paste import (
    CHIP_LINES,
    clean,
    clean_in_pieces,
    dropped_images,
    is_long,
    needs_space_before,
)
from widgets.editor.surface import EditorSurface

HUGE = 200_000
"""Characters of a paste that are not cleaned at once."""


class Popup(Protocol):
    """The list of completions, as far as the editor's keys are concerned."""

    @property
    def is_open(self) -> bool: ...
    def move(self, delta: int) -> None: ...
    def page(self, direction: int) -> None: ...
    def accept(self) -> bool:
        """Put the chosen completion in; whether Enter shall send afterwards."""
        ...

    def close(self) -> None: ...
    def force(self) -> None:
        """Complete the word at the cursor now (Tab)."""
        ...

    def update(self) -> None:
        """The text or the cursor changed."""
        ...


class PromptEditor(EditorSurface):
    BINDINGS: ClassVar[list[BindingType]] = keys.BINDINGS
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
        history: Iterable[Draft] = (),
        history_size: int = 1000,
        padding_x: int = 0,
        paste_chip_lines: int = CHIP_LINES,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(placeholder=placeholder, padding_x=padding_x, id=id, classes=classes)
        self.history = History(history, history_size)
        self.popup: Popup | None = None
        self.follows_up = False
        """Set while the agent works: Alt+Enter then means a follow-up and not a new line."""
        self.paste_chip_lines = paste_chip_lines
        """A paste with more lines becomes a chip."""
        self._goal: int | None = None
        self._seen_version = self.model.version

    # -- verbs ---------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The real text, pastes in full."""
        return self.model.chips.expand(self.model.text)

    @property
    def draft(self) -> Draft:
        return self.model.draft()

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        return self.model.chips.images(self.model.text)

    @property
    def is_blank(self) -> bool:
        return self.model.is_blank

    def set_text(self, text: str) -> None:
        """Show another text; undo brings the old one back."""
        self.model.set_text(clean(text))
        self._changed()

    def restore(self, draft: Draft) -> None:
        """Show a draft with its chips: one that was saved, sent before, or taken back from the queue."""
        self.model.restore(draft)
        self._changed()

    def insert(self, text: str) -> None:
        self.model.insert(clean(text))
        self._changed()

    def replace(self, start: int, end: int, text: str) -> None:
        """Put a text in place of a part of the cursor's line, as one unit of undo."""
        row = self.model.cursor[0]
        self.model.replace((row, start), (row, end), text)
        self._changed()

    def clear(self) -> bool:
        """Empty the editor; the draft can be had back by undo and from the history. False if it was empty."""
        if self.model.lines == [""]:
            return False
        self.history.add(self.model.draft())
        self.model.clear()
        self._changed()
        return True

    def reset(self, draft: Draft | None = None) -> None:
        """Begin anew without a past, perhaps with a draft from another day."""
        self.model.reset(draft)
        self._changed()

    def paste(self, text: str) -> None:
        """Insert foreign text: cleaned, and as a chip when long."""
        self._insert_paste(clean(text))

    def _insert_paste(self, text: str) -> None:
        if is_long(text, lines=self.paste_chip_lines):
            self.model.insert_chip(PasteChip(text=text))
        else:
            if needs_space_before(text, self.model.before_cursor):
                text = " " + text
            self.model.insert(text)
        self._changed()

    def attach(self, image: Attachment) -> None:
        """Insert an image as a chip."""
        self.model.insert_chip(ImageChip(image=image))
        self._changed()

    def set_history(self, entries: Iterable[Draft]) -> None:
        self.history = History(entries, self.history.size)

    # -- after a command -------------------------------------------------------------------------------------

    def _changed(self) -> None:
        """After a command: draw again, and tell when the text is another."""
        self._goal = None
        if self.model.version == self._seen_version:
            self._show_cursor()
        else:
            self._seen_version = self.model.version
            self._relayout()
            self.post_message(self.Changed(self.model.draft()))
        if self.popup is not None:
            self.popup.update()

    # -- events --------------------------------------------------------------------------------------------

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return character is not None and character.isprintable()

    async def on_key(self, event: events.Key) -> None:
        character = event.character
        if character is None or not event.is_printable:
            if self._jump is not None:
                self._jump = None
                self.refresh()
                if event.key == "escape":
                    event.stop()
                    event.prevent_default()
                    return
            await do_own_key(self, event)
            return
        event.stop()
        event.prevent_default()
        if self._jump is not None:
            is_forward, self._jump = self._jump, None
            self.model.jump(character, is_forward=is_forward)
        else:
            self.history.leave()
            self.model.type(clean(character))
        self._changed()

    async def on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        paths = dropped_images(event.text)
        if paths:
            self.run_worker(self._attach_dropped(paths, event.text), exit_on_error=False)
        elif len(event.text) > HUGE:
            self._insert_paste(await clean_in_pieces(event.text))
        else:
            self.paste(event.text)

    async def _attach_dropped(self, paths: Sequence[Path], text: str) -> None:
        found = [await asyncio.to_thread(image_file, path) for path in paths]
        images = [image for image in found if image is not None]
        if len(images) < len(found):
            self.paste(text)
            return
        for image in images:
            self.attach(image)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        offset = event.get_content_offset(self)
        if offset is None or not 0 < offset.y < self.size.height - 1:
            return
        place = self._layout.position(self._top + offset.y - 1, max(0, offset.x - self._padding_x))
        is_same = place == self.model.cursor
        self.model.move_to(place)
        if is_same and self.model.expand_chip():
            self.history.leave()
        self._changed()

    # -- actions: sending ----------------------------------------------------------------------------------

    def action_submit(self) -> None:
        if self._popup_is_open() and self.popup is not None and not self.popup.accept():
            return
        if self.model.before_cursor.endswith("\\") and self.model.cursor[1] == len(self.model.line):
            row, column = self.model.cursor
            self.model.replace((row, column - 1), (row, column), "\n")
            self._changed()
            return
        self._send(self.Submitted)

    def action_follow_up(self) -> None:
        if self.follows_up:
            self._send(self.FollowUp)
        else:
            self.action_new_line()

    def action_new_line(self) -> None:
        self.history.leave()
        self.model.insert("\n")
        self._changed()

    def _send(self, kind: type[messages.Sent]) -> None:
        if self.model.is_blank:
            return
        draft = self.model.draft()
        message: Message = kind(self.text.strip(), self.attachments, draft)
        self.history.add(draft)
        self.model.reset()
        self._top = 0
        self._changed()
        self.post_message(message)

    # -- actions: moving -----------------------------------------------------------------------------------

    def action_cursor_up(self) -> None:
        if self._popup_is_open() and self.popup is not None:
            self.popup.move(-1)
            return
        row, _ = self._layout.place(self.model.cursor)
        if row > 0:
            self._move_rows(-1)
        elif self.model.cursor[1] == 0 or self.history.is_browsing:
            self.action_history_previous()
        else:
            self._do(self.model.move_line_start)

    def action_cursor_down(self) -> None:
        if self._popup_is_open() and self.popup is not None:
            self.popup.move(1)
            return
        row, _ = self._layout.place(self.model.cursor)
        if row + 1 < self._layout.row_count:
            self._move_rows(1)
        elif self.history.is_browsing:
            self.action_history_next()
        else:
            self._do(self.model.move_line_end)

    def action_page(self, direction: int) -> None:
        if self._popup_is_open() and self.popup is not None:
            self.popup.page(direction)
            return
        self._move_rows(direction * max(1, self._visible_rows - 1))

    def _move_rows(self, delta: int) -> None:
        row, cell = self._layout.place(self.model.cursor)
        goal = cell if self._goal is None else self._goal
        self.model.move_to(self._layout.position(row + delta, goal))
        self._changed()
        self._goal = goal

    def action_history_previous(self) -> None:
        self._show_history(self.history.previous(self.model.draft()), at_start=True)

    def action_history_next(self) -> None:
        self._show_history(self.history.next(), at_start=False)

    def _show_history(self, draft: Draft | None, *, at_start: bool) -> None:
        if draft is None:
            return
        self.model.restore(draft)
        if at_start:
            self.model.move_to((0, len(self.model.lines[0])))
        self._changed()

    def action_history_search(self) -> None:
        entries = tuple(reversed(self.history.entries))
        if entries:
            self.post_message(self.HistoryRequested(entries))

    def action_cursor_left(self) -> None:
        self._do(self.model.move_left)

    def action_cursor_right(self) -> None:
        self._do(self.model.move_right)

    def action_word_left(self) -> None:
        self._do(self.model.move_word_left)

    def action_word_right(self) -> None:
        self._do(self.model.move_word_right)

    def action_line_start(self) -> None:
        self._do(self.model.move_line_start)

    def action_line_end(self) -> None:
        self._do(self.model.move_line_end)

    def action_jump(self, is_forward: bool) -> None:
        self._jump = is_forward
        self.refresh()

    # -- actions: editing ----------------------------------------------------------------------------------

    def action_delete_backward(self) -> None:
        self._edit(self.model.delete_backward)

    def action_delete_forward(self) -> None:
        if self.model.lines == [""]:
            raise SkipAction
        self._edit(self.model.delete_forward)

    def action_kill_word_backward(self) -> None:
        self._edit(self.model.kill_word_backward)

    def action_kill_word_forward(self) -> None:
        self._edit(self.model.kill_word_forward)

    def action_kill_to_line_start(self) -> None:
        self._edit(self.model.kill_to_line_start)

    def action_kill_to_line_end(self) -> None:
        if self.model.lines == [""]:
            raise SkipAction
        self._edit(self.model.kill_to_line_end)

    def action_yank(self) -> None:
        self._edit(self.model.yank)

    def action_yank_pop(self) -> None:
        self._edit(self.model.yank_pop)

    def action_undo(self) -> None:
        self._edit(self.model.undo)

    def action_redo(self) -> None:
        self._edit(self.model.redo)

    def action_expand_chip(self) -> None:
        self._edit(self.model.expand_chip)

    def action_tab(self) -> None:
        if self.popup is None:
            return
        if self.popup.is_open:
            self.popup.accept()
        else:
            self.popup.force()

    def action_close_popup(self) -> None:
        if self.popup is None or not self.popup.is_open:
            raise SkipAction
        self.popup.close()

    def action_external_editor(self) -> None:
        self.post_message(self.ExternalEditorRequested(self.text))

    def action_paste_clipboard(self) -> None:
        self.post_message(self.ClipboardRequested())

    def _edit(self, command: Callable[[], object]) -> None:
        self.history.leave()
        self._do(command)

    def _do(self, command: Callable[[], object]) -> None:
        command()
        self._changed()

    def _popup_is_open(self) -> bool:
        return self.popup is not None and self.popup.is_open
