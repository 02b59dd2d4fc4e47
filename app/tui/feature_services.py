"""The services that the application gives its features, and the application's own event listeners."""

import asyncio
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.dom import DOMNode
from textual.widget import Widget

from app.tui.feature import FeatureServices
from app.tui.feature_register import FeatureRegister
from app.tui.features.permissions.feature import APPROVALS_FEATURE
from app.tui.page_protocols import ShowMessage
from app.tui.prompt.attachments import join_unsent_prompts
from app.tui.startup import import_model_modules_in_background
from app.tui.terminal.terminal_parts import suspend_to_shell
from app.undo.change_records import file_restore_data_of_entry
from app.undo.file_history import entry_has_file_changes
from app.values.events import (
    AgentSettled,
    CompactionEnd,
    EntryAppended,
    Event,
    MessageEnd,
    ModelChanged,
    QueueUpdate,
    SessionReplaced,
)
from app.values.messages import AssistantMessage
from tools.number_formatting import format_token_count
from widgets.terminal.terminal_control import open_in_external_editor
from widgets.textual_internals import node_bindings
from widgets.transcript.transcript_blocks import AppNoteKind

if TYPE_CHECKING:
    from app.tui.app import BayouApp


_REVIEW_PAGE_MODULE = "app.tui.features.review.page"


def make_feature_services(app: "BayouApp") -> FeatureServices:
    def await_answer(question: str, answer: "asyncio.Future[Any] | None" = None) -> None:
        app.terminal.notifications.notify_question(question, answer)
        if answer is not None:
            app.terminal.title.show_waiting()

    return FeatureServices(
        assembled=app.assembled,
        ask=app.page.screens.ask,
        show_message=app.presenter.add_note,
        copy=app.terminal.clipboard.copy,
        notify_waiting=await_answer,
        reports_alt_separately=app.terminal.reports_alt_separately,
        tasks=app.tasks,
        action_table=app.action_table,
        user_keys=app.prompt.user_keys,
        current_theme=app.theme_control,
        presenter=app.presenter,
        status=app.status,
        session_texts=app.session_texts,
        project_history=app.prompt.project_history,
        transcript=app.transcript,
        search_bar=app.page.search_bar,
        editor=app.editor,
        queue_view=app.page.queue_view,
        approval_bar=app.approval_bar,
        side_panel=app.page.side_panel,
        clock=lambda: app.clock(),
        home=app.home,
        program_env=lambda: app.terminal.program_env,
        open_in_editor=partial(open_in_external_editor, app),
        front_screen=lambda: app.screen,
        screens=lambda: app.screen_stack,
        leave_app=lambda: app.exit(0),
        suspend=partial(suspend_to_shell, app, app.presenter.add_note),
        run_action=partial(run_action_on_first_node, app, (app, app.editor, app.transcript)),
        connected_extensions=lambda: app.connected_extensions,
        page=lambda feature: app.feature_register.page(feature),
    )


def subscribe_app_listeners(app: "BayouApp", register: FeatureRegister) -> None:
    """Subscribes the event listeners that belong to the application and to no feature."""
    cache_misses = CacheMissReporter(
        app.presenter.add_note,
        is_told=lambda: app.assembled.effective_settings.settings.model.show_cache_miss_notices,
    )
    for listener in (app.terminal.title, app.terminal.notifications, cache_misses):
        register.listen(listener.EVENT_TYPES, listener.handle_event)
    app.page.screens.on_opened = register.page(APPROVALS_FEATURE).show_waiting_banner
    register.listen((QueueUpdate,), lambda _: app.prompt.unsent_draft.save())
    register.listen((ModelChanged,), lambda _: import_model_modules_in_background(app))
    register.listen((AgentSettled,), lambda _: app.tasks.spawn(app.status.update_git_state()))
    register.listen((EntryAppended,), lambda event: _update_git_state_after_restore(app, event))
    register.listen((EntryAppended,), lambda event: _expect_review(app, event))
    register.listen((SessionReplaced,), lambda _: _update_editor_for_session(app))


def _update_git_state_after_restore(app: "BayouApp", event: Event) -> None:
    """Updates the git state after undo or a review restored files, which happens outside of runs."""
    if isinstance(event, EntryAppended) and file_restore_data_of_entry(event.entry) is not None:
        app.tasks.spawn(app.status.update_git_state())


def _expect_review(app: "BayouApp", event: Event) -> None:
    """Imports the review desk in the background once there are changes, so that its first opening does not wait."""
    if (
        isinstance(event, EntryAppended)
        and entry_has_file_changes(event.entry)
        and _REVIEW_PAGE_MODULE not in sys.modules
    ):
        app.tasks.spawn(asyncio.to_thread(import_module, _REVIEW_PAGE_MODULE))


def _update_editor_for_session(app: "BayouApp") -> None:
    app.tasks.spawn(app.page.first_screen.load(app.presenter.update_welcome_page))
    app.prompt.key_texts.update_placeholder()
    if (left := app.prompt.unsent_draft.move_to_new_session()) is not None:
        app.editor.restore(
            left if app.editor.model.is_blank else join_unsent_prompts([app.editor.model.draft(), left])
        )


async def run_action_on_first_node(app: App[Any], nodes: Iterable[DOMNode], action: str) -> None:
    """Runs a Textual action on the first of the nodes that has it, whichever has the focus."""
    if action.startswith("extension_key("):
        await app.run_action(action)
        return
    for node in nodes:
        bound = (one for bindings in node_bindings(node).values() for one in bindings)
        found = next((one for one in bound if one.id == action), None)
        if found is not None:
            if isinstance(node, Widget):
                node.focus()
            await app.run_action(found.action, node)
            return


PROMPT_CACHE_LIFETIME_SECONDS = 300
"""The minimum time for which providers keep a prompt in the cache."""


class CacheMissReporter:
    """Watches the answers of one session and reports when the provider's prompt cache was missed."""

    EVENT_TYPES = (MessageEnd, SessionReplaced, ModelChanged, CompactionEnd)

    def __init__(self, say: ShowMessage, *, is_told: Callable[[], bool]) -> None:
        """Creates the reporter. `is_told`: returns whether the user wants reports of prompt-cache misses."""
        self._show_message = say
        self._is_notice_enabled = is_told
        self._last_message: AssistantMessage | None = None

    def handle_event(self, event: Event) -> None:
        if isinstance(event, SessionReplaced | ModelChanged | CompactionEnd):
            self._last_message = None
        message = event.message if isinstance(event, MessageEnd) else None
        if not isinstance(message, AssistantMessage) or message.stop_reason in ("error", "aborted"):
            return
        if self._is_notice_enabled() and self._is_cache_miss(message):
            sent = format_token_count(message.usage.input + message.usage.cache_write)
            self._show_message(
                f"The prompt cache was missed: {sent} tokens were sent uncached.", AppNoteKind.WARNING
            )
        self._last_message = message

    def _is_cache_miss(self, message: AssistantMessage) -> bool:
        before = self._last_message
        return (
            before is not None
            and before.usage.cache_read + before.usage.cache_write > 0
            and message.usage.cache_read == 0
            and message.timestamp - before.timestamp < PROMPT_CACHE_LIFETIME_SECONDS * 1000
        )
