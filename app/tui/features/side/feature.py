"""The feature for the side panel: changed files, todos, jobs and the context at the right of the page."""

from collections.abc import Sequence

from app.tui.feature import Feature, FeatureServices, Subscription
from app.tui.features.side.side_lists import SidePanelUpdater
from app.tui.features.todos.feature import TODO_BAR
from app.tui.keys.page_keys import PageKey
from app.values.events import (
    AgentSettled,
    CompactionEnd,
    EntryAppended,
    HelperChanged,
    JobChanged,
    MessageEnd,
    SessionReplaced,
    TodosChanged,
)


class SidePanelFeature(Feature[SidePanelUpdater]):
    keys: Sequence[PageKey[SidePanelUpdater]] = (
        PageKey(
            id="app.side.toggle",
            keys="alt+i",
            help="Show or hide the side panel: changed files, todos, jobs, context",
            run_key=lambda page: page.toggle(),
        ),
    )
    subscriptions: Sequence[Subscription[SidePanelUpdater]] = (
        Subscription(
            (
                SessionReplaced,
                EntryAppended,
                JobChanged,
                TodosChanged,
                MessageEnd,
                CompactionEnd,
                AgentSettled,
                HelperChanged,
            ),
            lambda page, event: page.handle_event(event),
        ),
    )

    def page(self, screen: FeatureServices) -> SidePanelUpdater:
        lists = SidePanelUpdater(
            screen.session,
            screen.side_panel,
            screen.page(TODO_BAR),
            say=screen.show_message,
            tell=screen.status.show_hint,
            spawn=screen.tasks.spawn,
            key_label=screen.key_label,
            remembered=screen.project_history,
            stands_elsewhere=screen.status.set_context_elsewhere,
        )
        screen.assembled.working_folder.subscribe(lists.enter_folder)
        return lists


SIDE = SidePanelFeature()
FEATURES = (SIDE,)
