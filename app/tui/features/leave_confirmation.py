"""Asks the user before leaving a session ends running work."""

import asyncio
from typing import Final

import msgspec

from app.engine.session import Session
from app.tui.page_protocols import AskOnScreen
from tools.number_formatting import count_with_noun, format_elapsed
from widgets.lists.list_rows import ListRow

_KEEP_JOBS_CHOICE: Final = "keep"
_END_JOBS_CHOICE: Final = "end"
_WAIT_FOR_JOBS_CHOICE: Final = "wait"
_WAIT_FOR_JOBS_ROW: Final = ListRow(
    id=_WAIT_FOR_JOBS_CHOICE,
    title="Wait for the jobs first",
    detail="leaves when the agent has their results",
)


class LeaveSessionConfirmation(msgspec.Struct, frozen=True):
    """Asks what happens to a session's background jobs and its run before the session is left."""

    session: Session
    ask: AskOnScreen

    async def confirm_session_switch(self) -> bool:
        """Asks what happens to running jobs and the run before another session opens; jobs can be kept, which pins
        them. Returns True if the user goes on."""
        jobs = [job for job in self.session.jobs.running_jobs() if not job.is_pinned]
        is_working = self.session.is_running
        if not jobs and not is_working:
            return True
        keep = ListRow(
            id=_KEEP_JOBS_CHOICE,
            title="Keep the jobs running",
            detail="they run on after you leave; /jobs lists them",
        )
        end = ListRow(
            id=_END_JOBS_CHOICE, title="Leave and stop the jobs" if jobs else "Leave and stop the agent"
        )
        chosen = await self._ask_about_jobs(
            "Leave this session?", [*([keep, _WAIT_FOR_JOBS_ROW] if jobs else []), end]
        )
        if chosen == _KEEP_JOBS_CHOICE:
            for job in jobs:
                self.session.jobs.set_job_pinned(job.id)
        return await self._carry_out_choice(chosen)

    async def confirm_quit(self) -> bool:
        """Asks before bayou ends while jobs run or the agent works. Returns True if the user leaves."""
        jobs = self.session.jobs.running_jobs()
        if not jobs and not self.session.is_running:
            return True
        end = ListRow(
            id=_END_JOBS_CHOICE, title="Quit and stop the jobs" if jobs else "Quit and stop the agent"
        )
        return await self._carry_out_choice(
            await self._ask_about_jobs("Quit bayou?", [end, *([_WAIT_FOR_JOBS_ROW] if jobs else [])])
        )

    async def _carry_out_choice(self, chosen: str | None) -> bool:
        return await self._wait_for_jobs() if chosen == _WAIT_FOR_JOBS_CHOICE else chosen is not None

    async def _wait_for_jobs(self) -> bool:
        """Waits until the background jobs have ended and the agent has their results. Returns False if the user stays
        after all."""
        now = ListRow(id=_END_JOBS_CHOICE, title="Leave now and stop the jobs")
        asked = asyncio.ensure_future(
            self._ask_about_jobs("Waiting for the jobs to finish", [now], is_waiting=True)
        )
        ended = asyncio.ensure_future(self._wait_until_idle())
        await asyncio.wait({asked, ended}, return_when=asyncio.FIRST_COMPLETED)
        if asked.done():
            ended.cancel()
            return asked.result() is not None
        asked.cancel()
        await asyncio.wait({asked})
        return True

    async def _wait_until_idle(self) -> None:
        while await self.session.jobs.wait_until_all_reported():
            await self.session.wait_until_idle()

    async def _ask_about_jobs(
        self, title: str, answers: list[ListRow], *, is_waiting: bool = False
    ) -> str | None:
        from widgets.screens.dialogs import QuestionScreen  # noqa: PLC0415  (a screen that few leave with)

        jobs = self.session.jobs.running_jobs()
        told = [f"{job.id}  {job.title}  {format_elapsed(job.seconds)}" for job in jobs]
        if self.session.is_running:
            told.append("The agent is working.")
        if jobs and not is_waiting:
            title = f"{title} {count_with_noun(len(jobs), 'job')} would be stopped"
        stay = ListRow(id="", title="Stay")
        chosen: ListRow | None = await self.ask(QuestionScreen(title, "\n".join(told), [*answers, stay]))
        return chosen.id or None if chosen is not None else None
