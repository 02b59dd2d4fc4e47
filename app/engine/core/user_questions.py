"""Asks the user or a program a question, and waits for the answer."""

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from typing import Any, Literal

import msgspec

from app.engine.core.event_bus import EventBus
from app.engine.core.session_options import SessionOptions
from app.values.events import QuestionAsked

RuleScope = Literal["session", "project", "person"]
"""The scope in which a rule applies: this session, this project folder, or everywhere."""


class ApprovalReply(msgspec.Struct, frozen=True, kw_only=True):
    """The user's answer to a question about a tool call."""

    is_allowed: bool
    reason: str = ""
    """The reason for a denial, which the model reads."""
    rule: str | None = None
    """A rule to add, which allows such calls from now on; None: no rule."""
    rule_scope: RuleScope = "session"
    """The scope of the rule; rules beyond the session are written into the user's settings."""
    arguments: dict[str, Any] | None = None
    """The arguments as the user changed them, for which the call is judged again; None: they are unchanged."""
    is_changed_call_allowed: bool = False
    """Whether the changed call is allowed too, if it writes no other files and needs no typed word."""


async def ask_question(
    publish_now: Callable[[QuestionAsked], None],
    method: str,
    title: str,
    seconds: float | None = None,
    **more: Any,
) -> Any:
    """Publishes a question to the user and returns the answer. Raises `TimeoutError` after `seconds`."""
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    timeout = None if seconds is None else round(seconds * 1000)
    publish_now(
        QuestionAsked(
            id=str(uuid.uuid4()), method=method, title=title, timeout=timeout, answer=answer, **more
        )
    )
    return await asyncio.wait_for(answer, seconds)


ClientApprovalPolicy = Literal["unknown", "ask", "deny"]


class SharedPermissionState:
    """The state that the permission gates of a session and of its helpers share: the client's policy, and an event
    for changes of mode and rules."""

    def __init__(self) -> None:
        self.client_policy: ClientApprovalPolicy = "unknown"
        """Whether the client program answers approval questions, as it announced or showed."""
        self.next_change = asyncio.Event()
        """An event that is set at the next change of mode, rules, folders or policy, and is then replaced by a new
        one."""

    def note_rules_changed(self) -> None:
        changed, self.next_change = self.next_change, asyncio.Event()
        changed.set()

    def set_client_policy(self, policy: ClientApprovalPolicy) -> None:
        self.client_policy = policy
        self.note_rules_changed()


class PermissionChangeWatch:
    """Notices changes of permission mode and rules while a question is open, so that the call is judged again."""

    def __init__(self, options: SessionOptions, event_bus: EventBus, shared: SharedPermissionState) -> None:
        self._effective_settings = options.effective_settings
        self._event_bus = event_bus
        self.shared = shared
        options.effective_settings.subscribe(lambda before: shared.note_rules_changed())

    def _reread_settings(self) -> None:
        """Reads the settings again, since another program or the user may have added a rule meanwhile."""
        self._event_bus.warn_of_each(self._effective_settings.reload_changed_files())

    async def wait_for_answer(
        self,
        asking: Coroutine[Any, Any, ApprovalReply | None],
        is_asked: Callable[[], bool],
        *,
        since: asyncio.Event,
    ) -> tuple[bool, ApprovalReply | None]:
        """Waits for the answer to a question, and returns whether the question was still valid, and the answer.
        `is_asked` checks in a thread, after each change, whether the question still has to be asked; if not, it is
        withdrawn. `since` is the value of `next_change` before the call was judged."""
        question = asyncio.ensure_future(asking)
        try:
            while True:
                change = asyncio.ensure_future(since.wait())
                await asyncio.wait({question, change}, return_when=asyncio.FIRST_COMPLETED)
                change.cancel()
                reply = question.result() if question.done() else None
                if question.done() and (reply is None or not reply.is_allowed):
                    return True, reply
                if reply is not None:
                    self._reread_settings()
                    if not since.is_set():
                        return True, reply
                since = self.shared.next_change
                if not await asyncio.to_thread(is_asked):
                    return False, None
        finally:
            question.cancel()
