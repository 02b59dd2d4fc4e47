"""The key bindings of all screens that open over the page, grouped by screen."""

from app.tui.features.context.screen import ContextScreen
from app.tui.features.extensions.trust_screen import TrustScreen
from app.tui.features.goal.page import GoalScreen
from app.tui.features.helpers.page import HelperScreen, HelpersScreen
from app.tui.features.jobs.page import JobsScreen
from app.tui.features.map.screen import MapScreen, PlacesScreen
from app.tui.features.mcp.form_screen import ChoicesScreen, FormScreen
from app.tui.features.mcp.page import ServersScreen
from app.tui.features.models.screen import LevelScreen, ModelScreen, ScopeScreen
from app.tui.features.pending.page import PendingScreen
from app.tui.features.review.screen import HunksView
from app.tui.features.sessions.screen import SessionsScreen
from app.tui.features.settings.own_shell import OwnShellScreen
from app.tui.features.settings.screen import SettingsScreen
from app.tui.features.tree.screen import TreeScreen
from app.tui.features.usage.screen import UsageScreen
from app.tui.keys.keymap import KeyPlace, key_place
from widgets.emulator.terminal_view import TerminalScreen
from widgets.lists.row_list import RowList
from widgets.screens.block import SearchedScreen
from widgets.screens.common_pickers import ThemeScreen
from widgets.screens.dialogs import ConfirmScreen, QuestionScreen
from widgets.screens.picker import PickerScreen
from widgets.screens.text_pages import PageScreen
from widgets.textual_internals import SheetScreen

SCREENS: tuple[KeyPlace, ...] = (
    key_place("lists", RowList.BINDINGS, SheetScreen.BINDINGS, PickerScreen.BINDINGS),
    key_place("the session tree", TreeScreen.BINDINGS),
    key_place("sessions", SessionsScreen.BINDINGS),
    key_place("models", ModelScreen.BINDINGS),
    key_place("thinking levels", LevelScreen.BINDINGS),
    key_place("models to cycle through", ScopeScreen.BINDINGS),
    key_place("settings", SettingsScreen.BINDINGS),
    key_place("your shell, as commands have it", OwnShellScreen.BINDINGS),
    key_place("themes", ThemeScreen.BINDINGS),
    key_place("the context window", ContextScreen.BINDINGS),
    key_place("usage", UsageScreen.BINDINGS),
    key_place("reviewing changes", HunksView.BINDINGS, SearchedScreen.BINDINGS),
    key_place("helpers and jobs", HelpersScreen.BINDINGS),
    key_place("one helper", HelperScreen.BINDINGS),
    key_place("jobs", JobsScreen.BINDINGS),
    key_place("the goal", GoalScreen.BINDINGS),
    key_place("staged changes", PendingScreen.BINDINGS),
    key_place("MCP servers", ServersScreen.BINDINGS),
    key_place("forms", FormScreen.BINDINGS),
    key_place("several choices of a form", ChoicesScreen.BINDINGS),
    key_place("the map of the repository", MapScreen.BINDINGS),
    key_place("definitions and uses", PlacesScreen.BINDINGS),
    key_place("questions", QuestionScreen.BINDINGS, ConfirmScreen.BINDINGS, TrustScreen.BINDINGS),
    key_place("pages to read", PageScreen.BINDINGS),
    key_place("a program's own terminal", TerminalScreen.BINDINGS),
)
