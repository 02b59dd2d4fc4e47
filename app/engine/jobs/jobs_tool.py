"""The `jobs` tool, with which the model lists background jobs, waits for one, or ends one."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from app.engine.jobs.background_jobs import BackgroundJob, JobTable
from app.values.user_errors import UserError
from tools.argument_schema import make_arguments_schema
from tools.tool_definition import Tool, ToolContext, ToolError, declare_no_effects
from tools.tool_result_values import Card, TextBlock, ToolResult, text_result

_JOB_OUTPUT_TAIL_LINES = 40


class JobsArguments(msgspec.Struct, frozen=True, kw_only=True):
    action: Literal["list", "tail", "wait", "kill", "pin", "unpin"] = "list"
    job: str | None = None
    timeout: int | None = None


def jobs_tool(table: JobTable) -> Tool:
    async def run(arguments: JobsArguments, context: ToolContext) -> ToolResult:
        if arguments.action == "list":
            return text_result("\n".join(map(describe_job_for_model, table.all())) or "No background jobs.")
        if arguments.job is None:
            raise ToolError(f"Name the job for action '{arguments.action}': job: \"job1\".")
        try:
            job = table.get(arguments.job)
        except UserError as problem:
            raise ToolError(str(problem)) from None
        if arguments.action == "wait":
            await table.wait_in_agent_call(job.id, arguments.timeout)
        elif arguments.action == "kill":
            table.kill(job.id)
            await table.wait(job.id, 5)
        elif arguments.action in ("pin", "unpin"):
            table.set_job_pinned(job.id, arguments.action == "pin")
        return text_result(f"{describe_job_for_model(job)}\n{_job_output(job)}")

    return Tool(
        name="jobs",
        description=(
            "Manage background jobs: list them, show the end of one's output, wait for one (timeout in "
            "seconds), kill one, or pin one so that it outlives this session. You get a message when a job "
            "ends; do not poll."
        ),
        schema=make_arguments_schema(JobsArguments),
        arguments=JobsArguments,
        effects=declare_no_effects,
        run=run,
        show=_jobs_card,
        snippet="Look at, wait for or end background jobs",
        is_read_only=True,
        is_active=False,
        is_for_helpers=False,
    )


def describe_job_for_model(job: BackgroundJob) -> str:
    state = f"{job.state}, pinned" if job.is_pinned else job.state
    return f"{job.id}  {state}  {job.seconds:.0f}s  {job.title}"


def _job_output(job: BackgroundJob) -> str:
    if job.result is not None:
        return job.result.text
    return "\n".join(job.read_output_tail().splitlines()[-_JOB_OUTPUT_TAIL_LINES:]) or "(no output yet)"


def _jobs_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    subject = " ".join(str(arguments[key]) for key in ("action", "job") if arguments.get(key))
    blocks = (TextBlock(text=result.text, tail=True),) if result else ()
    return Card(title="jobs", subject=subject or "list", blocks=blocks)
