"""The `ls` tool: lists the entries of one directory."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from tools.argument_aliases import FOLDER_ARGUMENT_ALIASES, PATH_ARGUMENT_ALIASES, make_alias_resolver
from tools.argument_schema import make_arguments_schema
from tools.call_effects import Effects
from tools.files.directory_listing import MAX_LISTED_ENTRIES, DirectoryListing, list_directory
from tools.files.file_errors import make_file_error
from tools.files.path_arguments import resolve_path_argument, resolve_path_arguments
from tools.result_limits import count_lines
from tools.session_workspace import SessionWorkspace, workspace_of_context
from tools.streaming_arguments import first_text_argument
from tools.text_sanitizing import escape_controls
from tools.thread_work import RunToolInThread, StopFlag
from tools.tool_definition import Tool, ToolContext
from tools.tool_result_values import Card, ListBlock, TextPart, ToolResult, make_failed_call_card


class LsArguments(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[
        str | None, msgspec.Meta(description="Directory to list; the working directory by default")
    ] = None
    limit: Annotated[
        Annotated[int, msgspec.Meta(ge=1)] | None, msgspec.Meta(description="Maximum entries to list (500)")
    ] = None

    def effects(self, context: ToolContext) -> Effects:
        return Effects(lists=resolve_path_arguments(context, self.path))


def make_ls_tool() -> Tool:
    return Tool(
        name="ls",
        description="List a directory: names sorted, directories with a slash, dotfiles included, at most 500.",
        schema=make_arguments_schema(LsArguments),
        arguments=LsArguments,
        effects=LsArguments.effects,
        kind="search",
        prepare=make_alias_resolver(
            LsArguments,
            PATH_ARGUMENT_ALIASES,
            FOLDER_ARGUMENT_ALIASES,
            dict.fromkeys(("head", "max_results"), "limit"),
        ),
        run=RunToolInThread(_run_ls_call),
        show=_make_ls_card,
        snippet="List directory contents",
        is_read_only=True,
    )


def _run_ls_call(arguments: LsArguments, context: ToolContext, stop: StopFlag) -> ToolResult:
    listing = _list_folder(
        workspace_of_context(context), arguments.path, context, arguments.limit or MAX_LISTED_ENTRIES
    )
    details: dict[str, Any] = {}
    if listing.limit_reached:
        details["entryLimitReached"] = listing.limit_reached
    if listing.truncation:
        details["truncation"] = listing.truncation.details()
    return ToolResult(content=(TextPart(text=listing.text),), details=details or None)


def _list_folder(
    workspace: SessionWorkspace, raw: str | None, context: ToolContext, limit: int
) -> DirectoryListing:
    path = resolve_path_argument(workspace, raw, context)
    try:
        return list_directory(workspace.files, path, limit)
    except NotADirectoryError:
        return DirectoryListing(
            text=f"{escape_controls(raw or '')} is a file, not a directory. Use read to see it.",
            shown=0,
            total=0,
        )
    except OSError as problem:
        raise make_file_error(problem, "list", path, workspace.files) from None


def _make_ls_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    return make_item_list_card("ls", first_text_argument(arguments, "path") or ".", result, "entries")


def make_item_list_card(title: str, subject: str, result: ToolResult | None, noun: str) -> Card:
    """Returns the card of a tool call whose result is one item per line, with a notice in brackets."""
    if result is None:
        return Card(title=title, subject=subject)
    text, _, note = result.text.partition("\n\n[")
    if result.is_error:
        return make_failed_call_card(title, subject, result)
    items: tuple[str, ...] = tuple(text.split("\n")) if text else ()
    is_message = "\n" not in text and text.startswith(("(", "No "))
    summary = text.strip("()") if is_message else f"{count_lines(text)} {noun}{' (limited)' if note else ''}"
    return Card(
        title=title,
        subject=subject,
        summary=summary,
        blocks=(ListBlock(items=items, note=note.removesuffix("]")),),
    )
