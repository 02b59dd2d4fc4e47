"""Reports the end of a background job to the agent, and marks the job as reported."""

from collections.abc import Callable, Collection, Sequence
from typing import Final

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.delivery import MessageDeliveries, SendMessage
from app.engine.core.event_bus import EventBus
from app.engine.core.prompt_intake import SessionRequestRefused
from app.engine.core.session_core import SessionCore
from app.engine.core.session_options import SessionOptions
from app.engine.jobs.background_jobs import JOB_RESULT_MESSAGE_TYPE, BackgroundJob, JobOrigin, JobTable
from app.values.content import Text
from app.values.messages import CustomMessage, Message, ToolResultMessage
from tools.lazy_patterns import lazy_regex
from tools.streaming_arguments import text_in_result_details
from tools.text_sanitizing import one_line

_REPORTED_JOB_PATTERN: Final = lazy_regex(r"(?m)^(job\d+)  (?:done|failed|killed|delivered)\b")
"""Matches a line in a list of jobs that says that a job has ended."""


def make_job_table(core: SessionCore, send: SendMessage) -> JobTable:
    """Builds the job table of a session, which reports ended jobs to the agent."""
    conversation = core.conversation

    def origin() -> JobOrigin:
        return JobOrigin(conversation.log.session_id, conversation.log.leaf_id)

    def is_here(origin: JobOrigin) -> bool:
        log, entry_id = conversation.log, origin.entry_id
        if log.session_id != origin.session_id:
            return False
        return entry_id is None or log.common_ancestor(entry_id, log.leaf_id) == entry_id

    results = JobEndNotifier(
        send=send,
        deliveries=core.deliveries,
        options=core.options,
        event_bus=core.event_bus,
        is_on_branch=is_here,
    )
    return JobTable(
        results.deliver_result,
        core.event_bus.publish_now,
        record_lost=lambda job: _record_lost_job(conversation, job.id, job.title, job.call_id),
        record_missing=lambda expected: _record_missing_jobs(conversation, expected),
        origin=origin,
        is_here=is_here,
        is_waited_for=core.options.ends_with_answer,
    )


def _record_lost_job(conversation: Conversation, job_id: str, title: str, call_id: str) -> None:
    """Records that a background job has no result and will have none, so that a resumed agent does not wait."""
    if conversation.log.is_read_only:
        return
    conversation.record_message(
        CustomMessage(
            custom_type=JOB_RESULT_MESSAGE_TYPE,
            content=f"Background {job_id} ({title}) was stopped when the session was closed, so it has "
            "no result. Start it again if you still need it.",
            details={"jobId": job_id, "title": title, "state": "lost", "toolCallId": call_id},
        )
    )


def _record_missing_jobs(conversation: Conversation, expected: Collection[str]) -> None:
    """Records that jobs which this branch announces have no result and never will, as after a crash."""
    for result in _results_of_unreported_jobs(conversation.messages):
        if result.tool_call_id not in expected:
            job_id = text_in_result_details(result.details, "jobId")
            first = _text_of_result(result).partition("\n")[0]
            title = one_line(first.removeprefix(f"Background job {job_id} started: "))
            _record_lost_job(conversation, job_id, title, result.tool_call_id)


def _results_of_unreported_jobs(messages: Sequence[Message]) -> list[ToolResultMessage]:
    """Returns the results of tool calls that started a background job whose end no later message reports."""
    open_jobs: dict[str, ToolResultMessage] = {}
    for message in messages:
        if isinstance(message, CustomMessage) and message.custom_type == JOB_RESULT_MESSAGE_TYPE:
            open_jobs.pop(text_in_result_details(message.details, "jobId"), None)
        elif isinstance(message, ToolResultMessage):
            job_id = text_in_result_details(message.details, "jobId")
            if job_id:
                open_jobs[job_id] = message
            elif open_jobs:
                for ended in _REPORTED_JOB_PATTERN.finditer(_text_of_result(message)):
                    open_jobs.pop(ended[1], None)
    return list(open_jobs.values())


def _text_of_result(message: ToolResultMessage) -> str:
    return "\n".join(part.text for part in message.content if isinstance(part, Text))


class JobEndNotifier(msgspec.Struct, frozen=True, kw_only=True):
    """Sends the results of ended background jobs to the agent."""

    send: SendMessage
    deliveries: MessageDeliveries
    options: SessionOptions
    event_bus: EventBus
    is_on_branch: Callable[[JobOrigin], bool]

    async def deliver_result(self, job: BackgroundJob) -> bool:
        """Sends a background job's result to the agent; returns True if a request delivered it, False if none
        will. A job that the user ended starts no run: it is reported with the next prompt."""
        if not self.is_on_branch(job.origin):
            job.is_report_held = True
            self.event_bus.notify(
                f"{job.id} ({job.title}) has ended: {job.state}. It was started on another branch or in "
                f"another "
                "session; the agent gets its result when you go back there (/tree, /resume).",
            )
            return False
        result = job.result
        message = CustomMessage(
            custom_type=JOB_RESULT_MESSAGE_TYPE,
            content=f"Background {job.id} ({job.title}) has ended: {job.state}.\n\n{result.text if result else ''}",
            details={"jobId": job.id, "title": job.title, "state": job.state, "toolCallId": job.call_id},
        )
        wanted = self.options.effective_settings.settings.background.result_delivery
        when = "steer" if wanted == "steer" else "follow_up"
        try:
            await self.send(message, deliver_as=when, trigger=job.state != "killed")
        except SessionRequestRefused as problem:
            self.event_bus.notify(
                f"The result of {job.id} will be delivered with your next prompt: {problem}", "warning"
            )
            await self.send(message, deliver_as="next_turn")
        job.is_delivered.set()
        receipt = await self.deliveries.wait_for_delivery(
            message.id, look=self.event_bus.drop_undeliverable_messages
        )
        return receipt.outcome == "delivered"
