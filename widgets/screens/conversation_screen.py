"""A full-screen view of another agent's running conversation, with an input line if the agent accepts
messages."""

from collections.abc import Awaitable, Callable
from typing import ClassVar, Protocol

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from widgets.editor.line_input import LineInput
from widgets.screens.screen_parts import KeyHint, KeyHints, RuleTitle
from widgets.textual_internals import ClosableModalScreen
from widgets.transcript.view import Transcript

_CONVERSATION_REFRESH_SECONDS = 0.5


class FollowedAgentConversation(Protocol):
    """The protocol of a running conversation of another agent that a screen can follow and stop."""

    def title(self) -> str: ...
    def footer(self) -> str: ...
    def show_new_messages(self, transcript: Transcript) -> None:
        """Shows in the transcript what is new in the conversation since the last call; called regularly."""
        ...

    def stop_showing(self) -> None: ...
    async def stop(self) -> None: ...


class AgentConversationScreen(ClosableModalScreen[None]):
    """A screen that follows the running conversation of another agent: it can stop it and send it messages."""

    AUTO_FOCUS: ClassVar[str | None] = ""  # its keys are those of the screen
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "tell", "Send", show=False, id="tui.select.confirm"),
        Binding("ctrl+x", "stop", "Stop", show=False, id="app.tasks.stop"),
        Binding("pageup", "page(-1)", "Page up", show=False, priority=True, id="tui.select.pageUp"),
        Binding("pagedown", "page(1)", "Page down", show=False, priority=True, id="tui.select.pageDown"),
    ]

    def __init__(
        self, shown: FollowedAgentConversation, tell: Callable[[str], Awaitable[str]] | None = None
    ) -> None:
        """Creates the screen. `tell`: sends a message to the agent and returns an error or an empty text. Without
        `tell` there is no input line."""
        super().__init__(classes="full-height")
        self._shown = shown
        self._tell = tell
        self._line = LineInput("", placeholder="message to the helper", id="filter")
        self.transcript = Transcript()

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield RuleTitle(self._shown.title(), self._shown.footer(), id="title")
            yield self.transcript
            if self._tell is not None:
                yield self._line
            yield KeyHints(
                (
                    *([KeyHint("enter", "send", 8, "tui.select.confirm")] if self._tell else []),
                    KeyHint("ctrl+x", "stop", 7, "app.tasks.stop"),
                    KeyHint("pageup/pagedown", "scroll", 5, "tui.select.pageUp/tui.select.pageDown"),
                    KeyHint("escape", "close", 9, "tui.select.cancel"),
                ),
                id="keys",
            )

    def on_mount(self) -> None:
        if self._tell is not None:
            self._line.focus()
        self.update_conversation()
        self.set_interval(_CONVERSATION_REFRESH_SECONDS, self.update_conversation)

    def on_unmount(self) -> None:
        self._shown.stop_showing()

    def update_conversation(self) -> None:
        self._shown.show_new_messages(self.transcript)
        self.query_one(RuleTitle).show(note=self._shown.footer())

    async def action_stop(self) -> None:
        await self._shown.stop()
        self.update_conversation()

    def action_page(self, direction: int) -> None:
        self.transcript.keyboard.page(direction)

    def on_line_input_changed(self, event: LineInput.Changed) -> None:
        event.stop()

    async def action_tell(self) -> None:
        text = self._line.text.strip()
        if self._tell is None or not text:
            return
        problem = await self._tell(text)
        if problem:
            self.query_one(RuleTitle).show(note=problem)
        else:
            self._line.set_text("")
            self.update_conversation()
