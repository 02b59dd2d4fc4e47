"""Answers `read` with `map` or `symbol`: returns a file's map, or the lines of one of its symbols.

Loads the mapper on demand."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tools.result_limits import MAX_TOOL_RESULT_BYTES, clip_result_line
from tools.session_workspace import SessionWorkspace
from tools.text_sanitizing import escape_controls
from tools.thread_work import StopFlag
from tools.tool_definition import ToolError
from tools.tool_result_values import ToolResult, text_result

if TYPE_CHECKING:
    from tools.filemap.file_map import FileMap, Symbol

_REQUESTED_FILE_MAP_TIMEOUT = 2.0
_MAX_LISTED_MATCHING_SYMBOLS = 20
_MAX_LISTED_MEMBERS_OF_SYMBOL = 150
_MAX_MEMBER_SIGNATURE_CHARS = 160


def make_outline_result(
    path: str, shown: str, workspace: SessionWorkspace, model_window: int | None, stop: StopFlag
) -> ToolResult:
    """Returns the outline of a file as a tool result."""
    from tools.filemap.rendering.file_map_rendering import file_map_byte_budget, render_file_map  # noqa: PLC0415  (as below)

    outline = msgspec.structs.replace(_map_file(path, workspace, stop), path=shown)
    rendered = render_file_map(
        outline, budget_bytes=file_map_byte_budget(model_window, MAX_TOOL_RESULT_BYTES, is_asked=True)
    )
    return text_result(
        escape_controls(rendered.text), details={"outline": True, "totalLines": outline.total_lines}
    )


class SymbolLines(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of a symbol in its file, with its name and members."""

    name: str
    description: str
    """The kind and qualified name of the symbol."""
    first: int
    last: int
    members: str
    """Lines that each describe one member declared in the symbol."""


def find_symbol_lines(
    path: str, shown: str, name: str, workspace: SessionWorkspace, stop: StopFlag
) -> SymbolLines | ToolResult:
    """Returns the lines of a file's symbol with this name; if several symbols match, returns a list of them with
    their owners instead."""
    from tools.filemap.file_map import find_symbols_named, qualified_symbol_name  # noqa: PLC0415  (as below)

    outline = _map_file(path, workspace, stop)
    found = find_symbols_named(outline, name)
    if not found:
        raise ToolError(
            f"There is no symbol {escape_controls(name)!r} in {shown}. Read it with map: true to list its "
            f"symbols."
        )
    if len(found) == 1:
        symbol = found[0]
        whole = escape_controls(qualified_symbol_name(outline, symbol))
        return SymbolLines(
            name=whole,
            description=f"{symbol.kind} {whole}",
            first=symbol.decorator_line or symbol.start_line,
            last=symbol.end_line,
            members=_list_members(outline, symbol),
        )
    listed = [
        f"{escape_controls(qualified_symbol_name(outline, symbol))} ({symbol.kind}) "
        f"lines {symbol.start_line}-{symbol.end_line}"
        for symbol in found[:_MAX_LISTED_MATCHING_SYMBOLS]
    ]
    more = (
        f"\n… and {len(found) - _MAX_LISTED_MATCHING_SYMBOLS} more"
        if len(found) > _MAX_LISTED_MATCHING_SYMBOLS
        else ""
    )
    text = (
        f"{len(found)} symbols match {escape_controls(name)!r} in {shown}. Read one by its whole name or "
        f"its lines:\n" + "\n".join(listed) + more
    )
    return text_result(text, details={"symbols": len(found)})


def _list_members(outline: "FileMap", symbol: "Symbol") -> str:
    depths: dict[int, int] = {}
    lines: list[str] = []
    for index, one in enumerate(outline.symbols):
        if one is symbol or one.start_line < symbol.start_line or one.end_line > symbol.end_line:
            continue
        depths[index] = depths.get(one.parent, -1) + 1 if one.parent is not None else 0
        what = clip_result_line(f"{one.kind} {one.signature or one.name}", _MAX_MEMBER_SIGNATURE_CHARS)[0]
        lines.append(f"{'  ' * depths[index]}{one.start_line}-{one.end_line}: {escape_controls(what)}")
    more = (
        [f"… and {len(lines) - _MAX_LISTED_MEMBERS_OF_SYMBOL} more"]
        if len(lines) > _MAX_LISTED_MEMBERS_OF_SYMBOL
        else []
    )
    return "\n".join([*lines[:_MAX_LISTED_MEMBERS_OF_SYMBOL], *more])


def _map_file(path: str, workspace: SessionWorkspace, stop: StopFlag) -> "FileMap":
    # The mapper loads parsers, which most sessions do not need at the start.
    from tools.filemap.file_mapper import make_file_map  # noqa: PLC0415
    from tools.filemap.map_cache import shared_file_map_cache  # noqa: PLC0415

    cache = shared_file_map_cache(workspace.cache_dir / "maps") if workspace.cache_dir is not None else None
    return make_file_map(
        Path(path), deadline_seconds=_REQUESTED_FILE_MAP_TIMEOUT, cancel=lambda: stop.is_set, cache=cache
    )
