"""The `write` tool: creates or replaces a whole file."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from tools.argument_aliases import PATH_ARGUMENT_ALIASES, make_alias_resolver
from tools.argument_schema import make_arguments_schema
from tools.call_effects import Effects
from tools.edits.diffs import Diff, make_diff_of_texts
from tools.edits.editable_text import DecodedFileText, decode_text_file
from tools.files.file_changes import FileStateBeforeChange, NewFileContent
from tools.files.file_errors import make_file_error
from tools.files.path_arguments import find_withheld_files, resolve_path_argument, resolve_path_arguments
from tools.files.paths import display_path
from tools.files.text_encoding import UTF8_ENCODING, TextEncoding
from tools.number_formatting import format_changed_lines
from tools.result_limits import count_lines
from tools.session_workspace import SessionWorkspace, workspace_of_context
from tools.streaming_arguments import first_text_argument, number_in_result_details, text_in_result_details
from tools.text_sanitizing import escape_controls
from tools.tool_definition import Tool, ToolContext, ToolError
from tools.tool_result_values import Card, DiffBlock, FileBlock, TextPart, ToolResult, make_failed_call_card

if TYPE_CHECKING:
    from tools.edits.edit_preview import CallDiff, LookUpPreviewedFile

_FOLDED_WRITE_CARD_LINES = 5
_MAX_WRITE_CARD_CHARS = 20_000
"""The maximum number of characters of a new file's content that the call's card draws."""


class WriteArguments(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[
        str, msgspec.Meta(description="File to write (relative or absolute); parents are created")
    ]
    content: Annotated[str, msgspec.Meta(description="Its whole content")]

    def effects(self, context: ToolContext) -> Effects:
        return Effects(writes=resolve_path_arguments(context, self.path))


class _WriteOutcome(msgspec.Struct, frozen=True, kw_only=True):
    is_new: bool
    diff: Diff | None
    changed_lines: list[int]
    line_count: int


def make_write_tool() -> Tool:
    return Tool(
        name="write",
        description="Create a file or replace all of it. Creates parent directories. To change parts, use edit.",
        schema=make_arguments_schema(WriteArguments),
        arguments=WriteArguments,
        effects=WriteArguments.effects,
        kind="edit",
        prepare=_resolve_aliases,
        run=run_write,
        preview=_compute_preview_diffs,
        show=_make_write_card,
        snippet="Create or completely replace files",
        guidelines=("Use write for new files and complete rewrites only",),
    )


_resolve_aliases = make_alias_resolver(
    WriteArguments,
    PATH_ARGUMENT_ALIASES,
    dict.fromkeys(("text", "contents", "file_text", "new_content", "code", "data"), "content"),
)


async def run_write(arguments: WriteArguments, context: ToolContext) -> ToolResult:
    workspace = workspace_of_context(context)
    if not arguments.path.strip() or "\0" in arguments.path:
        raise ToolError("The path is empty or contains a null byte. Pass the file to write.")
    path = await asyncio.to_thread(resolve_path_argument, workspace, arguments.path, context)
    real = await asyncio.to_thread(workspace.files.real_path, path)
    shown = display_path(path, context.cwd)

    is_withheld = bool(await asyncio.to_thread(find_withheld_files, workspace, [(real, real)]))

    def compute(state: FileStateBeforeChange | None) -> NewFileContent:
        return _make_written_content(workspace, path, real, shown, state, arguments.content)

    try:
        changed = await workspace.mutations.change_file(path, context.call_id, compute)
    except OSError as problem:
        raise make_file_error(problem, "write", path, workspace.files) from None
    written = changed.info
    assert isinstance(written, _WriteOutcome)
    workspace.read_cache.record_whole_text(real, changed.version, arguments.content)
    return _make_write_result(written, shown, is_withheld=is_withheld)


def _make_written_content(
    workspace: SessionWorkspace,
    path: str,
    real: str,
    shown: str,
    state: FileStateBeforeChange | None,
    content: str,
) -> NewFileContent:
    if state is None:
        workspace.files.make_directory(str(Path(path).parent))
        data = _encode_content(UTF8_ENCODING, content, shown)
        lines = count_lines(content)
        info = _WriteOutcome(is_new=True, diff=None, changed_lines=[], line_count=lines)
        return NewFileContent(data=data, added=lines, info=info)
    old = _decode_old_text(state.data, shown)
    keeps = old is not None and (old.encoding.byte_order_mark or not old.encoding.has_single_byte_line_feeds)
    encoding = old.encoding if old is not None and keeps else UTF8_ENCODING
    diff = make_diff_of_texts(shown, old.text, content.replace("\r\n", "\n")) if old is not None else None
    stale: list[int] = []
    seen = workspace.read_cache.mark_as_recently_seen(real)
    if seen is not None and seen.version != state.stat.version and old is not None:
        stale = workspace.read_cache.lines_changed_since_shown(real, old.text.split("\n"))
    info = _WriteOutcome(is_new=False, diff=diff, changed_lines=stale, line_count=count_lines(content))
    return NewFileContent(
        data=_encode_content(
            encoding, content.removeprefix("\ufeff") if encoding.byte_order_mark else content, shown
        ),
        added=diff.added if diff else info.line_count,
        removed=diff.removed if diff else 0,
        info=info,
    )


def _decode_old_text(data: bytes, shown: str) -> DecodedFileText | None:
    try:
        return decode_text_file(data, shown)
    except ToolError:
        return None  # The old content was binary: there is nothing to compare.


def _encode_content(encoding: TextEncoding, content: str, shown: str) -> bytes:
    try:
        return encoding.encode(content)
    except UnicodeEncodeError as problem:
        raise ToolError(
            f"Could not write {shown}: {problem.object[problem.start]!r} cannot be encoded as "
            f"{encoding.name}. "
            "The file was not changed."
        ) from None


def _make_write_result(written: _WriteOutcome, shown: str, *, is_withheld: bool) -> ToolResult:
    diff = written.diff
    if written.is_new:
        text = f"Successfully wrote to {shown} (created, {written.line_count} lines)."
    elif diff is not None:
        text = f"Successfully wrote to {shown} (overwritten, +{diff.added} -{diff.removed} lines)."
    else:
        text = f"Successfully wrote to {shown} (overwrote a binary file, {written.line_count} lines)."
    if written.changed_lines:
        lines = ", ".join(map(str, written.changed_lines[:_FOLDED_WRITE_CARD_LINES]))
        more = ", …" if len(written.changed_lines) > _FOLDED_WRITE_CARD_LINES else ""
        text += (
            f"\n\n[Warning: the file had changed on disk since you last read it (lines {lines}{more}); "
            "those changes are overwritten. Make sure that nothing was lost.]"
        )
    details: dict[str, Any] = {
        "created": written.is_new,
        "added": diff.added if diff else written.line_count,
        "removed": diff.removed if diff else 0,
    }
    if diff is not None and not is_withheld:  # programs that call tools get the details too
        details["patch"] = escape_controls(diff.patch)
    return ToolResult(content=(TextPart(text=text),), details=details)


def _compute_preview_diffs(
    arguments: Mapping[str, Any], look: "LookUpPreviewedFile"
) -> "tuple[CallDiff, ...]":
    from tools.edits.edit_preview import preview_write  # noqa: PLC0415  (a start needs no dialect of edits)

    return preview_write(arguments, look)


def _make_write_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    path = first_text_argument(arguments, "path")
    given = arguments.get("content")
    lines = count_lines(given) if isinstance(given, str) else 0
    content = escape_controls(given[:_MAX_WRITE_CARD_CHARS]) if isinstance(given, str) else ""
    if result is not None and result.is_error:
        return make_failed_call_card("write", path, result)
    patch = text_in_result_details(result.details, "patch") if result else ""
    added, removed = 0, 0
    if result is not None:
        added = number_in_result_details(result.details, "added") or 0
        removed = number_in_result_details(result.details, "removed") or 0
    if patch:
        more = number_in_result_details(result.details, "more") or 0 if result is not None else 0
        block = DiffBlock(path=path, diff=patch, added=added, removed=removed, more=more)
        return Card(
            title="write", subject=path, summary=format_changed_lines(added, removed), blocks=(block,)
        )
    summary = f"{lines} line{'' if lines == 1 else 's'}" if content else ""
    blocks = (FileBlock(path=path, text=content, more=lines - count_lines(content)),) if content else ()
    return Card(title="write", subject=path, summary=summary, blocks=blocks)
