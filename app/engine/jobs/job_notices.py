"""Reports the end of a background job to the agent, and marks the job as reported."""

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.delivery import MessageDeliveries, SendMessage
from app.engine.core.event_bus import EventBus
from app.engine.core.prompt_intake import RequestRefused
from app.engine.core.session_core import SessionCore
from app.engine.core.session_options import SessionOptions
from app.engine.jobs.background_jobs import RESULT_MESSAGE, BackgroundJob, JobTable
from app.values.messages import CustomMessage


def job_table(core: SessionCore, send: SendMessage) -> JobTable:
    """Returns the job table of a session; ended jobs are reported to the agent."""
    results = JobNotices(
        send=send, deliveries=core.deliveries, options=core.options, event_bus=core.event_bus
    )
    return JobTable(
        results.tell,
        core.event_bus.publish_now,
        record_lost=lambda job: _record_lost(core.conversation, job),
        is_waited_for=core.options.ends_with_answer,
    )


def _record_lost(conversation: Conversation, job: BackgroundJob) -> None:
    """Records that a job has ended because its session was left, so that a resumed agent does not wait."""
    if conversation.log.is_read_only:
        return
    conversation.record(
        CustomMessage(
            custom_type=RESULT_MESSAGE,
            content=f"Background {job.id} ({job.title}) was ended when the session was left. It has no result, and "
            "none will come; start it again if it is still needed.",
            details={"jobId": job.id, "title": job.title, "state": "killed", "toolCallId": job.call_id},
        )
    )


class JobNotices(msgspec.Struct, frozen=True, kw_only=True):
    """Sends the ends of jobs to the agent."""

    send: SendMessage
    deliveries: MessageDeliveries
    options: SessionOptions
    event_bus: EventBus

    async def tell(self, job: BackgroundJob) -> bool:
        """Sends the job's result to the agent; returns True if a request delivered it, False if none will.

        A job that the user ended starts no run: it is reported with the next prompt."""
        result = job.result
        message = CustomMessage(
            custom_type=RESULT_MESSAGE,
            content=f"Background {job.id} ({job.title}) has ended: {job.state}.\n\n{result.text if result else ''}",
            details={"jobId": job.id, "title": job.title, "state": job.state, "toolCallId": job.call_id},
        )
        wanted = self.options.effective_settings.settings.background.result_delivery
        when = "steer" if wanted == "steer" else "follow_up"
        try:
            await self.send(message, deliver_as=when, trigger=job.state != "killed")
        except RequestRefused as problem:
            self.event_bus.notify(
                f"The result of {job.id} will be delivered with your next prompt: {problem}", "warning"
            )
            await self.send(message, deliver_as="next_turn")
        job.is_delivered.set()
        receipt = await self.deliveries.wait(message.id, look=self.event_bus.forget_undeliverable)
        return receipt.outcome == "delivered"
