"""Finds the files that MCP servers change during a call: records them for undo, and reports changes that the
sandbox could not prevent."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from app.mcp.managed_server import ManagedServer
from app.mcp.server_registry import OfferedTool
from tools.base import ToolContext, ToolError
from tools.operations import CommandLine
from tools.results import TextPart, ToolResult
from tools.running.file_watching import FilesAfterCommand
from tools.running.running_command import finish_despite_cancellation, watch_command_files
from tools.running.sandbox_notes import (
    format_change_notes,
    format_lasting_process_notes,
    format_late_keys_note,
)
from tools.workspace import workspace_of_context

_Result = TypeVar("_Result")


async def watch_files_for_undo(entry: OfferedTool, context: ToolContext) -> FilesAfterCommand | None:
    """Starts to watch for files that a local MCP server changes during a call, so that undo can restore them. Returns
    None for a server on the network or a read-only tool."""
    config = entry.managed_server.config
    if config.url is not None or entry.tool.says_read_only:
        return None
    line = CommandLine(argv=(entry.full_name,), cwd=str(context.cwd), environment={})
    return await watch_command_files(workspace_of_context(context), context.call_id, entry.full_name, line)


async def report_changed_files(
    life: ManagedServer,
    context: ToolContext,
    asked: Awaitable[_Result],
    result_of: Callable[[_Result], ToolResult],
) -> ToolResult:
    """Returns the result of an MCP call, with a note on the files that the server changed during it or since the
    last call, where its sandbox could not prevent it."""
    box, guard = await life.current_sandbox(), workspace_of_context(context).guard
    if box is None:
        return await asyncio.to_thread(result_of, await asked)
    box = life.policy_to_compare(box)
    seen = await asyncio.to_thread(guard.snapshot_before, box)
    await asyncio.to_thread(guard.watch_process, box, f"the MCP server {life.config.name}")
    notes = format_lasting_process_notes(guard.lasting_names, await asyncio.to_thread(guard.changes_between))
    problem: ToolError | None = None
    result = ToolResult()
    try:
        result = await asyncio.to_thread(result_of, await asked)
    except ToolError as failure:
        problem = failure
    finally:
        behind = asyncio.to_thread(guard.changes_after, seen, box)
        notes += format_change_notes("server", await finish_despite_cancellation(behind))
    if hidden := life.newly_hidden_paths(box):
        name = life.config.name
        notes.append(format_late_keys_note(f"the MCP server `{name}`", hidden, f"/mcp restart {name}"))
    if problem is not None:
        raise ToolError("\n".join([str(problem), *notes])) from None
    return _append_notes(result, notes)


def _append_notes(result: ToolResult, notes: list[str]) -> ToolResult:
    told = tuple(TextPart(text=f"[{note}]") for note in notes)
    return msgspec.structs.replace(result, content=(*result.content, *told)) if told else result
