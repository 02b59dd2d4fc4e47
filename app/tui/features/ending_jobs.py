"""Asks before running work ends because its session is left."""

from typing import Final

import msgspec

from app.engine.session import Session
from app.tui.page_protocols import AskPerson
from tools.amounts import elapsed, pluralized
from widgets.lists.rows import ListRow

_KEEP: Final = "keep"


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
        end = ListRow(id="end", title="Go on and end them" if jobs else "Go on and stop the answer")
        chosen = await self._choose("Leave this session?", [*([keep] if jobs else []), end])
        if chosen == _KEEP:
            for job in jobs:
                self.session.jobs.pin(job.id)
        return chosen is not None

    async def may_quit(self) -> bool:
        """Asks before bayou ends with running jobs. True if the user leaves."""
        if not self.session.jobs.running():
            return True
        return await self._choose("Leave bayou?", [ListRow(id="end", title="Leave and end them")]) is not None

    async def _choose(self, title: str, answers: list[ListRow]) -> str | None:
        from widgets.screens.dialogs import QuestionScreen  # noqa: PLC0415  (a screen that few leave with)

        jobs = self.session.jobs.running()
        told = [f"{job.id}  {job.title}  {elapsed(job.seconds)}" for job in jobs]
        if self.session.is_running:
            told.append("The agent is working.")
        if jobs:
            title = f"{title} {pluralized(len(jobs), 'job')} would end"
        stay = ListRow(id="", title="Stay")
        chosen: ListRow | None = await self.ask(QuestionScreen(title, "\n".join(told), [*answers, stay]))
        return chosen.id or None if chosen is not None else None
