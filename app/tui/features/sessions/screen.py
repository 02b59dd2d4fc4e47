"""The session picker: of this folder or all, as threads or newest first, searched by name or any text."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Literal

import msgspec
from textual.binding import BindingType

from widgets.editor.line_input import LineInput
from widgets.key_labels import key_label
from widgets.lists.rows import Badge, ListRow
from widgets.screens.picker import PickerAction, PickerScreen, bindings_of
from widgets.screens.preview import PreviewText
from widgets.screens.requests import ScreenRequest

ListScope = Literal["here", "all"]
_MAX_AGE_CELLS = 4


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A session as a row of the session list."""

    id: str
    """The path of the session's file."""
    title: str
    age: str = ""
    folder: str = ""
    count: str = ""
    """The number of messages, such as `12 messages`."""
    begins: str = ""
    """The first words of the session, if it has a name."""
    depth: int = 0
    """The row's depth in the tree of forks."""
    recency: int = 0
    """A sort key; the newest session has the largest."""
    is_here: bool = True
    is_named: bool = False
    is_open: bool = False
    """Whether this is the current session."""
    is_elsewhere: bool = False
    """Whether another process writes the session."""
    words: str = ""
    """Additional text that is searched but not shown."""


def _badges(one: SessionRow) -> tuple[Badge, ...]:
    if one.is_open:
        return (Badge(text="open", tone="accent"),)
    return (Badge(text="open elsewhere", tone="warning"),) if one.is_elsewhere else ()


def _count_and_age(one: SessionRow) -> str:
    return f"{one.count}  {one.age:>{_MAX_AGE_CELLS}}" if one.count else one.age


def _empty(own: Mapping[str, str]) -> str:
    tab = key_label(own, "app.session.togglePath", "tab")
    return f"no session matches; {tab} searches all folders" if tab else "no session matches"


class SessionsScreen(PickerScreen):
    """The session list; the application provides the sessions and deletes, renames and opens them."""

    ACTIONS = (
        PickerAction(
            id="app.session.togglePath", keys="tab", label="here or everywhere", closes=False, needs_row=False,
            importance=7,
        ),
        PickerAction(id="app.session.rename", keys="ctrl+r", label="rename", closes=False, importance=6),
        PickerAction(id="app.session.delete", keys="ctrl+d", label="delete", closes=False, importance=6),
        PickerAction(
            id="app.session.undelete", keys="ctrl+z", label="undo", closes=False, needs_row=False, importance=4
        ),
        PickerAction(
            id="app.session.toggleSort", keys="ctrl+s", label="order", closes=False, needs_row=False,
            importance=3,
        ),
        PickerAction(
            id="app.session.toggleNamedFilter", keys="ctrl+n", label="named only", closes=False,
            needs_row=False, importance=3,
        ),
    )  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)

    class Searched(ScreenRequest["SessionsScreen"]):
        """The query changed; the application answers with `show_found`."""

        def __init__(self, screen: "SessionsScreen", query: str) -> None:
            super().__init__(screen)
            self.query = query

    def __init__(
        self,
        sessions: Sequence[SessionRow],
        *,
        preview: Callable[[ListRow], PreviewText] | None = None,
    ) -> None:
        self._sessions = tuple(sessions)
        self._found: Mapping[str, str] = {}
        self._found_for = ""
        self.scope: ListScope = "here" if any(one.is_here for one in sessions) else "all"
        self.is_threaded = True
        self.is_named_only = False
        super().__init__(
            self._heading(),
            self._shown(),
            order="given",
            choose="resume",
            is_full_height=True,
            preview=preview,
            placeholder="title, or any word that was said",
            empty=_empty,
        )

    def show_sessions(self, sessions: Sequence[SessionRow], note: str = "") -> None:
        """Replaces the rows, for example after a session was renamed, deleted or restored."""
        self._sessions = tuple(sessions)
        self._refill(note)

    def show_found(self, query: str, found: Mapping[str, str], note: str = "") -> None:
        """Shows excerpts by session; ignored if the query has changed meanwhile."""
        if query == self.typed:
            self._found, self._found_for = found, query
            self._refill(note)

    def on_line_input_changed(self, event: LineInput.Changed) -> None:
        if not event.text.startswith(self._found_for):
            self._found, self._found_for = {}, ""
            self._rows = tuple(self._shown())
        super().on_line_input_changed(event)
        self.post_message(self.Searched(self, event.text))

    def action_act(self, action_id: str) -> None:
        match action_id:
            case "app.session.togglePath":
                self.scope = "all" if self.scope == "here" else "here"
            case "app.session.toggleSort":
                self.is_threaded = not self.is_threaded
            case "app.session.toggleNamedFilter":
                self.is_named_only = not self.is_named_only
            case _:
                super().action_act(action_id)
                return
        self._refill()

    def _refill(self, note: str = "") -> None:
        self.show_rows(self._shown(), title=self._heading(), note=note)

    def _heading(self) -> str:
        where = "Sessions of this folder" if self.scope == "here" else "Sessions everywhere"
        order = "" if self.is_threaded else ", newest first"
        return where + order + (", named only" if self.is_named_only else "")

    def _shown(self) -> list[ListRow]:
        kept = [
            one
            for one in self._sessions
            if (self.scope == "all" or one.is_here) and (one.is_named or not self.is_named_only)
        ]
        if not self.is_threaded:
            kept.sort(key=lambda one: -one.recency)
        return [self._row(one) for one in kept]

    def _row(self, one: SessionRow) -> ListRow:
        said = self._found.get(one.id, "")
        return ListRow(
            id=one.id,
            prefix="  " * (one.depth - 1) + "└ " if one.depth and self.is_threaded else "",
            title=one.title,
            detail=said or "  ".join(filter(None, ("" if one.is_here else one.folder, one.begins))),
            right=one.age if said else _count_and_age(one),
            badges=_badges(one),
            words=f"{one.words} {one.folder} {self._found_for if said else ''}",
        )
