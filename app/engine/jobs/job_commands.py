"""Commands for background jobs: listing, reading output, waiting, killing, pinning."""

from collections.abc import Sequence

from app.engine.commands import response_data
from app.engine.commands.session_command import session_command
from app.engine.jobs.background_jobs import BackgroundJob
from app.engine.session import Session

_TAIL = 20_000


@session_command("Background jobs", answer="jobs")
async def list_jobs(session: Session) -> Sequence[response_data.JobInfo]:
    return [_info(job) for job in session.jobs.all()]


@session_command("One job with the end of its output")
async def get_job(session: Session, job_id: str) -> response_data.JobInfo:
    return _with_output(session.jobs.get(job_id))


@session_command("Wait for a job", "Answers when it has ended, or after so many seconds.")
async def wait_for_job(session: Session, job_id: str, timeout: float | None = None) -> response_data.JobInfo:
    return _with_output(await session.jobs.wait(job_id, timeout))


@session_command("End a background job", "The agent hears of it with the next prompt.", stops=True)
async def kill_job(session: Session, job_id: str) -> response_data.JobInfo:
    session.jobs.kill(job_id, tell=True)
    return _with_output(await session.jobs.wait(job_id, 5))


@session_command("Let a job outlive this session, or not")
async def pin_job(session: Session, job_id: str, pinned: bool = True) -> response_data.JobInfo:
    return _info(session.jobs.pin(job_id, pinned))


def _info(job: BackgroundJob) -> response_data.JobInfo:
    return {
        "id": job.id,
        "title": job.title,
        "state": job.state,
        "seconds": round(job.seconds, 1),
        "toolCallId": job.call_id,
        "isPinned": job.is_pinned,
    }


def _with_output(job: BackgroundJob) -> response_data.JobInfo:
    output = job.result.text if job.result is not None else job.tail()
    return {**_info(job), "output": output[-_TAIL:]}
