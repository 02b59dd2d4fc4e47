"""Defines what a feature of the full screen is, and the services that it can use.

A page is built from these services; it knows neither the application nor, except through their features, other
pages."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

import msgspec
from textual.screen import Screen
from textual.widget import Widget

from app.assembly.assembled_session import AssembledSession
from app.engine.session import Session
from app.sessions.index.background_indexing import BackgroundSessionIndexer
from app.tui.background_tasks import BackgroundTasks
from app.tui.current_theme import CurrentTheme
from app.tui.keys.action_table import ActionTable
from app.tui.keys.page_keys import PageKey
from app.tui.keys.user_keys import UserKeyBindings
from app.tui.page_protocols import AskOnScreen, CopyText, KeyLabel, NotifyWaiting, ShowMessage
from app.tui.prompt.paste_and_editor import configured_editor
from app.tui.prompt.project_history import ProjectPromptHistory
from app.tui.slash_commands import SlashCommand
from app.tui.status.status_lines import StatusLines
from app.tui.transcript.presenter import TranscriptPresenter
from app.values.events import QuestionAsked
from widgets.editor.prompt_editor import PromptEditor
from widgets.status.approval import ApprovalBar
from widgets.status.queue import QueueView
from widgets.status.side_panel import SidePanel
from widgets.terminal.terminal_control import find_editor_command
from widgets.transcript.searching.search_bar import SearchBar
from widgets.transcript.view import Transcript

if TYPE_CHECKING:
    from app.assembly.extensions.extension_setup import ConnectedExtensions

P = TypeVar("P")

Topic = type[Any] | Literal["approval", "plan", "form"]
"""A subscribable topic: a type of event or widget message, or a subject of `QuestionAsked`."""


def event_topics(event: object) -> tuple[Topic, ...]:
    """Returns the topics whose listeners get an event: its type, and for some questions what they are about
    (`approval`, `plan`, `form`)."""
    if isinstance(event, QuestionAsked):
        if event.approval is not None:
            return (QuestionAsked, "approval")
        if event.plan is not None:
            return (QuestionAsked, "plan")
        if event.form is not None:
            return (QuestionAsked, "form")
    return (type(event),)


class FeatureServices(msgspec.Struct, frozen=True, kw_only=True):
    """The services of the full screen from which the pages of features are built."""

    assembled: AssembledSession
    ask: AskOnScreen
    show_message: ShowMessage
    copy: CopyText
    notify_waiting: NotifyWaiting
    reports_alt_separately: Callable[[], bool]
    """Returns whether the terminal tells Alt from an Escape before a key."""
    tasks: BackgroundTasks
    action_table: ActionTable
    user_keys: UserKeyBindings
    current_theme: CurrentTheme
    presenter: TranscriptPresenter
    status: StatusLines
    session_texts: BackgroundSessionIndexer
    project_history: ProjectPromptHistory
    transcript: Transcript
    search_bar: SearchBar
    editor: PromptEditor
    queue_view: QueueView
    approval_bar: ApprovalBar
    side_panel: SidePanel
    clock: Callable[[], float]
    home: Path
    program_env: Callable[[], Mapping[str, str]]
    """Returns the environment variables for programs that bayou starts."""
    open_in_editor: Callable[[Path, int, list[str], Mapping[str, str]], str]
    """Runs an editor in the terminal. Arguments: file, line, the editor's command, environment
    variables."""
    front_screen: Callable[[], Screen[Any]]
    """Returns the screen that has the keyboard."""
    screens: Callable[[], Sequence[Screen[Any]]]
    """Returns all open screens, the front one last."""
    leave_app: Callable[[], None]
    suspend: Callable[[], object]
    run_action: Callable[[str], Awaitable[None]]
    """Runs an action by its id."""
    connected_extensions: Callable[[], "ConnectedExtensions | None"]
    """Returns what the session's extensions add, once they are loaded."""
    page: "GetFeaturePage"
    """Returns the page of another feature."""

    @property
    def session(self) -> Session:
        return self.assembled.session

    @property
    def key_label(self) -> KeyLabel:
        return self.action_table.key_label

    def write_to_editor(self, text: str, *, focus: bool = False) -> None:
        self.editor.set_text(text)
        if focus:
            self.editor.focus()

    def edit_file(self, path: Path, line: int = 1) -> str:
        """Opens a file in the user's editor; returns an error message or an empty text."""
        env = self.program_env()
        return self.open_in_editor(
            path, line, find_editor_command(configured_editor(self.assembled), env), env
        )

    def save_default_setting(self, name: str, value: Any) -> None:
        """Saves a setting as the user's default; None removes the user's value. Raises
        `SettingRefused`."""
        effective_settings = self.assembled.effective_settings
        if value is None:
            effective_settings.reset(name)
        else:
            effective_settings.save_value(name, value)

    def show_progress(self, text: str) -> None:
        """Shows above the editor that something is going on that the user can stop; an empty text hides it."""
        if not text:
            self.presenter.summary_card.remove_card()
        self.status.show_stoppable_activity(text)


class FeatureSubscription(msgspec.Struct, Generic[P], frozen=True):
    """Which function of a page is called for events of some topics. Asynchronous functions run as background tasks."""

    topics: tuple[Topic, ...]
    handle: Callable[[P, Any], object]


class TuiFeature(Protocol[P]):
    """The protocol of a feature of the full screen: a page with its slash commands, keys and event subscriptions, each
    optional.

    The session's commands and tools on the same subject are in `app.engine`."""

    slash_commands: Sequence[SlashCommand[P]] = ()
    keys: Sequence[PageKey[P]] = ()
    subscriptions: Sequence[FeatureSubscription[P]] = ()
    above_editor: Sequence[Callable[[P], Widget]] = ()
    """Creates the widgets that the feature shows above the editor all the time."""

    def page(self, screen: FeatureServices) -> P:
        """Creates the feature's page, on which its commands and keys act; called once, on first use."""
        ...


class GetFeaturePage(Protocol):
    """The protocol of a function that returns the page of a feature, which it creates on first use."""

    def __call__(self, feature: TuiFeature[P]) -> P: ...
