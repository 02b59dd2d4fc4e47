"""What servers do to files during a call: recorded for undo, and reported where the sandbox could not prevent it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from app.mcp.managed_server import ManagedServer
from app.mcp.server_registry import OfferedTool
from tools.base import ToolContext, ToolError
from tools.operations import CommandLine
from tools.results import TextPart, ToolResult
from tools.running.box_notes import change_notes, lasting_notes, late_keys_note
from tools.running.commands import finish_despite_cancellation, watch_files
from tools.running.watching import FilesAfterCommand
from tools.workspace import workspace_of

_Result = TypeVar("_Result")


async def watch_for_undo(entry: OfferedTool, context: ToolContext) -> FilesAfterCommand | None:
    """Begins to look for changed files, so that undo has them: a local program may change any file of the folder."""
    config = entry.life.config
    if config.url is not None or entry.tool.says_read_only:
        return None
    line = CommandLine(argv=(entry.full_name,), cwd=str(context.cwd), environment={})
    return await watch_files(workspace_of(context), context.call_id, entry.full_name, line)


async def run_watched(
    life: ManagedServer,
    context: ToolContext,
    asked: Awaitable[_Result],
    result_of: Callable[[_Result], ToolResult],
) -> ToolResult:
    """Returns the result, with the files that the server changed meanwhile or since the last call, where its sandbox
    could not prevent it."""
    box, guard = await life.box(), workspace_of(context).guard
    if box is None:
        return await asyncio.to_thread(result_of, await asked)
    seen = await asyncio.to_thread(guard.before, box)
    notes = lasting_notes(guard.lasting_names, await asyncio.to_thread(guard.between))
    problem: ToolError | None = None
    result = ToolResult()
    try:
        result = await asyncio.to_thread(result_of, await asked)
    except ToolError as failure:
        problem = failure
    finally:
        behind = asyncio.to_thread(guard.after, seen, box)
        notes += change_notes("server", await finish_despite_cancellation(behind))
    if hidden := life.newly_hidden(box):
        name = life.config.name
        notes.append(late_keys_note(f"the MCP server `{name}`", hidden, f"/mcp restart {name}"))
    if problem is not None:
        raise ToolError("\n".join([str(problem), *notes])) from None
    return _with_notes(result, notes)


def _with_notes(result: ToolResult, notes: list[str]) -> ToolResult:
    told = tuple(TextPart(text=f"[{note}]") for note in notes)
    return msgspec.structs.replace(result, content=(*result.content, *told)) if told else result
