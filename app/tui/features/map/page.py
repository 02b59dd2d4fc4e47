"""The page for `/map`: browses the repository map, and goes from a name in the transcript to its definition or uses."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.engine.repository.repository_maps import RepositoryMaps
from app.tui.features.map.rows import (
    PlaceWithRow,
    RepositoryMapPlace,
    file_paths_below_folder,
    found_file_rows,
    repository_tree_rows,
    shorten_path_at_start,
    symbol_line_range_text,
)
from app.tui.features.map.screen import RepositoryMapScreen, SourcePlacesScreen
from app.tui.features.shared_dialogs import show_card
from app.tui.page_protocols import AskOnScreen, CopyText, ShowMessage, WriteToEditor
from tools.filemap.file_map import Symbol
from tools.number_formatting import count_with_noun
from tools.text_sanitizing import escape_controls, one_line
from tools.tool_result_values import Card, FileBlock
from widgets.completion.file_completions import format_file_reference
from widgets.lists.list_rows import ListRow
from widgets.screens.picker import PickerResult
from widgets.screens.preview_pane import PreviewText, make_preview_text
from widgets.transcript.transcript_blocks import AppNoteKind

if TYPE_CHECKING:
    from tools.repomap.session_map import FileMatchingSearch

OpenFile = Callable[[str, int], None]
"""Opens a file at a line in the user's editor."""
_SYMBOL_NAME_PATTERN = re.compile(r"[A-Za-z_$][\w$]{2,}|[^\W\da-zA-Z_]\w*")
_MAX_NAMES_LOOKED_UP_IN_MAP = 3000
_MAX_DEFINITION_LINES = 400
"""The maximum number of lines shown of a definition."""
_MAX_SOURCE_PREVIEW_LINES = 60
_REPOSITORY_MAPS_OFF_TEXT = (
    "There is no repository map here: repositoryMaps.enabled is off in /settings, or the "
    "files are on another machine."
)


class RepositoryMapPage(msgspec.Struct):
    """Browses the repository map of one session, and shows definitions and uses of names."""

    maps: RepositoryMaps
    ask: AskOnScreen
    show_message: ShowMessage
    write_to_editor: WriteToEditor
    copy: CopyText
    cwd: Callable[[], Path]
    open_file: OpenFile
    _files: Sequence[str] = ()
    _unfolded_paths: set[str] = set()
    _symbols_by_path: dict[str, Sequence[Symbol]] = {}
    _matched_files: "Sequence[FileMatchingSearch]" = ()
    _query: str = ""
    _is_kind_sorted_by_path: dict[str, bool] = msgspec.field(
        default_factory=lambda: {"tree": True, "found": False}
    )
    """Whether rows are sorted by path, for the folder tree and for search results."""
    _place_by_row_id: dict[str, RepositoryMapPlace] = {}
    _text_by_path: dict[str, str] = {}

    # The map screen

    async def open(self) -> None:
        """Shows the repository map; unfolded rows and the query stay when the user returns from a place."""
        if not await self.maps.are_available():
            self.show_message(_REPOSITORY_MAPS_OFF_TEXT, AppNoteKind.WARNING)
            return
        self._files = await self.maps.files_below()
        current = ""
        while True:
            await self._search(self._query)
            screen = RepositoryMapScreen(
                [row for _, row in self._rows()],
                query=self._query,
                current=current,
                note=self._progress_note(),
                preview=self._preview,
            )
            picked: PickerResult | None = await self.ask(screen, on_request=self._handle_request)
            if picked is None:
                return
            current, place = picked.row.id, self._place_by_row_id[picked.row.id]
            if picked.action == "app.map.uses":
                await self.show_symbol_uses(place.symbol.name if place.symbol else Path(place.path).stem)
            elif picked.action == "app.map.open":
                self.open_file(place.path, place.symbol.start_line if place.symbol else 1)
            else:
                self._mention_place(place)
                return

    async def _handle_request(self, request: object) -> None:
        match request:
            case RepositoryMapScreen.QueryChanged():
                async for _ in self.maps.wait_for_index_growth():
                    await self._search(request.query)
                    if not request.screen.is_there or request.screen.filter_text != request.query:
                        return
                    self._refresh_rows(request.screen)
            case RepositoryMapScreen.FoldToggled():
                await self._toggle_fold(request.row.id, is_open=request.is_open)
                self._refresh_rows(request.screen)
            case RepositoryMapScreen.ActionRequested(action="app.map.order"):
                self._is_kind_sorted_by_path[self._view_kind] = not self._is_view_sorted_by_path
                if isinstance(request.screen, RepositoryMapScreen):
                    await self._search(self._query)
                    self._refresh_rows(request.screen)
            case RepositoryMapScreen.ActionRequested(action="app.map.copy") if request.row is not None:
                self.copy(self._place_by_row_id[request.row.id].location, "the location")

    def _refresh_rows(self, screen: RepositoryMapScreen) -> None:
        screen.show_places([row for _, row in self._rows()], note=self._progress_note())

    def _rows(self) -> list[PlaceWithRow]:
        if self._query.strip() or not self._is_view_sorted_by_path:
            rows = list(found_file_rows(self._matched_files, by_path=self._is_view_sorted_by_path))
        else:
            rows = list(repository_tree_rows(self._files, self._unfolded_paths, self._symbols_by_path))
        self._place_by_row_id = {place.id if row.id == place.id else row.id: place for place, row in rows}
        return rows

    @property
    def _view_kind(self) -> str:
        return "found" if self._query.strip() else "tree"

    @property
    def _is_view_sorted_by_path(self) -> bool:
        return self._is_kind_sorted_by_path[self._view_kind]

    def _progress_note(self) -> str:
        building = self.maps.indexing_progress
        told = f"indexing {building[0]:,}/{building[1]:,} · " if building else ""
        return f"{told}{'by path' if self._is_view_sorted_by_path else 'best match first'}"

    async def _search(self, query: str) -> None:
        self._query = query
        if query.strip() or not self._is_view_sorted_by_path:
            self._matched_files = await self.maps.find_files(query)

    async def _toggle_fold(self, path: str, *, is_open: bool) -> None:
        if not is_open:
            self._unfolded_paths.discard(path)
            return
        if not path.endswith("/"):
            self._symbols_by_path[path] = await self.maps.symbols_of_file(path)
        self._unfolded_paths.add(path)

    def _mention_place(self, place: RepositoryMapPlace) -> None:
        self.write_to_editor(f"{format_file_reference(place.reference)} ", focus=True)

    def _preview(self, row: ListRow) -> PreviewText:
        place = self._place_by_row_id.get(row.id)
        if place is None:
            return PreviewText()
        if place.path.endswith("/"):
            return make_preview_text(
                place.path,
                "\n".join(file_paths_below_folder(self._files, place.path)[:_MAX_SOURCE_PREVIEW_LINES]),
            )
        symbol = place.symbol
        first, last = (symbol.start_line, symbol.end_line) if symbol else (1, _MAX_SOURCE_PREVIEW_LINES)
        return make_preview_text(
            place.location, self._read_lines(place.path, first, min(last, first + _MAX_SOURCE_PREVIEW_LINES))
        )

    def _read_lines(self, path: str, first: int, last: int) -> str:
        """Returns lines of a file for the preview of the map; none of a large file, which is not read."""
        if path not in self._text_by_path:
            self._text_by_path.clear()
            try:
                file = self.cwd() / path
                text = file.read_text("utf-8", "replace") if file.stat().st_size < 1_000_000 else ""
            except (OSError, ValueError):
                text = ""
            self._text_by_path[path] = text
        return "\n".join(self._text_by_path[path].split("\n")[first - 1 : last])

    # Names in the transcript

    async def go_to_symbol_named_in(self, text: str, *, uses: bool) -> None:
        """Shows the definition or uses of a symbol that a text names; with several known names, the user chooses
        one."""
        if not await self.maps.are_available():
            self.show_message(_REPOSITORY_MAPS_OFF_TEXT, AppNoteKind.WARNING)
            return
        names = list(dict.fromkeys(_SYMBOL_NAME_PATTERN.findall(text)))[:_MAX_NAMES_LOOKED_UP_IN_MAP]
        # Names that can only be code come before words that may be prose.
        known = sorted(
            await self.maps.defined_names(names), key=lambda name: name.islower() and "_" not in name
        )
        if not known:
            what = f"{names[0]} is not a symbol" if len(names) == 1 else "No word in this block is a symbol"
            yet = " yet: the index is still being built." if self.maps.is_incomplete else "."
            self.show_message(f"{what} in the repository map{yet}" if names else "This block has no symbols.")
            return
        go = self.show_symbol_uses if uses else self.show_symbol_definition
        if len(known) == 1:
            await go(known[0])
            return
        current = ""
        while True:
            rows = [ListRow(id=name, title=name) for name in known]
            title = "Uses of" if uses else "Definition of"
            screen = SourcePlacesScreen(title, rows, choose="go to", current=current)
            picked: PickerResult | None = await self.ask(screen, on_request=self._copy_name)
            if picked is None:
                return
            current = picked.row.id
            if picked.action == "app.map.mention":
                await self._mention_definition(current)
                return
            if picked.action == "app.map.open":
                await self._open_definition(current)
            elif picked.action == "app.map.uses":
                await self.show_symbol_uses(current)
            else:
                await go(current)

    def _copy_name(self, request: SourcePlacesScreen.ActionRequested) -> None:
        if request.row is not None:
            self.copy(request.row.id, "the name")

    async def _mention_definition(self, name: str) -> None:
        found = await self.maps.definitions_of_name(name)
        if found:
            self._mention_place(RepositoryMapPlace(found[0][0], found[0][1].symbol))

    async def _open_definition(self, name: str) -> None:
        found = await self.maps.definitions_of_name(name)
        if found:
            self.open_file(found[0][0], found[0][1].symbol.start_line)

    async def show_symbol_definition(self, name: str) -> None:
        """Shows the source that defines a name; with several definitions, the user chooses one."""
        found = await self.maps.definitions_of_name(name)
        places = [RepositoryMapPlace(path, one.symbol) for path, one in found]
        rows = [
            ListRow(
                id=place.id,
                title=f"{one.symbol.kind} {one.name}",
                detail=shorten_path_at_start(place.path),
                right=symbol_line_range_text(one.symbol),
                search_words=place.path,
            )
            for place, (_, one) in zip(places, found, strict=True)
        ]
        if not rows:
            self.show_message(f"{name} has no definition in this repository.")
        elif len(rows) == 1:
            await self._show_source(places[0].path, found[0][1].symbol)
        else:
            known = {place.id: place for place in places}
            await self._show_places(
                f"{name}: {count_with_noun(len(rows), 'definition')}, matched by name", rows, known
            )

    async def show_symbol_uses(self, name: str) -> None:
        found = await self.maps.uses_of_name(name)
        if not found:
            self.show_message(f"{name} has no uses in this repository.")
            return
        places: dict[str, RepositoryMapPlace] = {}
        rows: list[ListRow] = []
        for number, use in enumerate(found):
            symbol = Symbol(
                name=use.enclosing_symbol or name, kind="line", start_line=use.line, end_line=use.line
            )
            places[f"{number}"] = RepositoryMapPlace(use.path, symbol)
            within = f"  in {use.enclosing_symbol}" if use.enclosing_symbol else ""
            rows.append(
                ListRow(
                    id=f"{number}",
                    title=f"{shorten_path_at_start(use.path)}:{use.line}{within}",
                    detail=one_line(escape_controls(use.text)),
                    search_words=use.path,
                )
            )
        await self._show_places(f"{name}: {count_with_noun(len(rows), 'use')}, matched by name", rows, places)

    async def _show_places(
        self, title: str, rows: Sequence[ListRow], places: dict[str, RepositoryMapPlace]
    ) -> None:
        """Shows a list of places in the source (definitions or uses) and the chosen one's source; after viewing it, the
        user returns to the list."""
        self._place_by_row_id = {**self._place_by_row_id, **places}
        current = ""
        while True:
            screen = SourcePlacesScreen(title, rows, current=current, preview=self._source_preview)
            picked: PickerResult | None = await self.ask(screen, on_request=self._copy_location)
            if picked is None:
                return
            current, place = picked.row.id, places[picked.row.id]
            symbol = place.symbol
            assert symbol is not None
            match picked.action:
                case "app.map.open":
                    self.open_file(place.path, symbol.start_line)
                case "app.map.mention":
                    self._mention_place(place)
                    return
                case "app.map.uses":
                    await self.show_symbol_uses(symbol.name)
                case _:
                    await self._show_source(place.path, symbol)

    def _copy_location(self, request: SourcePlacesScreen.ActionRequested) -> None:
        if request.row is not None:
            self.copy(self._place_by_row_id[request.row.id].location, "the location")

    def _source_preview(self, row: ListRow) -> PreviewText:
        place = self._place_by_row_id.get(row.id)
        if place is None or place.symbol is None:
            return PreviewText()
        symbol = place.symbol
        before = 5 if symbol.kind == "line" else 0
        first = max(1, symbol.start_line - before)
        last = max(symbol.end_line + before, first + 10 if before else 0)
        return make_preview_text(
            place.location, self._read_lines(place.path, first, min(last, first + _MAX_SOURCE_PREVIEW_LINES))
        )

    async def _show_source(self, path: str, symbol: Symbol) -> None:
        """Shows the source lines of a symbol or place on a separate screen."""
        around = 20 if symbol.kind == "line" else 0
        first = max(1, symbol.start_line - around)
        last = min(symbol.end_line + around, first + _MAX_DEFINITION_LINES - 1)
        text = await self.maps.read_lines(path, first, last)
        note = f"first {_MAX_DEFINITION_LINES} lines" if symbol.end_line > last and not around else ""
        card = Card(
            title=escape_controls(symbol.name),
            subject=f"{escape_controls(path)}:{symbol.start_line}",
            blocks=(FileBlock(path=path, text=text, first_line=first, note=note),),
        )
        await show_card(self.ask, "Definition" if not around else "Use", card)
