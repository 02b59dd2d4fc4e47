"""The full-screen application: mounts the page, turns keys and messages into session calls, and events into views.

`transcript.presenter` decides what the transcript shows; commands, keys and pages come from the features (`register`).
"""

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.driver import Driver
from textual.filter import LineFilter
from textual.message import Message

from app.assembly.assembled_session import AssembledSession
from app.resources.settings.settings import Settings
from app.sessions.index.reading_all import SessionTexts
from app.tui import current_theme
from app.tui.current_theme import CurrentTheme
from app.tui.display_settings import ShownSettings
from app.tui.features.rules.feature import NOTES
from app.tui.features.screen.feature import SCREEN
from app.tui.keys.action_table import ActionTable
from app.tui.keys.key_texts import PLACEHOLDER, KeyTexts, next_steps
from app.tui.keys.page_keys import CLEAR
from app.tui.keys.type_ahead import QueueMarker, TypeAhead
from app.tui.keys.user_keys import UserKeys
from app.tui.links import open_link
from app.tui.main_screen import MainScreen
from app.tui.offering import CacheMisses, full_screen, listen
from app.tui.prompt import paste_and_editor
from app.tui.prompt.completions import arguments_of, popup_for
from app.tui.prompt.project_history import ProjectHistory
from app.tui.prompt.sending import Sending
from app.tui.prompt.unsent_draft import UnsentDraft
from app.tui.register import BINDINGS, HINTS, PAGE_KEYS, Register, command_names, screen_keys
from app.tui.screens import Screens
from app.tui.startup import StartOptions
from app.tui.status.status_lines import StatusLines
from app.tui.tasks import Garbage, Tasks, tell_fault_of_task, words_of
from app.tui.terminal.clipboard import Clipboard, say_briefly
from app.tui.terminal.images import images_for
from app.tui.terminal.notifications import Notifications
from app.tui.terminal.programs import TerminalHost
from app.tui.terminal.title import TerminalTitle
from app.tui.transcript.presenter import Presenter
from app.tui.transcript.welcome import FirstScreen
from app.values.events import Event
from tools.running.browser import open_page
from tools.running.own_programs import find_own_program
from tools.running.withheld import child_variables
from widgets.editor.prompt import PromptEditor
from widgets.screens.requests import ScreenRequest
from widgets.status.approval import ApprovalBar
from widgets.status.footer import StatusFooter
from widgets.status.header import StatusHeader
from widgets.status.queue import QueueView
from widgets.status.side_panel import SidePanel
from widgets.terminal.raw_input import RawInput
from widgets.terminal.terminal_control import write_to
from widgets.terminal.terminal_driver import TerminalDriver
from widgets.textual_internals import driver_of
from widgets.themes import variable_defaults
from widgets.transcript.blocks import NoteKind
from widgets.transcript.searching.search_bar import SearchBar
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
        self.programs = TerminalHost(self)
        self.session.use_terminal(self.programs)
        self.images = images_for(self, assembled.effective_settings, self.env, self.find_program)
        self._make_page()
        self._make_habits()
        self.register = Register(full_screen(self))
        listen(self, self.register)
        self._make_rest()

    def _make_page(self) -> None:
        """Creates the page's widgets and the parts that fill them."""
        self.action_table = ActionTable(
            PAGE_KEYS, lambda: command_names(self.session, self.action_table.key_label), screen_keys, HINTS
        )
        key_label = self.action_table.key_label
        self.transcript = Transcript(id="transcript", clock=self.clock)
        self.editor = PromptEditor(placeholder=PLACEHOLDER, id="editor")
        self.header = StatusHeader(id="header")
        self.footer = StatusFooter(id="footer")
        self.queue_view = QueueView(id="queue")
        self.search_bar = SearchBar(self.transcript, id="search")
        self.approval_bar = ApprovalBar(clock=self.clock, give_back=self.editor.insert, id="approval")
        self.first_screen = FirstScreen(self.session, key_label)
        next_step = next_steps(self.models, self.action_table.key_of, self.env)

        spawn = lambda work: self.tasks.spawn(work)  # noqa: E731
        self.presenter = Presenter(
            self.session, self.transcript, self.hear, key_label, self.clock, next_step, spawn
        )
        self.side_panel = SidePanel(id="side")
        self.status = StatusLines(
            self.assembled,
            header=self.header,
            footer=self.footer,
            editor=self.editor,
            home=self.home,
            tick=self.presenter.tick,
            key_label=key_label,
            clock=self.clock,
        )

    def _make_habits(self) -> None:
        """Creates the parts for keys and for background work."""
        paths, say = self.assembled.prompt.paths, self.presenter.note

        def settings() -> Settings:
            return self.assembled.effective_settings.settings

        beside = partial(write_to, self)
        self.tasks = Tasks(
            fault=partial(tell_fault_of_task, self, self.is_ready),
            refused=lambda problem: say(words_of(problem, self.action_table.key_label), NoteKind.ERROR),
            done=self.status.refresh_all,
        )
        self.open_page: Callable[[str], None] = lambda address: self.tasks.spawn(
            open_page(address, outside=self.session.cwd)
        )
        self.screens = Screens(self, self.tasks)
        self.system_clipboard = Clipboard(
            lambda: driver.write if (driver := driver_of(self)) is not None else None,
            partial(say_briefly, self),
            self.tasks.spawn,
            fallback=paths.cache_dir / "clipboard.txt",
            env=self.program_env,
            find_program=self.find_program,
        )
        self.unsent = UnsentDraft(self.session, lambda: (self.editor.text, self.editor.attachments))
        self.remembered = ProjectHistory(paths, most_prompts=lambda: settings().editor.history_size)
        self.key_texts = KeyTexts(
            self.action_table.key_of,
            is_read_only=lambda: self.session.state.is_read_only,
            editor=self.editor,
            queue_view=self.queue_view,
            presenter=self.presenter,
        )
        self.user_keys = UserKeys(
            paths.keybindings_file,
            self.action_table,
            self,
            say,
            tell=lambda text: self.status.tell(text, is_hints=True) if text else self.status.say_again(),
            changed=self.key_texts.tell,
        )
        self.typed_ahead = TypeAhead(self, self.tasks)
        self.raw_input = RawInput()
        self.title_line = TerminalTitle(self.session, beside, settings)
        self.notifications = Notifications(beside, settings, clock=self.clock, env=self.env)
        self.cache_misses = CacheMisses(say, is_told=lambda: settings().model.show_cache_miss_notices)
        self.garbage = Garbage()
        self.session_texts = SessionTexts(lambda: self.assembled.places.root)

    def _make_rest(self) -> None:
        """Creates the parts that depend on some of the features' pages."""
        self.shown_settings = ShownSettings(
            header=self.header,
            transcript=self.transcript,
            editor=self.editor,
            status=self.status,
            register=self.register,
            look=self.look,
            say=self.presenter.note,
            env=self.env,
        )
        self.sending = Sending(
            self.session,
            self.session.cells,
            self.editor,
            self.presenter,
            self.status,
            self.unsent,
            settings=lambda: self.assembled.effective_settings.settings,
            may_begin=self.is_ready.wait,
            meant=self.first_screen.meant,
            run_slash=self.register.run_slash,
            note=lambda text: self.register.page(NOTES).note(text),
            key_label=self.action_table.key_label,
            command_names=self.action_table.command_names,
        )

    def find_program(self, name: str) -> str | None:
        """Finds a program of the machine by name, never one in the project folder."""
        return find_own_program(name, outside=self.session.cwd, env=self.env)

    @property
    def program_env(self) -> Mapping[str, str]:
        """The environment for programs that bayou starts: without secrets, except those passed on."""
        return child_variables(
            self.assembled.effective_settings.settings.shell.shell_pass_environment, self.env
        )

    def get_default_screen(self) -> MainScreen:
        return MainScreen(
            editor=self.editor,
            transcript=self.transcript,
            search_bar=self.search_bar,
            sending=self.sending,
            remembered=self.remembered,
            unsent=self.unsent,
            register=self.register,
            status=self.status,
            key_texts=self.key_texts,
            spawn=self.tasks.spawn,
        )

    def compose(self) -> ComposeResult:
        yield self.side_panel
        yield self.header
        yield self.transcript
        yield self.search_bar
        yield from self.register.above_editor()
        yield self.queue_view
        yield self.approval_bar
        yield popup_for(
            self.editor,
            lambda: self.session.cwd,
            self.remembered,
            command_names=self.action_table.command_names,
            hints=HINTS,
            arguments=arguments_of(self.session, self.models, self.look.names),
            extended=lambda: self.extended,
            find_program=self.find_program,
            maps=self.session.repository,
            cells=self.session.cells,
            servers=self.session.mcp,
            max_rows=self.assembled.effective_settings.settings.editor.autocomplete_max_visible,
        )
        yield self.editor
        yield self.footer

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
        self.unsent.close()

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
            self.system_clipboard.copy(text, "selection")

    @on(events.AppFocus)
    @on(events.AppBlur)
    def _focus_changed(self, event: events.AppFocus | events.AppBlur) -> None:
        """Handles the terminal window's focus without Textual's default, which would blur the focused
        widget and repaint everything."""
        event.prevent_default()
        self.notifications.focus(isinstance(event, events.AppFocus))
        if isinstance(event, events.AppFocus) and self.is_ready.is_set():
            self.tasks.spawn(self.status.look_at_git())
        if isinstance(event, events.AppFocus):
            self.session.settings.look()

    @on(Driver.SignalResume)
    def _back_from_the_background(self) -> None:
        """Repaints everything after a suspended bayou is resumed, because the shell has used the
        terminal meanwhile."""
        self.refresh(layout=True)
        self.title_line.show("working" if self.session.is_running else "")

    @on(events.Resize)
    def _grown_back(self, event: events.Resize) -> None:
        """Repaints after a resize event that reports the old size: the terminal was smaller for a
        moment and lost rows."""
        if self.is_mounted and event.size == self.screen.outer_size:
            self.refresh(layout=True)

    # Requests from any screen

    @on(ScreenRequest)
    def _asked_in_a_screen(self, request: ScreenRequest[Any]) -> None:
        self.screens.requested(request)

    @on(Transcript.BranchRequested)
    @on(Transcript.CopyRequested)
    @on(Transcript.FullScreenRequested)
    @on(Transcript.LinkChosen)
    @on(Transcript.NamesRequested)
    @on(Transcript.RetryRequested)
    @on(Transcript.SymbolChosen)
    @on(Transcript.SymbolsRequested)
    def _asked_at_a_block(self, message: Message) -> None:
        match message:
            case Transcript.CopyRequested():
                self.system_clipboard.copy(message.text, message.what)
            case Transcript.LinkChosen():
                open_link(message.href, self.open_page, self.system_clipboard.copy, self.env)
            case _:
                self.register.hear(message)

    @on(PromptEditor.ClipboardRequested)
    @on(PromptEditor.ExternalEditorRequested)
    @on(PromptEditor.HistoryRequested)
    def _asked_in_an_editor(self, message: Message) -> None:
        say, editor = self.presenter.note, self.editor
        match message:
            case PromptEditor.ClipboardRequested():
                self.tasks.spawn(paste_and_editor.paste(editor, say, self.program_env, self.find_program))
            case PromptEditor.ExternalEditorRequested():
                wanted = paste_and_editor.editor_wanted(self.assembled)
                env = self.program_env
                make_folder = self.assembled.workspace.private_folder
                paste_and_editor.edit_elsewhere(
                    editor, message.text, self, say, wanted=wanted, env=env, make_folder=make_folder
                )
            case PromptEditor.HistoryRequested():
                ask = self.screens.ask
                self.tasks.spawn(paste_and_editor.search_history(editor, ask, message.entries))

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Decides whether an action is available: none while a program runs in the terminal, and page
        actions only on the page.

        Textual asks the application first for priority keys, even if another screen is on top."""
        if self.programs.has_keyboard:
            return False
        if action == "act" and not isinstance(self.screen, MainScreen):
            return parameters == (CLEAR,) and bool(self.screen.get_selected_text())
        return super().check_action(action, parameters)

    async def on_event(self, event: events.Event) -> None:
        is_input = isinstance(event, events.Key | events.Paste | events.MouseDown)
        is_stop = is_input and not event.is_forwarded and self.approval_bar.note_input(event)
        if is_stop:
            self._stop_in_doubt()
        if isinstance(event, events.Key) and not event.is_forwarded:
            self.garbage.note_key()
            if not self.programs.has_keyboard and (
                await self.user_keys.take(event) or (not is_stop and self._answers(event))
            ):
                return
        await super().on_event(event)

    def _answers(self, event: events.Key) -> bool:
        """Whether a key that is meant for the editor answers the question above it."""
        if self.approval_bar.asked is None or self.focused is not self.editor:
            return False
        return self.approval_bar.take(event, is_blank=self.editor.model.is_blank)

    @on(ApprovalBar.StopRequested)
    def _stop_in_doubt(self) -> None:
        if self.session.state.is_busy:
            self.register.page(SCREEN).leaving.escape()

    def action_act(self, key_id: str) -> None:
        self.register.press(key_id)

    def action_extension_key(self, key: str) -> None:
        if self.extended is not None:
            self.tasks.spawn(self.extended.catalogue.run_shortcut(key))
