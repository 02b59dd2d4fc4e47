"""The repository map as a tree of folders, files and symbols, or as search results; and lists of
places.

The application provides the rows and handles the choice."""

from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec
from textual.binding import Binding, BindingType

from widgets.editor.line_input import LineInput
from widgets.lists.list_rows import ListRow
from widgets.screens.picker import PickerAction, PickerResult, PickerScreen, picker_bindings
from widgets.screens.preview_pane import PreviewText
from widgets.screens.screen_request import ScreenRequest


class RepositoryMapRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the repository map: a folder, a file, or a symbol or line in a file."""

    id: str
    title: str
    depth: int = 0
    kind: str = ""
    """The kind of the symbol, such as class or function."""
    detail: str = ""
    right: str = ""
    is_open: bool | None = None
    """Whether the row is unfolded; None if it contains nothing."""
    is_folder: bool = False


LIST_USES_MAP_ACTION = PickerAction(
    id="app.map.uses", keys="ctrl+r", label="uses", help="List the uses of the symbol", importance=7
)
OPEN_IN_EDITOR_MAP_ACTION = PickerAction(
    id="app.map.open",
    keys="ctrl+o",
    label="open in your editor",
    help="Open the file in your editor",
    importance=6,
)
COPY_LOCATION_MAP_ACTION = PickerAction(
    id="app.map.copy",
    keys="ctrl+y",
    label="copy location",
    help="Copy file and line",
    closes=False,
    importance=3,
)
MENTION_IN_PROMPT_MAP_ACTION = PickerAction(
    id="app.map.mention",
    keys="ctrl+t",
    label="mention",
    help="Mention the file or symbol in the prompt",
    importance=5,
)


class RepositoryMapScreen(PickerScreen):
    """The screen of the repository map: without a query the tree of folders; typing searches words, names and paths."""

    ACTIONS = (
        LIST_USES_MAP_ACTION,
        OPEN_IN_EDITOR_MAP_ACTION,
        PickerAction(
            id="app.map.order",
            keys="tab",
            label="sort order",
            help="Change the sort order",
            closes=False,
            needs_row=False,
            importance=5,
        ),
        COPY_LOCATION_MAP_ACTION,
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        *picker_bindings(ACTIONS),
        Binding(
            "right", "fold(True)", "Unfold the file or folder", show=False, priority=True, id="app.map.unfold"
        ),
        Binding(
            "left", "fold(False)", "Fold the file or folder", show=False, priority=True, id="app.map.fold"
        ),
    ]
    IS_ALIGNED = False

    class QueryChanged(ScreenRequest["RepositoryMapScreen"]):
        """Message: the query of the map screen changed; the application answers with `show_places`."""

        def __init__(self, screen: "RepositoryMapScreen", query: str) -> None:
            super().__init__(screen)
            self.query = query

    class FoldToggled(ScreenRequest["RepositoryMapScreen"]):
        """Message: the user folded or unfolded a row of the map; the application answers with `show_places`."""

        def __init__(self, screen: "RepositoryMapScreen", row: ListRow, *, is_open: bool) -> None:
            super().__init__(screen)
            self.row = row
            self.is_open = is_open

    def __init__(
        self,
        places: Sequence[RepositoryMapRow],
        *,
        query: str = "",
        current: str = "",
        note: str = "",
        preview: Callable[[ListRow], PreviewText] | None = None,
    ) -> None:
        self._places = {place.id: place for place in places}
        super().__init__(
            "Map",
            source_place_rows(places),
            query=query,
            placeholder="symbol, path, or words of your task",
            choose="mention",
            order="given",
            current=current,
            note=note,
            empty="no matching file or symbol",
            preview=preview,
            is_full_height=True,
            filters=False,
        )

    def show_places(self, places: Sequence[RepositoryMapRow], *, note: str) -> None:
        self._places = {place.id: place for place in places}
        self.show_rows(source_place_rows(places), note=note)

    def on_line_input_changed(self, event: LineInput.Changed) -> None:
        event.stop()
        self.post_message(self.QueryChanged(self, event.text))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disables folding while a query is typed, because the arrows move the text cursor then."""
        if action == "fold":
            return not self.filter_text
        return super().check_action(action, parameters)

    def action_fold(self, is_open: bool) -> None:
        row, place = self.row, self._place_at_cursor()
        if row is None or place is None:
            return
        if place.is_open is (not is_open):
            self.post_message(self.FoldToggled(self, row, is_open=is_open))
        elif not is_open:
            self._go_to_parent(place)

    def action_choose(self) -> None:
        row, place = self.row, self._place_at_cursor()
        if row is None or place is None:
            return
        if place.is_folder:
            self.post_message(self.FoldToggled(self, row, is_open=not place.is_open))
        else:
            self.dismiss(PickerResult(row=row))

    def _place_at_cursor(self) -> RepositoryMapRow | None:
        return self._places.get(self.row.id) if self.row is not None else None

    def _go_to_parent(self, place: RepositoryMapRow) -> None:
        """Moves the cursor from a symbol or file of the map to the row of its file or folder."""
        above = [one for one in self._places.values()]
        at = next(number for number, one in enumerate(above) if one.id == place.id)
        outer = next((number for number in range(at, -1, -1) if above[number].depth < place.depth), None)
        if outer is not None:
            self.action_move(outer - at)


class SourcePlacesScreen(PickerScreen):
    """A picker of places in the source: the definitions or uses of a name, or the names in a transcript block."""

    ACTIONS = (
        LIST_USES_MAP_ACTION,
        OPEN_IN_EDITOR_MAP_ACTION,
        MENTION_IN_PROMPT_MAP_ACTION,
        COPY_LOCATION_MAP_ACTION,
    )
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)
    IS_ALIGNED = False

    def __init__(
        self,
        title: str,
        rows: Sequence[ListRow],
        *,
        choose: str = "open",
        current: str = "",
        preview: Callable[[ListRow], PreviewText] | None = None,
    ) -> None:
        super().__init__(
            title,
            rows,
            order="given",
            choose=choose,
            current=current,
            empty="no matching file or symbol",
            preview=preview,
            is_full_height=True,
        )


def source_place_rows(places: Sequence[RepositoryMapRow]) -> list[ListRow]:
    return [
        ListRow(
            id=place.id,
            title=f"{place.kind} {place.title}" if place.kind else place.title,
            prefix="  " * min(place.depth, 12) + _FOLD_MARKS[place.is_open],
            detail=place.detail,
            right=place.right,
        )
        for place in places
    ]


_FOLD_MARKS = {None: "  ", True: "▾ ", False: "▸ "}
