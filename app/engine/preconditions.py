"""Preconditions of operations: what may not be running, what has to be configured, and the errors otherwise."""

import msgspec

from app.engine.agent_runner import AgentRunner
from app.engine.context.context_parts import ContextParts
from app.engine.core.conversation import Conversation
from app.engine.core.model_choice import ModelChoice
from app.engine.core.prompt_intake import MissingApiKey, RequestRefused, SessionBusy
from app.sessions.errors import SessionWriteError


class Preconditions(msgspec.Struct, frozen=True):
    conversation: Conversation
    choice: ModelChoice
    runner: AgentRunner
    context: ContextParts

    def require_model(self) -> None:
        log = self.conversation.log
        if log.is_read_only:
            raise RequestRefused("This session is open read-only. Continue in a copy with /clone.")
        self._require_context_space()
        model = self.choice.model
        if model is None:
            raise RequestRefused(self.choice.missing_model_text)
        if not self.choice.is_available(model):
            raise MissingApiKey(model.provider)

    def _require_context_space(self) -> None:
        try:
            self.conversation.log.write_kept()
        except SessionWriteError as problem:
            raise RequestRefused(
                f"{problem} No requests are sent until then; your messages are kept in memory."
            ) from None

    def require_idle(self, what: str) -> None:
        if self.context.is_summarising:
            raise SessionBusy(f"{what} is not possible until the summary is written.")
        if self.runner.is_running:
            raise SessionBusy(f"{what} is not possible until the agent is idle.")
