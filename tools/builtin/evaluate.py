"""The `eval` tool: reads the arguments of its calls. `tools.kernel`, which the first call loads, runs the cells."""

import asyncio
import os
from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from tools.argument_aliases import make_alias_resolver
from tools.argument_schema import UNDECLARED_ARGUMENT_META, make_arguments_schema
from tools.call_effects import Effects, ProgramOfCall
from tools.files.paths import absolute_path
from tools.session_workspace import workspace_of_context
from tools.text_sanitizing import escape_controls
from tools.tool_definition import Tool, ToolContext, ToolError
from tools.tool_result_values import Card, Json, ToolResult

MAX_EVAL_CODE_CHARS: Final = 20_000_000


class EvalArguments(msgspec.Struct, frozen=True, kw_only=True):
    code: Annotated[str, msgspec.Meta(description="Python to run")]
    title: Annotated[str | None, msgspec.Meta(description="What it is for, in a few words for the user")] = (
        None
    )
    timeout: Annotated[float | None, msgspec.Meta(description="Seconds, up to 3600; 0 for none")] = None
    reset: Annotated[bool | None, msgspec.Meta(description="Start with an empty namespace")] = None
    cwd: Annotated[str | None, UNDECLARED_ARGUMENT_META] = None
    """The working directory in which the cell runs."""

    def effects(self, context: ToolContext) -> Effects:
        folder = absolute_path(self.cwd, context.cwd) if self.cwd else str(context.cwd)
        real = workspace_of_context(context).files.real_path(folder)
        return Effects(runs=ProgramOfCall(language="python", code=self.code, folder=real), state="kernel")


def make_eval_tool() -> Tool:
    return Tool(
        name="eval",
        description=(
            "Run Python in a kernel that keeps its variables, imports and functions from call to call, "
            "with the "
            "project's interpreter. Shows what is printed, pictures, and the value of the last expression. "
            "Top-level "
            "await works. tool.read(path=...), tool.bash(command=...) and so on call your other tools from "
            "the code "
            "and return their text; await tool.aio.NAME(...) runs several at once. stdin is empty."
        ),
        schema=make_arguments_schema(EvalArguments),
        arguments=EvalArguments,
        effects=EvalArguments.effects,
        kind="execute",
        prepare=_repair_eval_arguments,
        run=_run_eval_call,
        show=_make_eval_card,
        snippet="Run Python that keeps its state (calculations, data, many tool calls at once)",
        guidelines=(
            "In eval, go in small steps: state stays, so after an error send only what has to run again",
        ),
    )


_resolve_aliases = make_alias_resolver(
    EvalArguments,
    dict.fromkeys(("input", "source", "python", "script", "expression"), "code"),
    dict.fromkeys(("workdir", "working_directory", "directory", "dir"), "cwd"),
    dict.fromkeys(("timeout_seconds", "timeout_s", "timeout_secs"), "timeout"),
    dict.fromkeys(("restart", "restart_kernel"), "reset"),
    dict.fromkeys(("name", "description", "intent"), "title"),
)


def _repair_eval_arguments(raw: dict[str, Any]) -> dict[str, Any]:
    """Repairs raw arguments of the eval tool: joins `cells`, a list of code and titles as in other agents' tools, into
    one code."""
    out = _resolve_aliases(raw)
    given: Json = out.get("cells")
    if isinstance(given, list) and "code" not in out:
        cells: list[Json] = given
        parts: list[str] = []
        for cell in cells:
            fields: dict[str, Json] = cell if isinstance(cell, dict) else {"code": cell}
            code, title = fields.get("code"), fields.get("title")
            quoted = str(title or "").replace('"', "'")
            parts.append(f'===== py:"{quoted}" =====\n{code}')
        out = {**{name: value for name, value in out.items() if name != "cells"}, "code": "\n".join(parts)}
    return out


async def _run_eval_call(arguments: EvalArguments, context: ToolContext) -> ToolResult:
    if not arguments.code.strip():
        raise ToolError("The code is empty. Pass the Python to run.")
    if len(arguments.code) > MAX_EVAL_CODE_CHARS:
        raise ToolError("The code is longer than 20 MB, the maximum. Put data into files.")
    cwd = absolute_path(arguments.cwd, context.cwd) if arguments.cwd else None
    if cwd is not None and not await asyncio.to_thread(os.path.isdir, cwd):
        raise ToolError(f"Working directory does not exist: {escape_controls(cwd)}")
    # The kernel and its results, which most sessions never need.
    from tools.kernel.eval_run import EvalRequest, run_eval_request  # noqa: PLC0415

    wish = EvalRequest(
        code=arguments.code,
        title=arguments.title or "",
        timeout=arguments.timeout,
        resets_kernel=bool(arguments.reset),
        cwd=cwd,
    )
    return await run_eval_request(wish, context)


def _make_eval_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    from tools.kernel.eval_card import make_eval_card  # noqa: PLC0415  (as above)

    return make_eval_card(arguments, result)
