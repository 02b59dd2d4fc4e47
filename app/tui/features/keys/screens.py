"""The key bindings of all screens that open over the page, grouped by screen."""

from app.tui.batch.batch_screen import BatchScreen
from app.tui.features.context.screen import ContextWindowScreen
from app.tui.features.extensions.trust_screen import ProjectTrustScreen
from app.tui.features.goal.page import GoalScreen
from app.tui.features.helpers.page import AgentConversationScreen, HelperAgentsScreen
from app.tui.features.jobs.page import BackgroundJobsScreen
from app.tui.features.map.screen import RepositoryMapScreen, SourcePlacesScreen
from app.tui.features.mcp.form_screen import FormChoicesScreen, RequestedFormScreen
from app.tui.features.mcp.page import McpServersScreen
from app.tui.features.models.screen import ModelScreen, ScopedModelsScreen, ThinkingLevelScreen
from app.tui.features.pending.page import StagedChangesScreen
from app.tui.features.review.screen import ReviewHunksView, ReviewQuestionScreen, SearchableTranscriptScreen
from app.tui.features.sessions.screen import SessionsScreen
from app.tui.features.settings.screen import SettingsScreen
from app.tui.features.settings.user_shell_page import UserShellDefinitionsScreen
from app.tui.features.tree.screen import SessionTreeScreen
from app.tui.features.usage.screen import UsageScreen
from app.tui.keys.keymap import KeyBindingGroup, make_key_binding_group
from widgets.emulator.terminal_view import TerminalScreen
from widgets.lists.row_list import RowList
from widgets.screens.common_pickers import ThemePickerScreen
from widgets.screens.dialogs import ConfirmScreen, LinesEditScreen, QuestionScreen
from widgets.screens.picker import PickerScreen
from widgets.screens.text_pages import PageScreen
from widgets.textual_internals import ClosableModalScreen

SCREEN_BINDING_GROUPS: tuple[KeyBindingGroup, ...] = (
    make_key_binding_group("lists", RowList.BINDINGS, ClosableModalScreen.BINDINGS, PickerScreen.BINDINGS),
    make_key_binding_group("the session tree", SessionTreeScreen.BINDINGS),
    make_key_binding_group("sessions", SessionsScreen.BINDINGS),
    make_key_binding_group("models", ModelScreen.BINDINGS),
    make_key_binding_group("thinking levels", ThinkingLevelScreen.BINDINGS),
    make_key_binding_group("models to cycle through", ScopedModelsScreen.BINDINGS),
    make_key_binding_group("settings", SettingsScreen.BINDINGS),
    make_key_binding_group("imported shell definitions", UserShellDefinitionsScreen.BINDINGS),
    make_key_binding_group("themes", ThemePickerScreen.BINDINGS),
    make_key_binding_group("the context window", ContextWindowScreen.BINDINGS),
    make_key_binding_group("usage", UsageScreen.BINDINGS),
    make_key_binding_group(
        "reviewing changes",
        ReviewHunksView.BINDINGS,
        ReviewQuestionScreen.BINDINGS,
        SearchableTranscriptScreen.BINDINGS,
    ),
    make_key_binding_group("editing lines of a hunk", LinesEditScreen.BINDINGS),
    make_key_binding_group("helpers and jobs", HelperAgentsScreen.BINDINGS),
    make_key_binding_group("a helper's conversation", AgentConversationScreen.BINDINGS),
    make_key_binding_group("a batch", BatchScreen.BINDINGS),
    make_key_binding_group("jobs", BackgroundJobsScreen.BINDINGS),
    make_key_binding_group("the goal", GoalScreen.BINDINGS),
    make_key_binding_group("staged changes", StagedChangesScreen.BINDINGS),
    make_key_binding_group("MCP servers", McpServersScreen.BINDINGS),
    make_key_binding_group("forms", RequestedFormScreen.BINDINGS),
    make_key_binding_group("multiple-choice fields", FormChoicesScreen.BINDINGS),
    make_key_binding_group("the map of the repository", RepositoryMapScreen.BINDINGS),
    make_key_binding_group("the list of definitions and uses", SourcePlacesScreen.BINDINGS),
    make_key_binding_group(
        "questions", QuestionScreen.BINDINGS, ConfirmScreen.BINDINGS, ProjectTrustScreen.BINDINGS
    ),
    make_key_binding_group("text pages", PageScreen.BINDINGS),
    make_key_binding_group("a program's terminal", TerminalScreen.BINDINGS),
)
