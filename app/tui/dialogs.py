"""Small questions on the full screen."""

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Static

from widgets.editor.prompt import PromptEditor

if TYPE_CHECKING:
    from app.tui.app import BayouApp


class TextScreen(ModalScreen[str | None]):
    """One text; Enter gives it, Escape gives nothing."""

    BINDINGS = [("escape", "cancel", "Cancel")]  # noqa: RUF012  (Textual's own form)
    DEFAULT_CSS = """
    TextScreen { align: center bottom; }
    TextScreen > Static { width: 100%; height: auto; padding: 0 1; background: $panel; }
    """

    def __init__(
        self, title: str, *, placeholder: str = "", prefill: str = "", is_secret: bool = False
    ) -> None:
        super().__init__()
        self._title = title
        self._prefill = prefill
        self._input: Widget = (
            Input(placeholder=placeholder, password=True)
            if is_secret
            else PromptEditor(placeholder=placeholder)
        )

    def compose(self) -> ComposeResult:
        yield Static(f"{self._title}   (Enter answers, Escape leaves)", markup=False)
        yield self._input

    def on_mount(self) -> None:
        if isinstance(self._input, PromptEditor):
            self._input.set_text(self._prefill)
        self._input.focus()

    def on_prompt_editor_submitted(self, message: PromptEditor.Submitted) -> None:
        message.stop()
        self.dismiss(message.text)

    def on_input_submitted(self, message: Input.Submitted) -> None:
        message.stop()
        self.dismiss(message.value)

    def action_cancel(self) -> None:
        self.dismiss(None)


async def ask_text(
    app: "BayouApp", title: str, *, placeholder: str = "", prefill: str = "", is_secret: bool = False
) -> str | None:
    """None when nothing was answered. A secret is never drawn."""
    screen = TextScreen(title, placeholder=placeholder, prefill=prefill, is_secret=is_secret)
    return await app.choosing.ask(screen)
