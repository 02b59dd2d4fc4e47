"""Small questions on the full screen."""

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.screen import ModalScreen
from textual.widgets import Static

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

    def __init__(self, title: str, *, placeholder: str = "", prefill: str = "") -> None:
        super().__init__()
        self._title = title
        self._prefill = prefill
        self._editor = PromptEditor(placeholder=placeholder)

    def compose(self) -> ComposeResult:
        yield Static(f"{self._title}   (Enter answers, Escape leaves)", markup=False)
        yield self._editor

    def on_mount(self) -> None:
        self._editor.set_text(self._prefill)
        self._editor.focus()

    def on_prompt_editor_submitted(self, message: PromptEditor.Submitted) -> None:
        message.stop()
        self.dismiss(message.text)

    def action_cancel(self) -> None:
        self.dismiss(None)


async def ask_text(app: "BayouApp", title: str, *, placeholder: str = "", prefill: str = "") -> str | None:
    return await app.choosing.ask(TextScreen(title, placeholder=placeholder, prefill=prefill))
