"""The screen itself: leaving, scrolling, the current run, queued messages."""

from collections.abc import Sequence

from app.tui.feature import Feature, FeatureServices, Subscription
from app.tui.features.screen.page import ScreenPage
from app.tui.features.screen.run_keys import RunKeys
from app.tui.keys.page_keys import CLEAR, PageKey
from app.tui.prompt.queued_messages import QueuedMessages
from app.tui.slash import SlashCommand
from app.values.events import QueueUpdate
from widgets.transcript.view import Transcript


async def _copy(page: RunKeys, argument: str) -> None:
    page.copy_answer()


async def _quit(page: ScreenPage, argument: str) -> None:
    page.quit()


class QueueFeature(Feature[QueuedMessages]):
    keys: Sequence[PageKey[QueuedMessages]] = (
        PageKey(
            id="app.message.dequeue",
            keys="alt+up",
            verb="clear_queue",
            do=lambda page: page.take_back(),
        ),
        PageKey(
            id="app.queue.focus",
            keys="alt+q",
            help="Edit, move or remove queued messages",
            do=lambda page: page.focus(),
        ),
    )
    subscriptions: Sequence[Subscription[QueuedMessages]] = (
        Subscription((QueueUpdate,), lambda page, _: page.show()),
    )

    def page(self, screen: FeatureServices) -> QueuedMessages:
        return QueuedMessages(screen.session, screen.queue_view, screen.editor, screen.say)


class RunKeysFeature(Feature[RunKeys]):
    slash: Sequence[SlashCommand[RunKeys]] = (
        SlashCommand(name="copy", help="copy the last answer", run=_copy),
    )
    keys: Sequence[PageKey[RunKeys]] = (
        PageKey(
            id="app.thinking.toggle",
            keys="ctrl+t",
            help="Show or hide thinking",
            do=lambda page: page.show_thinking(),
        ),
        PageKey(
            id="app.tools.expand",
            keys="ctrl+o",
            help="Open or close all tools, or the block that the keyboard is at",
            do=lambda page: page.open_or_close(),
        ),
        PageKey(
            id="app.tools.background",
            keys="ctrl+b",
            help="Put the running tool into the background",
            do=lambda page: page.to_background(),
        ),
        PageKey(
            id="app.message.copy",
            keys="ctrl+x",
            help="Copy the last answer",
            do=lambda page: page.copy_answer(),
        ),
        PageKey(
            id="app.retry",
            keys="alt+r,f5",
            help="Try again after an error or a stop",
            do=lambda page: page.retry(),
        ),
    )
    subscriptions: Sequence[Subscription[RunKeys]] = (
        Subscription((Transcript.RetryRequested,), lambda page, _: page.retry()),
    )

    def page(self, screen: FeatureServices) -> RunKeys:
        return RunKeys(screen.session, screen.presenter, screen.transcript, screen.copy, screen.key_label)


class ScreenFeature(Feature[ScreenPage]):
    slash: Sequence[SlashCommand[ScreenPage]] = (
        SlashCommand(name="init", verb="init_context", run=lambda page, _: page.command("init_context")),
        SlashCommand(
            name="review",
            hint="[branch|commit]",
            verb="review",
            run=lambda page, text: page.command("review", what=text),
        ),
        SlashCommand(
            name="reload",
            help="read again: context, skills, extensions, keys, themes",
            run=lambda page, _: page.reload(),
        ),
        SlashCommand(name="quit", help="leave bayou", run=_quit),
    )
    keys: Sequence[PageKey[ScreenPage]] = (
        PageKey(
            id="app.interrupt",
            keys="escape",
            help="Stop; twice: the tree",
            do=lambda page: page.leaving.escape(),
        ),
        PageKey(
            id=CLEAR,
            keys="ctrl+c",
            help="Clear; twice: quit",
            do=lambda page: page.clear(CLEAR),
            is_first=True,
        ),
        PageKey(id="app.exit", keys="ctrl+d", help="Quit", do=lambda page: page.leaving.leave()),
        PageKey(id="app.suspend", keys="ctrl+z", help="Suspend", do=lambda page: page.screen.suspend()),
        PageKey(
            id="app.transcript.focus",
            keys="f6,alt+t",
            help="Go to the transcript's blocks",
            do=lambda page: page.screen.transcript.focus(),
        ),
        PageKey(
            id="tui.altScreen.search",
            keys="ctrl+f,f3,ctrl+shift+f",
            help="Search the transcript",
            do=lambda page: page.screen.search_bar.open(),
            is_first=True,
        ),
        PageKey(
            id="tui.altScreen.previousPrompt",
            keys="ctrl+up,ctrl+shift+up",
            help="Previous prompt",
            do=lambda page: page.screen.transcript.keyboard.prompt(-1),
        ),
        PageKey(
            id="tui.altScreen.nextPrompt",
            keys="ctrl+down,ctrl+shift+down",
            help="Next prompt",
            do=lambda page: page.screen.transcript.keyboard.prompt(1),
        ),
        PageKey(
            id="tui.altScreen.pageUp",
            keys="pageup",
            help="Page up",
            do=lambda page: page.screen.transcript.keyboard.page(-1),
        ),
        PageKey(
            id="tui.altScreen.pageDown",
            keys="pagedown",
            help="Page down",
            do=lambda page: page.screen.transcript.keyboard.page(1),
        ),
        PageKey(
            id="tui.altScreen.top",
            keys="ctrl+home",
            help="To the beginning",
            do=lambda page: page.screen.transcript.keyboard.go_home(),
        ),
        PageKey(
            id="tui.altScreen.bottom",
            keys="ctrl+end",
            help="To the end",
            do=lambda page: page.screen.transcript.keyboard.go_end(),
        ),
    )

    def page(self, screen: FeatureServices) -> ScreenPage:
        return ScreenPage(screen, screen.page(QUEUE))


QUEUE = QueueFeature()
RUN = RunKeysFeature()
SCREEN = ScreenFeature()
FEATURES = (
    QUEUE,
    RUN,
    SCREEN,
)
