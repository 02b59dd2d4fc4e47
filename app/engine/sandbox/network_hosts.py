"""Decides which network hosts sandboxed commands may reach: by the call's grant, by rules, or by asking."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

import msgspec

from app.engine.core.user_questions import ApprovalReply, PermissionChangeWatch
from app.permits.command_place import CommandPlace
from app.permits.permission_decisions import PermissionPolicy, ToolCallDecision, decide_tool_call
from app.permits.permit_rules import rule_names_host
from app.permits.risk_classes import ToolCallPart, judgement_of_parts
from app.values.content import ToolCall

HOST_APPROVAL_TIMEOUT = 60.0
"""The number of seconds that a connection waits for the user's answer."""
_NETWORK_TOOL_NAME = "network"
_MAX_NETWORK_CALLERS: Final = 1_000
_WEB_PORTS: Final = frozenset({80, 443})
AskAboutHost = Callable[
    [ToolCall, dict[str, Any], ToolCallDecision, CommandPlace], Awaitable[ApprovalReply | None]
]


class RecordHostVerdict(Protocol):
    def __call__(self, call: ToolCall, decision: ToolCallDecision, outcome: str, by: str) -> None: ...


class NetworkHostCaller(msgspec.Struct, eq=False, kw_only=True):
    """A tool call whose commands may ask the proxy for hosts."""

    call_id: str
    command: str
    granted_hosts: frozenset[str] = frozenset()
    """The hosts that the call was granted, each as `host:port`."""
    answer_tasks: dict[str, "asyncio.Task[bool]"] = msgspec.field(
        default_factory=dict[str, "asyncio.Task[bool]"]
    )
    """The task that asks the user about each host: a call asks about a host once, however often its command tries."""
    refused_hosts: dict[str, None] = msgspec.field(default_factory=dict[str, None])

    def was_granted(self, host: str, port: int) -> bool:
        """Whether the call was granted the host; a grant of one web port includes the other."""
        ports = _WEB_PORTS if port in _WEB_PORTS else {port}
        return any(f"{host}:{one}" in self.granted_hosts for one in ports)

    def cancel_questions(self) -> None:
        for asking in tuple(self.answer_tasks.values()):
            asking.cancel()


class NetworkHosts(msgspec.Struct, eq=False, kw_only=True):
    """Decides which network hosts the sandboxed commands of one session may reach."""

    policy: Callable[[], PermissionPolicy]
    command_place: Callable[[], CommandPlace]
    can_ask: Callable[[], bool]
    ask_about_host: AskAboutHost
    rule_changes: PermissionChangeWatch
    store_rule: Callable[[ApprovalReply], None]
    """A function that stores the rule of the user's answer."""
    record_verdict: RecordHostVerdict
    """A function that records the outcome of a question."""
    _callers: dict[str, NetworkHostCaller] = msgspec.field(default_factory=dict[str, NetworkHostCaller])
    """The callers by the name that they give the proxy."""
    _persistent_caller_name: str = msgspec.field(default_factory=lambda: secrets.token_hex(8))

    def register_caller(
        self, call_id: str, command: str, hosts: frozenset[str] = frozenset(), *, lasts: bool = False
    ) -> str:
        """Returns the name with which a call's commands identify themselves to the proxy. `lasts` means that one
        process serves this call and later ones, and keeps its name."""
        while len(self._callers) >= _MAX_NETWORK_CALLERS:
            self._callers.pop(next(iter(self._callers)))
        name = self._persistent_caller_name if lasts else secrets.token_hex(8)
        self._callers[name] = NetworkHostCaller(call_id=call_id, command=command, granted_hosts=hosts)
        return name

    def end_caller(self, name: str) -> tuple[str, ...]:
        """Forgets a caller whose command has ended, so that no later command can use its name, and the answers for
        programs that send no name. Returns each `host:port` that the caller was denied."""
        unnamed = self._callers.get("")
        if unnamed is not None:
            unnamed.answer_tasks = {
                host: asking for host, asking in unnamed.answer_tasks.items() if not asking.done()
            }
        caller = self._callers.get(name)
        if caller is None:
            return ()
        if name != self._persistent_caller_name:
            del self._callers[name]
            caller.cancel_questions()
        return tuple(caller.refused_hosts)

    def is_host_allowed_by_rule(self, host: str, port: int) -> bool:
        """Whether a permission rule allows exactly this host, without a wildcard."""
        rules = self.policy().rules
        return any(rule.action == "allow" and rule_names_host(rule, host, port) for rule in rules)

    async def decide_connection(self, host: str, port: int, name: str = "") -> bool:
        """Decides about a connection of a sandboxed command, asking the user where neither the call's grant nor
        a rule decides."""
        caller = self._callers.get(name)
        if caller is None:  # the program does not send the name that it was given
            caller = self._callers.setdefault(
                "", NetworkHostCaller(call_id=_NETWORK_TOOL_NAME, command="a command in the sandbox")
            )
        decision = self._judge_connection(caller, host, port)
        is_allowed = decision.outcome == "run"
        if decision.outcome == "ask":
            is_allowed = caller.was_granted(host, port) or await self._answer_once(caller, host, port)
        if not is_allowed:
            caller.refused_hosts[f"{host}:{port}"] = None
        return is_allowed

    def close(self) -> None:
        for caller in self._callers.values():
            caller.cancel_questions()

    def _judge_connection(self, caller: NetworkHostCaller, host: str, port: int) -> ToolCallDecision:
        verdict = judgement_of_parts([_call_part(host, port, caller.command)])
        return decide_tool_call(verdict, _NETWORK_TOOL_NAME, self.policy(), self.command_place())

    async def _answer_once(self, caller: NetworkHostCaller, host: str, port: int) -> bool:
        name = f"{host}:{port}"
        known = caller.answer_tasks.get(name)
        if known is None:
            known = asyncio.ensure_future(self._ask_user_about_host(caller, host, port))
            caller.answer_tasks[name] = known
        return await asyncio.shield(known)

    async def _ask_user_about_host(self, caller: NetworkHostCaller, host: str, port: int) -> bool:
        """Asks the user about a host until the question remains valid to its end, because mode and rules may
        change meanwhile."""
        name = f"{host}:{port}"
        call = ToolCall(
            id=f"{caller.call_id}/{name}",
            name=_NETWORK_TOOL_NAME,
            arguments={"host": name, "for": caller.command},
        )
        while True:
            seen = self.rule_changes.shared.next_change
            decision = self._judge_connection(caller, host, port)
            if decision.outcome != "ask":
                self.record_verdict(
                    call, decision, "run" if decision.outcome == "run" else "refused", decision.decided_by
                )
                return decision.outcome == "run"
            if not self.can_ask():
                return False
            stands, reply = await self.rule_changes.wait_for_answer(
                self._apply_reply(call, decision),
                lambda: self.can_ask() and self._judge_connection(caller, host, port).outcome == "ask",
                since=seen,
            )
            if not stands:
                continue
            if reply is not None and reply.is_allowed and reply.rule is not None:
                self.store_rule(reply)
            is_allowed = reply is not None and reply.is_allowed
            self.record_verdict(
                call, decision, "run" if is_allowed else "refused", "person" if reply else "no answer"
            )
            return is_allowed

    async def _apply_reply(self, call: ToolCall, decision: ToolCallDecision) -> ApprovalReply | None:
        try:
            return await asyncio.wait_for(
                self.ask_about_host(call, call.arguments, decision, self.command_place()),
                HOST_APPROVAL_TIMEOUT,
            )
        except TimeoutError:
            return None


def _call_part(host: str, port: int, command: str) -> ToolCallPart:
    name = f"{host}:{port}"
    why = f"{command} connects to this host"
    return ToolCallPart(
        text=name, risk="contained", why=why, named_hosts=(name,), uses_network=True, kind="host"
    )
