"""Shows a running program's terminal screen and sends keys to it. It does not start or end the program."""

from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget

from widgets.emulator.emulator import TerminalEmulator
from widgets.emulator.emulator_keys import encode_key_for_terminal, encode_paste_for_terminal
from widgets.row_builder import clean_single_line
from widgets.screens.screen_parts import KeyHint, KeyHints, RuleTitle

_TERMINAL_CURSOR_STYLE = Style(reverse=True)
TERMINAL_TITLE_AND_HINT_ROWS = 2
"""Rows of the screen for title and key hints, which the program does not get."""


class TerminalView(Widget, can_focus=True):
    """A widget that draws an emulated terminal and sends every key to its program."""

    def __init__(
        self,
        emulator: TerminalEmulator,
        *,
        send: Callable[[bytes], None],
        resize: Callable[[int, int], None],
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._emulator = emulator
        self._send_to_program = send
        self._resize_program = resize

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        segments = [
            Segment(text, base + style if style else base)
            for text, style in self._emulator.styled_row_pieces(y)
        ]
        strip = Strip(segments).adjust_cell_length(self.size.width, base)
        x, line = self._emulator.cursor
        if line == y and self.has_focus and self._emulator.has_cursor:
            before, at, after = strip.divide([x, x + 1, self.size.width])
            strip = Strip.join([before, at.apply_style(_TERMINAL_CURSOR_STYLE), after])
        return strip

    def on_resize(self, event: events.Resize) -> None:
        columns, lines = max(2, event.size.width), max(2, event.size.height)
        self._emulator.resize(columns, lines)
        self._resize_program(columns, lines)
        self.refresh()

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        self._send_to_program(
            encode_key_for_terminal(
                event.key, event.character, has_application_keys=self._emulator.has_application_keys
            )
        )

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self._send_to_program(
            encode_paste_for_terminal(event.text, has_bracketed_paste=self._emulator.has_bracketed_paste)
        )


class TerminalScreen(ModalScreen[None]):
    """A program's terminal above the page. Escape ends a program that the model started; a program that the user
    started gets
    Escape like every other key, because editors need it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "kill", "Stop the program", priority=True, show=False, id="app.terminal.kill"),
        Binding(
            "f12",
            "send_escape",
            "Send Escape to the program, or stop your own program",
            priority=True,
            show=False,
            id="app.terminal.escape",
        ),
    ]

    def __init__(
        self,
        title: str,
        emulator: TerminalEmulator,
        *,
        send: Callable[[bytes], None],
        resize: Callable[[int, int], None],
        kill: Callable[[], None],
        is_started_by_user: bool = False,
    ) -> None:
        super().__init__(classes="full-height")
        self._title = clean_single_line(title)
        self._send_to_program = send
        self._kill_program = kill
        self._is_started_by_user = is_started_by_user
        self._has_program_ended = False
        self._view = TerminalView(emulator, send=send, resize=resize, id="terminal")

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield RuleTitle(self._title, "terminal", id="title")
            yield self._view
            yield KeyHints(self._key_hints(), id="keys")

    def _key_hints(self) -> tuple[KeyHint, ...]:
        if self._is_started_by_user:
            return (KeyHint("f12", "stop program", 9, "app.terminal.escape"),)
        return (
            KeyHint("escape", "stop program", 9, "app.terminal.kill"),
            KeyHint("f12", "send esc", 7, "app.terminal.escape"),
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return (
            False
            if action == "kill" and self._is_started_by_user
            else super().check_action(action, parameters)
        )

    def on_mount(self) -> None:
        self._view.focus()

    def redraw(self) -> None:
        self._view.refresh()

    def action_kill(self) -> None:
        self.query_one("#title", RuleTitle).show(note="stopping")
        self._kill_program()

    def action_send_escape(self) -> None:
        if self._is_started_by_user:
            self.action_kill()
        else:
            self._send_to_program(b"\x1b")

    def close(self) -> None:
        """Closes the screen after its program has ended: at once, or as soon as no other screen is above it."""
        self._has_program_ended = True
        if self.is_current:
            self.dismiss()

    def on_screen_resume(self) -> None:
        if self._has_program_ended:
            self.dismiss()
