"""The full screen's implementation of `Ui`, through which extensions ask questions and show things.

Its screens are imported with the first question, because most extensions ask nothing."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import msgspec
from textual.app import App
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from app.extensions.extension_views import View, view_text
from app.extensions.ui_protocol import Level, Placement
from app.tui.current_theme import CurrentTheme
from app.tui.page_protocols import AskOnScreen, ShowMessage
from app.tui.status.status_lines import StatusLines
from widgets.editor.prompt_editor import PromptEditor
from widgets.status.status_footer import StatusFooter
from widgets.status.status_header import StatusHeader
from widgets.status.status_segments import status_script_segment
from widgets.terminal.raw_input import RawInputListeners
from widgets.transcript.transcript_blocks import AppNoteKind
from widgets.transcript.view import Transcript


class AskInApprovalBar(Protocol):
    """The protocol of a function that asks an extension's question in the approval bar and returns yes or no, the
    chosen option, or None without an answer."""

    async def __call__(
        self,
        kind: Literal["confirm", "select", "open"],
        title: str,
        text: str = "",
        options: Sequence[str] = (),
    ) -> Any: ...


class FullScreenExtensionUi(msgspec.Struct):
    """Lets extensions use the full screen: shows their questions as screens, their notes in the transcript and their
    states in the footer."""

    has_ui = True

    app: App[Any]
    """The application in which widgets of extensions are mounted."""
    ask: AskOnScreen
    show_message: ShowMessage
    notify_waiting: Callable[[str], None]
    """Notifies the user that a question waits, because the user may look elsewhere."""
    ask_in_bar: AskInApprovalBar
    """Asks in the bar above the editor. Used while the agent works: the user may be typing, and
    typing does not answer the bar."""
    is_busy: Callable[[], bool]
    header: StatusHeader
    transcript: Transcript
    prompt_editor: PromptEditor
    footer: StatusFooter
    status: StatusLines
    current_theme: CurrentTheme
    raw_input: RawInputListeners
    _widget_by_key: dict[str, Widget] = {}

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        if self.is_busy():
            return await _answer_with_timeout(timeout, self.ask_in_bar("select", title, "", options), None)
        from app.tui.features.shared_dialogs import select_option  # noqa: PLC0415

        self.notify_waiting(title)
        return await _answer_with_timeout(timeout, select_option(self.ask, title, options), None)

    async def confirm(self, title: str, message: str = "", *, timeout: float | None = None) -> bool:
        if self.is_busy():
            return (
                await _answer_with_timeout(timeout, self.ask_in_bar("confirm", title, message), None) is True
            )
        from widgets.screens.dialogs import ConfirmScreen  # noqa: PLC0415

        self.notify_waiting(title)
        screen = ConfirmScreen(title, message)
        return await _answer_with_timeout(timeout, self.ask(screen), None) is True

    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        if self.is_busy() and not await _answer_with_timeout(
            timeout, self.ask_in_bar("open", title, placeholder), None
        ):
            return None
        from app.tui.features.shared_dialogs import ask_text  # noqa: PLC0415

        self.notify_waiting(title)
        return await _answer_with_timeout(timeout, ask_text(self.ask, title, placeholder=placeholder), None)

    async def editor(self, title: str, prefill: str = "") -> str | None:
        if self.is_busy() and not await self.ask_in_bar("open", title):
            return None
        from widgets.screens.dialogs import TextEditScreen  # noqa: PLC0415

        self.notify_waiting(title)
        return await self.ask(TextEditScreen(title, prefill=prefill))

    async def custom(self, make: Callable[..., Any], *, overlay: bool = False) -> Any:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def done(value: Any = None) -> None:
            if not answer.done():
                answer.set_result(value)

        made = make(done)
        if overlay and not isinstance(made, Screen):
            from app.tui.features.blocks.overlay import OverlayScreen  # noqa: PLC0415

            made = OverlayScreen(made)
        if isinstance(made, Screen):
            return await self._on_screen(made, answer)
        return await self._show_until_done(made, answer)

    async def _on_screen(self, screen: Screen[Any], answer: "asyncio.Future[Any]") -> Any:
        """Shows an extension's screen and returns its value, from `done(value)` or from the screen's own end."""
        asked = asyncio.ensure_future(self.ask(screen))
        try:
            await asyncio.wait((asked, answer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not asked.done():
                asked.cancel()
        return answer.result() if answer.done() else asked.result()

    async def _show_until_done(self, widget: Widget, answer: "asyncio.Future[Any]") -> Any:
        """Shows an extension's widget above the editor with the keyboard focus until it calls `done`; returns the
        value."""
        await self.app.mount(widget, before=self.prompt_editor)
        widget.focus()
        try:
            return await answer
        finally:
            await widget.remove()
            self.prompt_editor.focus()

    def notify(self, text: str, level: Level = "info") -> None:
        self.show_message(text, AppNoteKind(level))

    def set_status(self, key: str, text: str | None) -> None:
        self.status.show_extension_segment(status_script_segment(f"extension-{key}", text or ""))

    def set_widget(self, key: str, content: Any, *, placement: Placement = "above_editor") -> None:
        old = self._widget_by_key.pop(key, None)
        if old is not None:
            old.remove()
        if content is None:
            return
        made: Any = content() if callable(content) else Static(_widget_text(content), markup=False)
        widget: Widget = made
        self._widget_by_key[key] = widget
        if placement == "above_editor":
            self.app.mount(widget, before=self.prompt_editor)
        else:
            self.app.mount(widget, after=self.prompt_editor)

    def set_title(self, title: str) -> None:
        self.app.title = title

    def set_header(self, make: Callable[..., Any] | None) -> None:
        self._replace_bar("extension-header", make, before=self.header)

    def set_footer(self, make: Callable[..., Any] | None) -> None:
        self._replace_bar("extension-footer", make, before=self.footer)

    def _replace_bar(self, key: str, make: Callable[..., Any] | None, *, before: Any) -> None:
        """Replaces the page's header or footer by an extension's widget; None restores bayou's own."""
        old = self._widget_by_key.pop(key, None)
        if old is not None:
            old.remove()
        before.display = make is None
        if make is not None:
            self._widget_by_key[key] = made = make()
            self.app.mount(made, before=before)

    def set_editor(self, make: Callable[..., Any] | None) -> None:
        """Replaces the prompt editor by the widget that `make(submit)` returns; in it `submit(text)` sends a text as
        Enter does. None restores the editor."""
        self._replace_bar(
            "extension-editor", make and (lambda: make(self._submit)), before=self.prompt_editor
        )
        self.prompt_editor.can_focus = make is None
        self._widget_by_key.get("extension-editor", self.prompt_editor).focus()

    def _submit(self, text: str) -> None:
        self.prompt_editor.set_text(text)
        self.prompt_editor.keyboard.submit_prompt()

    def on_terminal_input(self, listener: Callable[[str], Any]) -> Callable[[], None]:
        def heard(text: str) -> str | bool | None:
            try:
                return listener(text)
            except Exception as problem:  # noqa: BLE001  (the extension's listener failed: it is reported and removed)
                stop()
                self.notify(f"An extension's terminal handler failed: {problem}", "error")
                return None

        stop = self.raw_input.add_listener(heard)
        return stop

    def set_working(self, message: str | None, *, frames: Sequence[str] | None = None) -> None:
        """Shows an extension's working message above the editor, with only the first of its animation frames."""
        self.status.show_activity(" ".join(filter(None, (*(frames or ())[:1], message))))

    def editor_text(self) -> str:
        """Returns the text of the editor; if an extension's widget replaces it, that widget's `value` or `text`."""
        widget = self._widget_by_key.get("extension-editor")
        own = getattr(widget, "value", getattr(widget, "text", None))
        return own if isinstance(own, str) else self.prompt_editor.text

    def set_editor_text(self, text: str) -> None:
        widget: Any = self._widget_by_key.get("extension-editor")
        for name in ("value", "text"):
            if isinstance(getattr(widget, name, None), str):
                setattr(widget, name, text)
                return
        self.prompt_editor.set_text(text)

    def paste(self, text: str) -> None:
        self.prompt_editor.paste(text)

    def set_tools_expanded(self, expanded: bool) -> None:
        self.transcript.open_all(tools=expanded)

    def tools_expanded(self) -> bool:
        return bool(self.transcript.column.expansion.tools)

    def themes(self) -> Sequence[str]:
        return self.current_theme.theme_names()

    def theme(self) -> str:
        return self.current_theme.name

    def set_theme(self, name: str) -> bool:
        return self.current_theme.apply_theme(name) is None


async def _answer_with_timeout(timeout: float | None, question: Any, otherwise: Any) -> Any:
    try:
        return await asyncio.wait_for(question, timeout)
    except TimeoutError:
        return otherwise


def _widget_text(content: Any) -> str:
    if isinstance(content, View):
        return view_text(content)
    return content if isinstance(content, str) else "\n".join(str(line) for line in content)
