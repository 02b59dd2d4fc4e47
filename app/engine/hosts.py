"""Which hosts commands reach from a network of their own: by rules, or as a person says; each is asked about once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from app.engine.answering import ApprovalReply
from app.permits.decide import CallDecision, Policy, decide
from app.permits.place import CommandPlace
from app.permits.rules import is_host_named
from app.permits.verdicts import CallPart, verdict_of
from app.values.content import ToolCall

HOST_SECONDS = 60.0
"""How long a connection waits for an answer."""
_NETWORK = "network"
Ask = Callable[[ToolCall, dict[str, Any], CallDecision, CommandPlace], Awaitable[ApprovalReply | None]]


class Note(Protocol):
    def __call__(self, call: ToolCall, decision: CallDecision, outcome: str, by: str) -> None: ...


class Hosts(msgspec.Struct, eq=False, kw_only=True):
    """Of one session."""

    policy: Callable[[], Policy]
    place: Callable[[], CommandPlace]
    can_ask: Callable[[], bool]
    ask: Ask
    keep: Callable[[ApprovalReply], None]
    """The rule of an answer."""
    note: Note
    """Writes down what came of a question."""
    _answers: dict[str, asyncio.Task[bool]] = msgspec.field(default_factory=dict[str, asyncio.Task[bool]])

    def is_listed(self, host: str, port: int) -> bool:
        """A rule allows this very name, without a wildcard."""
        rules = self.policy().rules
        return any(rule.deed == "allow" and is_host_named(rule, host, port) for rule in rules)

    async def allow(self, host: str, port: int) -> bool:
        """Waits for a person where nothing else says it."""
        name = f"{host}:{port}"
        part = CallPart(
            text=name,
            risk="contained",
            why="a command in the sandbox wants to reach it",
            hosts=(name,),
            network=True,
        )
        place = self.place()
        decision = decide(verdict_of([part]), _NETWORK, self.policy(), place)
        if decision.outcome != "ask":
            return decision.outcome == "run"
        known = self._answers.get(name)
        if known is None:
            known = asyncio.ensure_future(self._asked(decision, place))
            self._answers[name] = known
            known.add_done_callback(lambda done: self._forget(name, done))
        return await asyncio.shield(known)

    def close(self) -> None:
        for asking in tuple(self._answers.values()):
            asking.cancel()

    async def _asked(self, decision: CallDecision, place: CommandPlace) -> bool:
        if not self.can_ask():
            return False
        name = decision.decisive.part.text
        call = ToolCall(id=f"{_NETWORK}/{name}", name=_NETWORK, arguments={"host": name})
        try:
            reply = await asyncio.wait_for(self.ask(call, call.arguments, decision, place), HOST_SECONDS)
        except TimeoutError:
            reply = None
        if reply is not None and reply.allows and reply.rule is not None:
            self.keep(reply)
        is_allowed = reply is not None and reply.allows
        self.note(call, decision, "run" if is_allowed else "refused", "person" if reply else "no answer")
        return is_allowed

    def _forget(self, name: str, done: "asyncio.Task[bool]") -> None:
        """A yes lasts as long as the session; anything else may be asked about again."""
        if done.cancelled() or done.exception() is not None or not done.result():
            self._answers.pop(name, None)
