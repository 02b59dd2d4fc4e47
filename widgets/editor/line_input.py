"""A single-line text input, such as the filter of a list or the answer to a question. It uses the prompt editor's text
model and keys."""

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.actions import SkipAction
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from widgets.editor.editor_keys import TEXT_EDITING_KEYS
from widgets.editor.editor_model import EditorModel
from widgets.editor.key_dispatch import run_widget_binding, stop_key_event
from widgets.editor.paste_cleaning import clean_pasted_text
from widgets.readable_styles import make_style_readable
from widgets.row_builder import RowBuilder, cells
from widgets.terminal import caret

_TEXT_EDITING_KEY_BY_ID = {key.id: key for key in TEXT_EDITING_KEYS}


class LineInput(Widget, can_focus=True):
    """A single-line text input with the prompt editor's editing keys."""

    BINDINGS: ClassVar[list[BindingType]] = [key.binding for key in TEXT_EDITING_KEYS]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "line-input--mark",
        "line-input--placeholder",
        "line-input--caret",
    }
    DEFAULT_CSS = "LineInput { height: 1; }"

    class Changed(Message):
        def __init__(self, source: "LineInput", text: str) -> None:
            super().__init__()
            self.source = source
            self.text = text

    def __init__(
        self,
        text: str = "",
        *,
        mark: str = "› ",
        placeholder: str = "",
        is_secret: bool = False,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.model = EditorModel(clean_pasted_text(text).replace("\n", " "))
        self.mark = mark
        self.placeholder = placeholder
        self.is_secret = is_secret
        self._drawn_version = self.model.version
        self._first_visible_cell = 0

    @property
    def text(self) -> str:
        return self.model.text

    def set_text(self, text: str) -> None:
        self.model.set_text(clean_pasted_text(text).replace("\n", " "))
        self._post_change()

    def clear(self) -> bool:
        """Clears the text of the input; returns False if it was empty."""
        had_text = bool(self.text)
        self.set_text("")
        return had_text

    # -- drawing -------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        caret.show_cursor_after_suspension(self)

    def on_focus(self) -> None:
        caret.show_terminal_cursor(self)

    def on_blur(self) -> None:
        caret.hide_terminal_cursor(self)

    def render_lines(self, crop: Region) -> list[Strip]:
        if self.has_focus:
            caret.place_terminal_cursor(self, cells(self.mark) + self._visible_part()[1], 0)
        return super().render_lines(crop)

    def _displayed_text(self) -> str:
        text = self.model.text.replace("\t", " ")
        return "•" * len(text) if self.is_secret else text

    def _visible_part(self) -> tuple[str, int]:
        """Returns the text from the first visible character on, scrolled so that the caret is visible, and the caret's
        cell in it."""
        room = max(1, self.size.width - cells(self.mark) - 1)
        text, at = self._displayed_text(), self.model.cursor[1]
        self._first_visible_cell = min(self._first_visible_cell, at)
        while cells(text[self._first_visible_cell : at]) > room:
            self._first_visible_cell += 1
        return text[self._first_visible_cell :], cells(text[self._first_visible_cell : at])

    def render_line(self, y: int) -> Strip:
        line = RowBuilder(self.size.width, self.rich_style)
        line.add(self.mark, self.get_component_rich_style("line-input--mark"))
        text, at = self._visible_part()
        if self.model.text:
            line.add(text)
        else:
            line.add(
                self.placeholder,
                make_style_readable(self.get_component_rich_style("line-input--placeholder")),
            )
        strip = line.strip()
        if self.has_focus and caret.must_draw_caret(self):
            place = min(cells(self.mark) + at, self.size.width - 1)
            before, under, after = strip.divide([place, place + 1, self.size.width])
            style = self.get_component_rich_style("line-input--caret")
            caret_cell = Strip([Segment(piece.text, (piece.style or Style()) + style) for piece in under])
            strip = Strip.join([before, caret_cell, after])
        return strip

    # -- events and actions --------------------------------------------------------------------------------

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return character is not None and character.isprintable()

    async def on_key(self, event: events.Key) -> None:
        if event.character is not None and event.is_printable:
            stop_key_event(event)
            self.model.type_text(clean_pasted_text(event.character))
            self._post_change()
        else:
            await run_widget_binding(self, event)

    def on_paste(self, event: events.Paste) -> None:
        stop_key_event(event)
        self.model.insert(" ".join(clean_pasted_text(event.text[:20_000]).split("\n")).strip())
        self._post_change()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        target = offset.x - cells(self.mark)
        text = self._displayed_text()
        at = self._first_visible_cell
        while at < len(text) and cells(text[self._first_visible_cell : at + 1]) <= target:
            at += 1
        self.model.move_to((0, at))
        self._post_change()

    def _post_change(self) -> None:
        self.refresh()
        if self._drawn_version != self.model.version:
            self._drawn_version = self.model.version
            self.post_message(self.Changed(self, self.model.text))

    def action_do(self, id: str) -> None:
        """Runs the editing key with this id on the input's text. Keys that have nothing to do there, such as in an
        empty input, are left to the screen."""
        key = _TEXT_EDITING_KEY_BY_ID[id]
        if key.needs_text_in_line and not self.model.text:
            raise SkipAction  # the key keeps the meaning that the surrounding screen gives it
        if key.id == "tui.editor.deleteCharForward" and self.model.cursor[1] == len(self.model.text):
            raise SkipAction  # there is nothing to delete at the end, so the screen handles the key
        key.command(self.model)
        self._post_change()
