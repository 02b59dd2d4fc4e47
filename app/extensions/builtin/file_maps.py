"""bayou's own extension `builtin:file-maps`: a long file that was read gets an outline of the whole beside its page.

The read's result stays as it is. The outline is a message of its own, delivered `aside`: behind the results of the
same batch, in the same request, so that no sibling call is disturbed.
"""

import asyncio
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from app.extensions.public import (
    CommandContext,
    Context,
    CustomMessage,
    ExtensionApi,
    MapBlock,
    MapSymbol,
    ToolResultPayload,
    View,
    text_of,
)

ASKED_LINES = 24
"""Of a map that a person asked for."""
MESSAGE = "file-map"


class FileMap(msgspec.Struct, frozen=True, kw_only=True):
    """A finished outline: what the model reads, and what is known of it."""

    text: str
    details: dict[str, Any]


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """Which map is wanted, and what it may cost."""

    path: Path
    folder: Path
    """The session's: the path is shown from there."""
    seconds: float
    max_bytes: int
    window: int | None = None
    """The model's, in tokens: a small one gets smaller maps."""
    cache_dir: Path | None = None


MakeMap = Callable[[Wish, Callable[[], bool]], FileMap]
"""(what is wanted, whether to stop) → map. Called in a thread."""


def extension(api: ExtensionApi) -> None:
    register(api, make_map)


def register(api: ExtensionApi, make: MakeMap) -> None:
    api.message_renderer(MESSAGE, draw)

    @api.on("tool_result")
    async def send_map(event: ToolResultPayload, context: Context) -> None:
        path = wanted_path(event)
        if path is None or not _is_enabled(api.settings()):
            return
        try:
            found = await _made(make, path, api, context)
        except OSError:
            return  # gone or unreadable since it was read; the read itself has told what there is to tell
        await api.send_message(
            MESSAGE, found.text, details=found.details, deliver_as="aside", call_id=event.tool_call_id
        )

    @api.command("map", description="Outline of a file, for you and the model: /map FILE")
    async def map_command(arguments: str, context: CommandContext) -> None:
        name = arguments.strip().removeprefix("@").strip("\"'")
        if not name:
            context.ui.notify("Which file? /map FILE", "warning")
            return
        try:
            found = await _made(make, _in(context.cwd, name), api, context)
        except OSError as problem:
            context.ui.notify(f"/map {name}: {problem.strerror or problem}", "error")
            return
        details = {**found.details, "asked": True}
        await api.send_message(MESSAGE, found.text, details=details, deliver_as="steer")


def _in(folder: Path, name: str) -> Path:
    return folder / Path(name).expanduser()


def wanted_path(event: ToolResultPayload) -> Path | None:
    """The file that a plain read could show only in part: the tool says so itself."""
    if event.tool_name != "read" or event.is_error or not event.details:
        return None
    mark = event.details.get("map")
    if not isinstance(mark, Mapping) or not mark.get("wanted"):
        return None
    path = mark.get("path")
    return Path(path) if isinstance(path, str) and path else None


async def _made(make: MakeMap, path: Path, api: ExtensionApi, context: Context) -> FileMap:
    """In a thread, and stopped when nobody waits any longer. Raises `OSError`."""
    stop = threading.Event()
    seconds, limit = _limits(api.settings())
    window = context.model.context_window if context.model is not None else None
    try:
        wish = Wish(
            path=path,
            folder=context.cwd,
            seconds=seconds,
            max_bytes=limit,
            window=window,
            cache_dir=context.cache_dir,
        )
        return await asyncio.to_thread(make, wish, stop.is_set)
    finally:
        stop.set()


def _is_enabled(settings: Mapping[str, Any]) -> bool:
    return _group(settings).get("enabled", True) is not False


def _limits(settings: Mapping[str, Any]) -> tuple[float, int]:
    group = _group(settings)
    return group.get("timeLimitMs", 2000) / 1000, group.get("maxBytes", 102_400)


def _group(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    group = settings.get("fileMaps")
    return group if isinstance(group, Mapping) else {}


def make_map(wish: Wish, is_stopped: Callable[[], bool]) -> FileMap:
    """With bayou's own mapper, which is loaded when the first file needs it."""
    from tools.filemap.cache import shared_cache  # noqa: PLC0415  (parsers; most sessions start without)
    from tools.filemap.map import map_file  # noqa: PLC0415  (as above)
    from tools.filemap.render import budget_for_window, render_map  # noqa: PLC0415  (as above)

    cache = shared_cache(wish.cache_dir / "maps") if wish.cache_dir is not None else None
    outline = map_file(wish.path, deadline_seconds=wish.seconds, cancel=is_stopped, cache=cache)
    named = msgspec.structs.replace(outline, path=_shown(wish.path, wish.folder))
    rendered = render_map(named, budget_bytes=min(wish.max_bytes, budget_for_window(wish.window)))
    return FileMap(
        text=rendered.text,
        details={
            "filePath": str(wish.path),
            "totalLines": outline.total_lines,
            "totalBytes": outline.total_bytes,
            "symbolCount": len(outline.symbols),
            "language": outline.language,
            "level": rendered.level,
            "elapsedMs": outline.elapsed_ms,
            "parser": outline.parser,
        },
    )


def _shown(path: Path, folder: Path) -> str:
    """As the model names it: from its folder where the file lies inside."""
    try:
        return path.relative_to(folder).as_posix()
    except ValueError:
        return str(path)


def draw(message: CustomMessage, expanded: bool) -> View:
    """One line until it is opened; then exactly what the model got, with its symbols to go to.

    Who asked for it sees its beginning at once.
    """
    details = message.details if isinstance(message.details, dict) else {}
    path = str(details.get("filePath", ""))
    lines, count = details.get("totalLines", 0), details.get("symbolCount", 0)
    summary = f"{lines:,} lines · {count:,} symbols · {details.get('language') or 'text'} · ctrl+o opens it"
    block = MapBlock(
        path=path,
        text=text_of(message.content),
        language=str(details.get("language", "")),
        total_lines=lines,
        symbols=symbols_in(text_of(message.content)),
    )
    shown = ASKED_LINES if details.get("asked") else 0
    return View(title=f"map {Path(path).name}", summary=summary, body=(block,), collapsed_lines=shown)


_SYMBOL_LINE = re.compile(
    r"^(?P<indent> *)(?P<label>\S.*?):? *\[(?P<first>\d+)(?:-(?P<last>\d+))?\](?: .*)?$", re.MULTILINE
)


def symbols_in(text: str) -> tuple[MapSymbol, ...]:
    """The symbols that the outline's lines name, so that people can go to them: what they see is what the model got."""
    found: list[MapSymbol] = []
    row = counted = 0
    for match in _SYMBOL_LINE.finditer(text):
        row += text.count("\n", counted, match.start())
        counted = match.start()
        kind, space, _ = match["label"].partition(" ")
        found.append(
            MapSymbol(
                label=match["label"],
                kind=kind if space else "",
                first_line=int(match["first"]),
                last_line=int(match["last"] or match["first"]),
                depth=len(match["indent"]) // 2,
                row=row,
            )
        )
    return tuple(found)
