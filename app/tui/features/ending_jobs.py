"""Asks before running work ends because its session is left."""

import asyncio
from typing import Final

import msgspec

from app.engine.session import Session
from app.tui.page_protocols import AskPerson
from tools.amounts import elapsed, pluralized
from widgets.lists.rows import ListRow

_KEEP: Final = "keep"
_END: Final = "end"
_WAIT: Final = "wait"
_WAIT_ROW: Final = ListRow(
    id=_WAIT, title="Wait for them, then leave", detail="the agent gets their results first"
)


class EndingWork(msgspec.Struct, frozen=True):
    """Asks about the jobs and the run of one session, which end when it is left."""

    session: Session
    ask: AskPerson

    async def may_leave(self) -> bool:
        """Asks before another session opens; jobs can be kept, which pins them. True if the user continues."""
        jobs = [job for job in self.session.jobs.running() if not job.is_pinned]
        is_working = self.session.is_running
        if not jobs and not is_working:
            return True
        keep = ListRow(
            id=_KEEP, title="Keep the jobs running", detail="they go on after you leave; /jobs lists them"
        )
        end = ListRow(id=_END, title="Go on and end them" if jobs else "Go on and stop the answer")
        chosen = await self._choose("Leave this session?", [*([keep, _WAIT_ROW] if jobs else []), end])
        if chosen == _KEEP:
            for job in jobs:
                self.session.jobs.pin(job.id)
        return await self._is_left(chosen)

    async def may_quit(self) -> bool:
        """Asks before bayou ends with running jobs, or while the agent works. True if the user leaves."""
        jobs = self.session.jobs.running()
        if not jobs and not self.session.is_running:
            return True
        end = ListRow(id=_END, title="Leave and end them" if jobs else "Leave and stop the answer")
        return await self._is_left(await self._choose("Leave bayou?", [end, *([_WAIT_ROW] if jobs else [])]))

    async def _is_left(self, chosen: str | None) -> bool:
        return await self._wait() if chosen == _WAIT else chosen is not None

    async def _wait(self) -> bool:
        """Waits until the jobs have ended and the agent has their results. False if the user stays after all."""
        now = ListRow(id=_END, title="Leave now and end them")
        asked = asyncio.ensure_future(
            self._choose("Leaving when the jobs have ended:", [now], is_waiting=True)
        )
        ended = asyncio.ensure_future(self._until_all_ended())
        await asyncio.wait({asked, ended}, return_when=asyncio.FIRST_COMPLETED)
        if asked.done():
            ended.cancel()
            return asked.result() is not None
        asked.cancel()
        await asyncio.wait({asked})
        return True

    async def _until_all_ended(self) -> None:
        while await self.session.jobs.wait_for_all():
            await self.session.wait_until_idle()

    async def _choose(self, title: str, answers: list[ListRow], *, is_waiting: bool = False) -> str | None:
        from widgets.screens.dialogs import QuestionScreen  # noqa: PLC0415  (a screen that few leave with)

        jobs = self.session.jobs.running()
        told = [f"{job.id}  {job.title}  {elapsed(job.seconds)}" for job in jobs]
        if self.session.is_running:
            told.append("The agent is working.")
        if jobs and not is_waiting:
            title = f"{title} {pluralized(len(jobs), 'job')} would end"
        stay = ListRow(id="", title="Stay")
        chosen: ListRow | None = await self.ask(QuestionScreen(title, "\n".join(told), [*answers, stay]))
        return chosen.id or None if chosen is not None else None
