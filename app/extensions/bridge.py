"""The engine's questions as hooks: each method has the signature of the place in the loop where it is asked.

They go straight into the loop's and the requests' hook structs, and cost a dictionary look-up when nobody listens.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from app.agent.ports import TurnOutcome, Verdict
from app.extensions import payloads as p
from app.extensions.answers import AgentStartAnswers
from app.extensions.runner import Extensions
from app.providers.contract import Context, OnEvent, OnPayload
from app.values.content import Image, Text, ToolCall, text_of
from app.values.messages import AssistantMessage, CustomMessage, Message, SystemMessage, ToolDeclaration
from app.values.models import Model
from tools.results import ImagePart, TextPart, ToolResult


class Bridge:
    def __init__(self, extensions: Extensions) -> None:
        self._extensions = extensions
        self._turn = 0

    # Around a prompt

    async def input(self, payload: p.Input) -> p.InputAnswer:
        """What becomes of a prompt; the payload holds its text and images as they are now."""
        return await self._extensions.emit("input", payload) or p.InputAnswer()

    async def before_agent_start(self, payload: p.BeforeAgentStart) -> AgentStartAnswers:
        self._turn = 0
        return await self._extensions.emit("before_agent_start", payload) or AgentStartAnswers()

    async def user_bash(self, payload: p.UserBash) -> p.UserBashAnswer:
        return await self._extensions.emit("user_bash", payload) or p.UserBashAnswer()

    # `TurnHooks`

    async def before_tool(
        self, call: ToolCall, arguments: dict[str, Any], parent_id: str | None = None
    ) -> Verdict:
        if not self._extensions.listens("tool_call"):
            return Verdict()
        payload = p.ToolCallPayload(
            tool_call_id=call.id,
            tool_name=call.name,
            input=_copy(arguments),
            parent_tool_call_id=parent_id,
        )
        answer: p.ToolCallAnswer | None = await self._extensions.emit("tool_call", payload)
        changed = payload.input if payload.input != arguments else None
        if answer is None or not answer.block:
            return Verdict(arguments=changed)
        return Verdict(is_blocked=True, reason=answer.reason, terminate=answer.terminate)

    async def after_tool(
        self, call: ToolCall, arguments: dict[str, Any], result: ToolResult, parent_id: str | None = None
    ) -> ToolResult:
        if not self._extensions.listens("tool_result"):
            return result
        payload = p.ToolResultPayload(
            tool_call_id=call.id,
            tool_name=call.name,
            input=arguments,
            content=tuple(
                Text(text=part.text)
                if isinstance(part, TextPart)
                else Image(data=part.data, mime_type=part.mime_type)
                for part in result.content
            ),
            details=result.details,
            structured_content=result.structured_content,
            is_error=result.is_error,
            parent_tool_call_id=parent_id,
        )
        answer: p.ToolResultAnswer | None = await self._extensions.emit("tool_result", payload)
        return result if answer is None else _changed(result, payload)

    async def seal(self, message: AssistantMessage) -> AssistantMessage:
        changed = await self.message(message)
        return changed if isinstance(changed, AssistantMessage) else message

    async def message(self, message: Message) -> Message:
        """A complete message before it is recorded."""
        if not self._extensions.listens("message_end"):
            return message
        payload = p.MessageEnded(message=message)
        await self._extensions.emit("message_end", payload)
        return payload.message

    async def after_turn(self, outcome: TurnOutcome) -> bool:
        """True ends the run."""
        index, self._turn = self._turn, self._turn + 1
        if not self._extensions.listens("turn_end"):
            return False
        payload = p.TurnEnded(turn_index=index, message=outcome.message, tool_results=outcome.results)
        return await self._boundary("turn_end", payload)

    async def before_settle(self, message: AssistantMessage | None) -> bool:
        """Once nothing is left to do and nothing was aborted. True: the run should not go on."""
        if not self._extensions.listens("agent_before_settle"):
            return True
        is_error = message is not None and message.stop_reason == "error"
        payload = p.BeforeSettle(outcome="error" if is_error else "completed", message=message)
        return await self._boundary("agent_before_settle", payload)

    async def _boundary(self, name: str, payload: Any) -> bool:
        answer: p.BoundaryAnswer | None = await self._extensions.emit(name, payload)
        host = self._extensions.host
        if answer is None or host is None:
            return name == "agent_before_settle"
        for draft in answer.entries:
            match draft.type:
                case "custom":
                    await host.append_entry(draft.custom_type, draft.data)
                case "custom_message":
                    message = CustomMessage(
                        custom_type=draft.custom_type,
                        content=draft.content,
                        display=draft.display,
                        details=draft.details,
                    )
                    await host.send(message, deliver_as="aside", trigger=False, call_id=None)
                case "context_edit":
                    await host.edit_context(draft.target_id, draft.replacement)
                case "compaction":
                    await host.record_compaction(draft.summary, draft.first_kept_entry_id)
        if answer.continue_ is True:
            await host.keep_going()
        return answer.continue_ is False or (name == "agent_before_settle" and answer.continue_ is None)

    # `ContextHooks`

    async def transform(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        if not self._extensions.listens("context"):
            return messages
        payload = p.ContextPayload(messages=messages)
        await self._extensions.emit("context", payload)
        return tuple(payload.messages)

    async def transform_whole(self, context: Context) -> Context:
        """Prompt and tools are told as a system message in front; what system messages come back say is sent."""
        if not self._extensions.listens("context_with_system"):
            return context
        system = SystemMessage(content=context.system_prompt, tools_added=context.tools or None)
        payload = p.ContextPayload(messages=(system, *context.messages))
        await self._extensions.emit("context_with_system", payload)
        return _context_of(payload.messages)

    def payload_listener(self, model: Model) -> OnPayload | None:
        return self.on_payload if self._extensions.listens("before_provider_request") else None

    async def on_payload(self, payload: dict[str, Any], model: Model) -> dict[str, Any] | None:
        told = p.BeforeProviderRequest(model=model, payload=payload)
        await self._extensions.emit("before_provider_request", told)
        return told.payload

    async def on_headers(self, headers: dict[str, str | None]) -> None:
        if self._extensions.listens("before_provider_headers"):
            await self._extensions.emit("before_provider_headers", p.BeforeProviderHeaders(headers=headers))

    async def on_response(self, status: int, headers: Mapping[str, str]) -> None:
        if self._extensions.listens("after_provider_response"):
            told = p.AfterProviderResponse(status=status, headers=dict(headers))
            await self._extensions.emit("after_provider_response", told)

    def event_listener(self, model: Model) -> OnEvent | None:
        if not self._extensions.listens("provider_stream_event"):
            return None

        async def tell(event: str, data: bytes) -> None:
            told = p.ProviderStreamEvent(
                provider=model.provider, api=model.api, model=model.id, event=event, data=_decoded(data)
            )
            await self._extensions.emit("provider_stream_event", told)

        return tell


def _decoded(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return data.decode("utf-8", "replace")


def _copy(arguments: dict[str, Any]) -> dict[str, Any]:
    """A handler changes its own copy; the message keeps what the model said."""
    return {key: _copied(value) for key, value in arguments.items()}


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return _copy(value)
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value


def _changed(result: ToolResult, payload: p.ToolResultPayload) -> ToolResult:
    return msgspec.structs.replace(
        result,
        content=tuple(
            TextPart(text=part.text)
            if isinstance(part, Text)
            else ImagePart(data=part.data, mime_type=part.mime_type)
            for part in _known(payload.content)
        ),
        details=payload.details,
        structured_content=payload.structured_content,
        is_error=payload.is_error,
    )


def _known(content: Sequence[Any]) -> tuple[Text | Image, ...]:
    return tuple(part for part in content if isinstance(part, Text | Image))


def _context_of(messages: Sequence[Message]) -> Context:
    systems = [message for message in messages if isinstance(message, SystemMessage)]
    texts: list[str | None] = []
    tools: dict[str, ToolDeclaration] = {}
    for system in systems:
        texts += [text_of(system.content), *(system.sections or {}).values()]
        for removed in system.tools_removed or ():
            tools.pop(removed.name, None)
        tools |= {tool.name: tool for tool in system.tools_added or ()}
    return Context(
        system_prompt="\n\n".join(text for text in texts if text),
        messages=tuple(message for message in messages if not isinstance(message, SystemMessage)),
        tools=tuple(sorted(tools.values(), key=lambda tool: tool.name)),
    )
