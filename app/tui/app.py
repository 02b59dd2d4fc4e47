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
from app.sessions.index.background_indexing import BackgroundSessionIndexer
from app.tui import current_theme
from app.tui.current_theme import CurrentTheme
from app.tui.feature_register import (
    ARGUMENT_HINT_BY_SLASH_COMMAND,
    BINDINGS,
    GROUP_BY_SLASH_COMMAND,
    PAGE_KEYS,
    FeatureRegister,
    screen_binding_groups,
    slash_command_descriptions,
)
from app.tui.feature_services import make_feature_services, run_action_on_first_node, subscribe_app_listeners
from app.tui.features.rules.feature import MEMORY_NOTES_FEATURE
from app.tui.features.screen.feature import APP_ACTIONS_FEATURE
from app.tui.keys.action_table import ActionTable
from app.tui.keys.page_keys import CLEAR_OR_QUIT_ACTION
from app.tui.keys.type_ahead import MessageQueueMarker
from app.tui.main_screen import MainScreen
from app.tui.page_parts import PageParts
from app.tui.prompt import paste_and_editor
from app.tui.prompt.prompt_parts import PromptInputParts
from app.tui.startup import TuiStartOptions
from app.tui.terminal.terminal_parts import TerminalParts
from app.values.events import Event
from widgets.editor.prompt_editor import PromptEditor
from widgets.screens.screen_request import ScreenRequest
from widgets.terminal.terminal_driver import AmbiguousAltKey, TerminalDriver
from widgets.textual_internals import terminal_driver_of
from widgets.themes import default_style_variables
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
        opening: TuiStartOptions = TuiStartOptions(),  # noqa: B008  (frozen)
        home: Path | None = None,
        env: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        css_path: list[Path] | None = None,
        when_leaving: Callable[[int], object] = lambda code: None,  # gets the exit code
    ) -> None:
        super().__init__(css_path=[str(path) for path in css_path or ()])
        self._on_leaving = when_leaving
        self.assembled = assembled
        self.session, self.models = assembled.session, assembled.model_choice
        self.opening = opening
        self.home = home or Path.home()
        self.env = os.environ if env is None else env
        self.clock = clock
        self.connected_extensions: ConnectedExtensions | None = None
        """What the session's extensions add, once they are loaded."""
        self.is_ready = asyncio.Event()
        """Set when everything that waits for the first paint has been done."""
        self.theme_control = CurrentTheme(self, assembled)
        self.theme_problem = self.theme_control.apply_initial_theme()
        self.action_table = ActionTable(
            PAGE_KEYS,
            lambda: slash_command_descriptions(self.session, self.action_table.key_label),
            screen_binding_groups,
            ARGUMENT_HINT_BY_SLASH_COMMAND,
            GROUP_BY_SLASH_COMMAND,
        )
        self.terminal = TerminalParts(
            self, assembled, lambda work: self.tasks.spawn(work), env=self.env, clock=self.clock
        )
        self.images = self.terminal.images  # widgets look for it here: `terminal_images.app_images`
        self.page = PageParts(
            self,
            assembled,
            self.action_table,
            hear=self.handle_event,
            is_ready=self.is_ready,
            home=self.home,
            env=self.env,
            clock=self.clock,
        )
        self.transcript, self.editor = self.page.transcript, self.page.editor
        self.approval_bar = self.page.approval_bar
        self.presenter, self.status, self.tasks = self.page.presenter, self.page.status, self.page.tasks
        self.prompt = PromptInputParts(self, assembled, self.page, self.action_table)
        self.session_texts = BackgroundSessionIndexer(lambda: assembled.session_paths.sessions_root)
        self.feature_register = FeatureRegister(make_feature_services(self))
        subscribe_app_listeners(self, self.feature_register)
        self.prompt_sender = self.prompt.make_sender(
            may_begin=self.is_ready.wait,
            run_slash_command=self.feature_register.run_slash_command,
            note=lambda text: self.feature_register.page(MEMORY_NOTES_FEATURE).save_note(text),
        )

    def get_default_screen(self) -> MainScreen:
        return MainScreen(
            editor=self.editor,
            transcript=self.transcript,
            search_bar=self.page.search_bar,
            sending=self.prompt_sender,
            remembered=self.prompt.project_history,
            unsent=self.prompt.unsent_draft,
            register=self.feature_register,
            status=self.status,
            key_texts=self.prompt.key_texts,
            spawn=self.tasks.spawn,
            update_welcome_page=self.presenter.update_welcome_page,
            lift_transcript_above_sheet=self.page.screens.lift_transcript_above_sheet,
        )

    def compose(self) -> ComposeResult:
        yield self.page.side_panel
        yield self.page.header
        yield self.transcript
        yield self.page.search_bar
        yield from self.feature_register.above_editor()
        yield self.page.queue_view
        yield self.approval_bar
        yield self.prompt.completion_popup(
            hints=ARGUMENT_HINT_BY_SLASH_COMMAND,
            themes=self.theme_control.theme_names,
            extended=lambda: self.connected_extensions,
            find_program=self.terminal.find_program,
        )
        yield self.editor
        yield self.page.footer

    def get_line_filters(self) -> Sequence[LineFilter]:
        return current_theme.select_line_filters(
            super().get_line_filters(), no_color=self.no_color, is_ansi=self.native_ansi_color
        )

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return default_style_variables()

    # Start, end and errors

    def on_mount(self) -> None:
        self.opening.prepare_first_paint(self)
        self.call_after_refresh(lambda: self.tasks.spawn(self.opening.complete_start_after_paint(self)))

    def on_ready(self) -> None:
        if isinstance(driver := terminal_driver_of(self), TerminalDriver):
            driver.allow_key_delivery()

    def exit(self, result: int | None = None, return_code: int = 0, message: Any = None) -> None:
        self.prepare_exit(result or return_code)
        super().exit(result, return_code, message)

    def prepare_exit(self, code: int) -> None:
        """Prepares the end of the application: stops accepting tasks and saves the unsent draft. Called on every way
        out, possibly twice."""
        self._on_leaving(code)
        self.tasks.stop_accepting()
        self.prompt.unsent_draft.close()

    # Events

    def handle_event(self, event: Event) -> None:
        """Passes a session event to the features and the status lines, after the transcript has
        handled the event."""
        self.feature_register.handle_event(event)
        self.status.handle_event(event)

    @on(MessageQueueMarker)
    def _note_marker_arrival(self, message: MessageQueueMarker) -> None:
        message.on_arrival.set()

    @on(events.TextSelected)
    def _copy_selection(self) -> None:
        if self.assembled.effective_settings.settings.display.fullscreen_copy_on_select and (
            text := self.screen.get_selected_text()
        ):
            self.terminal.clipboard.copy(text, "selection")

    @on(events.AppFocus)
    @on(events.AppBlur)
    def _terminal_focus_changed(self, event: events.AppFocus | events.AppBlur) -> None:
        """Handles that the terminal window got or lost the focus. Textual's default would blur the focused widget and
        repaint everything."""
        event.prevent_default()
        self.terminal.notifications.set_focused(isinstance(event, events.AppFocus))
        if isinstance(event, events.AppFocus) and self.is_ready.is_set():
            self.tasks.spawn(self.status.update_git_state())
        if isinstance(event, events.AppFocus):
            self.session.settings.reload_if_changed()

    @on(Driver.SignalResume)
    def _repaint_after_suspension(self) -> None:
        """Repaints everything after a suspended bayou is resumed, because the shell has used the
        terminal meanwhile."""
        self.refresh(layout=True)
        self.terminal.title.show_title_state("working" if self.session.is_running else "")

    @on(events.Resize)
    def _repaint_after_shrink(self, event: events.Resize) -> None:
        """Repaints after a resize event that reports the old size: the terminal was smaller for a
        moment and lost rows."""
        if self.is_mounted and event.size == self.screen.outer_size:
            self.refresh(layout=True)

    # Requests from any screen

    @on(ScreenRequest)
    def _on_screen_request(self, request: ScreenRequest[Any]) -> None:
        self.page.screens.route_request(request)

    @on(Transcript.BranchRequested)
    @on(Transcript.CopyRequested)
    @on(Transcript.FullScreenRequested)
    @on(Transcript.ActionChosen)
    @on(Transcript.LinkChosen)
    @on(Transcript.NamesRequested)
    @on(Transcript.RetryRequested)
    @on(Transcript.SymbolChosen)
    @on(Transcript.SymbolsRequested)
    def _on_block_request(self, message: Message) -> None:
        match message:
            case Transcript.CopyRequested():
                self.terminal.clipboard.copy(message.text, message.what)
            case Transcript.ActionChosen():
                self.tasks.spawn(
                    run_action_on_first_node(self, (self, self.editor, self.transcript), message.action)
                )
            case Transcript.LinkChosen():
                self.terminal.open_link(message.href)
            case _:
                self.feature_register.handle_event(message)

    @on(PromptEditor.ClipboardRequested)
    @on(PromptEditor.ExternalEditorRequested)
    @on(PromptEditor.HistoryRequested)
    def _on_editor_request(self, message: Message) -> None:
        say, editor = self.presenter.add_note, self.editor
        match message:
            case PromptEditor.ClipboardRequested():
                env, find = self.terminal.program_env, self.terminal.find_program
                self.tasks.spawn(paste_and_editor.paste_clipboard(editor, say, env, find))
            case PromptEditor.ExternalEditorRequested():
                wanted = paste_and_editor.configured_editor(self.assembled)
                env = self.terminal.program_env
                make_folder = self.assembled.workspace.private_folder
                paste_and_editor.edit_in_external_editor(
                    editor, message.edited_text, self, say, wanted=wanted, env=env, make_folder=make_folder
                )
            case PromptEditor.HistoryRequested():
                ask = self.page.screens.ask
                self.tasks.spawn(paste_and_editor.search_prompt_history(editor, ask, message.entries))

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Decides whether an action is available: none while a program runs in the terminal, and page
        actions only on the page.

        Textual asks the application first for priority keys, even if another screen is on top."""
        if self.terminal.programs.has_keyboard:
            return False
        if action == "act" and not isinstance(self.screen, MainScreen):
            return parameters == (CLEAR_OR_QUIT_ACTION,) and bool(self.screen.get_selected_text())
        return super().check_action(action, parameters)

    async def on_event(self, event: events.Event) -> None:
        is_input = isinstance(event, events.Key | events.Paste | events.MouseDown)
        is_stop = is_input and not event.is_forwarded and self.approval_bar.note_user_input(event)
        if is_stop:
            self._stop_busy_agent()
        if isinstance(event, events.Key) and not event.is_forwarded:
            self.page.garbage_scheduler.note_key_press()
            if not self.terminal.programs.has_keyboard and (
                await self.prompt.user_keys.handle_key(event)
                or (not is_stop and self._is_answer_to_question(event))
            ):
                return
        await super().on_event(event)

    def _is_answer_to_question(self, event: events.Key) -> bool:
        """Handles a key of the editor that answers the approval question above it; returns False for any other key. An
        Escape and a key right after it stop the agent, unless they are a chord of the page."""
        if self.approval_bar.asked is None or self.focused is not self.editor:
            return False
        is_blank = self.editor.model.is_blank
        if is_blank and isinstance(event, AmbiguousAltKey) and not self._is_chord_of_page(event.key):
            self._stop_busy_agent()  # it was an Escape and a key right behind it
            return True
        return self.approval_bar.handle_editor_key(event, is_blank=is_blank)

    def _is_chord_of_page(self, key: str) -> bool:
        active = self.screen.active_bindings.get(key) if key.startswith("alt+") else None
        return active is not None and active.node is not self.editor

    def _stop_busy_agent(self) -> None:
        if self.session.state.is_busy:
            self.feature_register.page(APP_ACTIONS_FEATURE).stop_or_leave.stop_activity()

    def action_act(self, key_id: str) -> None:
        self.feature_register.run_key_action(key_id)

    def action_extension_key(self, key: str) -> None:
        if self.connected_extensions is not None:
            self.tasks.spawn(self.connected_extensions.catalogue.run_shortcut(key))
