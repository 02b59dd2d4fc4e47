"""The agent loop with a scripted model and small tools; events are collected in a list."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from app.agent.abort_signal import AbortSignal
from app.agent.agent_loop import resume_agent_loop, run_agent_loop
from app.agent.hooks import AgentLoopHooks
from app.agent.loop_ports import AgentLoopDependencies, InterruptMode
from app.agent.message_queues import MessageQueues, QueueMode
from app.providers.adapter_registry import AdapterRegistry
from app.providers.model_stream import AssistantStream, RequestContext, StreamOptions
from app.providers.scripted import ScriptedAnswer, ScriptedModel
from app.values.events import Event, MessageEnd
from app.values.messages import Message, ToolResultMessage, UserMessage, user_message
from tools.tool_definition import Tool, ToolContext
from tools.tool_result_values import ToolResult, text_result

Run = Callable[[dict[str, Any], ToolContext], Awaitable[ToolResult]]


class ScriptedLoop:
    """Runs the loop and keeps the conversation, as a session would."""

    def __init__(
        self,
        *answers: ScriptedAnswer,
        tools: Iterable[Tool] = (),
        interrupt_mode: InterruptMode = "wait",
        queue_mode: QueueMode = "one-at-a-time",
        report: Callable[[str], None] = lambda text: None,
        will_retry: Callable[[Any], bool] = lambda message: False,
        **hooks: Any,
    ) -> None:
        """`hooks`: answers by the names of the methods of `AgentLoopHooks`."""
        self.script = ScriptedModel(answers)
        self.registry = AdapterRegistry()
        self.registry.register_adapter("scripted", self.script.adapter, owner="test")
        self.queues = MessageQueues(mode=lambda queue: queue_mode)
        self.abort = AbortSignal()
        self.conversation: list[Message] = []
        self.events: list[Event] = []
        self.tools = {tool.name: tool for tool in tools}
        self.on_event: Callable[[Event], None] = lambda event: None
        self.ports = AgentLoopDependencies(
            request_answer=self._ask,
            tools=lambda: self.tools,
            tool_context=lambda call, progress: ToolContext(call_id=call.id, cwd=Path(), progress=progress),
            queues=self.queues,
            abort=self.abort,
            interrupt_mode=lambda: interrupt_mode,
            stop_grace_seconds=0.05,
            hooks=hooks_with(hooks),
            report_problem=report,
            will_retry=will_retry,
        )

    async def run(self, *prompts: str) -> list[str]:
        """Returns the kinds of the events, in order."""
        async for event in run_agent_loop([user_message(text) for text in prompts], self.ports):
            self._take(event)
        return self.kinds

    async def resume(self) -> list[str]:
        async for event in resume_agent_loop(self.conversation, self.ports):
            self._take(event)
        return self.kinds

    @property
    def kinds(self) -> list[str]:
        return [str(type(event).__struct_config__.tag) for event in self.events]

    @property
    def results(self) -> list[ToolResultMessage]:
        return [message for message in self.conversation if isinstance(message, ToolResultMessage)]

    @property
    def result_texts(self) -> list[str]:
        return [plain(message) for message in self.results]

    def all(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def _take(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, MessageEnd):
            self.conversation.append(event.message)
        self.on_event(event)

    async def _ask(self, abort: AbortSignal) -> AssistantStream:
        context = RequestContext(messages=tuple(self.conversation))
        return self.registry.stream_answer(self.script.model, context, StreamOptions())


def hooks_with(answers: dict[str, Any]) -> AgentLoopHooks:
    """Hooks with these answers in place of the usual ones."""
    hooks = AgentLoopHooks()
    for question, answer in answers.items():
        assert hasattr(AgentLoopHooks, question), question
        setattr(hooks, question, answer)
    return hooks


def plain(message: Message) -> str:
    content = getattr(message, "content", "")
    return content if isinstance(content, str) else "".join(getattr(block, "text", "") for block in content)


def tool(name: str, run: Run, **fields: Any) -> Tool:
    schema = fields.pop("schema", {"type": "object", "properties": {}})
    return Tool(name=name, description=name, schema=schema, run=run, **fields)


def echo(name: str = "echo", **fields: Any) -> Tool:
    async def say_it(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        return text_result(f"{name}: {arguments.get('text', '')}")

    return tool(name, say_it, schema={"type": "object", "properties": {"text": {"type": "string"}}}, **fields)


class BlockingTool:
    """A tool that blocks until the test releases it."""

    def __init__(self, name: str, **fields: Any) -> None:
        self.started = asyncio.Event()
        self.go_on = asyncio.Event()
        self.was_cancelled = False
        self.tool = tool(name, self._run, **fields)

    async def _run(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        self.started.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return text_result(f"{self.tool.name} went on")


def is_prompt(message: Message, text: str) -> bool:
    return isinstance(message, UserMessage) and plain(message) == text
