"""The key bindings of all screens that open over the page, grouped by screen."""

from app.tui.batch.batch_screen import BatchScreen
from app.tui.features.context.screen import ContextScreen
from app.tui.features.extensions.trust_screen import TrustScreen
from app.tui.features.goal.page import GoalScreen
from app.tui.features.helpers.page import ConversationScreen, HelpersScreen
from app.tui.features.jobs.page import JobsScreen
from app.tui.features.map.screen import MapScreen, PlacesScreen
from app.tui.features.mcp.form_screen import ChoicesScreen, FormScreen
from app.tui.features.mcp.page import ServersScreen
from app.tui.features.models.screen import ModelScreen, ScopedModelsScreen, ThinkingLevelScreen
from app.tui.features.pending.page import PendingScreen
from app.tui.features.review.screen import HunksView, ReviewQuestionScreen, SearchableScreen
from app.tui.features.sessions.screen import SessionsScreen
from app.tui.features.settings.own_shell import OwnShellScreen
from app.tui.features.settings.screen import SettingsScreen
from app.tui.features.tree.screen import TreeScreen
from app.tui.features.usage.screen import UsageScreen
from app.tui.keys.keymap import BindingGroup, make_binding_group
from widgets.emulator.terminal_view import TerminalScreen
from widgets.lists.row_list import RowList
from widgets.screens.common_pickers import ThemeScreen
from widgets.screens.dialogs import ConfirmScreen, LinesEditScreen, QuestionScreen
from widgets.screens.picker import PickerScreen
from widgets.screens.text_pages import PageScreen
from widgets.textual_internals import SheetScreen

SCREEN_BINDING_GROUPS: tuple[BindingGroup, ...] = (
    make_binding_group("lists", RowList.BINDINGS, SheetScreen.BINDINGS, PickerScreen.BINDINGS),
    make_binding_group("the session tree", TreeScreen.BINDINGS),
    make_binding_group("sessions", SessionsScreen.BINDINGS),
    make_binding_group("models", ModelScreen.BINDINGS),
    make_binding_group("thinking levels", ThinkingLevelScreen.BINDINGS),
    make_binding_group("models to cycle through", ScopedModelsScreen.BINDINGS),
    make_binding_group("settings", SettingsScreen.BINDINGS),
    make_binding_group("imported shell definitions", OwnShellScreen.BINDINGS),
    make_binding_group("themes", ThemeScreen.BINDINGS),
    make_binding_group("the context window", ContextScreen.BINDINGS),
    make_binding_group("usage", UsageScreen.BINDINGS),
    make_binding_group(
        "reviewing changes", HunksView.BINDINGS, ReviewQuestionScreen.BINDINGS, SearchableScreen.BINDINGS
    ),
    make_binding_group("editing lines of a hunk", LinesEditScreen.BINDINGS),
    make_binding_group("helpers and jobs", HelpersScreen.BINDINGS),
    make_binding_group("a helper's conversation", ConversationScreen.BINDINGS),
    make_binding_group("a batch", BatchScreen.BINDINGS),
    make_binding_group("jobs", JobsScreen.BINDINGS),
    make_binding_group("the goal", GoalScreen.BINDINGS),
    make_binding_group("staged changes", PendingScreen.BINDINGS),
    make_binding_group("MCP servers", ServersScreen.BINDINGS),
    make_binding_group("forms", FormScreen.BINDINGS),
    make_binding_group("multiple-choice fields", ChoicesScreen.BINDINGS),
    make_binding_group("the map of the repository", MapScreen.BINDINGS),
    make_binding_group("the list of definitions and uses", PlacesScreen.BINDINGS),
    make_binding_group("questions", QuestionScreen.BINDINGS, ConfirmScreen.BINDINGS, TrustScreen.BINDINGS),
    make_binding_group("text pages", PageScreen.BINDINGS),
    make_binding_group("a program's terminal", TerminalScreen.BINDINGS),
)
