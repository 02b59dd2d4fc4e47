"""Preconditions of operations: what may not be running, what has to be configured, and the errors otherwise."""

import msgspec

from app.engine.context.context_parts import ContextParts
from app.engine.core.conversation import Conversation
from app.engine.core.model_choice import ModelChoice
from app.engine.core.prompt_intake import Busy, MissingApiKey, Refused
from app.engine.runner import Runner
from app.sessions.errors import SessionWriteError


class Preconditions(msgspec.Struct, frozen=True):
    conversation: Conversation
    choice: ModelChoice
    runner: Runner
    context: ContextParts

    @property
    def is_running(self) -> bool:
        return self.runner.is_running

    def require_model(self) -> None:
        log = self.conversation.log
        if log.is_read_only:
            raise Refused("This session is open read-only. Continue in a copy with /clone.")
        self._require_room()
        model = self.choice.model
        if model is None:
            raise Refused(self.choice.missing_model_text)
        if not self.choice.is_available(model):
            raise MissingApiKey(model.provider)

    def _require_room(self) -> None:
        try:
            self.conversation.log.write_kept()
        except SessionWriteError as problem:
            raise Refused(
                f"{problem} No requests are sent until then; your messages are kept in memory."
            ) from None

    def require_idle(self, what: str) -> None:
        if self.context.is_summarising:
            raise Busy(f"{what} is not possible until the summary is written.")
        if self.is_running:
            raise Busy(f"{what} is not possible until the agent is idle.")
