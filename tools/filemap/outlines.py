"""`read` with `map` or `symbol`: asks the mapper, which is loaded only then."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tools.base import ToolError
from tools.limits import MAX_BYTES
from tools.results import ToolResult, text_result
from tools.text import visible
from tools.threads import Stop
from tools.workspace import Workspace

if TYPE_CHECKING:
    from tools.filemap.symbols import FileMap

_DEADLINE_SECONDS = 2.0
_MAX_LISTED = 20


def outline_result(
    path: str, shown: str, workspace: Workspace, model_window: int | None, stop: Stop
) -> ToolResult:
    """The outline of a file as the result itself."""
    from tools.filemap.render import budget_for_window, render_map  # noqa: PLC0415  (as below)

    outline = msgspec.structs.replace(_outline(path, workspace, stop), path=shown)
    rendered = render_map(outline, budget_bytes=budget_for_window(model_window, MAX_BYTES, is_asked=True))
    return text_result(visible(rendered.text), details={"outline": True, "totalLines": outline.total_lines})


def symbol_range(
    path: str, shown: str, name: str, workspace: Workspace, stop: Stop
) -> tuple[int, int] | ToolResult:
    """First and last line of the symbol; when several have that name, a list of them."""
    from tools.filemap.symbols import find_symbol  # noqa: PLC0415  (as below)

    outline = _outline(path, workspace, stop)
    found = find_symbol(outline, name)
    if not found:
        raise ToolError(
            f"There is no symbol {visible(name)!r} in {shown}. Read it with map: true to see which there are."
        )
    if len(found) == 1:
        return found[0].lead_line or found[0].start_line, found[0].end_line
    listed = [
        f"{visible(symbol.name)} ({symbol.kind}) lines {symbol.start_line}-{symbol.end_line}"
        for symbol in found[:_MAX_LISTED]
    ]
    text = f"{len(found)} symbols match {visible(name)!r} in {shown}. Read one by its lines:\n" + "\n".join(
        listed
    )
    return text_result(text, details={"symbols": len(found)})


def _outline(path: str, workspace: Workspace, stop: Stop) -> "FileMap":
    # The mapper brings parsers along, which most sessions start without.
    from tools.filemap.cache import shared_cache  # noqa: PLC0415
    from tools.filemap.map import map_file  # noqa: PLC0415

    cache = shared_cache(workspace.cache_dir / "maps") if workspace.cache_dir is not None else None
    return map_file(Path(path), deadline_seconds=_DEADLINE_SECONDS, cancel=lambda: stop.is_set, cache=cache)
