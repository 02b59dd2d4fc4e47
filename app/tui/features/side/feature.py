"""The feature for the side panel: changed files, todos, jobs and the context at the right of the page."""

from collections.abc import Sequence

from app.tui.feature import FeatureServices, FeatureSubscription, TuiFeature
from app.tui.features.side.side_panel_updater import SidePanelUpdater
from app.tui.features.todos.feature import TODO_BAR_FEATURE
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


class SidePanelFeature(TuiFeature[SidePanelUpdater]):
    keys: Sequence[PageKey[SidePanelUpdater]] = (
        PageKey(
            id="app.side.toggle",
            keys="alt+i",
            help="Show or hide the side panel: changed files, todos, jobs, context",
            run_key_action=lambda page: page.toggle(),
        ),
    )
    subscriptions: Sequence[FeatureSubscription[SidePanelUpdater]] = (
        FeatureSubscription(
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
            screen.page(TODO_BAR_FEATURE),
            say=screen.show_message,
            tell=screen.status.show_temporary_status,
            spawn=screen.tasks.spawn,
            key_label=screen.key_label,
            remembered=screen.project_history,
            stands_elsewhere=screen.status.set_context_usage_in_side_panel,
        )
        screen.assembled.working_folder.subscribe(lists.enter_folder)
        return lists


SIDE_PANEL_FEATURE = SidePanelFeature()
TUI_FEATURES = (SIDE_PANEL_FEATURE,)
