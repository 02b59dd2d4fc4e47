"""Lists what the application offers its features, and subscribes the application's own event
listeners."""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.dom import DOMNode
from textual.widget import Widget

from app.tui.feature import FeatureServices
from app.tui.features.permissions.feature import APPROVALS
from app.tui.page_protocols import ShowMessage
from app.tui.prompt.attachments import join_drafts
from app.tui.register import FeatureRegister
from app.tui.startup import warm_up
from app.tui.terminal.terminal_parts import suspend
from app.values.events import (
    AgentSettled,
    CompactionEnd,
    Event,
    MessageEnd,
    ModelChanged,
    QueueUpdate,
    SessionReplaced,
)
from app.values.messages import AssistantMessage
from tools.amounts import tokens
from widgets.terminal.terminal_control import open_externally
from widgets.textual_internals import bindings_of
from widgets.transcript.blocks import NoteKind

if TYPE_CHECKING:
    from app.tui.app import BayouApp


def full_screen(app: "BayouApp") -> FeatureServices:
    def await_answer(question: str, answer: "asyncio.Future[Any] | None" = None) -> None:
        app.terminal.notifications.asked(question, answer)
        if answer is not None:
            app.terminal.title.ask()

    return FeatureServices(
        assembled=app.assembled,
        ask=app.page.screens.ask,
        say=app.presenter.note,
        copy=app.terminal.clipboard.copy,
        told=await_answer,
        tasks=app.tasks,
        action_table=app.action_table,
        user_keys=app.prompt.user_keys,
        look=app.look,
        presenter=app.presenter,
        status=app.status,
        session_texts=app.session_texts,
        remembered=app.prompt.remembered,
        transcript=app.transcript,
        search_bar=app.page.search_bar,
        editor=app.editor,
        queue_view=app.page.queue_view,
        approval_bar=app.approval_bar,
        side_panel=app.page.side_panel,
        clock=lambda: app.clock(),
        home=app.home,
        program_env=lambda: app.terminal.program_env,
        open_in=partial(open_externally, app),
        front=lambda: app.screen,
        screens=lambda: app.screen_stack,
        leave=lambda: app.exit(0),
        suspend=partial(suspend, app, app.presenter.note),
        do=partial(do_action, app, (app, app.editor, app.transcript)),
        extended=lambda: app.extended,
        page=lambda feature: app.register.page(feature),
    )


def listen(app: "BayouApp", register: FeatureRegister) -> None:
    """Subscribes the listeners that belong to no feature."""
    cache_misses = CacheMisses(
        app.presenter.note,
        is_told=lambda: app.assembled.effective_settings.settings.model.show_cache_miss_notices,
    )
    for listener in (app.terminal.title, app.terminal.notifications, cache_misses):
        register.listen(listener.EVENT_TYPES, listener.note)
    app.page.screens.opened = register.page(APPROVALS).mark
    register.listen((QueueUpdate,), lambda _: app.prompt.unsent.save())
    register.listen((ModelChanged,), lambda _: warm_up(app))
    register.listen((AgentSettled,), lambda _: app.tasks.spawn(app.status.look_at_git()))
    register.listen((SessionReplaced,), lambda _: _show_other_session(app))


def _show_other_session(app: "BayouApp") -> None:
    app.prompt.key_texts.tell_of_session()
    if (left := app.prompt.unsent.session_replaced()) is not None:
        app.editor.restore(
            left if app.editor.model.is_blank else join_drafts([app.editor.model.draft(), left])
        )


async def do_action(app: App[Any], nodes: Iterable[DOMNode], action: str) -> None:
    """Runs the action on the first node that has it, independent of the focus."""
    if action.startswith("extension_key("):
        await app.run_action(action)
        return
    for node in nodes:
        bound = (one for bindings in bindings_of(node).values() for one in bindings)
        found = next((one for one in bound if one.id == action), None)
        if found is not None:
            if isinstance(node, Widget):
                node.focus()
            await app.run_action(found.action, node)
            return


KEPT_SECONDS = 300
"""The minimum time for which providers keep a prompt in the cache."""


class CacheMisses:
    """Watches the answers of one session for cache misses."""

    EVENT_TYPES = (MessageEnd, SessionReplaced, ModelChanged, CompactionEnd)

    def __init__(self, say: ShowMessage, *, is_told: Callable[[], bool]) -> None:
        """`is_told`: returns whether the user wants these reports."""
        self._say = say
        self._is_told = is_told
        self._last: AssistantMessage | None = None

    def note(self, event: Event) -> None:
        if isinstance(event, SessionReplaced | ModelChanged | CompactionEnd):
            self._last = None
        message = event.message if isinstance(event, MessageEnd) else None
        if not isinstance(message, AssistantMessage) or message.stop_reason in ("error", "aborted"):
            return
        if self._is_told() and self._is_missed(message):
            sent = tokens(message.usage.input + message.usage.cache_write)
            self._say(f"The prompt cache was missed: {sent} tokens were sent uncached.", NoteKind.WARNING)
        self._last = message

    def _is_missed(self, message: AssistantMessage) -> bool:
        before = self._last
        return (
            before is not None
            and before.usage.cache_read + before.usage.cache_write > 0
            and message.usage.cache_read == 0
            and message.timestamp - before.timestamp < KEPT_SECONDS * 1000
        )
