"""Lists what the application offers its features, and subscribes the application's own event
listeners."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from app.tui.feature import FullScreen
from app.tui.keys.run_action import do_action
from app.tui.prompt.attachments import joined
from app.tui.register import Register
from app.tui.startup import warm_up
from app.tui.terminal.suspending import suspend
from app.values.events import AgentSettled, ModelChanged, QueueUpdate, SessionReplaced
from widgets.terminal.terminal_control import open_externally

if TYPE_CHECKING:
    from app.tui.app import BayouApp


def full_screen(app: "BayouApp") -> FullScreen:
    def await_answer(question: str, answer: "asyncio.Future[Any] | None" = None) -> None:
        app.notifications.asked(question, answer)
        if answer is not None:
            app.title_line.ask()

    return FullScreen(
        assembled=app.assembled,
        ask=app.screens.ask,
        say=app.presenter.note,
        copy=app.system_clipboard.copy,
        told=await_answer,
        tasks=app.tasks,
        action_table=app.action_table,
        user_keys=app.user_keys,
        look=app.look,
        presenter=app.presenter,
        status=app.status,
        session_texts=app.session_texts,
        remembered=app.remembered,
        transcript=app.transcript,
        search_bar=app.search_bar,
        editor=app.editor,
        queue_view=app.queue_view,
        approval_bar=app.approval_bar,
        side_panel=app.side_panel,
        clock=lambda: app.clock(),
        home=app.home,
        program_env=lambda: app.program_env,
        open_in=partial(open_externally, app),
        front=lambda: app.screen,
        leave=lambda: app.exit(0),
        suspend=partial(suspend, app, app.presenter.note),
        do=partial(do_action, app, (app, app.editor, app.transcript)),
        extended=lambda: app.extended,
        page=lambda feature: app.register.page(feature),
    )


def listen(app: "BayouApp", register: Register) -> None:
    """Subscribes the listeners that belong to no feature."""
    for listener in (app.title_line, app.notifications, app.cache_misses):
        register.listen(listener.EVENT_TYPES, listener.note)
    register.listen((QueueUpdate,), lambda _: app.unsent.save())
    register.listen((ModelChanged,), lambda _: warm_up(app))
    register.listen((AgentSettled,), lambda _: app.tasks.spawn(app.status.look_at_git()))
    register.listen((SessionReplaced,), lambda _: _show_other_session(app))


def _show_other_session(app: "BayouApp") -> None:
    app.key_texts.tell_of_session()
    if (left := app.unsent.session_replaced()) is not None:
        app.editor.restore(left if app.editor.model.is_blank else joined([app.editor.model.draft(), left]))
