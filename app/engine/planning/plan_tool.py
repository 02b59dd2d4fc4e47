"""The `propose_plan` tool: how the model ends plan mode, if the person says so."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

import msgspec

from app.engine.planning.plan_mode import TOOL_NAME, PlanOutcome
from tools.base import Tool, ToolContext, ToolError, no_effects
from tools.results import Card, MarkdownBlock, ToolResult, text_result
from tools.schema import schema_of
from tools.text import one_line


class PlanArguments(msgspec.Struct, frozen=True, kw_only=True):
    title: Annotated[str, msgspec.Meta(description="A few words")]
    plan: Annotated[str, msgspec.Meta(description="Markdown: numbered steps, files, how it is checked")]


def plan_tool(propose: Callable[[str, str], Awaitable[PlanOutcome]]) -> Tool:
    async def run(arguments: PlanArguments, context: ToolContext) -> ToolResult:
        if not arguments.plan.strip():
            raise ToolError("The plan is empty. Write its steps.")
        outcome = await propose(one_line(arguments.title.strip()) or "Plan", arguments.plan)
        return msgspec.structs.replace(text_result(outcome.text), terminate=outcome.ends_run)

    return Tool(
        name=TOOL_NAME,
        description="Propose the whole plan to the user, who accepts it, changes it, or says what is wrong with it.",
        schema=schema_of(PlanArguments),
        arguments=PlanArguments,
        effects=no_effects,
        run=run,
        show=_show,
        mode="sequential",
        is_read_only=True,
    )


def _show(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    plan = arguments.get("plan")
    blocks = (MarkdownBlock(text=plan),) if isinstance(plan, str) and plan else ()
    return Card(title="plan", subject=one_line(str(arguments.get("title", ""))), blocks=blocks)
