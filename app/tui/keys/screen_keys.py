"""The keys of all screens that open over the page, by the place where they are heard."""

from app.tui.keys.keymap import KeyPlace, place
from widgets.emulator.terminal_view import TerminalScreen
from widgets.lists.row_list import RowList
from widgets.screens.block import SearchedScreen
from widgets.screens.catalogue import ThemeScreen
from widgets.screens.context import ContextScreen
from widgets.screens.dialogs import ConfirmScreen, QuestionScreen
from widgets.screens.differences import FileDiff
from widgets.screens.form import FormScreen
from widgets.screens.jobs import JobsScreen
from widgets.screens.models import LevelScreen, ModelScreen, ScopeScreen
from widgets.screens.own_shell import OwnShellScreen
from widgets.screens.pages import PageScreen
from widgets.screens.pending import PendingScreen
from widgets.screens.picker import PickerScreen
from widgets.screens.repository import MapScreen, PlacesScreen
from widgets.screens.servers import ServersScreen
from widgets.screens.session_tree import TreeScreen
from widgets.screens.sessions import SessionsScreen
from widgets.screens.settings import SettingsScreen
from widgets.screens.trust import TrustScreen
from widgets.screens.usage import UsageScreen
from widgets.textual_inside import SheetScreen

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
    place("places of a name", PlacesScreen.BINDINGS),
    place("questions", QuestionScreen.BINDINGS, ConfirmScreen.BINDINGS, TrustScreen.BINDINGS),
    place("pages to read", PageScreen.BINDINGS),
    place("a program's own terminal", TerminalScreen.BINDINGS),
)
