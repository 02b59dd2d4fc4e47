"""Shows pages of files with an anchor for each line, and stores the whole text, so that the anchors remain valid after
a change."""

import msgspec

from tools.arguments import number_detail
from tools.edits.dialects.anchors import anchored_rows
from tools.files.pages import Page
from tools.files.read_cache import FileVersion
from tools.files.snapshots import MAX_SNAPSHOT_CHARS
from tools.results import ToolResult
from tools.text import escape_controls
from tools.workspace import Workspace


def make_anchored_page(workspace: Workspace, path: str, page: Page, real: str) -> Page:
    """Returns a page of a file with its lines as rows with anchors; unchanged if the file is too large to store or
    has changed since the page was read."""
    if page.clipped_bytes or not page.lines or page.total_bytes > MAX_SNAPSHOT_CHARS:
        return page
    with workspace.files.open(path) as file:
        text = page.encoding.decode_for_reading(file.read().removeprefix(page.encoding.byte_order_mark))
    text = text.replace("\r\n", "\n")
    if tuple(text.split("\n")[page.first_line - 1 : page.last_line]) != page.lines:
        return page
    workspace.read_cache.snapshots.record(real, text, range(page.first_line, page.last_line + 1))
    return msgspec.structs.replace(
        page, text=escape_controls(anchored_rows(page.lines, page.first_line)), is_anchored=True
    )


def record_shown_notebook_lines(
    workspace: Workspace, path: str, version: FileVersion, cells: str, result: ToolResult
) -> None:
    """Records which lines of a notebook's text the model was shown; they differ from the lines of the file."""
    first, last = number_detail(result.details, "firstLine"), number_detail(result.details, "lastLine")
    if first is None or last is None:
        return
    from tools.edits.locked_edits import notebook_cache_key  # noqa: PLC0415  (a start needs none of what applies edits)

    key = notebook_cache_key(workspace.files.real_path(path))
    lines = cells.split("\n")[first - 1 : last]
    workspace.read_cache.record_lines(key, version, enumerate(lines, first))
    if result.details and result.details.get("anchored"):
        workspace.read_cache.snapshots.record(key, cells, range(first, last + 1))
