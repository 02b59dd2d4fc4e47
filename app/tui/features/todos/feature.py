"""The list of todos, and plan mode."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.widget import Widget

from app.tui.feature import Feature, FeatureServices, Subscription
from app.tui.features.todos.todo_list import TodoList
from app.tui.keys.page_keys import PageKey
from app.tui.slash import SlashCommand
from app.values.events import EntryAppended, SessionReplaced, TodosChanged

if TYPE_CHECKING:
    from app.tui.features.todos.page import PlansPage, TodosPage


class TodosFeature(Feature["TodosPage"]):
    slash: Sequence[SlashCommand["TodosPage"]] = (
        SlashCommand(
            name="todos",
            help="what is to be done: states, texts, new items",
            run=lambda page, _: page.open(),
        ),
    )

    def page(self, screen: FeatureServices) -> "TodosPage":
        from app.tui.features.todos.page import TodosPage  # noqa: PLC0415  (when it is first used)

        return TodosPage(screen.session, screen.ask, screen.say)


class TodoBarFeature(Feature[TodoList]):
    """The todo list above the editor."""

    keys: Sequence[PageKey[TodoList]] = (
        PageKey(
            id="app.todos.fold",
            keys="alt+l",
            help="Fold the list of todos into one line, or show it",
            do=lambda page: page.fold(),
        ),
    )
    subscriptions: Sequence[Subscription[TodoList]] = (
        Subscription((TodosChanged, EntryAppended, SessionReplaced), lambda page, _: page.show()),
    )

    above_editor: Sequence[Callable[[TodoList], Widget]] = (lambda page: page.view,)

    def page(self, screen: FeatureServices) -> TodoList:
        def hint() -> str:
            key = screen.action_table.key_of("app.todos.fold")
            return f"{key} folds" if key else ""

        return TodoList(screen.session, hint)


class PlansFeature(Feature["PlansPage"]):
    slash: Sequence[SlashCommand["PlansPage"]] = (
        SlashCommand(
            name="plan",
            hint="[prompt]",
            verb="set_plan_mode",
            run=lambda page, text: page.toggle(text),
        ),
    )
    keys: Sequence[PageKey["PlansPage"]] = (
        PageKey(
            id="app.plan.toggle",
            keys="alt+o",
            verb="set_plan_mode",
            do=lambda page: page.toggle(),
        ),
    )
    subscriptions: Sequence[Subscription["PlansPage"]] = (
        Subscription(("plan",), lambda page, event: page.answer(event)),
    )

    def page(self, screen: FeatureServices) -> "PlansPage":
        from app.tui.features.todos.page import PlansPage  # noqa: PLC0415  (when it is first used)

        return PlansPage(screen.session, screen.ask, screen.say, told=screen.told, clock=screen.clock)


TODOS = TodosFeature()
TODO_LIST = TodoBarFeature()
PLANS = PlansFeature()
FEATURES = (
    TODOS,
    TODO_LIST,
    PLANS,
)
