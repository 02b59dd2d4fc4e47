"""Files that `read` does not show as pages of text: images, notebooks, and binary files, which it refuses."""

from typing import Any, BinaryIO, Final

from tools.edits.dialects.line_anchors import format_anchored_rows
from tools.files.file_pages import FilePageRequest, format_line_range_notice
from tools.files.images import identify_image, prepare_image_for_model
from tools.files.notebook_text import MAX_RENDERED_NOTEBOOK_BYTES, parse_notebook
from tools.files.text_encoding import ENCODING_SAMPLE_BYTES, detect_encoding
from tools.result_limits import MAX_TOOL_RESULT_BYTES, format_size, keep_first_lines
from tools.session_workspace import SessionWorkspace
from tools.text_sanitizing import escape_controls
from tools.tool_definition import ToolContext, ToolError
from tools.tool_result_values import ImagePart, TextPart, ToolResult, text_result

_MAX_READ_IMAGE_BYTES = 100_000_000
_FILE_KIND_BY_SIGNATURE: Final[tuple[tuple[int, bytes, str], ...]] = (
    (0, b"\x7fELF", "ELF executable or library"),
    (0, b"MZ", "Windows executable"),
    (0, b"\xcf\xfa\xed\xfe", "Mach-O executable"),
    (0, b"\xca\xfe\xba\xbe", "Java class or universal binary"),
    (0, b"\0asm", "WebAssembly module"),
    (0, b"%PDF-", "PDF document"),
    (0, b"PK\x03\x04", "zip archive (or a document made as one)"),
    (0, b"\x1f\x8b", "gzip data"),
    (0, b"BZh", "bzip2 data"),
    (0, b"\xfd7zXZ\0", "xz data"),
    (0, b"\x28\xb5\x2f\xfd", "zstd data"),
    (0, b"7z\xbc\xaf\x27\x1c", "7-zip archive"),
    (0, b"Rar!", "rar archive"),
    (257, b"ustar", "tar archive"),
    (0, b"SQLite format 3\0", "SQLite database"),
    (0, b"\xd0\xcf\x11\xe0", "old Office document"),
    (0, b"OggS", "Ogg audio or video"),
    (0, b"ID3", "MP3 audio"),
    (0, b"fLaC", "FLAC audio"),
    (4, b"ftyp", "MP4 or QuickTime video"),
    (0, b"\x1aE\xdf\xa3", "Matroska or WebM video"),
    (0, b"II*\0", "TIFF image"),
    (0, b"MM\0*", "TIFF image"),
    (0, b"\0\0\x01\0", "icon"),
    (0, b"\0\x01\0\0", "font"),
    (0, b"OTTO", "font"),
    (0, b"wOF", "web font"),
)


def read_file_head(file: BinaryIO) -> bytes:
    """Returns the first bytes of a file, enough to detect its kind."""
    return file.read(ENCODING_SAMPLE_BYTES)


def is_image_data(head: bytes) -> bool:
    return identify_image(head) is not None


def is_binary_data(head: bytes) -> bool:
    return detect_encoding(head, is_whole=len(head) < ENCODING_SAMPLE_BYTES) is None


def make_binary_file_error(head: bytes, shown: str, size: int) -> ToolError:
    """Returns the error that refuses to read a binary file as text: it names the kind of the file, and what to use
    instead."""
    return ToolError(
        f"{shown} is a binary file ({_describe_binary_kind(head)}, {format_size(size)}) and cannot be shown as text. "
        "Use bash with file, strings, xxd or a tool for its kind."
    )


def _describe_binary_kind(head: bytes) -> str:
    """Returns what kind of binary file it is by its first bytes, such as "PDF document"."""
    for offset, magic, name in _FILE_KIND_BY_SIGNATURE:
        if head[offset : offset + len(magic)] == magic:
            return name
    return "binary data"


def make_image_result(
    file: BinaryIO, shown: str, size: int, context: ToolContext, workspace: SessionWorkspace
) -> ToolResult:
    """Returns the result of reading an image file; a model that cannot read images gets a description in words
    instead."""
    if size > _MAX_READ_IMAGE_BYTES:
        raise ToolError(
            f"{shown} is an image of {format_size(size)}, which is too large. Scale it down with bash first."
        )
    file.seek(0)
    data = file.read()
    info = identify_image(data[:ENCODING_SAMPLE_BYTES]) or identify_image(data)
    assert info is not None
    ready = prepare_image_for_model(data, info, resizes=workspace.read_settings().resizes_images)
    if ready.problem:
        raise ToolError(f"{shown} is an image ({info.mime_type}) but {ready.problem}.")
    details: dict[str, Any] = {
        "image": {
            "mimeType": ready.info.mime_type,
            "width": ready.info.width,
            "height": ready.info.height,
            "bytes": len(data),
        }
    }
    text = f"Read image file [{ready.info.mime_type}]"
    if ready.note:
        text += f"\n[Image: {ready.note}.]"
    if not context.model_reads_images:
        # The image stays in the session for a later model; each request to this one says that it was here.
        details["imageUnsupportedByModel"] = True
    return ToolResult(
        content=(TextPart(text=text), ImagePart(data=ready.data, mime_type=ready.info.mime_type)),
        details=details,
    )


def read_notebook_text(file: BinaryIO, path: str, size: int) -> str | None:
    """Returns the cells of a notebook as one text; None if it is no notebook, or too large to be read as one."""
    if not path.lower().endswith(".ipynb") or size > MAX_RENDERED_NOTEBOOK_BYTES:
        return None
    file.seek(0)
    notebook = parse_notebook(file.read())
    return None if notebook is None else notebook.text


def make_notebook_page_result(
    cells: str, path: str, request: FilePageRequest, *, is_anchored: bool
) -> ToolResult:
    """Returns a page of a notebook's text as the result of a read, its lines with anchors or without."""
    lines = cells.removesuffix("\n").split("\n")
    first = max(1, len(lines) - request.tail + 1 if request.tail is not None else request.offset or 1)
    if first > len(lines):
        return text_result(f"Line {first} is beyond end of the notebook's text ({len(lines)} lines total).")
    wanted = lines[first - 1 :][: request.limit or request.tail]
    cut = keep_first_lines(
        escape_controls(format_anchored_rows(wanted, first) if is_anchored else "\n".join(wanted))
    )
    last = first + cut.output_lines - 1
    text = cut.content
    if last < len(lines) or request.requests_line_range:
        limit = f" ({format_size(MAX_TOOL_RESULT_BYTES)} limit)" if cut.truncated_by == "bytes" else ""
        about = f": {request.symbol}" if request.symbol else ""
        more = f" Use offset={last + 1} to continue." if last < len(lines) and not about else ""
        text += f"\n\n[{format_line_range_notice(first, last, len(lines))}{limit}{about}.{more}]"
    details: dict[str, Any] = {
        "notebook": True,
        "firstLine": first,
        "lastLine": last,
        "totalLines": len(lines),
    }
    if is_anchored:
        details["anchored"] = True
    if cut.truncated:
        details["truncation"] = cut.details()
        if not request.requests_line_range:
            details["map"] = make_partial_page_details(path, first, last)
    return text_result(text, details=details)


def make_partial_page_details(path: str, first: int, last: int) -> dict[str, Any]:
    """Returns the details of a read result that shows only a part of a file: the path, and the first and last line
    shown."""
    return {"path": path, "firstLine": first, "lastLine": last}
