"""The page for `/btw`, which asks a side question without interrupting the run, and for `/handoff`, which starts a new
session with the context that its goal needs."""

import asyncio
from collections.abc import Awaitable, Callable

from app.engine.session import Session
from app.tui.page_protocols import AskOnScreen, ShowMessage
from app.values.user_errors import UserError
from widgets.screens.block import BlockScreen
from widgets.screens.dialogs import TextEditScreen
from widgets.transcript.transcript_blocks import AppNoteKind, ReplyBlock, ReplyProse, ReplyState

AnswerQuestion = Callable[[str, Callable[[str], None]], Awaitable[str]]


class _StreamedAnswer:
    """The answer to a side question: receives it from the model piece by piece and returns it as a transcript block."""

    def __init__(self, asked: str, answering: AnswerQuestion) -> None:
        self._pieces: list[str] = []
        self.problem = ""
        self.text = ""
        self.task = asyncio.ensure_future(self._stream_answer(asked, answering))

    async def _stream_answer(self, asked: str, answering: AnswerQuestion) -> None:
        try:
            self.text = await answering(asked, self._pieces.append)
        except UserError as problem:
            self.problem = str(problem)

    def block(self) -> ReplyBlock:
        text = self.problem or self.text or "".join(self._pieces) or "…"
        state = ReplyState.DONE if self.task.done() else ReplyState.STREAMING
        return ReplyBlock(id="beside", parts=(ReplyProse(text=text),), state=state)


class SideQuestionsPage:
    """Asks side questions and creates handoffs for one session."""

    def __init__(self, session: Session, ask: AskOnScreen, say: ShowMessage) -> None:
        self._session = session
        self._ask = ask
        self._show_message = say

    async def ask(self, question: str) -> None:
        """Asks the model a side question and shows the answer while it streams; closing it cancels the request."""
        if not question:
            self._show_message("Usage: /btw QUESTION. It is answered without interrupting the run.")
            return
        answer = _StreamedAnswer(question, self._session.side_questions.ask_side_question)
        try:
            await self._ask(BlockScreen(f"By the way: {' '.join(question.split())[:60]}", answer.block))
        finally:
            answer.task.cancel()

    async def draft_handoff_session(self, goal: str) -> None:
        """Has the model draft a handoff for a goal, lets the user edit it, and starts a new session with it after
        confirmation."""
        if not goal:
            self._show_message("Usage: /handoff GOAL of the new session.")
            return
        answer = _StreamedAnswer(goal, self._session.side_questions.draft_handoff)
        screen = BlockScreen("Handoff to a new session", answer.block)
        answer.task.add_done_callback(lambda _: screen.dismiss(None) if screen.is_current else None)
        try:
            await self._ask(screen)
        finally:
            is_whole = answer.task.done()
            answer.task.cancel()
        if answer.problem:
            self._show_message(answer.problem, AppNoteKind.WARNING)
        if not is_whole or answer.problem:
            return
        text = await self._ask(
            TextEditScreen("The first prompt of the new session", prefill=answer.text, is_for_reading=True)
        )
        if text and text.strip():
            await self._session.branches.start_new_session(self._session.state.file)
            await self._session.prompt(text)
