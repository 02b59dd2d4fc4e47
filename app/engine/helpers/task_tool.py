"""The `task` tool, with which the model gives work to a helper agent."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from app.engine.helpers.helper_results import helper_details, helper_progress, helper_result
from app.engine.helpers.helper_run import HelperAgentRun
from app.engine.helpers.helper_table import HelperAgentTable
from app.resources.helper_kinds import HelperAgentKind
from app.values.user_errors import UserError
from tools.argument_schema import make_arguments_schema
from tools.text_sanitizing import escape_controls, one_line
from tools.tool_definition import Tool, ToolContext, ToolError, declare_no_effects
from tools.tool_result_values import Card, MarkdownBlock, TextBlock, ToolResult, text_result

_HELPER_PROGRESS_POLL_SECONDS = 0.1
_MAX_TASK_PROMPT_CHARS = 100_000
_MAX_LISTED_HELPER_KINDS = 20
_MAX_TASK_TITLE_CHARS = 80


class TaskArguments(msgspec.Struct, frozen=True, kw_only=True):
    prompt: Annotated[
        str,
        msgspec.Meta(
            description="The whole task: what, where, and what the answer must contain. It knows nothing of yours"
        ),
    ]
    agent: Annotated[str, msgspec.Meta(description="The kind of helper")] = "general"
    title: Annotated[str | None, msgspec.Meta(description="A few words for the person")] = None
    isolated: Annotated[
        bool,
        msgspec.Meta(
            description="true: it works in a separate copy of the repository as it is now; what it changes there is "
            "staged here when it ends. For changes at the same time, or to try something"
        ),
    ] = False
    wait: Annotated[
        bool, msgspec.Meta(description="false: go on at once; the result arrives by itself as a message")
    ] = True


def task_tool(helpers: HelperAgentTable) -> Tool:
    async def run(arguments: TaskArguments, context: ToolContext) -> ToolResult:
        prompt = arguments.prompt.strip()
        if not prompt:
            raise ToolError("The task is empty. Describe the helper's task in prompt.")
        if len(prompt) > _MAX_TASK_PROMPT_CHARS:
            raise ToolError(
                f"The task is longer than {_MAX_TASK_PROMPT_CHARS:,} characters. Name files instead of their text."
            )
        kind = _find_helper_kind(helpers, arguments.agent)
        title = one_line(arguments.title or prompt.split("\n", 1)[0])[:_MAX_TASK_TITLE_CHARS]
        try:
            helper = helpers.add_helper(kind, title, context.call_id, is_isolated=arguments.isolated)
        except UserError as problem:
            raise ToolError(str(problem)) from None
        helper.on_change = lambda helper: context.progress(helper_progress(helper))
        work = helpers.start_helper(helper, _run_helper(helpers, helper, prompt))
        return await _wait_or_background(helper, work, context, goes_on=not arguments.wait)

    return Tool(
        name="task",
        description=(
            "Give a separate piece of work to a helper agent with its own context; its last message is the "
            "result. Use it for wide searches, reviews, and independent pieces at the same time (several "
            "calls in one answer); otherwise do it yourself. Helpers have your permissions at most and "
            "hard limits, and start "
            f"no helpers. Kinds:\n{_helper_kinds_text(helpers)}"
        ),
        schema=make_arguments_schema(TaskArguments),
        arguments=TaskArguments,
        effects=declare_no_effects,
        is_for_helpers=False,
        prepare=_repair_arguments,
        run=run,
        show=_task_card,
        snippet="Give a piece of work to a helper agent",
        is_read_only=True,
    )


def _helper_kinds_text(helpers: HelperAgentTable) -> str:
    kinds = list(helpers.kinds().kinds.values())
    shown = [f"- {kind.name}: {kind.description}" if kind.description else f"- {kind.name}" for kind in kinds]
    more = len(shown) - _MAX_LISTED_HELPER_KINDS
    return "\n".join([*shown[:_MAX_LISTED_HELPER_KINDS], *([f"- and {more} more"] if more > 0 else [])])


def _find_helper_kind(helpers: HelperAgentTable, name: str) -> HelperAgentKind:
    found = helpers.kinds()
    kind = found.kinds.get(name)
    if kind is None:
        problems = f" {'; '.join(found.problems)}." if found.problems else ""
        raise ToolError(
            f"There is no helper “{one_line(name)[:60]}”. Kinds: {', '.join(found.kinds)}.{problems}"
        )
    return kind


async def _run_helper(helpers: HelperAgentTable, helper: HelperAgentRun, prompt: str) -> ToolResult:
    try:
        await helpers.run_helper(helper, prompt)
    except UserError as problem:
        raise ToolError(f"The helper {helper.kind.name} did not start: {problem}") from None
    return helper_result(helper)


async def _wait_or_background(
    helper: HelperAgentRun, work: "asyncio.Future[ToolResult]", context: ToolContext, *, goes_on: bool
) -> ToolResult:
    """Returns a helper agent's result, or a text for the model when the helper continues as a background job."""

    def kill() -> None:
        work.cancel()

    try:
        while not work.done():
            if context.jobs is not None and (goes_on or context.background_requested()):
                helper.job_id = context.jobs.adopt(
                    call_id=context.call_id,
                    title=f"{helper.kind.name}: {helper.title}",
                    work=work,
                    tail=lambda: "\n".join(helper.progress_lines),
                    kill=kill,
                )
                helper.on_change = lambda helper: None
                return text_result(
                    f"Background {helper.job_id}: the helper {helper.kind.name} works on it. Its result is "
                    f"delivered when it ends; continue with other work and do not poll.",
                    details=helper_details(helper),
                )
            await asyncio.wait({work}, timeout=_HELPER_PROGRESS_POLL_SECONDS)
        return work.result()
    except asyncio.CancelledError:
        work.cancel()
        await asyncio.wait({work}, timeout=5)
        raise


def _repair_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Renames arguments of the `task` tool that models know under other names from other coding agents."""
    mended = dict(arguments)
    for other, name in (
        ("subagent_type", "agent"),
        ("kind", "agent"),
        ("task", "prompt"),
        ("description", "title"),
    ):
        if other in mended:
            value = mended.pop(other)
            mended.setdefault(name, value)
    if mended.get("isolation") is not None:
        mended.setdefault("isolated", bool(mended.pop("isolation")))
    if "run_in_background" in mended:
        mended.setdefault("wait", not mended["run_in_background"])
        del mended["run_in_background"]
    return mended


def _task_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    agent = str(arguments.get("agent") or "general")
    title = str(arguments.get("title") or str(arguments.get("prompt") or "").split("\n", 1)[0])
    details = (result.details or {}) if result is not None else {}
    lines = [escape_controls(str(line)) for line in details.get("lines") or ()]
    blocks: list[Any] = []
    if isinstance(arguments.get("prompt"), str):
        blocks.append(MarkdownBlock(text=escape_controls(arguments["prompt"])))
    if lines:
        blocks.append(TextBlock(text="\n".join(lines), tail=True))
    is_running = details.get("state") in ("waiting", "running")
    if result is not None and not is_running:
        blocks.append(MarkdownBlock(text=escape_controls(result.text)))
    now = " · ".join(filter(None, (str(details.get("current") or ""), str(details.get("footer") or ""))))
    return Card(
        title="task",
        subject=one_line(f"{agent}: {title}")[:200],
        summary=now,
        blocks=tuple(blocks),
        last_lines=tuple(lines[-2:]) if is_running else (),
    )
