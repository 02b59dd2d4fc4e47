"""The built-in extension `builtin:file-maps`: adds an outline of the whole file when `read` shows only a part
of a long one.

The read's result is unchanged. The outline is a separate message, delivered `aside`: behind the results of
the same batch, in the same request, so that other calls are not disturbed. An outline that the context
already holds is only referred to; for a changed file, only the differences are sent.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from app.extensions.public import (
    AssistantMessage,
    CommandContext,
    Context,
    CustomMessage,
    Effects,
    ExtensionApi,
    MapBlock,
    MapSymbol,
    MessageEnded,
    TextBlock,
    ToolCall,
    ToolResultPayload,
    View,
    text_of,
)

if TYPE_CHECKING:
    from tools.filemap.rendering.file_map_messages import FileMapMessage, OutlinesKnownToReaders

COLLAPSED_FOLDER_MAP_LINES = 24
"""Lines of a requested map that show before it is expanded."""
FILE_MAP_MESSAGE_TYPE = "file-map"
FOLDER_MAP_CUSTOM_TYPE = "repository-map"
"""The message type of a folder's map, requested or sent beside the first prompt. bayou makes it; this
extension draws it."""
MAX_REQUESTED_FILE_MAP_BYTES = 50 * 1024
MAX_FILE_MAP_BYTES_PER_ANSWER = 24 * 1024
"""The limit for all maps of one answer's reads together."""


class PartlyReadFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A file that `read` could show only in part, as the tool reports it."""

    path: str
    first_line: int
    last_line: int


class SentFileMap(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The details of a map that was sent."""

    file_path: str = ""
    digest: str = ""
    since: str = ""
    """The digest of the map that this message updates; empty when the message is a full map."""
    asked: bool = False
    total_lines: int = 0
    symbol_count: int = 0
    language: str = ""
    symbols: tuple[tuple[int, int, int, int, int], ...] = ()
    """For each symbol with a line: its row, the start and length of its label, its first and its last
    line."""


class FileMapBudget:
    """Divides the room for maps among the reads of one answer, and keeps the maps sent that are not yet in
    the context.

    Each read gets an equal share; what a read leaves unused goes to those behind it.
    """

    def __init__(self) -> None:
        self._bytes_left, self._calls_left = MAX_FILE_MAP_BYTES_PER_ANSWER, 1
        self.calls: tuple[ToolCall, ...] = ()
        """The calls of an answer with several, until `count` has found how many of them read a file."""
        self._turns: dict[str, asyncio.Lock] = {}
        self.sent_maps: list[SentFileMap] = []

    def begin_answer(self, message: AssistantMessage) -> None:
        self._bytes_left, self._turns, self.sent_maps = MAX_FILE_MAP_BYTES_PER_ANSWER, {}, []
        self._calls_left = 1
        self.calls = message.tool_calls if len(message.tool_calls) > 1 else ()

    def file_read_lock(self, path: str) -> asyncio.Lock:
        """Returns the lock for a file's reads, so that the second read sees which map the first one got."""
        return self._turns.setdefault(path, asyncio.Lock())

    def count_whole_file_reads(self, effects_of: Callable[[str, dict[str, Any]], Effects | None]) -> None:
        """Counts the calls that read a whole file. Runs once per answer, when the first map is wanted."""
        plain = [call for call in self.calls if len(call.arguments) == 1]
        effects = (effects_of(call.name, call.arguments) for call in plain)
        self._calls_left = sum(1 for one in effects if one is not None and one.reads)
        self.calls = ()

    def take_budget_share(self, most: int) -> int:
        share = min(most, self._bytes_left // max(1, self._calls_left))
        self._calls_left -= 1
        self._bytes_left -= share
        return share

    def return_unused_budget_share(self, told: "FileMapMessage", share: int) -> None:
        self._bytes_left += max(0, share - len(told.text.encode("utf-8", "replace")))
        given = parse_sent_file_map(told.details)
        if given is not None:
            self.sent_maps.append(given)


class FileMapBuilder:
    """Builds and formats the maps of one session; the parsers are loaded when the first file needs them."""

    def __init__(self) -> None:
        self._known_outlines: OutlinesKnownToReaders | None = None

    async def build_file_map(
        self,
        path: Path,
        context: Context,
        settings: Mapping[str, Any],
        most: int | None = None,
        page: tuple[int, int] | None = None,
        given: Callable[[], tuple[str, str] | None] = lambda: None,
    ) -> "FileMapMessage":
        """Builds the map in a thread and stops when the caller is cancelled. `given` looks through the whole
        context for maps sent before. Raises `OSError`."""
        stop = threading.Event()

        def make() -> "FileMapMessage":
            from tools.filemap.file_mapper import make_file_map  # noqa: PLC0415  (as above)
            from tools.filemap.map_cache import shared_file_map_cache  # noqa: PLC0415  (parsers; most sessions start without)
            from tools.filemap.rendering.file_map_messages import (  # noqa: PLC0415  (as above)
                OutlinesKnownToReaders,
                ReaderOutlineState,
                make_file_map_message,
            )
            from tools.filemap.rendering.file_map_rendering import file_map_byte_budget  # noqa: PLC0415  (as above)

            self._known_outlines = self._known_outlines or OutlinesKnownToReaders()
            seconds, standing = settings.get("timeLimitMs", 2000) / 1000, given()
            model, cache = context.model, context.cache_dir
            window = model.context_window if model is not None else None
            kept = shared_file_map_cache(cache / "maps") if cache is not None else None
            outline = make_file_map(path, deadline_seconds=seconds, cancel=stop.is_set, cache=kept)
            return make_file_map_message(
                msgspec.structs.replace(outline, path=_display_path(path, context.cwd)),
                path,
                budget_bytes=file_map_byte_budget(
                    window, most or MAX_REQUESTED_FILE_MAP_BYTES, is_asked=most is None
                ),
                page=page,
                standing=ReaderOutlineState(map_digest=standing[0], message_digest=standing[1])
                if standing is not None
                else None,
                known=self._known_outlines,
            )

        try:
            return await asyncio.to_thread(make)
        finally:
            stop.set()


def extension(api: ExtensionApi) -> None:
    api.message_renderer(FILE_MAP_MESSAGE_TYPE, draw_file_map)
    api.message_renderer(FOLDER_MAP_CUSTOM_TYPE, draw_folder_map)
    mapper, batch = FileMapBuilder(), FileMapBudget()

    @api.on("message_end")
    def begin(event: MessageEnded, context: Context) -> None:
        if isinstance(event.message, AssistantMessage):
            batch.begin_answer(event.message)

    @api.on("tool_result")
    def see_result(event: ToolResultPayload, context: Context) -> Awaitable[None] | None:
        wanted = partly_read_file(event)
        settings = context.settings.get("fileMaps", {}) if wanted is not None else {}
        if wanted is None or settings.get("enabled", True) is False:
            return None
        return send_map(wanted, settings, event.tool_call_id, context)

    async def send_map(
        wanted: PartlyReadFile, settings: Mapping[str, Any], call_id: str, context: Context
    ) -> None:
        page = (wanted.first_line, wanted.last_line)
        if batch.calls:
            batch.count_whole_file_reads(context.session.effects_of)
        async with batch.file_read_lock(wanted.path):
            share = batch.take_budget_share(settings.get("maxBytes", 8192))

            def given() -> tuple[str, str] | None:
                return latest_file_map_digests(
                    wanted.path, [*file_maps_in_context(context), *batch.sent_maps]
                )

            try:
                told = await mapper.build_file_map(Path(wanted.path), context, settings, share, page, given)
            except OSError:
                return  # gone or unreadable since it was read; the result of the read reports that
            batch.return_unused_budget_share(told, share)
        await api.send_message(
            FILE_MAP_MESSAGE_TYPE, told.text, details=told.details, deliver_as="aside", call_id=call_id
        )

    @api.command("map", description="Outline of a file, for you and the model: /map FILE")
    async def map_command(arguments: str, context: CommandContext) -> None:
        name = arguments.strip().removeprefix("@").strip("\"'")
        if not name:
            context.ui.notify("No file given. Usage: /map FILE", "warning")
            return
        if _absolute_path(context.cwd, name).is_dir():
            told = f"{name} is a folder. /map sends its map on the full screen; elsewhere bayou map {name} prints it."
            context.ui.notify(told, "warning")
            return
        if why := await asyncio.to_thread(
            context.session.read_restriction, _absolute_path(context.cwd, name)
        ):
            # The user names the file, but the map goes to the model: that is a read, and so it is judged.
            told = f"/map {name}: {why}. Its outline is not sent; bayou map {name} prints it for you alone."
            context.ui.notify(told, "warning")
            return
        try:
            told = await mapper.build_file_map(
                _absolute_path(context.cwd, name), context, context.settings.get("fileMaps", {})
            )
        except OSError as problem:
            context.ui.notify(f"/map {name}: {problem.strerror or problem}", "error")
            return
        await api.send_message(
            FILE_MAP_MESSAGE_TYPE, told.text, details={**told.details, "asked": True}, deliver_as="steer"
        )


def _absolute_path(folder: Path, name: str) -> Path:
    return folder / Path(name).expanduser()


def partly_read_file(event: ToolResultPayload) -> PartlyReadFile | None:
    """Returns the file that a plain `read` could show only in part, from the tool's own details."""
    if event.is_error or not event.details:
        return None
    try:
        return msgspec.convert(event.details.get("map"), PartlyReadFile)
    except msgspec.ValidationError:
        return None


def parse_sent_file_map(details: Any) -> SentFileMap | None:
    try:
        return msgspec.convert(details, SentFileMap)
    except msgspec.ValidationError:
        return None


def file_maps_in_context(context: Context) -> list[SentFileMap]:
    """Returns the maps in the context: those of this branch that no compaction has removed."""
    found = [
        parse_sent_file_map(message.details)
        for message in context.session.messages()
        if isinstance(message, CustomMessage) and message.custom_type == FILE_MAP_MESSAGE_TYPE
    ]
    return [given for given in found if given is not None]


def latest_file_map_digests(path: str, given: list[SentFileMap]) -> tuple[str, str] | None:
    """Returns the digests of the file's latest map and of its latest update."""
    of_file = [each for each in given if each.file_path == path and each.digest]
    if not of_file:
        return None
    latest = of_file[-1]
    base = latest.since or latest.digest
    return (base, latest.digest) if any(each.digest == base and not each.since for each in of_file) else None


def _display_path(path: Path, folder: Path) -> str:
    """Spells a path as the model does: relative to its folder where the file lies inside."""
    try:
        return path.relative_to(folder).as_posix()
    except ValueError:
        return str(path)


def draw_file_map(message: CustomMessage, expanded: bool) -> View:
    """Draws a map as one line; expanded, it shows exactly what the model got, with links to its symbols.

    A map that the user requested shows its beginning at once.
    """
    given = parse_sent_file_map(message.details) or SentFileMap()
    text = text_of(message.content)
    name = Path(given.file_path).name
    if given.since:
        return View(title="map", subject=name, summary=text.split("\n", 1)[0], body=(TextBlock(text=text),))
    block = MapBlock(
        path=given.file_path,
        text=text,
        language=given.language,
        total_lines=given.total_lines,
        symbols=tuple(map_symbols(given, text)),
    )
    summary = f"{given.total_lines:,} lines · {given.symbol_count:,} symbols · {given.language or 'text'}"
    shown = COLLAPSED_FOLDER_MAP_LINES if given.asked else 0
    return View(title="map", subject=name, summary=summary, body=(block,), collapsed_lines=shown)


def draw_folder_map(message: CustomMessage, expanded: bool) -> View:
    """Draws a folder's map as one line until it is expanded; a requested map shows its beginning at once."""
    details = message.details if isinstance(message.details, dict) else {}
    text = text_of(message.content)
    lines = text.count("\n") + 1
    if details.get("isFirstQuestion"):
        return View(title="map", summary="where this may be · a guess by names", body=(TextBlock(text=text),))
    return View(
        title="map",
        subject=str(details.get("folder", "")),
        summary=f"{lines:,} lines",
        body=(TextBlock(text=text),),
        collapsed_lines=COLLAPSED_FOLDER_MAP_LINES,
    )


def map_symbols(given: SentFileMap, text: str) -> list[MapSymbol]:
    """Returns the symbols that have a line, as links to their place in the file."""
    lines = text.split("\n")
    found: list[MapSymbol] = []
    for row, indent, length, first, last in given.symbols:
        if row < len(lines):
            label = lines[row][indent : indent + length]
            kind, space, _ = label.partition(" ")
            found.append(
                MapSymbol(
                    label=label,
                    kind=kind if space else "",
                    first_line=first,
                    last_line=last,
                    depth=indent // 2,
                    row=row,
                )
            )
    return found
