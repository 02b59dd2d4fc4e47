"""Telling the agent that a background job has ended, and the job that the agent has been told."""

from app.engine.intake import Refused
from app.engine.jobs import RESULT_MESSAGE, Job
from app.engine.talking import Talking
from app.engine.workings import Workings
from app.values.messages import CustomMessage


async def tell_agent(workings: Workings, talking: Talking, job: Job) -> bool:
    """Wakes the agent with the job's result; true when a request with it was delivered, false when none ever will.

    A job that a person ended wakes nobody: it is told with the next prompt.
    """
    result = job.result
    message = CustomMessage(
        custom_type=RESULT_MESSAGE,
        content=f"Background {job.id} ({job.title}) has ended: {job.state}.\n\n{result.text if result else ''}",
        details={"jobId": job.id, "title": job.title, "state": job.state, "toolCallId": job.call_id},
    )
    when = "steer" if workings.in_force.settings.background.result_delivery == "steer" else "follow_up"
    try:
        await talking.send(message, deliver_as=when, trigger=job.state != "killed")
    except Refused as problem:
        workings.notify(f"The result of {job.id} waits for your next prompt: {problem}", "warning")
        await talking.send(message, deliver_as="next_turn")
    receipt = await workings.wait_for_delivery(message.id)
    return receipt.outcome == "delivered"
