"""The full-screen face: mounts the page, turns keys and messages into session verbs, events into views.

What the transcript shows is `presenter`'s business, what commands do `slash`'s.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.driver import Driver
from textual.events import AppBlur, AppFocus
from textual.filter import LineFilter
from textual.screen import Screen

from app.assembly.build import Assembled
from app.assembly.extending import Extended
from app.engine.session import Session
from app.tui import acts, look, looking, page
from app.tui.attaching import joined
from app.tui.cache_misses import CacheMisses
from app.tui.choosing import Choosing
from app.tui.completing import popup_for
from app.tui.context_page import ContextPage
from app.tui.drafts import Drafts
from app.tui.keymap import NO_KEY, KeyMap
from app.tui.keys_page import KeysPage
from app.tui.leaving import Leaving
from app.tui.look import Looks
from app.tui.manners import Manners
from app.tui.model_page import ModelPage
from app.tui.opening import Opening, warm_up
from app.tui.presenter import Presenter
from app.tui.remembered import Remembered
from app.tui.resuming import Resuming
from app.tui.sending import Sending, While
from app.tui.sessions_page import SessionsPage
from app.tui.settings_page import change_setting
from app.tui.slash import EXPECTED
from app.tui.status import Status
from app.tui.terminal import TerminalHost
from app.tui.tree import SessionTree
from app.tui.waiting import Waiting
from app.values.events import Event, ModelChanged, QueueUpdate, SessionReplaced
from widgets.editor.prompt import PromptEditor
from widgets.screens.context import ContextScreen
from widgets.screens.jobs import JobsScreen
from widgets.screens.models import ModelScreen
from widgets.screens.picker import PickerScreen
from widgets.screens.sessions import SessionsScreen
from widgets.screens.settings import SettingsScreen
from widgets.screens.tree import TreeScreen
from widgets.status.footer import StatusFooter
from widgets.status.header import StatusHeader
from widgets.status.queue import QueueView
from widgets.terminal.view import TerminalScreen
from widgets.themes import variable_defaults
from widgets.transcript.blocks import NoteKind
from widgets.transcript.searchbar import SearchBar
from widgets.transcript.view import Transcript


class Page(Screen[None]):
    """Everything but the screens that open over it."""

    AUTO_FOCUS: ClassVar[str | None] = ""
    """The editor has the focus from the start; giving it to another first would style both once more."""
    VERTICAL_BREAKPOINTS = [(0, "-short"), (7, "-tall")]  # noqa: RUF012  (declared so by Screen)


class BayouApp(App[int]):
    """One session on one screen."""

    ENABLE_COMMAND_PALETTE = False
    TITLE = "bayou"
    BINDINGS: ClassVar[list[BindingType]] = acts.BINDINGS

    def __init__(
        self,
        assembled: Assembled,
        *,
        opening: Opening = Opening(),  # noqa: B008  (frozen)
        home: Path | None = None,
        env: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        css_path: list[Path] | None = None,
    ) -> None:
        super().__init__(css_path=[str(path) for path in css_path or ()])
        self.assembled = assembled
        self.looks = Looks(self)
        self.theme_problem = self.looks.begin()
        self.session: Session = assembled.session
        self.session.toolbox.workspace.pty_host = TerminalHost(self)
        self.clock = clock
        self.home = home or Path.home()
        self.env = os.environ if env is None else env
        self.transcript = Transcript(id="transcript", clock=clock)
        self.editor = page.editor(assembled.settings)
        self.header = StatusHeader(id="header")
        self.footer = StatusFooter(id="footer")
        self.queue_view = QueueView(id="queue")
        self.search_bar = SearchBar(self.transcript, id="search")
        self.presenter = Presenter(self.session, self.transcript, self._note_event, clock)
        self.drafts = Drafts(self.session, lambda: (self.editor.text, self.editor.attachments))
        self.remembered = Remembered(
            assembled.prompt.paths, most_prompts=assembled.settings.editor.history_size
        )
        self.choosing = Choosing(self)
        self.keymap = KeyMap()
        self.keys_page = KeysPage(self)
        self.model_page = ModelPage(self)
        self.sessions_page = SessionsPage(self)
        self.resuming = Resuming(self)
        self.session_tree = SessionTree(self)
        self.context_page = ContextPage(self)
        self.sending = Sending(self)
        self.waiting = Waiting(self)
        self.manners = Manners(self, clock)
        self.cache_misses = CacheMisses(self)
        self.status = Status(self)
        self.leaving = Leaving(self)
        self.extended: Extended | None = None
        self.opening = opening
        self._tasks: set[asyncio.Task[None]] = set()
        self.is_ready = asyncio.Event()
        """Set when everything that waits for the first paint has been done."""

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.transcript
        yield self.search_bar
        yield self.queue_view
        yield popup_for(self)
        yield self.editor
        yield self.footer

    def get_default_screen(self) -> Page:
        return Page(id="_default")

    def get_line_filters(self) -> Sequence[LineFilter]:
        return look.line_filters(
            super().get_line_filters(), no_color=self.no_color, is_ansi=self.native_ansi_color
        )

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variable_defaults()

    def on_mount(self) -> None:
        self.opening.begin(self)
        self.call_after_refresh(lambda: self.spawn(self.opening.complete(self)))

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

    def spawn(self, work) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._handle_exception(problem if isinstance(problem, Exception) else Exception(str(problem)))

    # What happens

    @on(events.TextSelected)
    def _selected(self) -> None:
        if self.assembled.settings.display.fullscreen_copy_on_select and (
            text := self.screen.get_selected_text()
        ):
            self.copy(text, "selection")

    @on(AppFocus)
    @on(AppBlur)
    def _focus_changed(self, event: AppFocus | AppBlur) -> None:
        self.manners.focus(isinstance(event, AppFocus))
        if isinstance(event, AppFocus) and self.is_ready.is_set():
            self.spawn(self.status.look_at_git())
        if isinstance(event, AppFocus) and self.extended is not None:
            self.extended.settings.follow()

    @on(Driver.SignalResume)
    def _back_from_the_background(self) -> None:
        """The terminal was the shell's meanwhile."""
        self.refresh(layout=True)

    def _note_event(self, event: Event) -> None:
        self.manners.note(event)
        self.cache_misses.note(event)
        match event:
            case QueueUpdate():
                self.waiting.show()
                self.drafts.save()
            case ModelChanged():
                warm_up(self)
            case SessionReplaced():
                if (left := self.drafts.session_replaced()) is not None:
                    self.editor.restore(left if self.editor.is_blank else joined([self.editor.draft, left]))
            case _:
                pass
        self.status.note(event)

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a program has the terminal, all keys are its own."""
        if isinstance(self.screen, TerminalScreen):
            return False
        return super().check_action(action, parameters)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and not event.is_forwarded and await self.keys_page.take(event):
            return
        await super().on_event(event)

    def action_act(self, act_id: str) -> None:
        acts.BY_ID[act_id].do(self)

    @on(TreeScreen.ActionRequested)
    def _act_in_tree(self, message: TreeScreen.ActionRequested) -> None:
        self.spawn(self.chosen(self.session_tree.act(message)))

    async def chosen(self, work: Awaitable[None]) -> None:
        try:
            await work
        except EXPECTED as problem:
            self.presenter.note(str(problem), NoteKind.ERROR)
        self.status.refresh_all()

    @on(Transcript.CopyRequested)
    def _copy_requested(self, message: Transcript.CopyRequested) -> None:
        self.copy(message.text, message.what)

    def copy(self, text: str, what: str) -> None:
        self.spawn(looking.copy(self, text, what))

    @on(SettingsScreen.Changed)
    def _setting_changed(self, message: SettingsScreen.Changed) -> None:
        change_setting(self, message)
        self.status.refresh()

    @on(PickerScreen.ActionRequested)
    def _picker_action(self, message: PickerScreen.ActionRequested) -> None:
        match message.screen:
            case JobsScreen() as screen if message.row is not None:
                looking.act_on_job(self, message.action, message.row.id, screen)
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
        self.spawn(looking.search_history(self, message.entries))

    @on(PromptEditor.ClipboardRequested)
    def _clipboard_requested(self) -> None:
        self.spawn(looking.paste(self))

    @on(PromptEditor.ExternalEditorRequested)
    def _edit_elsewhere(self, message: PromptEditor.ExternalEditorRequested) -> None:
        looking.edit_elsewhere(self, message.text)

    @on(Transcript.FullScreenRequested)
    def _full_screen(self, message: Transcript.FullScreenRequested) -> None:
        self.spawn(looking.show_block(self, message.block_id))

    @on(Transcript.BranchRequested)
    def _branch_requested(self, message: Transcript.BranchRequested) -> None:
        if message.block_id in self.session.log:
            self.spawn(self.chosen(self.session_tree.go_to(message.block_id)))

    @on(Transcript.SymbolChosen)
    def _symbol_chosen(self, message: Transcript.SymbolChosen) -> None:
        looking.ask_for_lines(self, message.path, message.first_line, message.last_line)

    @on(Transcript.SymbolsRequested)
    def _symbols_requested(self, message: Transcript.SymbolsRequested) -> None:
        self.spawn(looking.choose_symbol(self, message.block))

    @on(Transcript.RetryRequested)
    def action_retry(self) -> None:
        """Asks again after a failed or stopped answer, which leaves the context."""
        self.spawn(self._retry())

    async def _retry(self) -> None:
        failed = self.session.conversation.last_assistant
        if failed is None or failed.stop_reason not in ("error", "aborted"):
            self.presenter.note("There is nothing to try again.")
            return
        await self.session.runner.leave_out(failed)
        self.session.resume()

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
        looking.open_link(self, message.href)

    @on(Transcript.SearchChanged)
    def _search_changed(self, message: Transcript.SearchChanged) -> None:
        self.search_bar.show(message)

    @on(SearchBar.Left)
    def _search_left(self, message: SearchBar.Left) -> None:
        """With a hit, `n` and `N` go on from there; else back to what was being written."""
        (self.transcript if message.is_accepted else self.editor).focus()

    def tell_keys(self) -> None:
        """What is told with its key names the key that is in force."""
        key = self.key_of
        self.presenter.drawing.retry_key = key("app.retry")
        full, compacted = key("app.compaction.preview"), key("app.compaction.undo")
        self.presenter.offers = {
            "contextFull": f"{full} writes the summary for you to read and change first." if full else "",
            "compacted": f"{compacted} goes back to the full history" if compacted else "",
        }

    def key_of(self, action: str) -> str:
        """As it is written for a person; empty when the key was taken away."""
        key = self.keymap.keys.get(action, acts.BY_ID[action].keys).split(",")[0]
        return "" if key == NO_KEY else "+".join(part.title() for part in key.split("+"))

    def action_extension_key(self, key: str) -> None:
        if self.extended is not None:
            self.spawn(self.extended.wiring.catalogue.run_shortcut(key))
