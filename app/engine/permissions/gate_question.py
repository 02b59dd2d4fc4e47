"""Asks the permission gate's questions and interprets the answers. The full screen answers with a reply. A
program gets a `select` that any RPC client can answer; for dangerous commands it has to type the word, like a
user."""

from typing import Any

from app.engine.core.event_bus import EventBus
from app.engine.core.session_options import SessionOptions
from app.engine.core.user_questions import ApprovalReply, RuleScope, ask_question
from app.engine.permissions.permission_context import PermissionContext
from app.values.approvals import Approval

PROGRAM_ANSWER_TIMEOUT = 600.0
"""The number of seconds that a client program has to answer a question."""
UNKNOWN_PROGRAM_ANSWER_TIMEOUT = 60.0
"""The number of seconds to answer for a client program that has never answered and has not announced that it will."""
ONCE, DENY = "Allow once", "Deny"
_RULE_SCOPE_PREFIXES: dict[RuleScope, str] = {
    "session": "Always in this session: ",
    "project": "Always in this project: ",
}


class ApprovalQuestions:
    """Asks the questions of one session's permission gate."""

    def __init__(self, standing: PermissionContext, options: SessionOptions, event_bus: EventBus) -> None:
        self._permission_context = standing
        self._shared = standing.shared_permissions
        self._options = options
        self._event_bus = event_bus

    @property
    def are_questions_refused(self) -> bool:
        """Whether the client program refuses all approval questions, so that such calls are denied."""
        return self._permission_context.approver == "program" and self._shared.client_policy == "deny"

    async def ask_approval(self, title: str, approval: Approval) -> ApprovalReply | None:
        """Asks for approval of a tool call and returns the answer; None if there was none."""
        needs_typed_word = approval.confirmation_word is not None
        options = (DENY, ONCE) if needs_typed_word else (ONCE, DENY)
        if not needs_typed_word:
            options += tuple(
                word + rule.text for word in _RULE_SCOPE_PREFIXES.values() for rule in approval.rules
            )
        try:
            said = await self._ask_question("select", title, approval, options=options)
            if needs_typed_word and said == ONCE:
                word = approval.confirmation_word
                said = await self._ask_question(
                    "input", f"Type {word} to allow it once", approval, placeholder=word
                )
        except TimeoutError:
            return None
        return _parse_reply(said, approval)

    async def _ask_question(self, method: str, title: str, approval: Approval, **more: Any) -> Any:
        seconds = self._answer_timeout() if self._permission_context.approver == "program" else None
        said = await ask_question(
            self._event_bus.publish_now, method, title, seconds, approval=approval, **more
        )
        if said is not None and self._shared.client_policy == "unknown":
            self._shared.client_policy = "ask"
        return said

    def _answer_timeout(self) -> float:
        chosen = self._options.effective_settings.settings.permissions.timeout_seconds
        is_unknown = self._shared.client_policy == "unknown"
        return chosen or (UNKNOWN_PROGRAM_ANSWER_TIMEOUT if is_unknown else PROGRAM_ANSWER_TIMEOUT)


def _parse_reply(said: Any, approval: Approval) -> ApprovalReply:
    """Reads the answer to an approval question: an `ApprovalReply`, or one of the options by its text. Anything
    else is a no."""
    if isinstance(said, ApprovalReply):
        return said
    if said == DENY:  # even if it is the word of this call
        return ApprovalReply(is_allowed=False)
    if approval.confirmation_word is not None:
        return ApprovalReply(is_allowed=isinstance(said, str) and said.strip() == approval.confirmation_word)
    if said == ONCE:
        return ApprovalReply(is_allowed=True)
    for keeps, word in _RULE_SCOPE_PREFIXES.items():
        text = said.removeprefix(word) if isinstance(said, str) and said.startswith(word) else None
        if text is not None and any(rule.text == text for rule in approval.rules):
            return ApprovalReply(is_allowed=True, rule=text, rule_scope=keeps)
    return ApprovalReply(is_allowed=False)
