"""One helper full screen: its conversation as it goes on, and a line for what it is told."""

from typing import ClassVar, Protocol

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from widgets.editor.line_input import LineInput
from widgets.screens.screen_parts import KeyHint, KeyHints, RuleTitle
from widgets.textual_internals import SheetScreen
from widgets.transcript.view import Transcript

_REFRESH_SECONDS = 0.5


class ConversationOnScreen(Protocol):
    """What the screen of one helper shows and does."""

    def title(self) -> str: ...
    def footer(self) -> str: ...
    def follow(self, transcript: Transcript) -> None:
        """Shows the conversation, and what is new in it; called regularly."""
        ...

    def leave(self) -> None: ...
    async def tell(self, text: str) -> str:
        """Returns why the helper was not told; empty if it was."""
        ...

    async def stop(self) -> None: ...


class HelperScreen(SheetScreen[None]):
    """One helper: its conversation, and a line for what it is told."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "tell", "Tell it", show=False, id="tui.select.confirm"),
        Binding("ctrl+x", "stop", "Stop it", show=False, id="app.tasks.stop"),
        Binding("pageup", "page(-1)", "Page up", show=False, priority=True, id="tui.select.pageUp"),
        Binding("pagedown", "page(1)", "Page down", show=False, priority=True, id="tui.select.pageDown"),
    ]

    def __init__(self, shown: ConversationOnScreen) -> None:
        super().__init__(classes="full-height")
        self._shown = shown
        self.transcript = Transcript()
        self._line = LineInput("", placeholder="tell it something", id="filter")

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield RuleTitle(self._shown.title(), self._shown.footer(), id="title")
            yield self.transcript
            yield self._line
            yield KeyHints(
                (
                    KeyHint("enter", "tell it", 8, "tui.select.confirm"),
                    KeyHint("ctrl+x", "stop it", 7, "app.tasks.stop"),
                    KeyHint("pageup/pagedown", "scroll", 5, "tui.select.pageUp/tui.select.pageDown"),
                    KeyHint("escape", "close", 9, "tui.select.cancel"),
                ),
                id="keys",
            )

    def on_mount(self) -> None:
        self._line.focus()
        self._look()
        self.set_interval(_REFRESH_SECONDS, self._look)

    def on_unmount(self) -> None:
        self._shown.leave()

    def _look(self) -> None:
        self._shown.follow(self.transcript)
        self.query_one(RuleTitle).show(note=self._shown.footer())

    def on_line_input_changed(self, event: LineInput.Changed) -> None:
        event.stop()

    async def action_tell(self) -> None:
        text = self._line.text.strip()
        if not text:
            return
        problem = await self._shown.tell(text)
        if problem:
            self.query_one(RuleTitle).show(note=problem)
        else:
            self._line.set_text("")
            self._look()

    async def action_stop(self) -> None:
        await self._shown.stop()
        self._look()

    def action_page(self, direction: int) -> None:
        self.transcript.keyboard.page(direction)
