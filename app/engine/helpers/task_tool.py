"""The `task` tool, with which the model gives work to a helper agent."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from app.engine.helpers.helper_table import HelperRun, HelperTable
from app.resources.helper_kinds import HelperKind
from app.values.usage import format_dollars
from app.values.user_errors import UserError
from tools.amounts import elapsed, pluralized
from tools.amounts import tokens as short_tokens
from tools.base import Tool, ToolContext, ToolError, no_effects
from tools.results import Card, MarkdownBlock, TextBlock, ToolResult, text_result
from tools.schema import schema_of
from tools.text import escape_controls, one_line

_POLL_SECONDS = 0.1
_MAX_RESULT_CHARS = 30_000
_MAX_PROMPT_CHARS = 100_000
_MAX_LISTED_KINDS = 20
_MAX_TITLE_CHARS = 80


class TaskArguments(msgspec.Struct, frozen=True, kw_only=True):
    prompt: Annotated[
        str,
        msgspec.Meta(
            description="The whole task: what, where, and what the answer must contain. It knows nothing of yours"
        ),
    ]
    agent: Annotated[str, msgspec.Meta(description="The kind of helper")] = "general"
    title: Annotated[str | None, msgspec.Meta(description="A few words for the person")] = None
    wait: Annotated[
        bool, msgspec.Meta(description="false: go on at once; the result arrives by itself as a message")
    ] = True


def task_tool(helpers: HelperTable) -> Tool:
    async def run(arguments: TaskArguments, context: ToolContext) -> ToolResult:
        prompt = arguments.prompt.strip()
        if not prompt:
            raise ToolError("The task is empty. Say in prompt what the helper is to do.")
        if len(prompt) > _MAX_PROMPT_CHARS:
            raise ToolError(
                f"The task is longer than {_MAX_PROMPT_CHARS:,} characters. Name files instead of their text."
            )
        kind = _kind(helpers, arguments.agent)
        title = one_line(arguments.title or prompt.split("\n", 1)[0])[:_MAX_TITLE_CHARS]
        try:
            helper = helpers.admit(kind, title, context.call_id)
        except UserError as problem:
            raise ToolError(str(problem)) from None
        helper.on_change = lambda helper: context.progress(_progress(helper))
        helper.work = work = asyncio.ensure_future(_result(helpers, helper, prompt))
        return await _until_background(helper, work, context, goes_on=not arguments.wait)

    return Tool(
        name="task",
        description=(
            "Give a separate piece of work to a helper agent with a context of its own; its last message is the "
            "result. Worth it for wide searches, reviews, and independent pieces at the same time (several calls in "
            "one answer); otherwise do it yourself. Helpers have your permissions at most and hard limits, and start "
            f"no helpers. Kinds:\n{_listed(helpers)}"
        ),
        schema=schema_of(TaskArguments),
        arguments=TaskArguments,
        effects=no_effects,
        is_for_helpers=False,
        prepare=_repair_arguments,
        run=run,
        show=_show,
        snippet="Give a piece of work to a helper agent",
        is_read_only=True,
    )


def _listed(helpers: HelperTable) -> str:
    kinds = list(helpers.kinds().kinds.values())
    shown = [f"- {kind.name}: {kind.description}" if kind.description else f"- {kind.name}" for kind in kinds]
    more = len(shown) - _MAX_LISTED_KINDS
    return "\n".join([*shown[:_MAX_LISTED_KINDS], *([f"- and {more} more"] if more > 0 else [])])


def _kind(helpers: HelperTable, name: str) -> HelperKind:
    found = helpers.kinds()
    kind = found.kinds.get(name)
    if kind is None:
        problems = f" {'; '.join(found.problems)}." if found.problems else ""
        raise ToolError(
            f"There is no helper “{one_line(name)[:60]}”. Kinds: {', '.join(found.kinds)}.{problems}"
        )
    return kind


async def _result(helpers: HelperTable, helper: HelperRun, prompt: str) -> ToolResult:
    try:
        await helpers.run(helper, prompt)
    except UserError as problem:
        raise ToolError(f"The helper {helper.kind.name} did not start: {problem}") from None
    text = helper.result
    if len(text) > _MAX_RESULT_CHARS:
        text = f"{text[:_MAX_RESULT_CHARS]}\n[{len(text) - _MAX_RESULT_CHARS:,} more characters are in its session]"
    problem = f"[It did not finish: {helper.problem}]" if helper.problem else ""
    remark = f"[{helper.remark}]" if helper.remark else ""
    parts = (text or "(no answer)", problem, remark, f"[{_footer(helper, is_exact=True)}]")
    result = text_result("\n".join(filter(None, parts)), details=_details(helper))
    return msgspec.structs.replace(result, is_error=not text)


async def _until_background(
    helper: HelperRun, work: "asyncio.Future[ToolResult]", context: ToolContext, *, goes_on: bool
) -> ToolResult:
    """Returns the result, or what the model reads where the helper goes on as a background job."""

    def kill() -> None:
        work.cancel()

    try:
        while not work.done():
            if context.jobs is not None and (goes_on or context.background_requested()):
                helper.job_id = context.jobs.adopt(
                    call_id=context.call_id,
                    title=f"{helper.kind.name}: {helper.title}",
                    work=work,
                    tail=lambda: "\n".join(helper.lines),
                    kill=kill,
                )
                helper.on_change = lambda helper: None
                return text_result(
                    f"Background {helper.job_id}: the helper {helper.kind.name} works on it. Its result arrives by "
                    "itself when it ends; go on with other work and do not poll.",
                    details=_details(helper),
                )
            await asyncio.wait({work}, timeout=_POLL_SECONDS)
        return work.result()
    except asyncio.CancelledError:
        work.cancel()
        await asyncio.wait({work}, timeout=5)
        raise


def _footer(helper: HelperRun, *, is_exact: bool = False) -> str:
    """Says what the helper has cost. `is_exact`: for its end, with its time and its session."""
    used = helper.budget.used
    file = helper.session_file
    tokens = f"{used.total_tokens:,}" if is_exact else short_tokens(used.total_tokens)
    parts = (
        helper.kind.name if is_exact else "",
        helper.model,
        pluralized(helper.budget.turns, "turn"),
        f"{tokens} tokens",
        format_dollars(used.cost.total) if used.cost.total else "",
        elapsed(helper.seconds) if is_exact else "",
        f"session {file.stem.rsplit('_', 1)[-1]}" if is_exact and file is not None else "",
    )
    return " · ".join(filter(None, parts))


def _details(helper: HelperRun) -> dict[str, Any]:
    return {
        "helper": helper.kind.name,
        "state": helper.state,
        "current": helper.current,
        "footer": _footer(helper),
        "lines": list(helper.lines),
        "sessionFile": str(helper.session_file) if helper.session_file else None,
    }


def _progress(helper: HelperRun) -> ToolResult:
    now = helper.current or helper.state
    return text_result(f"{now} · {_footer(helper)}", details=_details(helper))


def _repair_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Accepts the names of other agents."""
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
    if "run_in_background" in mended:
        mended.setdefault("wait", not mended["run_in_background"])
        del mended["run_in_background"]
    return mended


def _show(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
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
