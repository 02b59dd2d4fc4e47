"""The feature for background jobs: the commands and keys for their list."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, TuiFeature
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.jobs.page import BackgroundJobsPage


class JobsFeature(TuiFeature["BackgroundJobsPage"]):
    slash_commands: Sequence[SlashCommand["BackgroundJobsPage"]] = (
        SlashCommand(
            name="jobs",
            session_command="list_jobs",
            run=lambda page, _: page.open(),
        ),
        SlashCommand(
            name="kill", hint="job", session_command="kill_job", run=lambda page, text: page.kill(text)
        ),
        SlashCommand(
            name="pin",
            hint="job",
            session_command="pin_job",
            run=lambda page, text: page.pin(text),
        ),
    )

    def page(self, screen: FeatureServices) -> "BackgroundJobsPage":
        from app.tui.features.jobs.page import BackgroundJobsPage  # noqa: PLC0415  (when it is first used)

        return BackgroundJobsPage(
            screen.session,
            screen.ask,
            screen.show_message,
            screen.copy,
            background_key=lambda: screen.action_table.key_of("app.tools.background"),
        )


JOBS_FEATURE = JobsFeature()
TUI_FEATURES = (JOBS_FEATURE,)
