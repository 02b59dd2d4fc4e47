"""Creates the widgets of the page and the parts that fill them; opens screens over the page."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from textual.app import App
from textual.screen import Screen

from app.assembly.assembled_session import AssembledSession
from app.tui.background_tasks import (
    BackgroundTasks,
    GarbageScheduler,
    action_failure_kind,
    action_failure_text,
    report_background_task_error,
)
from app.tui.keys.action_table import ActionTable
from app.tui.keys.key_hints import PROMPT_EDITOR_PLACEHOLDER, make_failure_advice_finder
from app.tui.page_protocols import HandleRequest
from app.tui.status.status_lines import StatusLines
from app.tui.transcript.presenter import TranscriptPresenter
from app.tui.transcript.welcome_page import WelcomePage
from app.values.events import Event
from widgets.editor.prompt_editor import PromptEditor
from widgets.screens.screen_request import ScreenRequest
from widgets.status.approval import ApprovalBar
from widgets.status.queue import QueueView
from widgets.status.side_panel import SidePanel
from widgets.status.status_footer import StatusFooter
from widgets.status.status_header import StatusHeader
from widgets.transcript.searching.search_bar import SearchBar
from widgets.transcript.view import Transcript


class PageParts:
    """Holds the widgets of the page and the parts that fill them."""

    def __init__(
        self,
        app: App[Any],
        assembled: AssembledSession,
        table: ActionTable,
        *,
        hear: Callable[[Event], None],
        is_ready: asyncio.Event,
        home: Path,
        env: Mapping[str, str],
        clock: Callable[[], float],
    ) -> None:
        """Creates the page's widgets and their parts. `hear`: gets each session event after the transcript; `is_ready`:
        set after the start."""
        session, key_label = assembled.session, table.key_label
        self.transcript = Transcript(id="transcript", clock=clock)
        self.editor = PromptEditor(placeholder=PROMPT_EDITOR_PLACEHOLDER, id="editor")
        self.header = StatusHeader(id="header")
        self.footer = StatusFooter(id="footer")
        self.queue_view = QueueView(id="queue")
        self.search_bar = SearchBar(self.transcript, id="search")
        self.approval_bar = ApprovalBar(clock=clock, give_back=self.editor.insert, id="approval")
        self.side_panel = SidePanel(id="side")
        self.first_screen = WelcomePage(assembled, key_label, lambda: app.size.height)
        self.presenter = TranscriptPresenter(
            session,
            self.transcript,
            hear,
            key_label,
            clock,
            make_failure_advice_finder(assembled.model_choice, table.key_of, env),
            lambda work: self.tasks.spawn(work),
            self.first_screen.welcome_blocks,
        )
        self.status = StatusLines(
            assembled,
            header=self.header,
            footer=self.footer,
            editor=self.editor,
            home=home,
            tick=self.presenter.update_elapsed_times,
            key_label=key_label,
            clock=clock,
        )
        self.tasks = BackgroundTasks(
            fault=partial(report_background_task_error, app, is_ready),
            refused=lambda problem: self.presenter.add_note(
                action_failure_text(problem, key_label),
                action_failure_kind(problem),
            ),
            done=self.status.refresh_all,
        )
        self.screens = ScreenOpener(app, self.tasks, self.transcript)
        self.garbage_scheduler = GarbageScheduler()


class ScreenOpener:
    """Opens screens of one application and returns their answers."""

    def __init__(self, app: App[Any], tasks: BackgroundTasks, transcript: Transcript) -> None:
        self._app = app
        self._tasks = tasks
        self._transcript = transcript
        self.on_opened: Callable[[Screen[Any]], None] = lambda screen: None
        """Called with each screen that has opened."""
        self._request_handlers: WeakKeyDictionary[Screen[Any], HandleRequest] = WeakKeyDictionary()
        """The request handlers by screen, kept as long as the screen, because requests may arrive after its
        end."""

    async def ask(self, screen: Screen[Any], *, on_request: HandleRequest | None = None) -> Any:
        """Opens a screen over the page and waits for its answer; returns None if it gives none."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def take(result: Any) -> None:
            if not answer.done():
                answer.set_result(result)

        if on_request is not None:
            self._request_handlers[screen] = on_request
        mounted = asyncio.ensure_future(self._app.push_screen(screen, take))
        try:
            await asyncio.shield(mounted)
            self.on_opened(screen)
            # at each layout, because a sheet has its height only once its text is wrapped
            screen.screen_layout_refresh_signal.subscribe(
                screen, lambda _: self.lift_transcript_above_sheet()
            )
            screen.call_after_refresh(self.lift_transcript_above_sheet)
            return await answer
        finally:
            await mounted  # a screen cannot be closed while it is being mounted
            if self._app.screen_stack[-1:] == [screen]:  # the caller was cancelled
                self._app.pop_screen()
            self._app.call_later(self.lift_transcript_above_sheet)

    def lift_transcript_above_sheet(self) -> None:
        """Moves the first page up, so that it is visible above the sheet that covers its lower part."""
        sheets = self._app.screen.query("#sheet")
        top = sheets.first().region.y if sheets else self._transcript.region.bottom
        self._transcript.viewport.lift_above(max(0, self._transcript.region.bottom - top))

    def route_request(self, request: ScreenRequest[Any]) -> None:
        """Passes a screen's request to the code that opened the screen; asynchronous work runs in the background."""
        asker = self._request_handlers.get(request.screen)
        answer = asker(request) if asker is not None else None
        if answer is not None:
            self._tasks.run_action_in_background(answer)
