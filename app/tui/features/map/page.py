"""`/map`, and going from a name in the transcript to its definition or uses."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.engine.repository.repository_maps import RepositoryMaps
from app.tui.features.map.rows import (
    MapPlace,
    PlaceAndRow,
    ending,
    found_rows,
    lines_of,
    names_below,
    tree_rows,
)
from app.tui.features.map.screen import MapScreen, PlacesScreen
from app.tui.features.shared_dialogs import read_card
from app.tui.page_protocols import AskPerson, Copy, ShowMessage, Write
from tools.amounts import pluralized
from tools.filemap.symbols import Symbol
from tools.results import Card, FileBlock
from tools.text import escape_controls, one_line
from widgets.completion.files import reference
from widgets.lists.rows import ListRow
from widgets.screens.picker import Picked
from widgets.screens.preview import PreviewText, preview_of
from widgets.transcript.blocks import NoteKind

if TYPE_CHECKING:
    from tools.repomap.of_session import MatchedFile

OpenFile = Callable[[str, int], None]
"""Opens a file at a line in the user's editor."""
_NAME = re.compile(r"[A-Za-z_$][\w$]{2,}|[^\W\da-zA-Z_]\w*")
_MAX_NAMES = 3000
_MAX_DEFINITION_LINES = 400
"""The maximum number of lines shown of a definition."""
_PREVIEWED = 60
_MAPS_OFF_TEXT = (
    "There is no repository map here: repositoryMaps.enabled is off in /settings, or the "
    "files are on another machine."
)


class MapPage(msgspec.Struct):
    """Browses the repository map of one session."""

    maps: RepositoryMaps
    ask: AskPerson
    say: ShowMessage
    write: Write
    copy: Copy
    cwd: Callable[[], Path]
    open_file: OpenFile
    _files: Sequence[str] = ()
    _opened: set[str] = set()
    _symbols: dict[str, Sequence[Symbol]] = {}
    _found: "Sequence[MatchedFile]" = ()
    _query: str = ""
    _orders: dict[str, bool] = msgspec.field(default_factory=lambda: {"tree": True, "found": False})
    """Whether rows are sorted by path, for the folder tree and for search results."""
    _places: dict[str, MapPlace] = {}
    _sources: dict[str, str] = {}

    # The map screen

    async def open(self) -> None:
        """Shows the map; unfolded rows and the query are kept until another place is chosen."""
        if not await self.maps.is_there():
            self.say(_MAPS_OFF_TEXT, NoteKind.WARNING)
            return
        self._files = await self.maps.files()
        current = ""
        while True:
            await self._find(self._query)
            screen = MapScreen(
                [row for _, row in self._rows()],
                query=self._query,
                current=current,
                note=self._note(),
                preview=self._preview,
            )
            picked: Picked | None = await self.ask(screen, on_request=self._requested)
            if picked is None:
                return
            current, place = picked.row.id, self._places[picked.row.id]
            if picked.action == "app.map.uses":
                await self.uses(place.symbol.name if place.symbol else Path(place.path).stem)
            elif picked.action == "app.map.open":
                self.open_file(place.path, place.symbol.start_line if place.symbol else 1)
            else:
                self._mention(place)
                return

    async def _requested(self, request: object) -> None:
        match request:
            case MapScreen.Asked():
                async for _ in self.maps.wait_for_growth():
                    await self._find(request.query)
                    if not request.screen.is_there or request.screen.typed != request.query:
                        return
                    self._show(request.screen)
            case MapScreen.Folded():
                await self._fold(request.row.id, is_open=request.is_open)
                self._show(request.screen)
            case MapScreen.ActionRequested(action="app.map.order"):
                self._orders[self._what] = not self._is_by_path
                if isinstance(request.screen, MapScreen):
                    await self._find(self._query)
                    self._show(request.screen)
            case MapScreen.ActionRequested(action="app.map.copy") if request.row is not None:
                self.copy(self._places[request.row.id].at, "the place")

    def _show(self, screen: MapScreen) -> None:
        screen.show_places([row for _, row in self._rows()], note=self._note())

    def _rows(self) -> list[PlaceAndRow]:
        if self._query.strip() or not self._is_by_path:
            rows = list(found_rows(self._found, by_path=self._is_by_path))
        else:
            rows = list(tree_rows(self._files, self._opened, self._symbols))
        self._places = {place.id if row.id == place.id else row.id: place for place, row in rows}
        return rows

    @property
    def _what(self) -> str:
        return "found" if self._query.strip() else "tree"

    @property
    def _is_by_path(self) -> bool:
        return self._orders[self._what]

    def _note(self) -> str:
        building = self.maps.building
        told = f"indexing {building[0]:,}/{building[1]:,} · " if building else ""
        return f"{told}{'by path' if self._is_by_path else 'the likeliest first'}"

    async def _find(self, query: str) -> None:
        self._query = query
        if query.strip() or not self._is_by_path:
            self._found = await self.maps.found(query)

    async def _fold(self, path: str, *, is_open: bool) -> None:
        if not is_open:
            self._opened.discard(path)
            return
        if not path.endswith("/"):
            self._symbols[path] = await self.maps.symbols_of(path)
        self._opened.add(path)

    def _mention(self, place: MapPlace) -> None:
        self.write(f"{reference(place.reference)} ", focus=True)

    def _preview(self, row: ListRow) -> PreviewText:
        place = self._places.get(row.id)
        if place is None:
            return PreviewText()
        if place.path.endswith("/"):
            return preview_of(place.path, "\n".join(names_below(self._files, place.path)[:_PREVIEWED]))
        symbol = place.symbol
        first, last = (symbol.start_line, symbol.end_line) if symbol else (1, _PREVIEWED)
        return preview_of(place.at, self._text_of(place.path, first, min(last, first + _PREVIEWED)))

    def _text_of(self, path: str, first: int, last: int) -> str:
        """Returns lines of a file for the preview; large files are not read."""
        if path not in self._sources:
            self._sources.clear()
            try:
                file = self.cwd() / path
                text = file.read_text("utf-8", "replace") if file.stat().st_size < 1_000_000 else ""
            except (OSError, ValueError):
                text = ""
            self._sources[path] = text
        return "\n".join(self._sources[path].split("\n")[first - 1 : last])

    # Names in the transcript

    async def names_in(self, text: str, *, uses: bool) -> None:
        """Goes to the definition or uses of a name in the text; with several names, the user chooses."""
        if not await self.maps.is_there():
            self.say(_MAPS_OFF_TEXT, NoteKind.WARNING)
            return
        names = list(dict.fromkeys(_NAME.findall(text)))[:_MAX_NAMES]
        # Names that can only be code come before words that may be prose.
        known = sorted(await self.maps.known(names), key=lambda name: name.islower() and "_" not in name)
        if not known:
            what = f"{names[0]} is not a symbol" if len(names) == 1 else "No word in this block is a symbol"
            yet = " yet: the index is still being built." if self.maps.is_incomplete else "."
            self.say(f"{what} in the repository map{yet}" if names else "There is no symbol in this block.")
            return
        go = self.uses if uses else self.definition
        if len(known) == 1:
            await go(known[0])
            return
        current = ""
        while True:
            rows = [ListRow(id=name, title=name) for name in known]
            title = "Uses of" if uses else "Definition of"
            screen = PlacesScreen(title, rows, choose="go to it", current=current)
            picked: Picked | None = await self.ask(screen, on_request=self._copied_name)
            if picked is None:
                return
            current = picked.row.id
            if picked.action == "app.map.mention":
                await self._mention_definition(current)
                return
            if picked.action == "app.map.open":
                await self._open_definition(current)
            elif picked.action == "app.map.uses":
                await self.uses(current)
            else:
                await go(current)

    def _copied_name(self, request: PlacesScreen.ActionRequested) -> None:
        if request.row is not None:
            self.copy(request.row.id, "the name")

    async def _mention_definition(self, name: str) -> None:
        found = await self.maps.definitions(name)
        if found:
            self._mention(MapPlace(found[0][0], found[0][1].symbol))

    async def _open_definition(self, name: str) -> None:
        found = await self.maps.definitions(name)
        if found:
            self.open_file(found[0][0], found[0][1].symbol.start_line)

    async def definition(self, name: str) -> None:
        """Shows where the name is defined; with several definitions, the user chooses."""
        found = await self.maps.definitions(name)
        places = [MapPlace(path, one.symbol) for path, one in found]
        rows = [
            ListRow(
                id=place.id,
                title=f"{one.symbol.kind} {one.name}",
                detail=ending(place.path),
                right=lines_of(one.symbol),
                words=place.path,
            )
            for place, (_, one) in zip(places, found, strict=True)
        ]
        if not rows:
            self.say(f"{name} has no definition in this repository.")
        elif len(rows) == 1:
            await self._show_source(places[0].path, found[0][1].symbol)
        else:
            known = {place.id: place for place in places}
            await self._choose_place(f"{name}: {pluralized(len(rows), 'definition')}, by name", rows, known)

    async def uses(self, name: str) -> None:
        found = await self.maps.uses(name)
        if not found:
            self.say(f"{name} has no uses in this repository.")
            return
        places: dict[str, MapPlace] = {}
        rows: list[ListRow] = []
        for number, use in enumerate(found):
            symbol = Symbol(name=use.within or name, kind="line", start_line=use.line, end_line=use.line)
            places[f"{number}"] = MapPlace(use.path, symbol)
            within = f"  in {use.within}" if use.within else ""
            rows.append(
                ListRow(
                    id=f"{number}",
                    title=f"{ending(use.path)}:{use.line}{within}",
                    detail=one_line(escape_controls(use.text)),
                    words=use.path,
                )
            )
        await self._choose_place(f"{name}: {pluralized(len(rows), 'use')}, by name", rows, places)

    async def _choose_place(self, title: str, rows: Sequence[ListRow], places: dict[str, MapPlace]) -> None:
        """Shows a list of places; after viewing one, the user returns to the list."""
        self._places = {**self._places, **places}
        current = ""
        while True:
            screen = PlacesScreen(title, rows, current=current, preview=self._source_preview)
            picked: Picked | None = await self.ask(screen, on_request=self._copied)
            if picked is None:
                return
            current, place = picked.row.id, places[picked.row.id]
            symbol = place.symbol
            assert symbol is not None
            match picked.action:
                case "app.map.open":
                    self.open_file(place.path, symbol.start_line)
                case "app.map.mention":
                    self._mention(place)
                    return
                case "app.map.uses":
                    await self.uses(symbol.name)
                case _:
                    await self._show_source(place.path, symbol)

    def _copied(self, request: PlacesScreen.ActionRequested) -> None:
        if request.row is not None:
            self.copy(self._places[request.row.id].at, "the place")

    def _source_preview(self, row: ListRow) -> PreviewText:
        place = self._places.get(row.id)
        if place is None or place.symbol is None:
            return PreviewText()
        symbol = place.symbol
        before = 5 if symbol.kind == "line" else 0
        first = max(1, symbol.start_line - before)
        last = max(symbol.end_line + before, first + 10 if before else 0)
        return preview_of(place.at, self._text_of(place.path, first, min(last, first + _PREVIEWED)))

    async def _show_source(self, path: str, symbol: Symbol) -> None:
        """Shows the source lines of a place in full."""
        around = 20 if symbol.kind == "line" else 0
        first = max(1, symbol.start_line - around)
        last = min(symbol.end_line + around, first + _MAX_DEFINITION_LINES - 1)
        text = await self.maps.lines(path, first, last)
        note = f"its first {_MAX_DEFINITION_LINES} lines" if symbol.end_line > last and not around else ""
        card = Card(
            title=escape_controls(symbol.name),
            subject=f"{escape_controls(path)}:{symbol.start_line}",
            blocks=(FileBlock(path=path, text=text, first_line=first, note=note),),
        )
        await read_card(self.ask, "Definition" if not around else "Use", card)
