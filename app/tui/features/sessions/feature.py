"""Opening other sessions, and actions on the current one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices
from app.tui.keys.keymap import NO_KEY
from app.tui.keys.page_keys import PageKey
from app.tui.slash import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.sessions.page import SessionsPage
    from app.tui.features.sessions.session_opener import SessionOpener


class ResumeFeature(Feature["SessionOpener"]):
    def page(self, screen: FeatureServices) -> "SessionOpener":
        from app.tui.features.sessions.session_opener import SessionOpener  # noqa: PLC0415  (when it is first used)

        return SessionOpener(
            screen.session,
            screen.assembled.places,
            screen.ask,
            screen.say,
            enter=screen.assembled.ground.enter,
            home=screen.home,
        )


class SessionsFeature(Feature["SessionsPage"]):
    slash: Sequence[SlashCommand["SessionsPage"]] = (
        SlashCommand(name="resume", verb="switch_session", run=lambda page, _: page.open()),
        SlashCommand(
            name="fork",
            verb="fork",
            run=lambda page, _: page.fork(),
        ),
        SlashCommand(name="new", verb="new_session", run=lambda page, _: page.new()),
        SlashCommand(name="clone", verb="clone", run=lambda page, _: page.clone()),
        SlashCommand(
            name="name",
            hint="[name]",
            verb="set_session_name",
            run=lambda page, text: page.rename(text),
        ),
        SlashCommand(name="session", verb="get_session_stats", run=lambda page, _: page.tell_counts()),
        SlashCommand(
            name="export",
            hint="[file]",
            help="write the session as HTML, .md or .jsonl",
            run=lambda page, text: page.export(text),
        ),
        SlashCommand(
            name="import",
            hint="file",
            help="copy a session file in and go on with it",
            run=lambda page, text: page.import_file(text),
        ),
    )
    keys: Sequence[PageKey["SessionsPage"]] = (
        PageKey(
            id="app.session.resume",
            keys=NO_KEY,
            verb="switch_session",
            do=lambda page: page.open(),
        ),
        PageKey(
            id="app.session.fork",
            keys=NO_KEY,
            verb="fork",
            do=lambda page: page.fork(),
        ),
        PageKey(
            id="app.session.new",
            keys=NO_KEY,
            verb="new_session",
            do=lambda page: page.new(),
        ),
    )

    def page(self, screen: FeatureServices) -> "SessionsPage":
        from app.tui.features.sessions.page import SessionsPage  # noqa: PLC0415  (when it is first used)

        resuming = screen.page(RESUME)
        return SessionsPage(
            screen.session,
            screen.assembled.places,
            screen.ask,
            screen.say,
            screen.write,
            screen.key_label,
            go_on=resuming.open,
            bring_in=resuming.bring_in,
            read_texts=screen.session_texts.read,
            spawn=screen.tasks.spawn,
            home=screen.home,
        )


RESUME = ResumeFeature()
SESSIONS = SessionsFeature()
FEATURES = (
    RESUME,
    SESSIONS,
)
