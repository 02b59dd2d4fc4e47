"""The session picker: of this folder or all, as threads or newest first, searched by name or any text."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Literal

import msgspec
from textual.binding import BindingType

from widgets.editor.line_input import LineInput
from widgets.key_labels import key_label
from widgets.lists.list_rows import ListRow, RowBadge, make_column_heads
from widgets.row_builder import cells
from widgets.screens.picker import PICKER_PREVIEW_MIN_WIDTH, PickerAction, PickerScreen, picker_bindings
from widgets.screens.preview_pane import PreviewText
from widgets.screens.screen_request import ScreenRequest
from widgets.transcript.leaves.safe_text import cut_start_to_fit

ListScope = Literal["here", "all"]
_MAX_COLUMNS_OF_NARROW_SESSION_LIST = 60
"""Columns below which a row shows only its age."""
_MIN_CELLS_FOR_SESSION_SIZES = 70
"""Cells of the list from which its rows show the sizes of the files."""
_MAX_SESSION_AGE_CELLS = 4
_MAX_PROJECT_CELLS = 24
_PROJECT_COLUMN_HEAD = "project"


class SessionPickerRow(msgspec.Struct, frozen=True, kw_only=True):
    """A session as a row of the session list."""

    id: str
    """The path of the session's file."""
    title: str
    age: str = ""
    folder: str = ""
    messages: str = ""
    """The number of messages."""
    cost: str = ""
    size: str = ""
    """The size of the session's file."""
    first_words: str = ""
    """The first words of the session, if it has a name; when it began, if others have its title."""
    depth: int = 0
    """The row's depth in the tree of forks."""
    recency: int = 0
    """A sort key; the newest session has the largest."""
    is_in_this_folder: bool = True
    is_named: bool = False
    is_open: bool = False
    """Whether this is the current session."""
    is_open_elsewhere: bool = False
    """Whether another process writes the session."""
    search_text: str = ""
    """Additional text that is searched but not shown."""


def _state_badges(one: SessionPickerRow) -> tuple[RowBadge, ...]:
    if one.is_open:
        return (RowBadge(text="open", tone="accent"),)
    return (RowBadge(text="in use", tone="warning"),) if one.is_open_elsewhere else ()


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cells(text))


def _join_figures(messages: str, cost: str | None, size: str | None, age: str) -> str:
    """Joins the columns at the right edge; None leaves one out."""
    optional = "".join(f"{text:>{width}}" for text, width in ((cost, 10), (size, 9)) if text is not None)
    return f"{messages:>8}{optional}{age:>{_MAX_SESSION_AGE_CELLS + 3}}"


def _empty_text(own: Mapping[str, str]) -> str:
    tab = key_label(own, "app.session.togglePath", "tab")
    return f"no session matches; {tab} searches all folders" if tab else "no session matches"


class SessionsScreen(PickerScreen):
    """The session picker; the application provides the sessions and deletes, renames and opens them."""

    ACTIONS = (
        PickerAction(
            id="app.session.togglePath", keys="tab", label="this folder/all", closes=False, needs_row=False,
            importance=7,
        ),
        PickerAction(id="app.session.rename", keys="ctrl+r", label="rename", closes=False, importance=6),
        PickerAction(id="app.session.delete", keys="ctrl+d", label="delete", closes=False, importance=6),
        PickerAction(
            id="app.session.undelete", keys="ctrl+z", label="undo", closes=False, needs_row=False, importance=4
        ),
        PickerAction(
            id="app.session.toggleSort", keys="ctrl+s", label="sort", closes=False, needs_row=False,
            importance=3,
        ),
        PickerAction(
            id="app.session.toggleNamedFilter", keys="ctrl+n", label="named only", closes=False,
            needs_row=False, importance=3,
        ),
    )  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)
    BELOW_MIN_ROWS = 20

    class QueryChanged(ScreenRequest["SessionsScreen"]):
        """Message: the query of the session list changed; the application answers with `show_found_sessions`."""

        def __init__(self, screen: "SessionsScreen", query: str) -> None:
            super().__init__(screen)
            self.query = query

    def __init__(
        self,
        sessions: Sequence[SessionPickerRow],
        *,
        preview: Callable[[ListRow], PreviewText] | None = None,
    ) -> None:
        self._sessions = tuple(sessions)
        self._excerpts: Mapping[str, str] = {}
        self._searched_query = ""
        self.scope: ListScope = "here" if any(one.is_in_this_folder for one in sessions) else "all"
        self.is_threaded = True
        self.is_named_only = False
        self._is_narrow, self._has_sizes = False, False
        super().__init__(
            self._heading(),
            self._visible_rows(),
            order="given",
            choose="resume",
            is_full_height=True,
            heads=self._column_heads(),
            preview=preview,
            placeholder="search titles and messages",
            empty=_empty_text,
        )

    def show_sessions(self, sessions: Sequence[SessionPickerRow], note: str = "") -> None:
        """Replaces the rows of the session list, for example after a session was renamed, deleted or restored."""
        self._sessions = tuple(sessions)
        self._refresh_rows(note)

    def show_found_sessions(self, query: str, found: Mapping[str, str], note: str = "") -> None:
        """Shows the sessions that a search found, with excerpts; ignored if the query has changed
        meanwhile."""
        if query == self.filter_text:
            self._excerpts, self._searched_query = found, query
            self._refresh_rows(note)

    def on_line_input_changed(self, event: LineInput.Changed) -> None:
        if not event.text.startswith(self._searched_query):
            self._excerpts, self._searched_query = {}, ""
            self._rows = tuple(self._visible_rows())
        super().on_line_input_changed(event)
        self.post_message(self.QueryChanged(self, event.text))

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
        self._refresh_rows()

    def _refresh_rows(self, note: str = "") -> None:
        self.show_rows(self._visible_rows(), title=self._heading(), note=note, heads=self._column_heads())

    def _heading(self) -> str:
        where = "Sessions in this folder" if self.scope == "here" else "Sessions in all folders"
        order = "" if self.is_threaded else ", newest first"
        return where + order + (", named only" if self.is_named_only else "")

    def _visible_rows(self) -> list[ListRow]:
        shown = self._visible_sessions()
        room, has_costs = self._project_cells(shown), any(one.cost for one in shown)
        return [self._list_row(one, room, has_costs=has_costs) for one in shown]

    def _visible_sessions(self) -> list[SessionPickerRow]:
        kept = [
            one
            for one in self._sessions
            if (self.scope == "all" or one.is_in_this_folder) and (one.is_named or not self.is_named_only)
        ]
        if not self.is_threaded:
            kept.sort(key=lambda one: -one.recency)
        return kept

    def on_resize(self) -> None:
        width = self.app.size.width
        self._is_narrow = width < _MAX_COLUMNS_OF_NARROW_SESSION_LIST
        self._has_sizes = (
            width if width < PICKER_PREVIEW_MIN_WIDTH else width * 3 // 5
        ) >= _MIN_CELLS_FOR_SESSION_SIZES
        self._refresh_rows(self._note)
        super().on_resize()

    def _project_cells(self, shown: Sequence[SessionPickerRow]) -> int:
        """Returns the width in cells of the column of projects; 0 if all sessions are of this folder, the page is
        narrow, or excerpts of a search need the room."""
        if self.scope == "here" or self._is_narrow or self._excerpts:
            return 0
        return max(
            cells(_PROJECT_COLUMN_HEAD),
            min(_MAX_PROJECT_CELLS, max((cells(one.folder) for one in shown), default=0)),
        )

    def _column_heads(self) -> ListRow:
        shown = self._visible_sessions()
        cost = "cost" if any(one.cost for one in shown) else None
        figures = _join_figures("messages", cost, "size" if self._has_sizes else None, "age")
        has_details = bool(self._excerpts) or any(one.first_words for one in shown)
        room = self._project_cells(shown)
        return make_column_heads(
            "Session",
            badges=[f"{_PROJECT_COLUMN_HEAD:<{room}}"] if room else [],
            detail="begins" if has_details else "",
            right="age" if self._is_narrow else figures,
        )

    def _list_row(self, one: SessionPickerRow, room: int, *, has_costs: bool) -> ListRow:
        """Returns the list row of a session: its title, project, first words or the found excerpt, and figures. `room`:
        the width of the column of projects."""
        said = self._excerpts.get(one.id, "")
        cost, size = one.cost if has_costs else None, one.size if self._has_sizes else None
        figures = _join_figures(one.messages, cost, size, one.age)
        project = [RowBadge(text=_padded(cut_start_to_fit(one.folder, room), room))] if room else []
        return ListRow(
            id=one.id,
            prefix="  " * (one.depth - 1) + "└ " if one.depth and self.is_threaded else "",
            title=one.title,
            detail=said or one.first_words,
            right=one.age if said or self._is_narrow else figures,
            badges=(*project, *_state_badges(one)),
            search_words=f"{one.search_text} {one.folder} {self._searched_query if said else ''}",
        )
