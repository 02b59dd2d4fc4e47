"""Shows pages of files with an anchor for each line, and stores the whole text, so that the anchors remain valid after
a change."""

import msgspec

from tools.edits.dialects.line_anchors import format_anchored_rows
from tools.files.file_pages import FilePage
from tools.files.files_shown_to_model import ShownFileVersion
from tools.files.shown_file_versions import MAX_FILE_SNAPSHOT_CHARS
from tools.session_workspace import SessionWorkspace
from tools.streaming_arguments import number_in_result_details
from tools.text_sanitizing import escape_controls
from tools.tool_result_values import ToolResult


def make_anchored_page(workspace: SessionWorkspace, path: str, page: FilePage, real: str) -> FilePage:
    """Returns a page of a file with its lines as rows with anchors; unchanged if the file is too large to store or
    has changed since the page was read."""
    if page.clipped_bytes or not page.lines or page.total_bytes > MAX_FILE_SNAPSHOT_CHARS:
        return page
    with workspace.files.open(path) as file:
        text = page.encoding.decode_for_reading(file.read().removeprefix(page.encoding.byte_order_mark))
    text = text.replace("\r\n", "\n")
    if tuple(text.split("\n")[page.first_line - 1 : page.last_line]) != page.lines:
        return page
    workspace.read_cache.snapshots.record(real, text, range(page.first_line, page.last_line + 1))
    return msgspec.structs.replace(
        page, text=escape_controls(format_anchored_rows(page.lines, page.first_line)), is_anchored=True
    )


def record_shown_notebook_lines(
    workspace: SessionWorkspace, path: str, version: ShownFileVersion, cells: str, result: ToolResult
) -> None:
    """Records which lines of a notebook's text the model was shown; they differ from the lines of the file."""
    first, last = (
        number_in_result_details(result.details, "firstLine"),
        number_in_result_details(result.details, "lastLine"),
    )
    if first is None or last is None:
        return
    from tools.edits.locked_edits import notebook_cache_key  # noqa: PLC0415  (a start needs none of what applies edits)

    key = notebook_cache_key(workspace.files.real_path(path))
    lines = cells.split("\n")[first - 1 : last]
    workspace.read_cache.record_lines(key, version, enumerate(lines, first))
    if result.details and result.details.get("anchored"):
        workspace.read_cache.snapshots.record(key, cells, range(first, last + 1))
