"""What the loop is given for each turn: the model to ask with everything that is in the conversation, the tools,
the queues, and whom to consult on the way.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from app.agent.abort import Abort, Aborted
from app.agent.outcomes import in_words
from app.agent.ports import Ports, TurnOutcome, Verdict
from app.agent.prompt import prompt_text
from app.agent.queues import Queues
from app.engine.choice import ModelChoice
from app.engine.conversation import Conversation
from app.engine.options import SessionOptions
from app.engine.requests import Ask, Requests, failed_stream
from app.engine.toolbox import Toolbox
from app.providers.contract import AssistantStream, Context, Credential
from app.providers.credentials import CredentialError
from app.values.beginning import Beginning
from app.values.content import ToolCall
from app.values.messages import AssistantMessage, SystemMessage
from app.values.models import Model
from tools.results import ToolResult


async def _nothing(run: Abort) -> None:
    return None


async def _go_on(outcome: TurnOutcome) -> bool:
    return False


async def _as_it_is(message: AssistantMessage) -> AssistantMessage:
    return message


async def _allow(call: ToolCall, arguments: dict[str, Any]) -> Verdict:
    return Verdict()


async def _keep(call: ToolCall, arguments: dict[str, Any], result: ToolResult) -> ToolResult:
    return result


class TurnHooks(msgspec.Struct, kw_only=True):
    """Who is consulted during a turn. The defaults change nothing; extensions and compaction put theirs here."""

    before_request: Callable[[Abort], Awaitable[None]] = _nothing
    seal: Callable[[AssistantMessage], Awaitable[AssistantMessage]] = _as_it_is
    before_tool: Callable[[ToolCall, dict[str, Any]], Awaitable[Verdict]] = _allow
    after_tool: Callable[[ToolCall, dict[str, Any], ToolResult], Awaitable[ToolResult]] = _keep
    after_turn: Callable[[TurnOutcome], Awaitable[bool]] = _go_on
    prompt_changed: Callable[[], None] = lambda: None
    """Tools or sections are not those of the request before."""


class Turns:
    """Makes the loop's ports for one session."""

    def __init__(
        self,
        *,
        choice: ModelChoice,
        toolbox: Toolbox,
        queues: Queues,
        requests: Requests,
        options: SessionOptions,
        sections: Callable[[], Mapping[str, str]],
        report: Callable[[str], None],
    ) -> None:
        self.hooks = TurnHooks()
        self.stream: AssistantStream | None = None
        """The answer that is arriving, or arrived last."""
        self._choice = choice
        self._toolbox = toolbox
        self._queues = queues
        self._requests = requests
        self._options = options
        self._report = report
        self.sections = sections

    def ports(
        self, conversation: Conversation, abort: Abort, will_retry: Callable[[AssistantMessage], bool]
    ) -> Ports:
        return Ports(
            ask=lambda: self.ask(conversation, abort),
            tools=self._toolbox.active,
            tool_context=self._toolbox.context,
            queues=self._queues,
            abort=abort,
            interrupt_mode=lambda: self._options.interrupt_mode,
            system_update=lambda: self._system_update(conversation),
            before_request=lambda: self.hooks.before_request(abort),
            seal=self.hooks.seal,
            before_tool=self.hooks.before_tool,
            after_tool=self.hooks.after_tool,
            after_turn=self.hooks.after_turn,
            report=self._report,
            will_retry=will_retry,
        )

    def _system_update(self, conversation: Conversation) -> SystemMessage | None:
        declared = conversation.declared
        was_declared = bool(declared.sections or declared.tools)
        update = declared.update_to(
            {**self.sections(), **conversation.standing}, self._toolbox.declarations()
        )
        if update is not None and was_declared:
            self.hooks.prompt_changed()
        return update

    async def ask(self, conversation: Conversation, abort: Abort) -> AssistantStream:
        """Sends what is in the conversation now to the model that is chosen now. A failure is an answer, too."""
        model = self._choice.required()
        try:
            with abort.interrupting():
                self.stream = await self._sent(model, conversation)
        except Aborted:
            self.stream = failed_stream(model, "Request was aborted", reason="aborted")
        except Exception as problem:  # noqa: BLE001  (hooks and credentials are foreign code)
            self.stream = failed_stream(model, f"The request could not be made: {in_words(problem)}")
        return self.stream

    async def _sent(self, model: Model, conversation: Conversation) -> AssistantStream:
        credential, problem = await self._credential(model.provider)
        declared = conversation.declared
        ask = Ask(
            model=model,
            context=Context(
                system_prompt=prompt_text(declared.sections),
                messages=tuple(conversation.said),
                tools=tuple(sorted(declared.tools.values(), key=lambda tool: tool.name)),
            ),
            message_ids=Beginning(conversation.said_ids),
            stretch=conversation.stretch,
            options=msgspec.structs.replace(
                self._options.stream,
                credential=credential,
                thinking=self._choice.thinking,
                session_id=conversation.log.session_id,
            ),
            session_id=conversation.log.session_id,
        )
        return await self._requests.send(ask, failure=problem)

    async def _credential(self, provider: str) -> tuple[Credential, str | None]:
        """A key that cannot be had (a failing command, say) is the request's failure, in its own words."""
        try:
            return await self._choice.credentials.resolve(provider) or Credential(), None
        except CredentialError as problem:
            return Credential(), str(problem)
