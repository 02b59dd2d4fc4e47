"""Telling the agent that a background job has ended, and the job that the agent has been told."""

from typing import TYPE_CHECKING

from app.engine.intake import Refused
from app.engine.jobs import RESULT_MESSAGE, Job
from app.values.messages import CustomMessage

if TYPE_CHECKING:
    from app.engine.session import Session


async def tell_agent(session: "Session", job: Job) -> None:
    """Wakes the agent with the job's result; the job's mark clears when a request with it was delivered.

    A job that a person ended wakes nobody: it is told with the next prompt.
    """
    result = job.result
    message = CustomMessage(
        custom_type=RESULT_MESSAGE,
        content=f"Background {job.id} ({job.title}) has ended: {job.state}.\n\n{result.text if result else ''}",
        details={"jobId": job.id, "title": job.title, "state": job.state, "toolCallId": job.call_id},
    )
    when = "steer" if session.options.background_delivery == "steer" else "follow_up"
    try:
        await session.send(message, deliver_as=when, trigger=job.state != "killed")
    except Refused as problem:
        session.notify(f"The result of {job.id} waits for your next prompt: {problem}", "warning")
        await session.send(message, deliver_as="next_turn")
    receipt = await session.wait_for_delivery(message.id)
    if receipt.outcome == "delivered":
        session.jobs.mark_delivered(job.id)
