"""Checks the preconditions of session operations: what may not be running and what has to be configured."""

import msgspec

from app.engine.agent_runner import AgentRunner
from app.engine.context.context_parts import CompactionAndSummaryParts
from app.engine.core.conversation import Conversation
from app.engine.core.model_choice import ModelChoice
from app.engine.core.prompt_intake import MissingApiKey, SessionBusy, SessionRequestRefused
from app.sessions.errors import SessionWriteError


class SessionPreconditions(msgspec.Struct, frozen=True):
    conversation: Conversation
    model_choice: ModelChoice
    runner: AgentRunner
    context: CompactionAndSummaryParts

    def require_model(self) -> None:
        log = self.conversation.log
        if log.is_read_only:
            raise SessionRequestRefused("This session is open read-only. Continue in a copy with /clone.")
        self._require_saved_messages()
        model = self.model_choice.model
        if model is None:
            raise SessionRequestRefused(self.model_choice.missing_model_text)
        if not self.model_choice.is_model_available(model):
            raise MissingApiKey(model.provider)

    def _require_saved_messages(self) -> None:
        try:
            self.conversation.log.write_held_entries()
        except SessionWriteError as problem:
            raise SessionRequestRefused(
                f"{problem} No requests are sent until then; your messages are kept in memory."
            ) from None

    def require_idle(self, what: str) -> None:
        if self.context.is_summarising:
            raise SessionBusy(f"{what} is not possible until the summary is written.")
        if self.runner.is_running:
            raise SessionBusy(f"{what} is not possible until the agent is idle.")
