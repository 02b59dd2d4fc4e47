"""Everything that can be done, by name: key actions and slash commands, for the palette and the table of keys."""

from typing import TYPE_CHECKING

from app.tui import acts
from app.tui.keymap import Place, keys_of, place
from app.tui.slash import COMMANDS
from widgets.editor.prompt import PromptEditor
from widgets.lists.view import RowList
from widgets.screens.catalogue import ActionRow, ThemeScreen
from widgets.screens.context import ContextScreen
from widgets.screens.dialogs import ConfirmScreen, QuestionScreen
from widgets.screens.jobs import JobsScreen
from widgets.screens.models import LevelScreen, ModelScreen, ScopeScreen
from widgets.screens.pages import PageScreen
from widgets.screens.picker import PickerScreen, SheetScreen
from widgets.screens.sessions import SessionsScreen
from widgets.screens.settings import SettingsScreen
from widgets.screens.tree import TreeScreen
from widgets.status.queue import QueueView
from widgets.terminal.view import TerminalScreen
from widgets.transcript.searchbar import SearchBar
from widgets.transcript.view import Transcript

if TYPE_CHECKING:
    from app.tui.app import BayouApp

_LISTS = (RowList.BINDINGS, SheetScreen.BINDINGS, PickerScreen.BINDINGS)
PLACES: tuple[Place, ...] = (
    place("the page", acts.BINDINGS),
    place("the editor", PromptEditor.BINDINGS),
    place("the transcript's blocks", Transcript.BINDINGS),
    place("the search in the transcript", SearchBar.BINDINGS),
    place("waiting messages", QueueView.BINDINGS),
    place("lists", *_LISTS),
    place("the session tree", TreeScreen.BINDINGS),
    place("sessions", SessionsScreen.BINDINGS),
    place("models", ModelScreen.BINDINGS),
    place("thinking levels", LevelScreen.BINDINGS),
    place("models to cycle through", ScopeScreen.BINDINGS),
    place("settings", SettingsScreen.BINDINGS),
    place("themes", ThemeScreen.BINDINGS),
    place("the context window", ContextScreen.BINDINGS),
    place("jobs", JobsScreen.BINDINGS),
    place("questions", QuestionScreen.BINDINGS, ConfirmScreen.BINDINGS),
    place("pages to read", PageScreen.BINDINGS),
    place("a program's own terminal", TerminalScreen.BINDINGS),
)
"""Every place where keys are heard, in the order in which the table of keys has them."""


def key_rows(app: "BayouApp") -> list[ActionRow]:
    """The live map of keys. An action that several places share is told once, where it comes first."""
    own, conflicts = app.keymap.keys, app.keymap.conflicts
    rows: list[ActionRow] = []
    told: set[str] = set()
    for one in PLACES:
        for binding in one.bindings:
            if binding.id is None or binding.id in told:
                continue
            told.add(binding.id)
            rows.append(
                ActionRow(
                    id=binding.id,
                    title=binding.description,
                    keys=keys_of(binding, own),
                    group=one.title[:1].upper() + one.title[1:],
                    is_own=binding.id in own,
                    problem=conflicts.get(binding.id, ""),
                )
            )
    return rows + _extension_rows(app)


def _extension_rows(app: "BayouApp") -> list[ActionRow]:
    return [
        ActionRow(id=binding.action, title=binding.description, keys=(key,), group="Extensions")
        for key, binding in app._bindings
        if binding.action.startswith("extension_key(")
    ]


def palette_rows(app: "BayouApp") -> list[ActionRow]:
    """What can be done from the page: acts, the editor's and the transcript's actions, slash commands."""
    offered = {
        binding.id: binding
        for one in PLACES[:3]
        for binding in one.bindings
        if binding.id not in _NOT_OFFERED
    }
    rows = [
        ActionRow(id=row.id, title=row.title, keys=row.keys, detail=_where(row.group))
        for row in key_rows(app)
        if row.id in offered or row.group == "Extensions"
    ]
    commands = [ActionRow(id=f"/{name}", title=f"/{name}", detail=text) for name, text in command_names(app)]
    return [*rows[: len(acts.ACTS)], *commands, *rows[len(acts.ACTS) :]]


def _where(group: str) -> str:
    """Most are of the page itself, which says nothing."""
    return "" if group == "The page" else group.lower()


_NOT_OFFERED = {"app.interrupt", "app.clear", "app.palette", "tui.editor.closeCompletion", "transcript.leave"}


def command_names(app: "BayouApp") -> list[tuple[str, str]]:
    """Slash commands: bayou's, then extensions' and skills'."""
    names = [(command.name, command.help) for command in COMMANDS]
    if app.extended is not None:
        own = [command.name for command in COMMANDS]
        offered = app.extended.wiring.catalogue.commands(own)
        names += [(name, command.description) for name, command in offered.items()]
    if app.assembled.settings.resources.enable_skill_commands:
        skills = app.assembled.prompt.skills.skills
        names += [(f"skill:{skill.name}", skill.description) for skill in skills]
    return names
