"""Session commands for background jobs: listing, reading output, waiting, killing, pinning."""

from collections.abc import Sequence

from app.engine.commands import response_data
from app.engine.commands.session_command import session_command
from app.engine.jobs.background_jobs import BackgroundJob
from app.engine.session import Session

_JOB_OUTPUT_TAIL_CHARS = 20_000


@session_command("Background jobs", answer="jobs")
async def list_jobs(session: Session) -> Sequence[response_data.JobInfo]:
    return [_job_info(job) for job in session.jobs.all()]


@session_command("One job with the end of its output")
async def get_job(session: Session, job_id: str) -> response_data.JobInfo:
    return _job_info_with_output(session.jobs.get(job_id))


@session_command("Wait for a job", "Responds when it has ended, or after this many seconds.")
async def wait_for_job(session: Session, job_id: str, timeout: float | None = None) -> response_data.JobInfo:
    return _job_info_with_output(await session.jobs.wait(job_id, timeout))


@session_command("Stop a background job", "The agent learns of it with the next prompt.", stops=True)
async def kill_job(session: Session, job_id: str) -> response_data.JobInfo:
    session.jobs.kill(job_id, tell=True)
    return _job_info_with_output(await session.jobs.wait(job_id, 5))


@session_command("Keep a job running when the session closes, or not")
async def pin_job(session: Session, job_id: str, pinned: bool = True) -> response_data.JobInfo:
    return _job_info(session.jobs.set_job_pinned(job_id, pinned))


def _job_info(job: BackgroundJob) -> response_data.JobInfo:
    return {
        "id": job.id,
        "title": job.title,
        "state": job.state,
        "seconds": round(job.seconds, 1),
        "toolCallId": job.call_id,
        "isPinned": job.is_pinned,
    }


def _job_info_with_output(job: BackgroundJob) -> response_data.JobInfo:
    output = job.result.text if job.result is not None else job.read_output_tail()
    return {**_job_info(job), "output": output[-_JOB_OUTPUT_TAIL_CHARS:]}
