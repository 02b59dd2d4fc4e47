"""The full-screen face: mounts the page, turns keys and messages into session verbs, events into views.

It stands on `stage` and `desk`. What the transcript shows is `transcript.presenter`'s business, what keys do
`keys.page_keys`', what commands do `slash`'s.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.driver import Driver
from textual.events import AppBlur, AppFocus
from textual.filter import LineFilter
from textual.screen import Screen

from app.assembly.build import Assembled
from app.tui import links, theme_in_force
from app.tui.desk import Desk
from app.tui.keys import page_keys
from app.tui.keys.typed_ahead import Passed
from app.tui.opening import Opening, warm_up
from app.tui.pages import block_page, jobs_page
from app.tui.pages.settings_page import change_setting
from app.tui.prompt import from_elsewhere
from app.tui.prompt.attaching import joined
from app.tui.prompt.completing import popup_for
from app.tui.prompt.sending import Sending, While
from app.tui.slash import COMMANDS
from app.values.events import AgentSettled, Event, ModelChanged, QueueUpdate, SessionReplaced
from widgets.editor.prompt import PromptEditor
from widgets.screens.context import ContextScreen
from widgets.screens.jobs import JobsScreen
from widgets.screens.models import ModelScreen
from widgets.screens.picker import PickerScreen
from widgets.screens.sessions import SessionsScreen
from widgets.screens.settings import SettingsScreen
from widgets.screens.tree import TreeScreen
from widgets.status.queue import QueueView
from widgets.terminal.view import TerminalScreen
from widgets.terminal_driver import TerminalDriver
from widgets.textual_inside import driver_of
from widgets.themes import variable_defaults
from widgets.transcript.searchbar import SearchBar
from widgets.transcript.view import Transcript


class MainScreen(Screen[None]):
    """Everything but the screens that open over it."""

    AUTO_FOCUS: ClassVar[str | None] = ""
    """The editor has the focus from the start; giving it to another first would style both once more."""
    VERTICAL_BREAKPOINTS = [(0, "-short"), (7, "-tall")]  # noqa: RUF012  (declared so by Screen)


class BayouApp(Desk):
    """One session on one screen."""

    ENABLE_COMMAND_PALETTE = False
    TITLE = "bayou"
    BINDINGS: ClassVar[list[BindingType]] = page_keys.BINDINGS

    def __init__(self, assembled: Assembled, *, opening: Opening = Opening(), **stage: Any) -> None:  # noqa: B008  (frozen)
        super().__init__(
            assembled,
            page_keys=page_keys.BINDINGS,
            commands=[(command.name, command.help) for command in COMMANDS],
            **stage,
        )
        self.sending = Sending(self)
        self._opening = opening

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.transcript
        yield self.search_bar
        yield self.queue_view
        yield popup_for(self)
        yield self.editor
        yield self.footer

    def get_default_screen(self) -> MainScreen:
        return MainScreen(id="_default")

    def get_line_filters(self) -> Sequence[LineFilter]:
        return theme_in_force.line_filters(
            super().get_line_filters(), no_color=self.no_color, is_ansi=self.native_ansi_color
        )

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variable_defaults()

    def on_ready(self) -> None:
        driver = driver_of(self)
        if isinstance(driver, TerminalDriver):
            driver.page_is_there()

    def on_mount(self) -> None:
        self._opening.begin(self)
        self.call_after_refresh(lambda: self.spawn(self._opening.complete(self, self.sending)))

    # What the person sends

    @on(PromptEditor.Submitted)
    def _submitted(self, message: PromptEditor.Submitted) -> None:
        self._send(message, "steer")

    @on(PromptEditor.FollowUp)
    def _followed_up(self, message: PromptEditor.FollowUp) -> None:
        self._send(message, "follow_up")

    def _send(self, message: PromptEditor.Submitted | PromptEditor.FollowUp, how: While) -> None:
        self.remembered.add_prompt(message.draft)
        self.spawn(self.sending.send(message.draft, message.text, message.attachments, how))

    @on(PromptEditor.Changed)
    def _draft_changed(self, message: PromptEditor.Changed) -> None:
        self.drafts.editor_changed(message.draft)

    # What happens

    @on(Passed)
    def _passed(self, message: Passed) -> None:
        message.arrived.set()

    @on(events.TextSelected)
    def _selected(self) -> None:
        if self.assembled.settings.display.fullscreen_copy_on_select and (
            text := self.screen.get_selected_text()
        ):
            self.copy(text, "selection")

    @on(AppFocus)
    @on(AppBlur)
    def _focus_changed(self, event: AppFocus | AppBlur) -> None:
        """Textual would take the focus from its widget and paint everything; the terminal's own cursor shows it."""
        event.prevent_default()
        self.notifications.focus(isinstance(event, AppFocus))
        if isinstance(event, AppFocus) and self.is_ready.is_set():
            self.spawn(self.status.look_at_git())
        if isinstance(event, AppFocus):
            self.session.follow_settings()

    @on(Driver.SignalResume)
    def _back_from_the_background(self) -> None:
        """The terminal was the shell's meanwhile."""
        self.refresh(layout=True)

    @on(events.Resize)
    def _grown_back(self, event: events.Resize) -> None:
        """A terminal that was smaller for a moment has lost rows, although its size is what it was."""
        if self.is_mounted and event.size == self.screen.outer_size:
            self.refresh(layout=True)

    def note_event(self, event: Event) -> None:
        self.title_line.note(event)
        self.notifications.note(event)
        self.cache_misses.note(event)
        match event:
            case QueueUpdate():
                self.waiting.show()
                self.drafts.save()
            case ModelChanged():
                warm_up(self)
            case AgentSettled():
                self.spawn(self.status.look_at_git())
            case SessionReplaced():
                if (left := self.drafts.session_replaced()) is not None:
                    self.editor.restore(left if self.editor.is_blank else joined([self.editor.draft, left]))
            case _:
                pass
        self.status.note(event)

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a program has the terminal, all keys are its own; and the page's keys are those of the page.

        Textual asks the application first for the keys that come before the focus, whatever screen stands over it.
        """
        if isinstance(self.screen, TerminalScreen):
            return False
        if action == "act" and not isinstance(self.screen, MainScreen):
            return parameters == (page_keys.CLEAR,) and bool(self.screen.get_selected_text())
        return super().check_action(action, parameters)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and not event.is_forwarded:
            self.garbage.note_key()
            if await self.keys_page.take(event):
                return
        await super().on_event(event)

    def action_act(self, act_id: str) -> None:
        page_keys.BY_ID[act_id].do(self)

    @on(TreeScreen.ActionRequested)
    def _act_in_tree(self, message: TreeScreen.ActionRequested) -> None:
        self.spawn(self.chosen(self.session_tree.act(message)))

    @on(Transcript.CopyRequested)
    def _copy_requested(self, message: Transcript.CopyRequested) -> None:
        self.copy(message.text, message.what)

    @on(SettingsScreen.Changed)
    def _setting_changed(self, message: SettingsScreen.Changed) -> None:
        change_setting(self, message)
        self.status.refresh()

    @on(PickerScreen.ActionRequested)
    def _picker_action(self, message: PickerScreen.ActionRequested) -> None:
        match message.screen:
            case JobsScreen() as screen if message.row is not None:
                jobs_page.act_on_job(self, message.action, message.row.id, screen)
            case SessionsScreen() as screen:
                self.spawn(self.sessions_page.act(screen, message.action, message.row))
            case ContextScreen() as screen if message.row is not None:
                self.spawn(self.chosen(self.context_page.drop(screen, message.row)))
            case ModelScreen() as screen if message.row is not None:
                self.spawn(self.model_page.refresh(screen, message.row))
            case _:
                pass

    @on(SessionsScreen.Searched)
    def _search_sessions(self, message: SessionsScreen.Searched) -> None:
        self.sessions_page.search(message.screen, message.query)

    @on(PromptEditor.HistoryRequested)
    def _history_requested(self, message: PromptEditor.HistoryRequested) -> None:
        self.spawn(from_elsewhere.search_history(self, message.entries))

    @on(PromptEditor.ClipboardRequested)
    def _clipboard_requested(self) -> None:
        self.spawn(from_elsewhere.paste(self))

    @on(PromptEditor.ExternalEditorRequested)
    def _edit_elsewhere(self, message: PromptEditor.ExternalEditorRequested) -> None:
        from_elsewhere.edit_elsewhere(self, message.text)

    @on(Transcript.FullScreenRequested)
    def _full_screen(self, message: Transcript.FullScreenRequested) -> None:
        self.spawn(block_page.show_block(self, message.block_id))

    @on(Transcript.BranchRequested)
    def _branch_requested(self, message: Transcript.BranchRequested) -> None:
        if message.block_id in self.session.log:
            self.spawn(self.chosen(self.session_tree.go_to(message.block_id)))

    @on(Transcript.SymbolChosen)
    def _symbol_chosen(self, message: Transcript.SymbolChosen) -> None:
        block_page.ask_for_lines(self, message.path, message.first_line, message.last_line)

    @on(Transcript.SymbolsRequested)
    def _symbols_requested(self, message: Transcript.SymbolsRequested) -> None:
        self.spawn(block_page.choose_symbol(self, message.block))

    @on(Transcript.RetryRequested)
    def _retry_requested(self) -> None:
        self.action_retry()

    @on(events.DescendantFocus)
    def _focus_moved(self, event: events.DescendantFocus) -> None:
        """While the keyboard is at the blocks, the border says what its keys do there."""
        if event.widget is self.transcript:
            self.status.tell(self.keys_page.at_blocks)
        elif event.widget is self.editor:
            self.status.say_again()

    @on(Transcript.FocusModeChanged)
    def _focus_mode(self, message: Transcript.FocusModeChanged) -> None:
        if not message.is_on:
            self.editor.focus()

    @on(QueueView.EditRequested)
    def _edit_queued(self, message: QueueView.EditRequested) -> None:
        match message:
            case QueueView.RemoveRequested():
                self.waiting.remove(message.row_id)
            case QueueView.SwitchRequested():
                self.waiting.switch(message.row_id)
            case _:
                self.waiting.edit(message.row_id)

    @on(QueueView.MoveRequested)
    def _move_queued(self, message: QueueView.MoveRequested) -> None:
        self.waiting.move(message.row_id, message.delta)

    @on(QueueView.Left)
    def _leave_queue(self) -> None:
        self.editor.focus()

    @on(Transcript.LinkChosen)
    def _link_chosen(self, message: Transcript.LinkChosen) -> None:
        links.open_link(self, message.href)

    @on(Transcript.SearchChanged)
    def _search_changed(self, message: Transcript.SearchChanged) -> None:
        self.search_bar.show(message)

    @on(SearchBar.Left)
    def _search_left(self, message: SearchBar.Left) -> None:
        """With a hit, `n` and `N` go on from there; else back to what was being written."""
        (self.transcript if message.is_accepted else self.editor).focus()

    def action_extension_key(self, key: str) -> None:
        if self.extended is not None:
            self.spawn(self.extended.wiring.catalogue.run_shortcut(key))
