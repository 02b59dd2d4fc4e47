"""Commands for background jobs: what runs, the end of its output, waiting for it, ending it, keeping it."""

from typing import Literal, NotRequired, TypedDict

from app.engine.commands.base import Command, NoParams, Params, command
from app.engine.jobs import Job
from app.engine.session import Session

_TAIL = 20_000


class JobInfo(TypedDict):
    id: str
    title: str
    state: Literal["running", "done", "failed", "killed", "delivered"]
    seconds: float
    toolCallId: str
    isPinned: bool
    output: NotRequired[str]
    """The end of it; only where one job was asked for."""


class Jobs(TypedDict):
    jobs: list[JobInfo]


class OneJob(Params, frozen=True, kw_only=True):
    job_id: str


class WaitForJob(OneJob, frozen=True, kw_only=True):
    timeout: float | None = None
    """Seconds; null: until it ends."""


class PinJob(OneJob, frozen=True, kw_only=True):
    pinned: bool = True


async def list_jobs(session: Session, params: NoParams) -> Jobs:
    return {"jobs": [_info(job) for job in session.all_jobs()]}


async def get_job(session: Session, params: OneJob) -> JobInfo:
    return _with_output(session.job(params.job_id))


async def wait_for_job(session: Session, params: WaitForJob) -> JobInfo:
    session.job(params.job_id)
    return _with_output(await session.wait_for_job(params.job_id, params.timeout))


async def kill_job(session: Session, params: OneJob) -> JobInfo:
    session.job(params.job_id)
    session.kill_job(params.job_id)
    return _with_output(await session.wait_for_job(params.job_id, 5))


async def pin_job(session: Session, params: PinJob) -> JobInfo:
    session.job(params.job_id)
    return _info(session.pin_job(params.job_id, params.pinned))


def _info(job: Job) -> JobInfo:
    return {
        "id": job.id,
        "title": job.title,
        "state": job.state,
        "seconds": round(job.seconds, 1),
        "toolCallId": job.call_id,
        "isPinned": job.is_pinned,
    }


def _with_output(job: Job) -> JobInfo:
    output = job.result.text if job.result is not None else job.tail()
    return {**_info(job), "output": output[-_TAIL:]}


JOBS: tuple[Command, ...] = (
    command("list_jobs", NoParams, list_jobs, "The background jobs of this session.", Jobs),
    command("get_job", OneJob, get_job, "One job with the end of its output.", JobInfo),
    command("wait_for_job", WaitForJob, wait_for_job, "Answers when the job has ended.", JobInfo),
    command("kill_job", OneJob, kill_job, "End a job; the agent is told with the next prompt.", JobInfo),
    command("pin_job", PinJob, pin_job, "Let a job go on when the session is left, or no longer.", JobInfo),
)
