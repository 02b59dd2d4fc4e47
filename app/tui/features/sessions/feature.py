"""The feature for opening other sessions, and for actions on the current one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, TuiFeature
from app.tui.keys.keymap import UNBOUND_KEY_LABEL
from app.tui.keys.page_keys import PageKey
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.sessions.page import SessionsPage
    from app.tui.features.sessions.session_opener import SessionOpener


class ResumeFeature(TuiFeature["SessionOpener"]):
    def page(self, screen: FeatureServices) -> "SessionOpener":
        from app.tui.features.sessions.session_opener import SessionOpener  # noqa: PLC0415  (when it is first used)

        return SessionOpener(
            screen.session,
            screen.assembled.session_paths,
            screen.ask,
            screen.show_message,
            enter_folder=screen.assembled.working_folder.switch_to,
            home=screen.home,
        )


class SessionsFeature(TuiFeature["SessionsPage"]):
    slash_commands: Sequence[SlashCommand["SessionsPage"]] = (
        SlashCommand(
            name="resume",
            hint="[id]",
            session_command="switch_session",
            run=lambda page, named: page.resume(named) if named else page.open(),
        ),
        SlashCommand(
            name="fork",
            session_command="fork",
            run=lambda page, _: page.fork_at_prompt(),
        ),
        SlashCommand(name="new", session_command="new_session", run=lambda page, _: page.start_session()),
        SlashCommand(name="clone", session_command="clone", run=lambda page, _: page.clone_session()),
        SlashCommand(
            name="name",
            hint="[name]",
            session_command="set_session_name",
            run=lambda page, text: page.rename_session(text),
        ),
        SlashCommand(
            name="session",
            session_command="get_session_stats",
            run=lambda page, _: page.show_session_counts(),
        ),
        SlashCommand(
            name="export",
            hint="[file]",
            help="export the session as HTML, .md or .jsonl",
            run=lambda page, text: page.export_session(text),
        ),
        SlashCommand(
            name="import",
            hint="file",
            help="import a session file and continue it",
            run=lambda page, text: page.import_session_file(text),
        ),
    )
    keys: Sequence[PageKey["SessionsPage"]] = (
        PageKey(
            id="app.session.resume",
            slash_command="resume",
            keys=UNBOUND_KEY_LABEL,
            session_command="switch_session",
            run_key_action=lambda page: page.open(),
        ),
        PageKey(
            id="app.session.fork",
            slash_command="fork",
            keys=UNBOUND_KEY_LABEL,
            session_command="fork",
            run_key_action=lambda page: page.fork_at_prompt(),
        ),
        PageKey(
            id="app.session.new",
            slash_command="new",
            keys=UNBOUND_KEY_LABEL,
            session_command="new_session",
            run_key_action=lambda page: page.start_session(),
        ),
    )

    def page(self, screen: FeatureServices) -> "SessionsPage":
        from app.tui.features.sessions.page import SessionsPage  # noqa: PLC0415  (when it is first used)

        resuming = screen.page(RESUME_FEATURE)
        return SessionsPage(
            screen.session,
            screen.assembled.session_paths,
            screen.ask,
            screen.show_message,
            screen.write_to_editor,
            screen.key_label,
            continue_session=resuming.open,
            import_session=resuming.continue_copy,
            index_session_texts=screen.session_texts.index_new_texts,
            spawn=screen.tasks.spawn,
            home=screen.home,
        )


RESUME_FEATURE = ResumeFeature()
SESSIONS_FEATURE = SessionsFeature()
TUI_FEATURES = (
    RESUME_FEATURE,
    SESSIONS_FEATURE,
)
