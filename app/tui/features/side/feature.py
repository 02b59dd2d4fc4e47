"""The side panel: changed files, todos and jobs at the right of the page."""

from collections.abc import Sequence

from app.tui.feature import Feature, FeatureServices, Subscription
from app.tui.features.side.side_lists import SideLists
from app.tui.features.todos.feature import TODO_LIST
from app.tui.keys.page_keys import PageKey
from app.values.events import EntryAppended, JobChanged, SessionReplaced, TodosChanged


class SidePanelFeature(Feature[SideLists]):
    keys: Sequence[PageKey[SideLists]] = (
        PageKey(
            id="app.side.toggle",
            keys="alt+i",
            help="Show or hide changed files, todos and jobs at the right",
            do=lambda page: page.toggle(),
        ),
    )
    subscriptions: Sequence[Subscription[SideLists]] = (
        Subscription(
            (SessionReplaced, EntryAppended, JobChanged, TodosChanged), lambda page, event: page.note(event)
        ),
    )

    def page(self, screen: FeatureServices) -> SideLists:
        lists = SideLists(
            screen.session,
            screen.side_panel,
            screen.page(TODO_LIST),
            say=screen.say,
            tell=screen.status.tell,
            spawn=screen.tasks.spawn,
            remembered=screen.remembered,
        )
        screen.assembled.ground.subscribe(lists.enter_folder)
        return lists


SIDE = SidePanelFeature()
FEATURES = (SIDE,)
