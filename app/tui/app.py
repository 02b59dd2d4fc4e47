"""The full-screen application: mounts the page, turns keys and messages into session calls, and events into views.

`transcript.presenter` decides what the transcript shows; commands, keys and pages come from the features (`register`).
"""

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.driver import Driver
from textual.filter import LineFilter
from textual.message import Message

from app.assembly.assembled_session import AssembledSession
from app.sessions.index.background_indexing import SessionTexts
from app.tui import current_theme
from app.tui.current_theme import CurrentTheme
from app.tui.feature_services import full_screen, listen
from app.tui.features.rules.feature import NOTES
from app.tui.features.screen.feature import SCREEN
from app.tui.keys.action_table import ActionTable
from app.tui.keys.page_keys import CLEAR
from app.tui.keys.type_ahead import QueueMarker
from app.tui.main_screen import MainScreen
from app.tui.page_parts import PageParts
from app.tui.prompt import paste_and_editor
from app.tui.prompt.prompt_parts import PromptParts
from app.tui.register import BINDINGS, HINTS, PAGE_KEYS, FeatureRegister, command_names, screen_keys
from app.tui.startup import StartOptions
from app.tui.terminal.terminal_parts import TerminalParts
from app.values.events import Event
from widgets.editor.prompt import PromptEditor
from widgets.screens.requests import ScreenRequest
from widgets.status.approval import ApprovalBar
from widgets.terminal.terminal_driver import AmbiguousAltKey, TerminalDriver
from widgets.textual_internals import driver_of
from widgets.themes import variable_defaults
from widgets.transcript.view import Transcript

if TYPE_CHECKING:
    from app.assembly.extensions.extension_setup import ConnectedExtensions


class BayouApp(App[int]):
    """The full-screen application: shows one session on one main page."""

    ENABLE_COMMAND_PALETTE = False
    TITLE = "bayou"
    BINDINGS: ClassVar[list[BindingType]] = BINDINGS

    def __init__(
        self,
        assembled: AssembledSession,
        *,
        opening: StartOptions = StartOptions(),  # noqa: B008  (frozen)
        home: Path | None = None,
        env: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        css_path: list[Path] | None = None,
        when_leaving: Callable[[int], object] = lambda code: None,  # gets the exit code
    ) -> None:
        super().__init__(css_path=[str(path) for path in css_path or ()])
        self._when_leaving = when_leaving
        self.assembled = assembled
        self.session, self.models = assembled.session, assembled.choice
        self.opening = opening
        self.home = home or Path.home()
        self.env = os.environ if env is None else env
        self.clock = clock
        self.extended: ConnectedExtensions | None = None
        """What the session's extensions add, once they are loaded."""
        self.is_ready = asyncio.Event()
        """Set when everything that waits for the first paint has been done."""
        self.look = CurrentTheme(self, assembled)
        self.theme_problem = self.look.begin()
        self.action_table = ActionTable(
            PAGE_KEYS, lambda: command_names(self.session, self.action_table.key_label), screen_keys, HINTS
        )
        self.terminal = TerminalParts(
            self, assembled, lambda work: self.tasks.spawn(work), env=self.env, clock=self.clock
        )
        self.images = self.terminal.images  # widgets look for it here: `terminal_images.images_of`
        self.page = PageParts(
            self,
            assembled,
            self.action_table,
            hear=self.hear,
            is_ready=self.is_ready,
            home=self.home,
            env=self.env,
            clock=self.clock,
        )
        self.transcript, self.editor = self.page.transcript, self.page.editor
        self.approval_bar = self.page.approval_bar
        self.presenter, self.status, self.tasks = self.page.presenter, self.page.status, self.page.tasks
        self.prompt = PromptParts(self, assembled, self.page, self.action_table)
        self.session_texts = SessionTexts(lambda: assembled.places.root)
        self.register = FeatureRegister(full_screen(self))
        listen(self, self.register)
        self.sending = self.prompt.sending(
            may_begin=self.is_ready.wait,
            run_slash=self.register.run_slash,
            note=lambda text: self.register.page(NOTES).note(text),
        )

    def get_default_screen(self) -> MainScreen:
        return MainScreen(
            editor=self.editor,
            transcript=self.transcript,
            search_bar=self.page.search_bar,
            sending=self.sending,
            remembered=self.prompt.remembered,
            unsent=self.prompt.unsent,
            register=self.register,
            status=self.status,
            key_texts=self.prompt.key_texts,
            spawn=self.tasks.spawn,
        )

    def compose(self) -> ComposeResult:
        yield self.page.side_panel
        yield self.page.header
        yield self.transcript
        yield self.page.search_bar
        yield from self.register.above_editor()
        yield self.page.queue_view
        yield self.approval_bar
        yield self.prompt.completion_popup(
            hints=HINTS,
            themes=self.look.names,
            extended=lambda: self.extended,
            find_program=self.terminal.find_program,
        )
        yield self.editor
        yield self.page.footer

    def get_line_filters(self) -> Sequence[LineFilter]:
        return current_theme.line_filters(
            super().get_line_filters(), no_color=self.no_color, is_ansi=self.native_ansi_color
        )

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variable_defaults()

    # Start, end and errors

    def on_mount(self) -> None:
        self.opening.begin(self)
        self.call_after_refresh(lambda: self.tasks.spawn(self.opening.complete(self)))

    def on_ready(self) -> None:
        if isinstance(driver := driver_of(self), TerminalDriver):
            driver.page_ready()

    def exit(self, result: int | None = None, return_code: int = 0, message: Any = None) -> None:
        self.begin_leaving(result or return_code)
        super().exit(result, return_code, message)

    def begin_leaving(self, code: int) -> None:
        """Saves what is unsent and prevents new work. Called on every way out, possibly twice."""
        self._when_leaving(code)
        self.tasks.close()
        self.prompt.unsent.close()

    # Events

    def hear(self, event: Event) -> None:
        """Passes a session event to the features and the status lines, after the transcript has
        handled the event."""
        self.register.hear(event)
        self.status.note(event)

    @on(QueueMarker)
    def _passed(self, message: QueueMarker) -> None:
        message.arrived.set()

    @on(events.TextSelected)
    def _selected(self) -> None:
        if self.assembled.effective_settings.settings.display.fullscreen_copy_on_select and (
            text := self.screen.get_selected_text()
        ):
            self.terminal.clipboard.copy(text, "selection")

    @on(events.AppFocus)
    @on(events.AppBlur)
    def _focus_changed(self, event: events.AppFocus | events.AppBlur) -> None:
        """Handles the terminal window's focus without Textual's default, which would blur the focused
        widget and repaint everything."""
        event.prevent_default()
        self.terminal.notifications.focus(isinstance(event, events.AppFocus))
        if isinstance(event, events.AppFocus) and self.is_ready.is_set():
            self.tasks.spawn(self.status.look_at_git())
        if isinstance(event, events.AppFocus):
            self.session.settings.look()

    @on(Driver.SignalResume)
    def _back_from_the_background(self) -> None:
        """Repaints everything after a suspended bayou is resumed, because the shell has used the
        terminal meanwhile."""
        self.refresh(layout=True)
        self.terminal.title.show("working" if self.session.is_running else "")

    @on(events.Resize)
    def _repaint_after_shrink(self, event: events.Resize) -> None:
        """Repaints after a resize event that reports the old size: the terminal was smaller for a
        moment and lost rows."""
        if self.is_mounted and event.size == self.screen.outer_size:
            self.refresh(layout=True)

    # Requests from any screen

    @on(ScreenRequest)
    def _on_screen_request(self, request: ScreenRequest[Any]) -> None:
        self.page.screens.requested(request)

    @on(Transcript.BranchRequested)
    @on(Transcript.CopyRequested)
    @on(Transcript.FullScreenRequested)
    @on(Transcript.LinkChosen)
    @on(Transcript.NamesRequested)
    @on(Transcript.RetryRequested)
    @on(Transcript.SymbolChosen)
    @on(Transcript.SymbolsRequested)
    def _on_block_request(self, message: Message) -> None:
        match message:
            case Transcript.CopyRequested():
                self.terminal.clipboard.copy(message.text, message.what)
            case Transcript.LinkChosen():
                self.terminal.open_link(message.href)
            case _:
                self.register.hear(message)

    @on(PromptEditor.ClipboardRequested)
    @on(PromptEditor.ExternalEditorRequested)
    @on(PromptEditor.HistoryRequested)
    def _on_editor_request(self, message: Message) -> None:
        say, editor = self.presenter.note, self.editor
        match message:
            case PromptEditor.ClipboardRequested():
                env, find = self.terminal.program_env, self.terminal.find_program
                self.tasks.spawn(paste_and_editor.paste(editor, say, env, find))
            case PromptEditor.ExternalEditorRequested():
                wanted = paste_and_editor.editor_wanted(self.assembled)
                env = self.terminal.program_env
                make_folder = self.assembled.workspace.private_folder
                paste_and_editor.edit_elsewhere(
                    editor, message.text, self, say, wanted=wanted, env=env, make_folder=make_folder
                )
            case PromptEditor.HistoryRequested():
                ask = self.page.screens.ask
                self.tasks.spawn(paste_and_editor.search_history(editor, ask, message.entries))

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Decides whether an action is available: none while a program runs in the terminal, and page
        actions only on the page.

        Textual asks the application first for priority keys, even if another screen is on top."""
        if self.terminal.programs.has_keyboard:
            return False
        if action == "act" and not isinstance(self.screen, MainScreen):
            return parameters == (CLEAR,) and bool(self.screen.get_selected_text())
        return super().check_action(action, parameters)

    async def on_event(self, event: events.Event) -> None:
        is_input = isinstance(event, events.Key | events.Paste | events.MouseDown)
        is_stop = is_input and not event.is_forwarded and self.approval_bar.note_input(event)
        if is_stop:
            self._stop_if_busy()
        if isinstance(event, events.Key) and not event.is_forwarded:
            self.page.garbage.note_key()
            if not self.terminal.programs.has_keyboard and (
                await self.prompt.user_keys.take(event) or (not is_stop and self._answers_question(event))
            ):
                return
        await super().on_event(event)

    def _answers_question(self, event: events.Key) -> bool:
        """Whether a key that is meant for the editor answers the question above it."""
        if self.approval_bar.asked is None or self.focused is not self.editor:
            return False
        is_blank = self.editor.model.is_blank
        if is_blank and isinstance(event, AmbiguousAltKey) and not self._is_page_key(event.key):
            self._stop_if_busy()  # it was an Escape and a key right behind it
            return True
        return self.approval_bar.take(event, is_blank=is_blank)

    def _is_page_key(self, key: str) -> bool:
        active = self.screen.active_bindings.get(key)
        return active is not None and active.node is not self.editor

    @on(ApprovalBar.StopRequested)
    def _stop_if_busy(self) -> None:
        if self.session.state.is_busy:
            self.register.page(SCREEN).leaving.escape()

    def action_act(self, key_id: str) -> None:
        self.register.press(key_id)

    def action_extension_key(self, key: str) -> None:
        if self.extended is not None:
            self.tasks.spawn(self.extended.catalogue.run_shortcut(key))
