"""The feature for the list of todos and for plan mode."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.widget import Widget

from app.tui.feature import FeatureServices, FeatureSubscription, TuiFeature
from app.tui.features.todos.todo_list import TodoListUpdater
from app.tui.keys.page_keys import PageKey
from app.tui.slash_commands import SlashCommand
from app.values.events import EntryAppended, SessionReplaced, TodosChanged

if TYPE_CHECKING:
    from app.tui.features.todos.page import PlansPage, TodosPage


class TodosFeature(TuiFeature["TodosPage"]):
    slash_commands: Sequence[SlashCommand["TodosPage"]] = (
        SlashCommand(
            name="todos",
            help="todo list: edit and add items",
            run=lambda page, _: page.open(),
        ),
    )

    def page(self, screen: FeatureServices) -> "TodosPage":
        from app.tui.features.todos.page import TodosPage  # noqa: PLC0415  (when it is first used)

        return TodosPage(screen.session, screen.ask, screen.show_message)


class TodoBarFeature(TuiFeature[TodoListUpdater]):
    """The feature for the todo list above the editor."""

    keys: Sequence[PageKey[TodoListUpdater]] = (
        PageKey(
            id="app.todos.fold",
            keys="alt+l",
            help="Collapse or expand the todo list",
            run_key_action=lambda page: page.fold(),
        ),
    )
    subscriptions: Sequence[FeatureSubscription[TodoListUpdater]] = (
        FeatureSubscription((TodosChanged, EntryAppended, SessionReplaced), lambda page, _: page.show()),
    )

    above_editor: Sequence[Callable[[TodoListUpdater], Widget]] = (lambda page: page.view,)

    def page(self, screen: FeatureServices) -> TodoListUpdater:
        def hint() -> str:
            key = screen.action_table.key_of("app.todos.fold")
            return f"{key} collapse" if key else ""

        return TodoListUpdater(screen.session, hint)


class PlansFeature(TuiFeature["PlansPage"]):
    slash_commands: Sequence[SlashCommand["PlansPage"]] = (
        SlashCommand(
            name="plan",
            hint="[prompt]",
            session_command="set_plan_mode",
            run=lambda page, text: page.toggle_plan_mode(text),
        ),
    )
    keys: Sequence[PageKey["PlansPage"]] = (
        PageKey(
            id="app.plan.toggle",
            slash_command="plan",
            keys="alt+o",
            session_command="set_plan_mode",
            run_key_action=lambda page: page.toggle_plan_mode(),
        ),
    )
    subscriptions: Sequence[FeatureSubscription["PlansPage"]] = (
        FeatureSubscription(("plan",), lambda page, event: page.show_proposed_plan(event)),
    )

    def page(self, screen: FeatureServices) -> "PlansPage":
        from app.tui.features.todos.page import PlansPage  # noqa: PLC0415  (when it is first used)

        return PlansPage(
            screen.session,
            screen.ask,
            screen.show_message,
            notify_waiting=screen.notify_waiting,
            clock=screen.clock,
        )


TODOS_FEATURE = TodosFeature()
TODO_BAR_FEATURE = TodoBarFeature()
PLANS_FEATURE = PlansFeature()
TUI_FEATURES = (
    TODOS_FEATURE,
    TODO_BAR_FEATURE,
    PLANS_FEATURE,
)
