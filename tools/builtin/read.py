"""The `read` tool: text in pages, images, notebooks, directories, artifacts, and outlines on request."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from tools.argument_aliases import PATH_ARGUMENT_ALIASES, make_alias_resolver
from tools.argument_schema import UNDECLARED_ARGUMENT_META, make_arguments_schema
from tools.builtin.read_other_formats import (
    is_binary_data,
    is_image_data,
    make_binary_file_error,
    make_image_result,
    make_notebook_page_result,
    make_partial_page_details,
    read_file_head,
    read_notebook_text,
)
from tools.call_effects import NO_CALL_EFFECTS, Effects
from tools.edits.anchored_pages import make_anchored_page, record_shown_notebook_lines
from tools.edits.dialects.line_anchors import remove_anchors_from_rows
from tools.file_and_process_operations import FileStat
from tools.filemap.outline_results import SymbolLines, find_symbol_lines, make_outline_result
from tools.files.directory_listing import list_directory
from tools.files.file_errors import make_file_error
from tools.files.file_pages import (
    CannotReadBinaryFile,
    FilePage,
    FilePageRequest,
    format_page_notice,
    read_file_page,
)
from tools.files.line_index import FileShrankSinceIndexed
from tools.files.output_artifacts import ARTIFACT_SCHEME
from tools.files.path_arguments import resolve_path_argument, resolve_path_arguments, workspace_path_exists
from tools.files.paths import display_path
from tools.lazy_patterns import lazy_regex
from tools.number_formatting import count_with_noun
from tools.session_workspace import SessionWorkspace, workspace_of_context
from tools.streaming_arguments import first_text_argument, number_argument, number_in_result_details
from tools.text_sanitizing import escape_controls, one_line
from tools.thread_work import RunToolInThread, StopFlag
from tools.tool_definition import Tool, ToolContext, ToolError
from tools.tool_result_values import (
    Card,
    FileBlock,
    ImageBlock,
    ImagePart,
    TextPart,
    ToolResult,
    make_failed_call_card,
    text_result,
)

_PATH_WITH_LINE_RANGE_PATTERN = lazy_regex(
    r"(?P<path>.+):(?P<first>[1-9]\d*)(?:-(?P<last>[1-9]\d*))?", re.DOTALL
)
_CONTEXT_LINES_OF_ANCHORED_RANGE = 3
"""The number of lines shown around a requested range when lines have anchors, because edits are often just beside
it."""


class ReadArguments(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[
        str,
        msgspec.Meta(description="File to read (relative, absolute or artifact://ID), or directory to list"),
    ]
    offset: Annotated[int | None, msgspec.Meta(description="Line to start at, from 1")] = None
    limit: Annotated[
        Annotated[int, msgspec.Meta(ge=1)] | None, msgspec.Meta(description="Maximum number of lines")
    ] = None
    tail: Annotated[
        Annotated[int, msgspec.Meta(ge=1)] | None,
        msgspec.Meta(description="Only this many lines from the end"),
    ] = None
    map: Annotated[
        bool | None, msgspec.Meta(description="Outline of the file or folder instead of its text")
    ] = None
    symbol: Annotated[
        str | None, msgspec.Meta(description="Read just the lines of this function, class, heading or key")
    ] = None
    end_line: Annotated[int | None, UNDECLARED_ARGUMENT_META] = None

    def effects(self, context: ToolContext) -> Effects:
        if self.path.strip().startswith(ARTIFACT_SCHEME):
            return NO_CALL_EFFECTS
        # The path may be a file name that ends in a range, and such a file may be created before the call runs.
        match = _PATH_WITH_LINE_RANGE_PATTERN.fullmatch(self.path.strip())
        return Effects(reads=resolve_path_arguments(context, self.path, *((match["path"],) if match else ())))


def make_read_tool() -> Tool:
    return Tool(
        name="read",
        description=(
            "Read a file. Text comes in pages of at most 2000 lines or 50KB; continue with offset. Long "
            "files come with an outline and its line numbers. Also reads images (jpg, png, gif, webp), "
            "notebooks and "
            "artifact://ID outputs, and lists directories."
        ),
        schema=make_arguments_schema(ReadArguments),
        arguments=ReadArguments,
        effects=ReadArguments.effects,
        kind="read",
        prepare=_resolve_aliases,
        run=RunToolInThread(_run_read_call),
        show=_make_read_card,
        snippet="Read files",
        guidelines=("Use read to look into files, not cat or sed",),
        is_read_only=True,
    )


_resolve_aliases = make_alias_resolver(
    ReadArguments,
    PATH_ARGUMENT_ALIASES,
    dict.fromkeys(("start", "start_line", "line", "from", "line_start", "first_line"), "offset"),
    dict.fromkeys(("head", "lines", "num_lines", "max_lines", "line_count", "count"), "limit"),
    dict.fromkeys(("last", "last_lines", "tail_lines"), "tail"),
    dict.fromkeys(("end", "end_line", "to", "line_end", "last_line"), "end_line"),
    dict.fromkeys(("outline", "file_map"), "map"),
)


class _ReadTarget(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    display_path: str
    file_stat: FileStat
    page_request: FilePageRequest


def _run_read_call(arguments: ReadArguments, context: ToolContext, stop: StopFlag) -> ToolResult:
    if not arguments.path.strip():
        raise ToolError("The path is empty. Pass the file to read.")
    return _read_target(arguments, context, workspace_of_context(context), stop)


def _read_target(
    arguments: ReadArguments, context: ToolContext, workspace: SessionWorkspace, stop: StopFlag
) -> ToolResult:
    target = _resolve_read_target(arguments, context, workspace)
    if target.file_stat.kind == "directory":
        if arguments.map or arguments.symbol:
            return _read_folder(arguments, context, workspace, target, stop)
        return _list_directory(workspace, target)
    if target.file_stat.kind == "other":
        raise ToolError(
            f"{target.display_path} is a device, a socket or a FIFO. Only regular files can be read."
        )
    try:
        return _read_file(arguments, context, workspace, target, stop)
    except OSError as problem:
        raise make_file_error(problem, "read", target.path, workspace.files) from None
    except FileShrankSinceIndexed:
        raise ToolError(f"{target.display_path} became shorter while it was read. Read it again.") from None


def _resolve_read_target(
    arguments: ReadArguments, context: ToolContext, workspace: SessionWorkspace
) -> _ReadTarget:
    offset, limit = arguments.offset, arguments.limit
    if arguments.end_line is not None and limit is None:
        limit = max(1, arguments.end_line - (offset or 1) + 1)
    raw = arguments.path
    if raw.strip().startswith(ARTIFACT_SCHEME):
        path, offset, limit = _resolve_artifact(workspace, raw.strip(), offset, limit)
        request = FilePageRequest(offset=offset, limit=limit, is_output=True)
        return _ReadTarget(
            path=path, display_path=raw.strip(), file_stat=workspace.files.stat(path), page_request=request
        )
    path, match = _split_path_and_range(workspace, raw, context)
    if match is not None:
        offset, limit = _offset_and_limit(match, offset, limit)
    try:
        stat = workspace.files.stat(path)
    except OSError as problem:
        raise make_file_error(problem, "read", path, workspace.files) from None
    request = FilePageRequest(offset=offset, limit=limit, tail=arguments.tail if offset is None else None)
    return _ReadTarget(
        path=path, display_path=display_path(path, context.cwd), file_stat=stat, page_request=request
    )


def _split_path_and_range(
    workspace: SessionWorkspace, raw: str, context: ToolContext
) -> "tuple[str, re.Match[str] | None]":
    """Splits a path such as `a.py:3-5` into the file and the range of lines, unless a file has that whole name."""
    path = resolve_path_argument(workspace, raw, context)
    match = _PATH_WITH_LINE_RANGE_PATTERN.fullmatch(raw.strip())
    if match is None or workspace_path_exists(workspace, path):
        return path, None
    return resolve_path_argument(workspace, match["path"], context), match


def _offset_and_limit(
    match: "re.Match[str]", offset: int | None, limit: int | None
) -> tuple[int | None, int | None]:
    if offset is None:
        offset = int(match["first"])
        if match["last"] and limit is None:
            limit = max(1, int(match["last"]) - offset + 1)
    return offset, limit


def _resolve_artifact(
    workspace: SessionWorkspace, uri: str, offset: int | None, limit: int | None
) -> tuple[str, int | None, int | None]:
    body = uri.removeprefix(ARTIFACT_SCHEME)
    match = _PATH_WITH_LINE_RANGE_PATTERN.fullmatch(body)
    if match:
        offset, limit = _offset_and_limit(match, offset, limit)
        body = match["path"]
    path = workspace.artifacts.find(int(body)) if body.isascii() and body.isdigit() else None
    if path is None:
        raise ToolError(f"There is no {escape_controls(uri)[:100]} in this session.")
    return str(path), offset, limit


def _read_folder(
    arguments: ReadArguments,
    context: ToolContext,
    workspace: SessionWorkspace,
    target: _ReadTarget,
    stop: StopFlag,
) -> ToolResult:
    """Answers a read of a folder with its repository map, or with one of the map's symbols."""
    from tools.repomap.folder_results import find_symbol_in_folder, make_folder_map_result  # noqa: PLC0415  (SQLite, parsers)

    if not arguments.symbol:
        return make_folder_map_result(workspace, target.path, target.display_path)
    found = find_symbol_in_folder(workspace, target.path, target.display_path, arguments.symbol)
    if isinstance(found, ToolResult):
        return found
    path, definition = found
    first = definition.symbol.decorator_line or definition.symbol.start_line
    wanted = ReadArguments(path=path, offset=first, limit=definition.symbol.end_line - first + 1)
    result = _read_target(wanted, context, workspace, stop)
    where = f"{escape_controls(path)}, lines {first}-{definition.symbol.end_line}"
    head = f"{escape_controls(definition.name)} is in {where}:\n"
    return msgspec.structs.replace(result, content=(TextPart(text=head + result.text),))


def _list_directory(workspace: SessionWorkspace, target: _ReadTarget) -> ToolResult:
    try:
        listing = list_directory(workspace.files, target.path)
    except OSError as problem:
        raise make_file_error(problem, "list", target.path, workspace.files) from None
    hint = "[Read one of them by its path, or search with find or grep.]"
    text = f"{target.display_path} is a directory. Its entries:\n{listing.text}\n\n{hint}"
    return text_result(text, details={"directory": True, "entries": listing.total})


def _read_file(
    arguments: ReadArguments,
    context: ToolContext,
    workspace: SessionWorkspace,
    target: _ReadTarget,
    stop: StopFlag,
) -> ToolResult:
    with workspace.files.open(target.path) as file:
        head = read_file_head(file)
        if is_image_data(head):
            return make_image_result(file, target.display_path, target.file_stat.size, context, workspace)
        notebook = read_notebook_text(file, target.path, target.file_stat.size)
        if notebook is None and is_binary_data(head):
            raise make_binary_file_error(head, target.display_path, target.file_stat.size)
        request = target.page_request
        symbol: SymbolLines | None = None
        if arguments.map:
            return make_outline_result(
                target.path, target.display_path, workspace, context.model_window, stop
            )
        if arguments.symbol:
            found = find_symbol_lines(target.path, target.display_path, arguments.symbol, workspace, stop)
            if isinstance(found, ToolResult):
                return found
            symbol = found
            count = symbol.last - symbol.first + 1
            request = FilePageRequest(offset=symbol.first, limit=count, symbol=symbol.description)
        is_anchored = workspace.edit_mode() == "anchored" and not request.is_output
        if is_anchored:
            request = request.with_surrounding_lines(_CONTEXT_LINES_OF_ANCHORED_RANGE)
        if notebook is not None:
            made = make_notebook_page_result(notebook, target.path, request, is_anchored=is_anchored)
            record_shown_notebook_lines(workspace, target.path, target.file_stat.version, notebook, made)
            return _add_symbol_members(made, symbol)
        file.seek(0)
        real = target.path if request.is_output else workspace.files.real_path(target.path)
        try:
            page = read_file_page(
                file,
                real,
                target.file_stat.version,
                request,
                workspace.line_indexes,
                stop,
            )
        except CannotReadBinaryFile:
            raise make_binary_file_error(head, target.display_path, target.file_stat.size) from None
        if is_anchored:
            page = make_anchored_page(workspace, target.path, page, real)
    return _add_symbol_members(_make_page_result(arguments, workspace, target, request, page, real), symbol)


def _add_symbol_members(result: ToolResult, symbol: SymbolLines | None) -> ToolResult:
    """Adds the list of members to the result of reading a symbol that is larger than a page."""
    last = number_in_result_details(result.details, "lastLine")
    if symbol is None or not symbol.members or last is None or last >= symbol.last:
        return result
    text = f"{result.text}\n\nInside {symbol.name}:\n{symbol.members}"
    return msgspec.structs.replace(result, content=(TextPart(text=text),))


def _make_page_result(
    arguments: ReadArguments,
    workspace: SessionWorkspace,
    target: _ReadTarget,
    request: FilePageRequest,
    page: FilePage,
    real: str,
) -> ToolResult:
    if page.total_lines == 0:
        return text_result(f"{target.display_path} is empty.", details={"totalLines": 0})
    if page.first_line > page.total_lines:
        text = (
            f"Line {page.first_line} is beyond end of file ({page.total_lines} lines total). "
            f"Use offset=1 to read from the start, or offset={page.total_lines} to read the last line."
        )
        return text_result(text, details={"totalLines": page.total_lines})
    if not page.clipped_bytes and not request.is_output:
        workspace.read_cache.record_lines(
            real, target.file_stat.version, enumerate(page.lines, page.first_line)
        )
    notes = [format_page_notice(page, request, target.path)]
    if not page.encoding.is_utf8 or page.encoding.byte_order_mark:
        notes.append(f"Encoding: {page.encoding.label}")
    elif "\ufffd" in page.text:
        notes.append("Some bytes are not valid UTF-8 and are shown as \ufffd; edits keep them")
    told = " ".join(note if note.endswith(".") else f"{note}." for note in notes if note)
    text = page.text + (f"\n\n[{told}]" if told else "")
    details: dict[str, Any] = {
        "firstLine": page.first_line,
        "lastLine": page.last_line,
        "totalLines": page.total_lines,
    }
    if page.is_anchored:
        details["anchored"] = True
    truncation = page.truncation()
    if truncation:
        details["truncation"] = truncation.details()
        is_plain = arguments.limit is None and not request.requests_line_range
        if is_plain and not arguments.symbol and not request.is_output:
            details["map"] = make_partial_page_details(target.path, page.first_line, page.last_line)
    if not page.encoding.is_utf8 or page.encoding.byte_order_mark:
        details["encoding"] = page.encoding.label
    return text_result(text, details=details)


def _make_read_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    path = first_text_argument(arguments, "path")
    subject = path + _format_range_label(arguments)
    if result is None:
        return Card(title="read", subject=subject)
    if result.is_error:
        return make_failed_call_card("read", subject, result)
    image = next((part for part in result.content if isinstance(part, ImagePart)), None)
    if image is not None:
        width = number_in_result_details(result.details, "image", "width") or 0
        height = number_in_result_details(result.details, "image", "height") or 0
        count = number_in_result_details(result.details, "image", "bytes") or len(image.data) * 3 // 4
        summary = f"{width}×{height}" if width else image.mime_type
        block = ImageBlock(
            mime_type=image.mime_type, byte_count=count, data=image.data, width=width, height=height
        )
        return Card(title="read", subject=subject, summary=summary, blocks=(block,))
    first = number_in_result_details(result.details, "firstLine") or number_argument(arguments, "offset") or 1
    last = number_in_result_details(result.details, "lastLine")
    total = number_in_result_details(result.details, "totalLines")
    text, note = _split_page_notice(result.text)
    if result.details and result.details.get("anchored"):
        text = remove_anchors_from_rows(text)
    summary = ""
    if last is not None and total is not None:
        shown = last - first + 1
        lines = count_with_noun(total, "line")
        summary = lines if shown >= total else f"{shown:,} of {lines}"
    return Card(
        title="read",
        subject=subject,
        summary=summary,
        blocks=(FileBlock(path=path, text=text, first_line=first, note=note),),
    )


def _format_range_label(arguments: Mapping[str, Any]) -> str:
    symbol = first_text_argument(arguments, "symbol")
    if symbol:
        return f" {one_line(symbol)}"
    if arguments.get("map"):
        return " (map)"
    offset, limit = number_argument(arguments, "offset"), number_argument(arguments, "limit")
    if offset is None and limit is None:
        return ""
    first = offset or 1
    return f":{first}-{first + limit - 1}" if limit else f":{first}"


def _split_page_notice(text: str) -> tuple[str, str]:
    """Splits the text of a read result into the file's lines and the notice in brackets behind them."""
    start = text.rfind("\n\n[")
    if start >= 0 and text.endswith("]") and "\n" not in text[start + 2 :]:
        return text[:start], text[start + 3 : -1]
    return text, ""
