"""Runs background tasks and handles their failures; collects garbage while the user is not typing."""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from textual.app import App

from app.engine.core.prompt_intake import SessionBusy
from app.tui.page_protocols import KeyLabel
from app.values.user_errors import UserError
from widgets.terminal.terminal_driver import raise_in_app_thread
from widgets.transcript.transcript_blocks import AppNoteKind


def action_failure_kind(problem: Exception) -> AppNoteKind:
    """Returns whether a failed action is shown as information or as an error: an action that only comes at the wrong
    time is no error."""
    from app.compaction.compaction_plan import NothingToCompact  # noqa: PLC0415  (with the first failure)
    from app.undo.session_undo import NothingToRestore  # noqa: PLC0415  (as above)

    is_untimely = isinstance(problem, SessionBusy | NothingToRestore | NothingToCompact)
    return AppNoteKind.INFO if is_untimely else AppNoteKind.ERROR


def action_failure_text(problem: Exception, key_label: KeyLabel) -> str:
    """Returns the message of a failed action for the user; if the agent is busy, with the key that stops it."""
    key = key_label("app.interrupt", "Escape") if isinstance(problem, SessionBusy) else ""
    return f"{problem} {key} stops it." if key else str(problem)


def report_background_task_error(app: App[Any], is_ready: asyncio.Event, problem: Exception) -> None:
    if app.is_running or not is_ready.is_set():  # otherwise its screen was closed, which is no error
        app.call_later(raise_in_app_thread, problem)


class BackgroundTasks:
    """Runs the background tasks of one application and reports their failures."""

    def __init__(
        self,
        *,
        fault: Callable[[Exception], None],
        refused: Callable[[Exception], object],
        done: Callable[[], None],
    ) -> None:
        """Creates the runner. `fault`: handles an unexpected error; `refused`: shows the user why an action is not
        possible; `done`: called at the end of an action."""
        self._on_fault = fault
        self._on_user_error = refused
        self._on_done = done
        self._running: set[asyncio.Task[Any]] = set()
        self._is_closed = False

    @property
    def running(self) -> frozenset["asyncio.Task[Any]"]:
        return frozenset(self._running)

    def spawn(self, work: Awaitable[Any]) -> None:
        """Runs a task in the background. An error in it ends the application. After `stop_accepting` no task starts."""
        if self._is_closed:
            _close_coroutine(work)
            return
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._handle_finished)

    def stop_accepting(self) -> None:
        """Prevents new tasks while the application is left; running ones continue."""
        self._is_closed = True

    async def cancel_running(self, seconds: float) -> None:
        """Cancels the running tasks and waits for them at most `seconds`."""
        self.stop_accepting()
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=seconds)

    def run_action_in_background(self, work: Awaitable[Any]) -> None:
        """Runs a user's action in the background; if it is not possible, the user gets the reason."""
        self.spawn(self.run_action(work))

    async def run_action(self, work: Awaitable[Any]) -> None:
        """Runs a user's action and waits for it; if it is not possible, the user gets the reason."""
        try:
            await work
        except UserError as problem:
            self._on_user_error(problem)
        self._on_done()

    def _handle_finished(self, task: "asyncio.Task[Any]") -> None:
        self._running.discard(task)
        if task.cancelled():
            return
        try:
            task.result()
        except Exception as problem:  # noqa: BLE001  (every error is reported)
            self._on_fault(problem)


def _close_coroutine(work: Awaitable[Any]) -> None:
    """Closes a coroutine that will not run, because Python would warn otherwise."""
    if isinstance(work, Coroutine):
        work.close()
    elif isinstance(work, asyncio.Future):
        work.cancel()


TYPING_PAUSE_SECONDS = 2.0
"""Seconds without a key before a full collection."""
_GARBAGE_COLLECTION_THRESHOLDS = (5_000, 10, 10)


class GarbageScheduler:
    """Runs Python's garbage collections in pauses of typing."""

    def __init__(self, *, rest: float = TYPING_PAUSE_SECONDS) -> None:
        self._idle_seconds = rest
        self._last_key = 0.0
        self._idle_timer: asyncio.TimerHandle | None = None

    def freeze_startup_objects(self) -> None:
        """Excludes all objects that exist now from garbage collection, and makes automatic collections rare."""
        gc.freeze()
        gc.set_threshold(*_GARBAGE_COLLECTION_THRESHOLDS)
        gc.enable()

    def note_key_press(self) -> None:
        loop = asyncio.get_running_loop()
        self._last_key = loop.time()
        if self._idle_timer is None:
            self._idle_timer = loop.call_later(self._idle_seconds, self._collect_if_idle)

    def _collect_if_idle(self) -> None:
        loop = asyncio.get_running_loop()
        due = self._last_key + self._idle_seconds
        if loop.time() < due:  # another key was pressed meanwhile
            self._idle_timer = loop.call_at(due, self._collect_if_idle)
        else:
            self._idle_timer = None
            gc.collect()
