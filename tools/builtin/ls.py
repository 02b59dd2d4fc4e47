"""The `ls` tool: lists the entries of one directory."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from tools.argument_aliases import FOLDER_ALIASES, PATH_ALIASES, make_alias_resolver
from tools.arguments import text_argument
from tools.base import Tool, ToolContext
from tools.effects import Effects
from tools.files.file_errors import file_error
from tools.files.listing import MAX_ENTRIES, Listing, list_directory
from tools.files.path_arguments import resolve_path_argument, resolve_path_arguments
from tools.limits import count_lines
from tools.results import Card, ListBlock, TextPart, ToolResult, make_failed_card
from tools.schema import make_arguments_schema
from tools.text import escape_controls
from tools.threads import StopFlag, ThreadedTool
from tools.workspace import Workspace, workspace_of_context


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
            LsArguments, PATH_ALIASES, FOLDER_ALIASES, dict.fromkeys(("head", "max_results"), "limit")
        ),
        run=ThreadedTool(_run_ls_call),
        show=_make_ls_card,
        snippet="List directory contents",
        is_read_only=True,
    )


def _run_ls_call(arguments: LsArguments, context: ToolContext, stop: StopFlag) -> ToolResult:
    listing = _list_folder(
        workspace_of_context(context), arguments.path, context, arguments.limit or MAX_ENTRIES
    )
    details: dict[str, Any] = {}
    if listing.limit_reached:
        details["entryLimitReached"] = listing.limit_reached
    if listing.truncation:
        details["truncation"] = listing.truncation.details()
    return ToolResult(content=(TextPart(text=listing.text),), details=details or None)


def _list_folder(workspace: Workspace, raw: str | None, context: ToolContext, limit: int) -> Listing:
    path = resolve_path_argument(workspace, raw, context)
    try:
        return list_directory(workspace.files, path, limit)
    except NotADirectoryError:
        return Listing(
            text=f"{escape_controls(raw or '')} is a file, not a directory. Use read to see it.",
            shown=0,
            total=0,
        )
    except OSError as problem:
        raise file_error(problem, "list", path, workspace.files) from None


def _make_ls_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    return make_list_card("ls", text_argument(arguments, "path") or ".", result, "entries")


def make_list_card(title: str, subject: str, result: ToolResult | None, noun: str) -> Card:
    """Returns the card of a tool call whose result is one item per line, with a notice in brackets."""
    if result is None:
        return Card(title=title, subject=subject)
    text, _, note = result.text.partition("\n\n[")
    if result.is_error:
        return make_failed_card(title, subject, result)
    items: tuple[str, ...] = tuple(text.split("\n")) if text else ()
    is_message = "\n" not in text and text.startswith(("(", "No "))
    summary = text.strip("()") if is_message else f"{count_lines(text)} {noun}{' (limited)' if note else ''}"
    return Card(
        title=title,
        subject=subject,
        summary=summary,
        blocks=(ListBlock(items=items, note=note.removesuffix("]")),),
    )
