"""`/btw` asks a side question without interrupting the run; `/handoff` starts a new session with the context its goal
needs."""

import asyncio
from collections.abc import Awaitable, Callable

from app.engine.session import Session
from app.tui.page_protocols import AskPerson, ShowMessage
from app.values.user_errors import UserError
from widgets.screens.block import BlockScreen
from widgets.screens.dialogs import TextScreen
from widgets.transcript.blocks import NoteKind, Prose, ReplyBlock, ReplyState

Answering = Callable[[str, Callable[[str], None]], Awaitable[str]]


class _Answer:
    """The answer received so far."""

    def __init__(self, asked: str, answering: Answering) -> None:
        self._pieces: list[str] = []
        self.problem = ""
        self.text = ""
        self.work = asyncio.ensure_future(self._follow(asked, answering))

    async def _follow(self, asked: str, answering: Answering) -> None:
        try:
            self.text = await answering(asked, self._pieces.append)
        except UserError as problem:
            self.problem = str(problem)

    def block(self) -> ReplyBlock:
        text = self.problem or self.text or "".join(self._pieces) or "…"
        state = ReplyState.DONE if self.work.done() else ReplyState.STREAMING
        return ReplyBlock(id="beside", parts=(Prose(text=text),), state=state)


class SideQuestionsPage:
    """Asks side questions and creates handoffs for one session."""

    def __init__(self, session: Session, ask: AskPerson, say: ShowMessage) -> None:
        self._session = session
        self._ask = ask
        self._say = say

    async def ask(self, question: str) -> None:
        """Shows the answer while it streams; closing it cancels the request."""
        if not question:
            self._say("Usage: /btw QUESTION. It is answered without interrupting the run.")
            return
        answer = _Answer(question, self._session.side_questions.ask)
        try:
            await self._ask(BlockScreen(f"By the way: {' '.join(question.split())[:60]}", answer.block))
        finally:
            answer.work.cancel()

    async def hand_over(self, goal: str) -> None:
        """Drafts the handoff, lets the user edit it, and starts the new session after confirmation."""
        if not goal:
            self._say("Usage: /handoff GOAL of the new session.")
            return
        answer = _Answer(goal, self._session.side_questions.draft_handoff)
        screen = BlockScreen("Handoff to a new session", answer.block)
        answer.work.add_done_callback(lambda _: screen.dismiss(None) if screen.is_current else None)
        try:
            await self._ask(screen)
        finally:
            is_whole = answer.work.done()
            answer.work.cancel()
        if answer.problem:
            self._say(answer.problem, NoteKind.WARNING)
        if not is_whole or answer.problem:
            return
        text = await self._ask(
            TextScreen("The first prompt of the new session", prefill=answer.text, is_for_reading=True)
        )
        if text and text.strip():
            await self._session.branches.begin(self._session.state.file)
            await self._session.prompt(text)
