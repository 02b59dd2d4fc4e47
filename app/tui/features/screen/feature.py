"""The feature for the screen itself: leaving, scrolling, the current run, queued messages."""

from collections.abc import Sequence

from app.tui.feature import FeatureServices, FeatureSubscription, TuiFeature
from app.tui.features.screen.page import AppActionsPage
from app.tui.features.screen.run_keys import RunActions
from app.tui.keys.page_keys import CLEAR_OR_QUIT_ACTION, PageKey
from app.tui.prompt.queued_messages import QueuedMessageActions
from app.tui.slash_commands import SlashCommand
from app.values.events import QueueUpdate
from widgets.transcript.view import Transcript


async def _run_copy_command(page: RunActions, argument: str) -> None:
    page.copy_answer()


async def _run_quit_command(page: AppActionsPage, argument: str) -> None:
    page.quit_with_confirmation()


class MessageQueueFeature(TuiFeature[QueuedMessageActions]):
    keys: Sequence[PageKey[QueuedMessageActions]] = (
        PageKey(
            id="app.message.dequeue",
            keys="alt+up",
            session_command="clear_queue",
            run_key_action=lambda page: page.move_queue_to_editor(),
        ),
        PageKey(
            id="app.queue.focus",
            keys="alt+q",
            help="Edit, move or remove queued messages",
            run_key_action=lambda page: page.focus_queue(),
        ),
    )
    subscriptions: Sequence[FeatureSubscription[QueuedMessageActions]] = (
        FeatureSubscription((QueueUpdate,), lambda page, _: page.show_queue()),
    )

    def page(self, screen: FeatureServices) -> QueuedMessageActions:
        return QueuedMessageActions(screen.session, screen.queue_view, screen.editor, screen.show_message)


class RunKeysFeature(TuiFeature[RunActions]):
    slash_commands: Sequence[SlashCommand[RunActions]] = (
        SlashCommand(name="copy", help="copy the last answer", run=_run_copy_command),
    )
    keys: Sequence[PageKey[RunActions]] = (
        PageKey(
            id="app.thinking.toggle",
            keys="ctrl+t",
            help="Show or hide thinking",
            run_key_action=lambda page: page.toggle_thinking(),
        ),
        PageKey(
            id="app.tools.expand",
            keys="ctrl+o",
            help="Expand or collapse all tools, or the focused block",
            run_key_action=lambda page: page.toggle_tool_cards(),
        ),
        PageKey(
            id="app.tools.background",
            keys="ctrl+b",
            help="Move the running tool to the background",
            run_key_action=lambda page: page.move_calls_to_background(),
        ),
        PageKey(
            id="app.message.copy",
            slash_command="copy",
            keys="ctrl+x",
            help="Copy the last answer",
            run_key_action=lambda page: page.copy_answer(),
        ),
        PageKey(
            id="app.retry",
            keys="alt+r,f5",
            help="Retry after an error or a stop",
            run_key_action=lambda page: page.retry_request(),
        ),
    )
    subscriptions: Sequence[FeatureSubscription[RunActions]] = (
        FeatureSubscription((Transcript.RetryRequested,), lambda page, _: page.retry_request()),
    )

    def page(self, screen: FeatureServices) -> RunActions:
        return RunActions(screen.session, screen.presenter, screen.transcript, screen.copy, screen.key_label)


class AppActionsFeature(TuiFeature[AppActionsPage]):
    slash_commands: Sequence[SlashCommand[AppActionsPage]] = (
        SlashCommand(
            name="init",
            session_command="init_context",
            run=lambda page, _: page.run_session_command("init_context"),
        ),
        SlashCommand(
            name="review",
            hint="[branch|commit]",
            session_command="review",
            run=lambda page, text: page.run_session_command("review", what=text),
        ),
        SlashCommand(
            name="tour",
            help="a tour of bayou, page by page",
            run=lambda page, _: page.continue_tour(),
        ),
        SlashCommand(
            name="reload",
            help="reload extensions, skills, keys, themes",
            run=lambda page, _: page.reload_files(),
        ),
        SlashCommand(name="quit", help="quit bayou", run=_run_quit_command),
    )
    keys: Sequence[PageKey[AppActionsPage]] = (
        PageKey(
            id="app.interrupt",
            keys="escape",
            help="Stop the agent; twice: open the session tree",
            run_key_action=lambda page: page.stop_or_leave.stop_activity(),
        ),
        PageKey(
            id=CLEAR_OR_QUIT_ACTION,
            keys="ctrl+c",
            help="Clear the prompt; twice: quit bayou",
            run_key_action=lambda page: page.clear_or_leave(CLEAR_OR_QUIT_ACTION),
            takes_precedence=True,
        ),
        PageKey(
            id="app.exit",
            slash_command="quit",
            keys="ctrl+d",
            help="Quit",
            run_key_action=lambda page: page.stop_or_leave.leave_if_editor_empty(),
        ),
        PageKey(
            id="app.suspend",
            keys="ctrl+z",
            help="Suspend bayou, back to the shell",
            run_key_action=lambda page: page.screen.suspend(),
        ),
        PageKey(
            id="app.transcript.focus",
            keys="f6,alt+t",
            help="Focus the transcript",
            run_key_action=lambda page: page.screen.transcript.focus(),
        ),
        PageKey(
            id="tui.altScreen.search",
            keys="ctrl+f,f3,ctrl+shift+f",
            help="Search the transcript",
            run_key_action=lambda page: page.screen.search_bar.open_or_step(),
            takes_precedence=True,
        ),
        PageKey(
            id="tui.altScreen.previousPrompt",
            keys="ctrl+up,ctrl+shift+up",
            help="Previous prompt",
            run_key_action=lambda page: page.screen.transcript.keyboard.prompt(-1),
        ),
        PageKey(
            id="tui.altScreen.nextPrompt",
            keys="ctrl+down,ctrl+shift+down",
            help="Next prompt",
            run_key_action=lambda page: page.screen.transcript.keyboard.prompt(1),
        ),
        PageKey(
            id="tui.altScreen.pageUp",
            keys="pageup",
            help="Page up",
            run_key_action=lambda page: page.screen.transcript.keyboard.page(-1),
        ),
        PageKey(
            id="tui.altScreen.pageDown",
            keys="pagedown",
            help="Page down",
            run_key_action=lambda page: page.screen.transcript.keyboard.page(1),
        ),
        PageKey(
            id="tui.altScreen.top",
            keys="ctrl+home",
            help="Scroll to the beginning",
            run_key_action=lambda page: page.screen.transcript.keyboard.go_home(),
        ),
        PageKey(
            id="tui.altScreen.bottom",
            keys="ctrl+end",
            help="Scroll to the end",
            run_key_action=lambda page: page.screen.transcript.keyboard.go_end(),
        ),
    )

    def page(self, screen: FeatureServices) -> AppActionsPage:
        return AppActionsPage(screen, screen.page(MESSAGE_QUEUE_FEATURE))


MESSAGE_QUEUE_FEATURE = MessageQueueFeature()
RUN_KEYS_FEATURE = RunKeysFeature()
APP_ACTIONS_FEATURE = AppActionsFeature()
TUI_FEATURES = (
    MESSAGE_QUEUE_FEATURE,
    RUN_KEYS_FEATURE,
    APP_ACTIONS_FEATURE,
)
