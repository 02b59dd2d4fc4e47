"""The key bindings of all screens that open over the page, grouped by screen."""

from app.tui.features.context.screen import ContextScreen
from app.tui.features.diff.screen import FileDiff
from app.tui.features.extensions.trust_screen import TrustScreen
from app.tui.features.jobs.page import JobsScreen
from app.tui.features.map.screen import MapScreen, PlacesScreen
from app.tui.features.mcp.form_screen import FormScreen
from app.tui.features.mcp.page import ServersScreen
from app.tui.features.models.screen import LevelScreen, ModelScreen, ScopeScreen
from app.tui.features.pending.page import PendingScreen
from app.tui.features.sessions.screen import SessionsScreen
from app.tui.features.settings.own_shell import OwnShellScreen
from app.tui.features.settings.screen import SettingsScreen
from app.tui.features.tree.screen import TreeScreen
from app.tui.features.usage.screen import UsageScreen
from app.tui.keys.keymap import KeyPlace, place
from widgets.emulator.terminal_view import TerminalScreen
from widgets.lists.row_list import RowList
from widgets.screens.block import SearchedScreen
from widgets.screens.common_pickers import ThemeScreen
from widgets.screens.dialogs import ConfirmScreen, QuestionScreen
from widgets.screens.picker import PickerScreen
from widgets.screens.text_pages import PageScreen
from widgets.textual_internals import SheetScreen

SCREENS: tuple[KeyPlace, ...] = (
    place("lists", RowList.BINDINGS, SheetScreen.BINDINGS, PickerScreen.BINDINGS),
    place("the session tree", TreeScreen.BINDINGS),
    place("sessions", SessionsScreen.BINDINGS),
    place("models", ModelScreen.BINDINGS),
    place("thinking levels", LevelScreen.BINDINGS),
    place("models to cycle through", ScopeScreen.BINDINGS),
    place("settings", SettingsScreen.BINDINGS),
    place("your shell, as commands have it", OwnShellScreen.BINDINGS),
    place("themes", ThemeScreen.BINDINGS),
    place("the context window", ContextScreen.BINDINGS),
    place("usage", UsageScreen.BINDINGS),
    place("what changed in files", FileDiff.BINDINGS, SearchedScreen.BINDINGS),
    place("jobs", JobsScreen.BINDINGS),
    place("staged changes", PendingScreen.BINDINGS),
    place("MCP servers", ServersScreen.BINDINGS),
    place("forms", FormScreen.BINDINGS),
    place("the map of the repository", MapScreen.BINDINGS),
    place("definitions and uses", PlacesScreen.BINDINGS),
    place("questions", QuestionScreen.BINDINGS, ConfirmScreen.BINDINGS, TrustScreen.BINDINGS),
    place("pages to read", PageScreen.BINDINGS),
    place("a program's own terminal", TerminalScreen.BINDINGS),
)
