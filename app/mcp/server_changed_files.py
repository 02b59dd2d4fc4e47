"""Finds the files that MCP servers change during a call: records them for undo, and reports changes that the
sandbox could not prevent."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from app.mcp.managed_server import ManagedMcpServer
from app.mcp.server_registry import OfferedMcpTool
from tools.file_and_process_operations import CommandLine
from tools.running.command_file_watching import GetFilesChangedByCommand
from tools.running.running_command import finish_despite_cancellation, watch_command_files
from tools.running.sandbox_notes import (
    format_lasting_process_notes,
    format_late_credentials_note,
    format_unprevented_change_notes,
)
from tools.session_workspace import workspace_of_context
from tools.tool_definition import ToolContext, ToolError
from tools.tool_result_values import TextPart, ToolResult

_Result = TypeVar("_Result")


async def watch_mcp_file_changes_for_undo(
    entry: OfferedMcpTool, context: ToolContext
) -> GetFilesChangedByCommand | None:
    """Starts to watch for files that a local MCP server changes during a call, so that undo can restore them.
    Returns None for a server on the network or a read-only tool."""
    config = entry.managed_server.config
    if config.url is not None or entry.tool.says_read_only:
        return None
    line = CommandLine(argv=(entry.full_name,), cwd=str(context.cwd), environment={})
    return await watch_command_files(workspace_of_context(context), context.call_id, entry.full_name, line)


async def report_files_changed_by_mcp(
    life: ManagedMcpServer,
    context: ToolContext,
    asked: Awaitable[_Result],
    result_of: Callable[[_Result], ToolResult],
) -> ToolResult:
    """Returns the result of an MCP call, with a note on the files that the server changed during it or since
    the last call, where its sandbox could not prevent it."""
    box, guard = await life.current_sandbox(), workspace_of_context(context).guard
    if box is None:
        return await asyncio.to_thread(result_of, await asked)
    box = life.comparable_sandbox_policy(box)
    seen = await asyncio.to_thread(guard.snapshot_before_process, box)
    await asyncio.to_thread(guard.watch_lasting_process, box, f"the MCP server {life.config.name}")
    notes = format_lasting_process_notes(
        guard.lasting_process_names, await asyncio.to_thread(guard.changes_between_calls)
    )
    problem: ToolError | None = None
    result = ToolResult()
    try:
        result = await asyncio.to_thread(result_of, await asked)
    except ToolError as failure:
        problem = failure
    finally:
        behind = asyncio.to_thread(guard.changes_after_process, seen, box)
        notes += format_unprevented_change_notes("server", await finish_despite_cancellation(behind))
    if hidden := life.paths_newly_hidden_by_sandbox(box):
        name = life.config.name
        notes.append(format_late_credentials_note(f"the MCP server `{name}`", hidden, f"/mcp restart {name}"))
    if problem is not None:
        raise ToolError("\n".join([str(problem), *notes])) from None
    return _append_notes(result, notes)


def _append_notes(result: ToolResult, notes: list[str]) -> ToolResult:
    told = tuple(TextPart(text=f"[{note}]") for note in notes)
    return msgspec.structs.replace(result, content=(*result.content, *told)) if told else result
