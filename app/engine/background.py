"""Telling the agent that a background job has ended, and the job that the agent has been told."""

from collections.abc import Awaitable, Callable
from typing import Literal, Protocol

from app.engine.delivery import Receipt
from app.engine.jobs import RESULT_MESSAGE, Job
from app.values.messages import CustomMessage

When = Literal["steer", "follow_up"]


class Send(Protocol):
    """`Session.send`, as far as it is needed here."""

    def __call__(self, message: CustomMessage, *, deliver_as: When, trigger: bool) -> Awaitable[str]: ...


async def tell_agent(
    job: Job,
    *,
    send: Send,
    when: When,
    wait_for_delivery: Callable[[str], Awaitable[Receipt]],
    mark_delivered: Callable[[str], None],
) -> None:
    """Wakes the agent with the job's result; the job's mark clears when a request with it was delivered."""
    result = job.result
    message = CustomMessage(
        custom_type=RESULT_MESSAGE,
        content=f"Background {job.id} ({job.title}) has ended: {job.state}.\n\n{result.text if result else ''}",
        details={"jobId": job.id, "title": job.title, "state": job.state, "toolCallId": job.call_id},
    )
    await send(message, deliver_as=when, trigger=True)
    receipt = await wait_for_delivery(message.id)
    if receipt.outcome == "delivered":
        mark_delivered(job.id)
