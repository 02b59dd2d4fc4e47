"""Everything that can be done, by name: key actions and slash commands, for the palette and the table of keys."""

from collections.abc import Sequence

from textual.binding import BindingType

from app.tui.keys.keymap import NO_KEY, KeyPlace, keys_of, place
from app.tui.stage import Stage
from widgets.editor.prompt import PromptEditor
from widgets.lists.view import RowList
from widgets.screens.catalogue import ActionRow, ThemeScreen
from widgets.screens.context import ContextScreen
from widgets.screens.dialogs import ConfirmScreen, QuestionScreen
from widgets.screens.jobs import JobsScreen
from widgets.screens.models import LevelScreen, ModelScreen, ScopeScreen
from widgets.screens.pages import PageScreen
from widgets.screens.picker import PickerScreen
from widgets.screens.sessions import SessionsScreen
from widgets.screens.settings import SettingsScreen
from widgets.screens.tree import TreeScreen
from widgets.screens.trust import TrustScreen
from widgets.status.queue import QueueView
from widgets.terminal.view import TerminalScreen
from widgets.textual_inside import SheetScreen, bindings_of
from widgets.transcript.searchbar import SearchBar
from widgets.transcript.view import Transcript

_LISTS = (RowList.BINDINGS, SheetScreen.BINDINGS, PickerScreen.BINDINGS)
_PLACES: tuple[KeyPlace, ...] = (
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
    place("questions", QuestionScreen.BINDINGS, ConfirmScreen.BINDINGS, TrustScreen.BINDINGS),
    place("pages to read", PageScreen.BINDINGS),
    place("a program's own terminal", TerminalScreen.BINDINGS),
)
_EXTENSIONS = "Extensions"
_NOT_OFFERED = {"app.interrupt", "app.clear", "app.palette", "tui.editor.closeCompletion", "transcript.leave"}


def places(page: Sequence[BindingType]) -> tuple[KeyPlace, ...]:
    """Every place where keys are heard, in the order in which the table of keys has them."""
    return (place("the page", page), *_PLACES)


class KeyTable:
    """What one application can be asked to do."""

    def __init__(
        self, stage: Stage, page: Sequence[BindingType], commands: Sequence[tuple[str, str]]
    ) -> None:
        """`page`: the keys of the page itself; `commands`: bayou's own slash commands with their meaning."""
        self.places = places(page)
        self._stage = stage
        self._commands = commands

    def key_rows(self) -> list[ActionRow]:
        """The live map of keys. An action that several places share is told once, where it comes first."""
        own, conflicts = self._stage.keymap.keys, self._stage.keymap.conflicts
        rows: list[ActionRow] = []
        told: set[str] = set()
        for one in self.places:
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
        return rows + self._extension_rows()

    def _extension_rows(self) -> list[ActionRow]:
        return [
            ActionRow(id=binding.action, title=binding.description, keys=(key,), group=_EXTENSIONS)
            for key, bindings in bindings_of(self._stage).items()
            for binding in bindings
            if binding.action.startswith("extension_key(")
        ]

    def palette_rows(self) -> list[ActionRow]:
        """What can be done from the page: its own actions, slash commands, the editor's and the transcript's."""
        page, *around = self.places[:3]
        own = {binding.id for binding in page.bindings}
        offered = {binding.id for one in around for binding in one.bindings}
        acts: list[ActionRow] = []
        others: list[ActionRow] = []
        for row in self.key_rows():
            if row.id in _NOT_OFFERED:
                continue
            if row.id in own:
                acts.append(ActionRow(id=row.id, title=row.title, keys=row.keys))
            elif row.id in offered or row.group == _EXTENSIONS:
                others.append(ActionRow(id=row.id, title=row.title, keys=row.keys, detail=row.group.lower()))
        commands = [
            ActionRow(id=f"/{name}", title=f"/{name}", detail=text) for name, text in self.command_names()
        ]
        return [*acts, *commands, *others]

    def command_names(self) -> list[tuple[str, str]]:
        """Slash commands: bayou's, then extensions', prompts, skills. The first of a name counts."""
        names = dict(self._commands)
        for other in self._stage.session.intake.commands():
            names.setdefault(other["name"], other.get("description", ""))
        return list(names.items())

    def key_of(self, action: str) -> str:
        """As it is written for a person; empty when the key was taken away."""
        row = next((row for row in self.key_rows() if row.id == action), None)
        key = row.keys[0] if row is not None and row.keys else NO_KEY
        return "" if key == NO_KEY else "+".join(part.title() for part in key.split("+"))
