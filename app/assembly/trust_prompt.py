"""Asks over RPC whether a folder is trusted: the question goes to the client program, which asks its user."""

import asyncio
from collections.abc import Awaitable, Callable

from app.assembly.assembled_session import AssembledSession
from app.engine.core.user_questions import ask_question
from app.resources.paths import BayouPaths
from app.resources.trust.project_trust import TrustQuestion, store_trust_answer, trust_question_for
from app.values.user_errors import FileError
from tools.text_sanitizing import reveal_hidden_characters

TRUST_LATER_LABEL = "Decide later: ignored until you decide"
TRUST_FOLDER_LABEL = "Trust this folder"
DISTRUST_FOLDER_LABEL = "Do not trust it, and do not ask again"
_FILES_TOO_LARGE_TO_TRUST_NOTICE = (
    "Some of these files are too large to check for changes, so the folder cannot be trusted here."
)


class RpcTrustPrompt:
    """Asks an RPC client for project trust at the start and whenever the approved files have changed; one
    question at a time."""

    def __init__(
        self,
        assembled: AssembledSession,
        paths: BayouPaths,
        apply: Callable[[TrustQuestion, bool], Awaitable[None]],
    ) -> None:
        self._assembled = assembled
        self._paths = paths
        self._apply = apply
        self._asking: asyncio.Task[None] | None = None
        tell = assembled.project_trust.tell

        def tell_and_ask(text: str) -> None:
            tell(text)
            self.ask_in_background()

        assembled.project_trust.tell = tell_and_ask
        assembled.working_folder.subscribe(self._follow_folder)

    def ask_in_background(self) -> None:
        """Starts the trust question in the background. Until the client answers it, no file of the folder applies."""
        decision = self._assembled.project_trust.decision
        is_open = not decision.is_trusted and decision.reason in ("not-asked", "changed")
        if is_open and (self._asking is None or self._asking.done()):
            self._asking = asyncio.get_running_loop().create_task(self._ask_client())

    async def _follow_folder(self) -> None:
        """Cancels the open trust question after the session moved to another folder, and asks about the new
        folder."""
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None
        self.ask_in_background()

    async def _ask_client(self) -> None:
        session = self._assembled.session
        question = await asyncio.to_thread(trust_question_for, self._paths)
        if question.is_empty:
            return
        options = (
            (TRUST_LATER_LABEL, DISTRUST_FOLDER_LABEL)
            if question.exceeded_limit
            else (TRUST_LATER_LABEL, TRUST_FOLDER_LABEL, DISTRUST_FOLDER_LABEL)
        )
        chosen = await ask_question(
            session.events.publish_now, "select", _question_text(question), options=options
        )
        if chosen not in (TRUST_FOLDER_LABEL, DISTRUST_FOLDER_LABEL) or chosen not in options:
            return
        await session.wait_until_idle()
        if (await asyncio.to_thread(trust_question_for, self._paths)).fingerprint != question.fingerprint:
            session.events.notify(
                "The folder changed while the question was open, so the answer was ignored. /trust asks "
                "again."
            )
            self._asking = None
            self.ask_in_background()
            return
        try:
            store_trust_answer(self._paths, question, is_trusted=chosen == TRUST_FOLDER_LABEL)
        except FileError as problem:
            session.events.notify(str(problem), "error")
            return
        await self._apply(question, chosen == TRUST_FOLDER_LABEL)


def _question_text(question: TrustQuestion) -> str:
    """Formats the whole trust question as text, for RPC clients that show nothing else."""
    folder = reveal_hidden_characters(str(question.folder))
    lines = [f"Trust {folder}? These files in it would run or change how bayou works:"]
    lines += [f"  {item.display_line}" for item in question.items]
    return "\n".join([*lines, *([_FILES_TOO_LARGE_TO_TRUST_NOTICE] if question.exceeded_limit else [])])
