"""Background jobs: work that continues after its tool call, and whose end is reported to the agent without
polling."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from typing import Literal

import msgspec

from app.agent.tool_results import failed_tool_result
from app.values.events import Event, JobChanged
from app.values.user_errors import UserError
from tools.tool_result_values import ToolResult

JobState = Literal["running", "done", "failed", "killed", "delivered"]
JOB_RESULT_MESSAGE_TYPE = "background-result"


class JobOrigin(msgspec.Struct, frozen=True):
    """The session and entry at which a background job was started; its result is reported only there."""

    session_id: str = ""
    entry_id: str | None = None
    """The id of the branch's last entry when the job was started."""


class BackgroundJob(msgspec.Struct, kw_only=True):
    id: str
    title: str
    call_id: str
    started_at: float
    origin: JobOrigin = JobOrigin()
    is_lost: bool = False
    """Whether the job's session was closed, so that its end is not reported."""
    is_report_held: bool = False
    """Whether the report of the job's end is held back until the user returns to the branch that started the job."""
    state: JobState = "running"
    result: ToolResult | None = None
    ended_at: float | None = None
    is_pinned: bool = False
    """Whether the job continues when the user leaves the session; it ends with the program in any case."""
    is_reported: bool = False
    """Whether the end of the job has been reported to the agent."""
    waiting_calls: int = 0
    """The number of the agent's calls that wait for the job's end and will report it."""
    read_output_tail: Callable[[], str]
    kill: Callable[[], None]
    take_warnings: Callable[[], Awaitable[list[str]]] | None = None
    """A function that returns warnings about what the job did since the last check."""
    task: asyncio.Task[None] | None = None
    """The task that waits for the work and then reports to the agent."""
    has_ended: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    is_delivered: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    """An event that is set once the end of the job has been, or will certainly be, reported to the agent."""

    @property
    def seconds(self) -> float:
        return (self.ended_at or time.monotonic()) - self.started_at


class UnknownJob(UserError, KeyError):
    """Raised if there is no background job of that id. Extensions catch it as a `KeyError`."""

    __str__ = Exception.__str__


class JobTable:
    """The background jobs of one session; a `tools.tool_definition.JobHost`."""

    def __init__(
        self,
        tell_agent: Callable[[BackgroundJob], Awaitable[bool]],
        publish_now: Callable[[Event], None],
        *,
        record_lost: Callable[[BackgroundJob], None] = lambda job: None,
        record_missing: Callable[[Collection[str]], None] = lambda expected: None,
        origin: Callable[[], JobOrigin] = JobOrigin,
        is_here: Callable[[JobOrigin], bool] = lambda origin: True,
        is_waited_for: bool = False,
    ) -> None:
        """Creates the table. `record_lost` writes into the session that a job ended together with the session.
        `record_missing` does so for jobs that the present branch announces, except those of the given calls.

        `origin` returns the present position in the session's tree; `is_here` returns whether the present branch
        contains a position.
        """
        self._tell_agent = tell_agent
        self._record_lost = record_lost
        self._record_missing = record_missing
        self._origin = origin
        self._is_on_branch = is_here
        self._publish_now = publish_now
        self.is_waited_for = is_waited_for
        self._jobs: dict[str, BackgroundJob] = {}
        self._job_count = 0

    def adopt(
        self,
        *,
        call_id: str,
        title: str,
        work: Awaitable[ToolResult],
        tail: Callable[[], str],
        kill: Callable[[], None],
        look: Callable[[], Awaitable[list[str]]] | None = None,
    ) -> str:
        self._job_count += 1
        job = BackgroundJob(
            id=f"job{self._job_count}",
            title=title,
            call_id=call_id,
            started_at=time.monotonic(),
            origin=self._origin(),
            read_output_tail=tail,
            kill=kill,
            take_warnings=look,
        )
        self._jobs[job.id] = job
        job.task = asyncio.ensure_future(self._await_work(job, work))
        self._publish_change(job)
        return job.id

    def all(self) -> tuple[BackgroundJob, ...]:
        return tuple(self._jobs.values())

    def running_jobs(self) -> tuple[BackgroundJob, ...]:
        return tuple(job for job in self._jobs.values() if job.state == "running")

    async def take_warnings(self) -> list[str]:
        """Returns warnings about what running jobs did since the last check."""
        return [
            note
            for job in self.running_jobs()
            if job.take_warnings is not None
            for note in await job.take_warnings()
        ]

    def get(self, job_id: str) -> BackgroundJob:
        """Returns the background job with this id. Raises `UnknownJob` when there is none."""
        try:
            return self._jobs[job_id]
        except KeyError:
            jobs = f"its jobs are {', '.join(self._jobs)}" if self._jobs else "this session has started none"
            raise UnknownJob(f"There is no job {job_id}: {jobs}. /jobs lists jobs.") from None

    def kill(self, job_id: str, *, tell: bool = False) -> BackgroundJob:
        """Ends a background job. `tell` means that the agent learns of it with the next prompt, because the user
        ended it."""
        job = self.get(job_id)
        if job.state == "running":
            job.state = "killed"
            job.is_reported = not tell
            job.kill()
        return job

    def set_job_pinned(self, job_id: str, is_pinned: bool = True) -> BackgroundJob:
        """Sets whether a background job continues when the user leaves the session."""
        job = self.get(job_id)
        job.is_pinned = is_pinned
        self._publish_change(job)
        return job

    async def wait(self, job_id: str, timeout: float | None = None) -> BackgroundJob:
        """Waits until the background job has ended or `timeout` seconds have passed; the job's state says which."""
        job = self.get(job_id)
        try:
            await asyncio.wait_for(job.has_ended.wait(), timeout)
        except TimeoutError:
            pass  # the job is still running
        return job

    async def wait_in_agent_call(self, job_id: str, timeout: float | None = None) -> BackgroundJob:
        """Waits for a background job like `wait`, for a call of the agent: the call's result reports the end, so
        that no message is sent."""
        job = self.get(job_id)
        job.waiting_calls += 1
        try:
            await self.wait(job_id, timeout)
        except asyncio.CancelledError:
            if job.has_ended.is_set():  # the job ended at the same moment, and the call does not report it
                job.task = asyncio.ensure_future(self._report_end_to_agent(job))
            raise
        finally:
            job.waiting_calls -= 1
        return job

    async def wait_until_all_reported(self) -> bool:
        """Waits until the ends of all running jobs are reported to the agent. Returns False if there were none."""
        open_ones = [job for job in self._jobs.values() if not job.is_delivered.is_set()]
        for job in open_ones:
            await job.is_delivered.wait()
        return bool(open_ones)

    async def close(self, *, keep_pinned: bool = False) -> None:
        """Ends the background jobs with the session."""
        ending = [job for job in self.running_jobs() if not (keep_pinned and job.is_pinned)]
        for job in ending:
            self.kill(job.id)
        if ending:
            await asyncio.wait([asyncio.ensure_future(job.has_ended.wait()) for job in ending], timeout=5)
        for job in ending:
            if self._is_on_branch(job.origin):
                self._record_lost(job)
        for job in self._jobs.values():
            if keep_pinned and job.is_pinned:
                continue
            job.is_lost = True
            if job.task is not None:
                job.task.cancel()  # the job's end is not reported any more

    def load_from_branch(self) -> None:
        """Follows the user to another branch or session: delivers job results that were held for it, and records
        which jobs are lost."""
        for job in self._jobs.values():
            if job.is_report_held and self._is_on_branch(job.origin):
                job.is_report_held = False
                job.task = asyncio.ensure_future(self._report_end_to_agent(job))
        here = {
            job.call_id for job in self._jobs.values() if not job.is_lost and self._is_on_branch(job.origin)
        }
        self._record_missing(here)

    async def _await_work(self, job: BackgroundJob, work: Awaitable[ToolResult]) -> None:
        try:
            job.result = await work
        except asyncio.CancelledError:
            job.result = failed_tool_result("Job cancelled")
            if (task := asyncio.current_task()) is not None and task.cancelling():
                self._end_job(job)  # the session was closed, so the end needs no report
                job.is_delivered.set()
                raise
        except Exception as problem:  # noqa: BLE001  (a job's failure is its result)
            job.result = failed_tool_result(str(problem) or type(problem).__name__)
        self._end_job(job)
        if job.is_reported or job.waiting_calls:
            job.is_delivered.set()
        else:
            await self._report_end_to_agent(job)

    def _end_job(self, job: BackgroundJob) -> None:
        job.ended_at = time.monotonic()
        if job.state != "killed":
            job.state = "failed" if job.result is None or job.result.is_error else "done"
        job.has_ended.set()
        self._publish_change(job)

    async def _report_end_to_agent(self, job: BackgroundJob) -> None:
        try:
            is_delivered = await self._tell_agent(job)
        finally:
            job.is_delivered.set()
        if is_delivered:
            job.state = "delivered"
            self._publish_change(job)

    def _publish_change(self, job: BackgroundJob) -> None:
        self._publish_now(
            JobChanged(job_id=job.id, title=job.title, state=job.state, tool_call_id=job.call_id)
        )
