"""Background jobs: the commands and keys for the list of jobs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices
from app.tui.slash import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.jobs.page import JobsPage


class JobsFeature(Feature["JobsPage"]):
    slash: Sequence[SlashCommand["JobsPage"]] = (
        SlashCommand(
            name="jobs",
            verb="list_jobs",
            run=lambda page, _: page.open(),
        ),
        SlashCommand(name="kill", hint="job", verb="kill_job", run=lambda page, text: page.kill(text)),
        SlashCommand(
            name="pin",
            hint="job",
            verb="pin_job",
            run=lambda page, text: page.pin(text),
        ),
    )

    def page(self, screen: FeatureServices) -> "JobsPage":
        from app.tui.features.jobs.page import JobsPage  # noqa: PLC0415  (when it is first used)

        return JobsPage(
            screen.session,
            screen.ask,
            screen.say,
            screen.copy,
            background_key=lambda: screen.action_table.key_of("app.tools.background"),
        )


JOBS = JobsFeature()
FEATURES = (JOBS,)
